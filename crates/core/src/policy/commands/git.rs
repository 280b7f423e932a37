//! The commands of git that only read.

use std::path::{Path, PathBuf};

use charla_proto::text::join_path;
use charla_proto::{Word, makes_secret};

use super::options::{Doubt, Sorted, sort};
use super::table::Options;
use super::{Call, Checked};

const SHOWING: &[&str] = &[
    "--oneline",
    "--graph",
    "--all",
    "--stat",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--summary",
    "--patch",
    "--no-patch",
    "--format=",
    "--pretty",
    "--abbrev-commit",
    "--abbrev",
    "--decorate",
    "--no-decorate",
    "--author=",
    "--since=",
    "--until=",
    "--after=",
    "--before=",
    "--grep=",
    "--max-count=",
    "--skip=",
    "--date=",
    "--reverse",
    "--merges",
    "--no-merges",
    "--first-parent",
    "--follow",
    "--cached",
    "--staged",
    "--word-diff",
    "--color",
    "--no-color",
    "--unified=",
    "--ignore-all-space",
    "--ignore-space-change",
    "--diff-filter=",
    "--find-renames",
    "--no-renames",
    "--exit-code",
    "--quiet",
    "--minimal",
    "--check",
    "--raw",
    "--branches",
    "--tags",
    "--remotes",
    "--topo-order",
    "--left-right",
    "--cherry-pick",
    "--no-ext-diff",
    "--no-textconv",
    "--full-index",
    "--function-context",
    "--merge-base",
    "--ignore-case",
    "--source",
    "--simplify-by-decoration",
    "--relative",
    "--compact-summary",
    "--dirstat",
    "--children",
    "--parents",
    "--color-words",
    "--color-moved",
    "--color-moved-ws=",
    "--no-color-moved",
    "--word-diff-regex=",
    "--histogram",
    "--patience",
    "--diff-algorithm=",
    "--inter-hunk-context=",
    "--ignore-blank-lines",
    "--ignore-space-at-eol",
    "--ignore-cr-at-eol",
    "--find-copies",
    "--no-prefix",
    "--patch-with-stat",
    "--patch-with-raw",
    "--cc",
    "--no-relative",
    "--no-abbrev-commit",
    "--committer=",
    "--invert-grep",
    "--all-match",
    "--regexp-ignore-case",
    "--extended-regexp",
    "--fixed-strings",
    "--perl-regexp",
    "--full-history",
    "--ancestry-path",
    "--boundary",
    "--cherry",
    "--cherry-mark",
    "--date-order",
    "--author-date-order",
    "--no-walk",
    "--use-mailmap",
    "--mailmap",
];

/// What a subcommand may be given: letters, letters with a value, long options, and whether operands are free.
struct Subcommand {
    name: &'static str,
    letters: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
    operands: Free,
}

/// Which operands a subcommand may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Free {
    /// Any: they name revisions or files.
    Any,
    /// None: with one, it changes something.
    No,
    /// One: with another, it changes something.
    One,
    /// Only with `--list` or `-l`.
    Listing,
}

const fn row(
    name: &'static str,
    letters: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
    operands: Free,
) -> Subcommand {
    Subcommand { name, letters, valued, long, operands }
}

