//! What version control keeps beside the files: copies of them, whatever they are named.

/// What is open in git's folder. Everything else may hold copies of files, whichever program put it there.
const OPEN: [&str; 17] = [
    "HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "refs",
    "packed-refs",
    "info",
    "hooks",
    "description",
    "index",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "locked",
];

/// True for what lies in git's folder under this name and holds no copy of a file: names, numbers and settings.
pub fn is_open_in_git(name: &str) -> bool {
    OPEN.contains(&name)
}

/// True for a path, in lower case, into git's folder, to something that is not open there.
pub(super) fn is_kept(parts: &[&str]) -> bool {
    let open = |name: &str| OPEN.iter().any(|open| open.eq_ignore_ascii_case(name));
    let inside = parts.iter().position(|part| *part == ".git").and_then(|at| parts.get(at + 1..));
    match inside {
        None | Some([] | ["worktrees"] | ["worktrees", _]) => false,
        Some(["worktrees", _, name, ..] | [name, ..]) => !open(name),
    }
}

/// What in git's folder says which programs git runs, and how it shows files.
pub const GITS_SETTINGS: [&str; 6] =
    ["config", "config.worktree", "hooks", "info/attributes", "commondir", "gitdir"];

/// What a folder has that git takes for one of its own, beside `HEAD`: settings, programs, and where it keeps things.
pub const GITS_OWN: [&str; 10] = [
    "config",
    "config.worktree",
    "hooks",
    "info",
    "objects",
    "refs",
    "commondir",
    "gitdir",
    "modules",
    "worktrees",
];
