//! What a git command shows of the files that git keeps.

use charla_proto::Word;

use super::git::{options_of, subcommand_at};
use super::git_table::{LISTING, REVEALING};

/// What a git command shows.
#[derive(Clone, Copy, Debug)]
pub(in crate::policy) enum GitShows<'a> {
    /// Names, numbers and messages.
    Names,
    /// What files hold: of these paths, or of all that git keeps where there are none.
    Contents { paths: &'a [Word] },
    /// It is not known; `subcommand` is the place of its name.
    Unknown { subcommand: usize },
}

/// The same as [`REVEALING`], by a letter.
const REVEALING_LETTERS: [&str; 7] = ["-p", "-u", "-U", "-S", "-G", "-c", "-m"];

/// What git with these words shows; an option that nobody has looked at may show anything.
pub(in crate::policy) fn git_shows(words: &[Word]) -> GitShows<'_> {
    let Some(at) = subcommand_at(words) else { return GitShows::Contents { paths: &[] } };
    let name = words.get(at).and_then(Word::known).unwrap_or_default();
    let rest = words.get(at + 1..).unwrap_or_default();
    let behind = rest.iter().position(|word| word.known() == Some("--"));
    let contents = GitShows::Contents { paths: behind.and_then(|at| rest.get(at + 1..)).unwrap_or_default() };
    let second = rest.first().and_then(Word::known);
    let listed = |shows: bool| if shows { contents } else { GitShows::Names };
    let moved = |word: &Word| ["--work-tree", "--git-dir"].iter().any(|option| word.text.starts_with(option));
    if words.get(1..at).is_some_and(|before| before.iter().any(moved)) {
        return GitShows::Contents { paths: &[] };
    }
    let Some(given) = options_of(name, rest) else {
        return match (name, second) {
            ("stash", Some("list")) if rest.len() == 1 => GitShows::Names,
            // They put what git keeps into another folder, where it can be read under another name.
            ("worktree", Some("add" | "move"))
            | ("checkout-index" | "clone" | "read-tree" | "subtree", _) => contents,
            ("worktree" | "remote" | "submodule" | "bisect" | "config", _) => GitShows::Names,
            ("reflog", _) if rest.iter().all(|word| !word.text.starts_with('-')) => GitShows::Names,
            (
                "annotate" | "archive" | "bundle" | "difftool" | "fast-export" | "format-patch"
                | "range-diff" | "request-pull" | "stash" | "reflog",
                _,
            ) => contents,
            (name, _) if super::git::reads(name) => contents,
            _ => GitShows::Unknown { subcommand: at },
        };
    };
    let has = |options: &[&str]| {
        let is = |given: &String| options.iter().any(|option| option.trim_end_matches('=') == given);
        given.iter().any(is)
    };
    let reveals = || has(REVEALING) || has(&REVEALING_LETTERS);
    match name {
        "grep" | "blame" => contents,
        "cat-file" => listed(!has(&["-t", "-s", "-e"])),
        "show" | "diff" => listed(reveals() || !(has(LISTING) || has(&["-s"]))),
        "status" => listed(has(&["-v", "--verbose"])),
        "for-each-ref" | "branch" | "tag" => listed(rest.iter().any(|word| word.text.contains("raw"))),
        "log" | "shortlog" | "whatchanged" | "diff-tree" | "diff-index" | "diff-files" => listed(reveals()),
        _ => GitShows::Names,
    }
}

/// Commands that show what files hold, whatever else they are told.
const KEEPERS: [&str; 20] = [
    "annotate",
    "archive",
    "blame",
    "bundle",
    "cat-file",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "for-each-ref",
    "format-patch",
    "grep",
    "log",
    "range-diff",
    "request-pull",
    "shortlog",
    "show",
    "whatchanged",
];

/// True for git that shows what it keeps of files, secret ones too where nothing hides them from it.
pub(in crate::policy) fn shows_kept(words: &[Word]) -> bool {
    if !matches!(git_shows(words), GitShows::Contents { .. }) {
        return false;
    }
    let Some(at) = subcommand_at(words) else { return false };
    let name = words.get(at).and_then(Word::known).unwrap_or_default();
    let rest = words.get(at + 1..).unwrap_or_default();
    let second = rest.first().and_then(Word::known).unwrap_or_default();
    match name {
        "stash" => matches!(second, "show" | "list"),
        "reflog" => second != "expire" && second != "delete",
        name => KEEPERS.contains(&name) || options_of(name, rest).is_some(),
    }
}