const SUBCOMMANDS: [Subcommand; 29] = [
    row(
        "show-ref",
        "sq",
        "",
        &["--tags", "--heads", "--branches", "--head", "--hash", "--verify"],
        Free::Any,
    ),
    row(
        "status",
        "sbuvz",
        "",
        &[
            "--short",
            "--branch",
            "--porcelain",
            "--untracked-files",
            "--ignored",
            "--long",
            "--verbose",
            "--show-stash",
            "--no-renames",
        ],
        Free::Any,
    ),
    // Without `-L`: it follows lines into files of other names, and shows them whatever attributes say.
    row("log", "pwbizcm", "nSGU", SHOWING, Free::Any),
    row("diff", "pwbizRu", "SGU", SHOWING, Free::Any),
    row("show", "pwbizsq", "SGUn", SHOWING, Free::Any),
    row("shortlog", "snec", "", SHOWING, Free::Any),
    row("whatchanged", "p", "nU", SHOWING, Free::Any),
    row(
        "blame",
        "wlstefnpcMC",
        "L",
        &["--line-porcelain", "--porcelain", "--date=", "--show-email", "--root"],
        Free::Any,
    ),
    row(
        "rev-parse",
        "q",
        "",
        &[
            "--abbrev-ref",
            "--short",
            "--verify",
            "--show-toplevel",
            "--git-dir",
            "--is-inside-work-tree",
            "--symbolic-full-name",
            "--show-prefix",
            "--show-cdup",
            "--all",
            "--branches",
            "--tags",
            "--quiet",
            "--absolute-git-dir",
            "--is-bare-repository",
            "--git-common-dir",
        ],
        Free::Any,
    ),
    row(
        "rev-list",
        "",
        "n",
        &[
            "--count",
            "--all",
            "--max-count=",
            "--since=",
            "--until=",
            "--left-right",
            "--merges",
            "--no-merges",
            "--first-parent",
            "--reverse",
            "--author=",
        ],
        Free::Any,
    ),
    row(
        "ls-files",
        "cdomiskzutv",
        "x",
        &[
            "--others",
            "--exclude-standard",
            "--cached",
            "--modified",
            "--deleted",
            "--stage",
            "--unmerged",
            "--full-name",
            "--error-unmatch",
            "--ignored",
        ],
        Free::Any,
    ),
    row(
        "ls-tree",
        "rdtlz",
        "",
        &["--name-only", "--full-tree", "--full-name", "--name-status", "--long"],
        Free::Any,
    ),
    row("cat-file", "tspe", "", &[], Free::Any),
    row(
        "describe",
        "",
        "",
        &[
            "--tags",
            "--always",
            "--dirty",
            "--abbrev",
            "--all",
            "--long",
            "--exact-match",
            "--contains",
            "--match=",
        ],
        Free::Any,
    ),
    row("merge-base", "a", "", &["--all", "--is-ancestor", "--fork-point", "--octopus"], Free::Any),
    row("cherry", "v", "", &["--verbose", "--abbrev"], Free::Any),
    row("name-rev", "", "", &["--name-only", "--tags", "--always"], Free::Any),
    row(
        "for-each-ref",
        "",
        "",
        &["--format=", "--sort=", "--count=", "--merged", "--no-merged", "--contains"],
        Free::Any,
    ),
    row("check-ignore", "vqn", "", &["--verbose", "--quiet", "--no-index"], Free::Any),
    row("count-objects", "vH", "", &["--verbose", "--human-readable"], Free::No),
    row(
        "grep",
        "niwlcvEFPheHLpWq",
        "eABCm",
        &[
            "--line-number",
            "--ignore-case",
            "--cached",
            "--count",
            "--files-with-matches",
            "--name-only",
            "--word-regexp",
            "--fixed-strings",
            "--extended-regexp",
            "--perl-regexp",
            "--heading",
            "--break",
            "--and",
            "--or",
            "--not",
            "--show-function",
            "--max-depth=",
            "--no-color",
        ],
        Free::Any,
    ),
    row(
        "branch",
        "arv",
        "",
        &[
            "--all",
            "--remotes",
            "--list",
            "--show-current",
            "--verbose",
            "--merged",
            "--no-merged",
            "--contains",
            "--sort=",
            "--format=",
            "--no-color",
        ],
        Free::Listing,
    ),
    row(
        "tag",
        "ln",
        "",
        &["--list", "--sort=", "--format=", "--contains", "--merged", "--points-at="],
        Free::Listing,
    ),
    row("remote", "v", "", &["--verbose"], Free::No),
    row("version", "", "", &[], Free::No),
    row("diff-tree", "rpmcz", "U", SHOWING, Free::Any),
    row("diff-index", "rpmuwbizR", "U", SHOWING, Free::Any),
    row("diff-files", "rpuwbizR", "U", SHOWING, Free::Any),
    row("symbolic-ref", "q", "", &["--short", "--quiet"], Free::One),
];

/// Two-word subcommands whose only job is to show something.
const PAIRS: [(&str, &str); 7] = [
    ("stash", "list"),
    ("stash", "show"),
    ("worktree", "list"),
    ("remote", "get-url"),
    ("submodule", "status"),
    ("reflog", "show"),
    ("bisect", "log"),
];

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
            [first, rest @ ..]
                if matches!(
                    first.known(),
                    Some("--no-pager" | "--no-optional-locks" | "--literal-pathspecs")
                ) =>
            {
                rest
            }
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
