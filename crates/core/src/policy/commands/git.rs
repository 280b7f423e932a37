//! The commands of git that only read.

use std::path::{Path, PathBuf};

use charla_proto::text::join_path;
use charla_proto::{Word, makes_secret};

use super::git_table::{Free, PAIRS, SHOWING, SUBCOMMANDS, Subcommand};
use super::options::{Doubt, Sorted, sort};
use super::table::Options;
use super::{Call, Checked};

pub(super) fn check(call: Call<'_>) -> Checked {
    let (folder, words) = working_folder(call)?;
    let call = Call { cwd: &folder, ..call };
    if !call.scope.contains(call.cwd) {
        return Err("the settings of a repository outside the workspace may run programs".into());
    }
    let Some(name) = words.first().and_then(Word::known) else {
        return Err("which git command runs is only known to the shell".into());
    };
    // Its files are secret for the folder's sake, and git may be told their names without it.
    let below = |root: &PathBuf| call.cwd.strip_prefix(root).is_ok_and(makes_secret);
    if call.scope.roots.iter().any(below) {
        return Err("the files of this folder may hold secrets".into());
    }
    let rest = words.get(1..).unwrap_or_default();
    let second = rest.first().and_then(Word::known);
    if PAIRS.iter().any(|(first, then)| *first == name && second == Some(*then)) {
        let rest = rest.get(1..).unwrap_or_default();
        return sort(rest, Options::Only { letters: "p", long: SHOWING }, "n", Doubt::Option).map(|_| ());
    }
    if name == "reflog" {
        let sorted = sort(rest, Options::Only { letters: "p", long: SHOWING }, "nU", Doubt::Option)?;
        let changes = |word: &str| matches!(word, "expire" | "delete" | "drop" | "write");
        let known =
            sorted.operands.first().is_none_or(|word| word.known().is_some_and(|word| !changes(word)));
        return if known { Ok(()) } else { Err("git reflog may remove entries".into()) };
    }
    if name == "config" {
        return config(rest);
    }
    if only_asks(name, rest) {
        return paths(call, &sort(rest, Options::Any, "", Doubt::Option)?);
    }
    let Some(subcommand) = SUBCOMMANDS.iter().find(|subcommand| subcommand.name == name) else {
        return Err(format!("git {name} may change the repository or run programs"));
    };
    let options = Options::Only { letters: subcommand.letters, long: subcommand.long };
    let is_apart =
        |word: &&Word| call.walled && is_no_index(word) || name == "status" && says_untracked(word);
    let plain: Vec<Word> = rest.iter().filter(|word| !is_apart(word)).cloned().collect();
    let sorted = sort(&plain, options, subcommand.valued, Doubt::Option)?;
    operands(subcommand, &sorted)?;
    revisions(subcommand, &sorted)?;
    paths(call, &sorted)
}

/// True for commands that would do something, with the option that makes them tell what.
fn only_asks(name: &str, words: &[Word]) -> bool {
    let known: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    match (name, known.as_deref()) {
        ("var", Some([variable])) => {
            matches!(*variable, "GIT_AUTHOR_IDENT" | "GIT_COMMITTER_IDENT" | "GIT_DEFAULT_BRANCH")
        }
        ("ls-remote", Some(["--get-url"] | ["--get-url", "origin"])) => true,
        ("notes", Some(["list"])) | ("archive", Some(["--list" | "-l"])) => true,
        ("apply", Some(words)) => {
            let asks = |word: &&&str| matches!(**word, "--check" | "--stat" | "--numstat" | "--summary");
            let options = words.iter().filter(|word| word.starts_with('-'));
            options.clone().count() > 0 && options.clone().filter(asks).count() == options.count()
        }
        _ => false,
    }
}

/// The option of `git status` whose value, if it has one, is glued to it.
fn says_untracked(word: &Word) -> bool {
    matches!(word.known(), Some("-uno" | "-unormal" | "-uall"))
}

/// `git diff --no-index` compares any two files: with it, git is a reader like others, for which the kernel hides what it keeps.
pub(in crate::policy) fn is_no_index(word: &Word) -> bool {
    word.known() == Some("--no-index")
}

