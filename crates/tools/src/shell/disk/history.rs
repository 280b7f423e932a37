//! Secrets that git keeps: in its index, its stashes, its history.
//!
//! Unasked commands have git take secret files for binary ones, so that it shows no line of them. What is found in here gets
//! around that.

use std::path::{Path, PathBuf};

use charla_proto::Word;

use crate::git::{Index, Repository, lifts_secrets, looks_for_renames, may_be_no_commit, may_show_merge};

/// Commands of git that show what files hold or held.
const SHOWING: [&str; 12] = [
    "log",
    "show",
    "diff",
    "whatchanged",
    "diff-tree",
    "diff-index",
    "diff-files",
    "stash",
    "reflog",
    "grep",
    "cat-file",
    "blame",
];

const NO_COMMIT: &str =
    "it names a content or a tree by itself, not in a commit: whether that is a secret file's cannot be told";
const LIFTED: &str = "the attributes of this repository may have git show the content of secret files";
const RENAMED: &str = "of a merge it may show what a secret file held that was renamed; without looking for renames it does not ask";
const UNREAD: &str = "the index of this repository is not understood, so it may show secret files";

/// Commands of git that look into submodules for changes.
const COMPARING: [&str; 4] = ["status", "diff", "diff-files", "diff-index"];
const SUBMODULE: &str = "a submodule tracks a secret file that was changed, and git could not look into it without being allowed to";

/// Why a git command may show or betray what a secret file holds, or would go wrong for its sake. `cwd` is a real path.
pub(super) fn doubt(words: &[Word], cwd: &Path) -> Option<String> {
    let (subcommand, rest) = words.split_first()?;
    let subcommand = subcommand.known()?;
    let repository = Repository::of(cwd)?;
    if COMPARING.contains(&subcommand) && looks_into_submodule(&repository) {
        return Some(SUBMODULE.to_owned());
    }
    if !SHOWING.contains(&subcommand) {
        return None;
    }
    if looks_for_renames(rest) && may_show_merge(words, Some(&repository)) {
        return Some(RENAMED.to_owned());
    }
    let words = rest.iter().filter_map(Word::known).take_while(|word| *word != "--");
    let mut operands = words.filter(|word| !word.starts_with('-'));
    if operands.any(|word| may_be_no_commit(&repository, word)) {
        return Some(NO_COMMIT.to_owned());
    }
    let Some(index) = repository.index() else { return Some(UNREAD.to_owned()) };
    if lifts_secrets(&repository, &index, cwd) {
        return Some(LIFTED.to_owned());
    }
    searched(subcommand, rest, cwd, &repository, &index)
}

/// True when git, in a submodule, would have to read a secret to tell whether it was changed. Of the repository itself it gets an
/// index that says so; of a submodule it takes its own.
fn looks_into_submodule(repository: &Repository) -> bool {
    let Some(index) = repository.index() else { return false };
    index.submodules().any(|folder| {
        let inner =
            Repository::of(&repository.work.join(folder)).filter(|inner| inner.work != repository.work);
        inner.is_some_and(|inner| match inner.index() {
            Some(index) => index.secrets().any(|entry| entry.may_be_changed(&inner.work)),
            None => true,
        })
    })
}

/// A search tells whether a file holds something, however little of it is shown.
fn searched(
    name: &str,
    words: &[Word],
    cwd: &Path,
    repository: &Repository,
    index: &Index,
) -> Option<String> {
    let counts =
        |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('S');
    if name != "grep" && !words.iter().any(counts) {
        return None;
    }
    let places = if name == "grep" { places(words, cwd) } else { vec![repository.work.clone()] };
    let reached = |path: &Path| places.iter().any(|place| repository.work.join(path).starts_with(place));
    let secret = index.secrets().find(|entry| reached(&entry.path))?;
    Some(format!("git tracks {}, which it would search too; name others behind `--`", secret.path.display()))
}

/// Where `git grep` looks: in what stands behind `--`, else in the folder it runs in.
fn places(words: &[Word], cwd: &Path) -> Vec<PathBuf> {
    let named = words.iter().skip_while(|word| word.known() != Some("--")).skip(1);
    let plain = |word: &Word| {
        let text =
            word.known().filter(|text| !text.starts_with(':') && !text.contains(['*', '?', '[', '\\']))?;
        Some(super::walk(&cwd.join(text)))
    };
    match named.map(plain).collect::<Option<Vec<PathBuf>>>() {
        Some(places) if !places.is_empty() => places,
        // A pattern may reach anywhere below, and so may none.
        _ => vec![cwd.to_owned()],
    }
}
