//! Files that say what is ignored and would make a walk wait, or fill the memory.

use std::path::{Path, PathBuf};

use ignore::gitignore::gitconfig_excludes_path;

use super::OWN_IGNORE;
use crate::bounded;

/// More bytes of patterns are not read in one folder: a walk holds hundreds of times as many for them.
const MOST_BYTES: u64 = 64 * 1024;

/// True for a folder with a file that says what is ignored and cannot be read, or would fill the memory. A walk holds the patterns
/// of all folders that it is in, so there may be the fewer, the more folders lie between this one and the walk's beginning.
pub(super) fn has_trap(folder: &Path, distance: usize) -> bool {
    let names = OWN_IGNORE.into_iter().chain([".gitignore", ".ignore", ".git/info/exclude"]);
    let bytes = names.map(|name| weight(&folder.join(name))).fold(0, u64::saturating_add);
    bytes > MOST_BYTES / (1 + distance as u64 / 2) || leads_to_trap(&folder.join(".git"))
}

/// True where git's own settings, or the file of patterns that they name for all repositories, cannot be read.
pub(super) fn global_is_trap(home: Option<&Path>) -> bool {
    let own = [".gitconfig", ".config/git/config"];
    let own = home.into_iter().flat_map(|home| own.map(|name| home.join(name)));
    own.chain([PathBuf::from("/etc/gitconfig")]).any(|file| is_trap(&file))
        || gitconfig_excludes_path().is_some_and(|file| is_trap(&file))
}

/// The same of a file that names git's folder, and of what the walk reads there.
fn leads_to_trap(git: &Path) -> bool {
    if git.is_dir() || std::fs::metadata(git).is_err() {
        return false;
    }
    let Ok(text) = bounded::text(git) else { return true };
    let folder = text.lines().next().and_then(|line| line.strip_prefix("gitdir: "));
    let folder = folder.map(|folder| git.with_file_name(folder.trim_end()));
    folder.is_some_and(|folder| is_trap(&folder.join("commondir")) || is_trap(&folder.join("info/exclude")))
}

fn is_trap(file: &Path) -> bool {
    weight(file) > MOST_BYTES
}

/// The bytes of a file; of what is no regular one there is no end.
fn weight(file: &Path) -> u64 {
    match std::fs::metadata(file) {
        Ok(found) if found.is_file() => found.len(),
        Ok(_) => u64::MAX,
        Err(_) => 0,
    }
}