/// Commands that show nothing of a path they are given but its name, or by git's attributes, which keep secrets back.
const BY_ATTRIBUTES: [&str; 12] = [
    "log",
    "diff",
    "show",
    "status",
    "ls-files",
    "ls-tree",
    "rev-list",
    "shortlog",
    "whatchanged",
    "diff-tree",
    "diff-index",
    "diff-files",
];

/// The words of such a command that are paths, plainly; none of any other.
pub(in crate::policy) fn shown_by_attributes(words: &[Word]) -> &[Word] {
    // These tell nothing but names.
    if matches!(words.get(1).and_then(Word::known), Some("check-ignore" | "ls-files")) {
        return words;
    }
    let known = words.get(1).and_then(Word::known).is_some_and(|name| BY_ATTRIBUTES.contains(&name));
    let paths = words.iter().position(|word| word.known() == Some("--")).filter(|_| known);
    match paths.and_then(|at| words.get(at + 1..)) {
        Some(paths) if !words.iter().any(is_no_index) => paths,
        _ => &[],
    }
}

/// The word of `git grep` that says what is looked for.
pub(in crate::policy) fn sought_by_grep(words: &[Word]) -> Option<&Word> {
    let row = words.get(1).and_then(Word::known).filter(|name| *name == "grep")?;
    let row = SUBCOMMANDS.iter().find(|subcommand| subcommand.name == row)?;
    let options = Options::Only { letters: row.letters, long: row.long };
    let sorted = sort(words.get(2..)?, options, row.valued, Doubt::Operand).ok()?;
    if sorted.has("-e") { None } else { sorted.operands.first().copied() }
}

/// Options before the subcommand with which git does nothing else than without.
pub(super) const BEFORE: [&str; 4] =
    ["--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"];

/// The folder that git works in after every `-C`, and the words behind what stands before the subcommand.
fn working_folder(call: Call<'_>) -> Result<(PathBuf, &[Word]), String> {
    let mut folder = call.cwd.to_owned();
    let mut words = call.words;
    loop {
        words = match words {
            [first, place, rest @ ..] if first.known() == Some("-C") => {
                let place = place.known().ok_or("which folder git works in is only known to the shell")?;
                folder = join_path(&folder, place);
                rest
            }
            [first, rest @ ..] if first.known().is_some_and(|first| BEFORE.contains(&first)) => rest,
            _ => return Ok((folder, words)),
        };
    }
}

