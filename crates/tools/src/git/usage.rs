//! What a command line does with git.

use std::path::{Path, PathBuf};

use charla_proto::{Effect, Word};

use super::{Repository, may_show_merge};

/// Commands of git that compare the working tree with the index.
const COMPARING: [&str; 8] =
    ["status", "diff", "diff-files", "diff-index", "describe", "ls-files", "stash", "commit"];

/// Commands of git that leave its index as it is.
const SHOWING: [&str; 9] =
    ["status", "diff", "diff-files", "diff-index", "describe", "ls-files", "log", "show", "grep"];

/// What a command line does with git.
#[derive(Clone, Debug, Default)]
pub(crate) struct GitUse {
    /// The folders in which git keeps what it is asked about, by their real paths.
    pub(crate) folders: Vec<PathBuf>,
    /// It runs git.
    pub(crate) runs: bool,
    /// It has git compare files with those that it keeps.
    pub(crate) compares: bool,
    /// It may have git show a merge beside all its parents at once.
    shows_merge: bool,
    /// It may have git change its index.
    pub(crate) changes: bool,
}

impl GitUse {
    /// Of a line with these effects, in a workspace of these folders. Looks at the disk.
    pub(crate) fn of(effects: &[Effect], roots: &[PathBuf]) -> Self {
        let roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        let mut found = Self::default();
        for effect in effects {
            let Effect::Exec { words, cwd, .. } = effect else { continue };
            let [name, rest @ ..] = words.as_slice() else { continue };
            if name.known().is_some_and(|name| name.rsplit('/').next() == Some("git")) {
                found.take(rest, cwd);
            }
        }
        found.folders.retain(|folder| is_known(folder, &roots));
        found
    }

    /// True unless all that git shows goes by the names that files have.
    pub(crate) fn may_show_merge(&self) -> bool {
        self.shows_merge || !self.runs
    }

    fn take(&mut self, words: &[Word], cwd: &Path) {
        let (folder, rest) = folder(words, cwd);
        self.runs = true;
        let name = rest.first().and_then(Word::known);
        self.compares |= name.is_none_or(|name| COMPARING.contains(&name));
        self.changes |= name.is_none_or(|name| !SHOWING.contains(&name));
        let repository = folder.canonicalize().ok().and_then(|folder| Repository::of(&folder));
        self.shows_merge |= may_show_merge(rest, repository.as_ref());
        let folders = repository.map(|repository| repository.folders()).unwrap_or_default();
        self.folders.extend(folders.into_iter().filter_map(|folder| folder.canonicalize().ok()));
    }
}

/// True for a folder of git's that others in a line are known to stay out of: outside of the workspace, or by its name.
pub(crate) fn is_known(folder: &Path, roots: &[impl AsRef<Path>]) -> bool {
    let named = folder.iter().any(|part| part.to_string_lossy().ends_with(".git"));
    named || !roots.iter().any(|root| folder.starts_with(root))
}

/// The folder that git works in after every `-C`, and the words that follow.
pub(crate) fn folder<'a>(words: &'a [Word], cwd: &Path) -> (PathBuf, &'a [Word]) {
    let mut folder = cwd.to_owned();
    let mut rest = words;
    loop {
        match rest {
            [option, place, after @ ..] if option.known() == Some("-C") => {
                folder.push(place.known().unwrap_or_default());
                rest = after;
            }
            [option, after @ ..] if option.known().is_some_and(|word| word.starts_with("--")) => rest = after,
            _ => return (folder, rest),
        }
    }
}
