//! What git is told where nobody was asked: the settings and hooks of a repository start no programs, and nothing of what
//! secret files hold is shown.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use charla_sandbox::Cell;

use crate::git::Repository;

const SETTINGS: [(&str, &str); 8] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("safe.bareRepository", "explicit"),
    // Attributes come from the files that were looked at, and objects are what their numbers say.
    ("attr.tree", ""),
    ("core.useReplaceRefs", "false"),
    // Of a submodule git shows which commit it is at: nobody has looked at the attributes that it has of its own.
    ("diff.submodule", "short"),
    ("log.diffMerges", "separate"),
];

/// Where a merge is shown beside all its parents, files go by the names that they have in the result.
const NO_RENAMES: (&str, &str) = ("diff.renames", "false");

/// Variables with settings for git, behind `held` ones that the user's own variables hold; `shows_merge`: it may show a merge
/// beside all its parents at once.
pub(super) fn variables(
    held: usize,
    attributes: Option<PathBuf>,
    shows_merge: bool,
) -> Vec<(String, OsString)> {
    let settings = SETTINGS.into_iter().chain(shows_merge.then_some(NO_RENAMES));
    let settings = settings.map(|(key, value)| (key, OsString::from(value)));
    let settings: Vec<_> =
        settings.chain(attributes.map(|file| ("core.attributesFile", file.into_os_string()))).collect();
    let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), (held + settings.len()).to_string().into())];
    for (index, (key, value)) in (held..).zip(settings) {
        variables.push((format!("GIT_CONFIG_KEY_{index}"), key.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{index}"), value));
    }
    variables
}

/// An index of a repository in which git takes hidden files as unchanged.
#[derive(Debug)]
pub(super) struct PlainIndex {
    pub(super) file: PathBuf,
    /// The hidden files, from the top of the working tree.
    pub(super) unseen: Vec<PathBuf>,
}

/// Makes one where git tracks secrets: it would fail to look into them, for changes and for files that were renamed. Blocks
/// for some milliseconds when the index is large.
pub(super) fn plain_index(cell: &Cell, cwd: &Path) -> Option<PlainIndex> {
    let repository = Repository::of(&cwd.canonicalize().ok()?)?;
    let index = repository.index()?;
    index.secrets().next()?;
    let changed = index.secrets().filter(|entry| entry.may_be_changed(&repository.work));
    let unseen = changed.map(|entry| entry.path.clone()).collect();
    let folder = cell.temporary()?;
    let made = tempfile::NamedTempFile::new_in(&folder).ok()?;
    fs::write(made.path(), index.unchanged(index.secrets())).ok()?;
    let file = folder.join("git-index");
    made.persist(&file).ok()?;
    Some(PlainIndex { file, unseen })
}