/// The place of the subcommand among the words of git, behind the options that stand before it.
pub(in crate::policy) fn subcommand_at(words: &[Word]) -> Option<usize> {
    const VALUED: [&str; 9] = [
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--config-env",
        "--attr-source",
        "--super-prefix",
        "--shallow-file",
    ];
    let mut at = 1;
    loop {
        match words.get(at)?.known()? {
            option if VALUED.contains(&option) => at += 2,
            option if option.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
}

/// The options that a subcommand is given, if all of them are on its list.
pub(super) fn options_of(name: &str, words: &[Word]) -> Option<Vec<String>> {
    let row = SUBCOMMANDS.iter().find(|row| row.name == name)?;
    let apart = |word: &&Word| !(name == "status" && says_untracked(word));
    let plain: Vec<Word> = words.iter().filter(apart).cloned().collect();
    let options = Options::Only { letters: row.letters, long: row.long };
    sort(&plain, options, row.valued, Doubt::Option).ok().map(|sorted| sorted.given)
}

/// True for a subcommand that is there to show something.
pub(super) fn reads(subcommand: &str) -> bool {
    SUBCOMMANDS.iter().any(|known| known.name == subcommand)
}

fn operands(subcommand: &Subcommand, sorted: &Sorted<'_>) -> Checked {
    let listing =
        || ["--list", "-l", "--contains", "--merged", "--no-merged"].iter().any(|option| sorted.has(option));
    match subcommand.operands {
        Free::Any => Ok(()),
        Free::One
            if sorted.operands.len() == 1 && sorted.operands.iter().all(|word| word.kind.is_literal()) =>
        {
            Ok(())
        }
        _ if sorted.operands.is_empty() => Ok(()),
        Free::Listing if listing() => Ok(()),
        _ => Err(format!("git {} with a name changes the repository", subcommand.name)),
    }
}

/// Git knows a secret by its name from the top of the tree. What is asked for without that is not known to it: every
/// reference, whatever it points at; a tree by itself.
fn revisions(subcommand: &Subcommand, sorted: &Sorted<'_>) -> Checked {
    let all = ["--all", "--branches", "--tags", "--remotes"].into_iter().find(|option| sorted.has(option));
    let tree = |word: &&Word| {
        word.text.chars().skip(1).any(|c| c == ':') && !word.text.starts_with(':') || word.text.contains("^{")
    };
    match (subcommand.name, all) {
        ("show" | "diff" | "diff-tree" | "diff-index", Some(option)) => {
            Err(format!("{option} also shows references to contents, which may be secret files"))
        }
        ("grep", _) if sorted.operands.iter().skip(1).any(tree) => {
            Err("git does not know secret files in a tree that is named by itself".into())
        }
        ("diff" | "diff-tree" | "diff-index", _) => sorted.operands.iter().try_for_each(|word| subtree(word)),
        ("for-each-ref" | "branch" | "tag", _)
            if sorted
                .values_of(&["--format"])
                .any(|value| value.is_none_or(|value| value.contains("raw"))) =>
        {
            Err("its format may show contents, which may be secret files".into())
        }
        _ => Ok(()),
    }
}

/// `main:src` is fine, `main:.kube` is not: its `config` would be any.
fn subtree(word: &Word) -> Checked {
    let mut folders = word.text.split(':').skip(1);
    let secret = |folder: &str| {
        let climbs = folder.starts_with('.') || folder.contains("/..");
        climbs || folder.split("..").next().is_some_and(|folder| makes_secret(Path::new(folder)))
    };
    match folders.any(secret) {
        true => Err(format!("{}: its files may hold secrets", word.text)),
        false => Ok(()),
    }
}

/// Git reads files outside the repository when it is given two of them.
fn paths(call: Call<'_>, sorted: &Sorted<'_>) -> Checked {
    for word in &sorted.operands {
        let climbs = word.text.split('/').any(|part| part == "..");
        let looks_outside = word.text.starts_with(['/', '~']) || climbs;
        if looks_outside && !call.scope.readable(&join_path(call.cwd, &word.text)) {
            return Err(format!("{} lies outside the workspace", word.text));
        }
    }
    Ok(())
}

/// `git config --get name`: one name, nothing that carries a credential.
fn config(words: &[Word]) -> Checked {
    const ASKING: [&str; 7] =
        ["--get", "--get-all", "--all", "--global", "--local", "--system", "--show-origin"];
    let words = match words {
        [first, rest @ ..] if first.known() == Some("get") => rest,
        words => words,
    };
    let plain = |word: &&Word| !word.known().is_some_and(|word| ASKING.contains(&word));
    let asked: Vec<&Word> = words.iter().filter(plain).collect();
    match asked.as_slice() {
        // One name alone is asked for, two are a setting.
        [name] => match name.known().filter(|name| !name.starts_with('-')) {
            // Whether an address carries a credential, the disk tells.
            Some(name) if is_address_of_remote(name) => Ok(()),
            Some(name)
                if !["url", "credential", "header", "token", "password"]
                    .iter()
                    .any(|part| name.to_lowercase().contains(part)) =>
            {
                Ok(())
            }
            _ => Err("it may show a credential".into()),
        },
        _ => Err("git config may change settings or show credentials".into()),
    }
}

/// `remote.origin.url`.
fn is_address_of_remote(name: &str) -> bool {
    let plain =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let remote = name
        .strip_prefix("remote.")
        .and_then(|rest| rest.strip_suffix(".url").or(rest.strip_suffix(".pushurl")));
    remote.is_some_and(|remote| !remote.is_empty() && plain(remote))
}
