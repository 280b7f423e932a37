//! What version control keeps of files.
//!
//! Whoever can read the store of a repository can read every secret that was ever committed, staged or stashed, under
//! whatever name. So unasked children do not read it, but for those in which nothing but git reads files.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use charla_proto::{carries_credential, is_open_in_git};

/// What is open of git's folder unless there is a password in it.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// Folders in git's own that hold more of its folders.
const NESTING: [&str; 2] = ["worktrees", "modules"];
/// Folders in git's own that hold contents.
const STORES: [&str; 5] = ["objects", "lfs", "logs", "modules", "worktrees"];
/// Where others keep contents, in their folders.
const OTHERS: [(&str, &str); 3] = [(".hg", "store"), (".svn", "pristine"), (".jj", "repo/store")];
/// How deep the repositories of submodules are looked for, and how often one names another's objects.
const DEPTH: usize = 8;
const MOST_BYTES: u64 = 1 << 20;

/// Notes what only version control reads in a folder of this name.
pub(crate) fn note(folder: &Path, kept: &mut BTreeSet<PathBuf>) {
    let name = folder.file_name().unwrap_or_default();
    if name == ".git" {
        repository(folder, kept);
    }
    let of_others = OTHERS.iter().filter(|(known, _)| name == *known);
    kept.extend(of_others.map(|(_, store)| folder.join(store)).filter(|store| store.exists()));
}

/// The same in a folder that is laid out as git's. One without references is none for git, but may have been.
pub(crate) fn bare(folder: &Path, kept: &mut BTreeSet<PathBuf>) {
    match folder.join("refs").exists() {
        true => repository(folder, kept),
        false => close(&folder.join("objects"), kept),
    }
}

/// The same in a workspace that is laid out as git's: there, people keep files of their own beside its.
pub(crate) fn bare_workspace(folder: &Path, kept: &mut BTreeSet<PathBuf>) {
    STORES.iter().for_each(|store| close(&folder.join(store), kept));
    borrowed(&folder.join("objects"), DEPTH, kept);
}

/// Notes what only git reads in its folder, those of submodules and other working trees included.
pub(crate) fn repository(folder: &Path, kept: &mut BTreeSet<PathBuf>) {
    one(folder, kept);
    for tree in entries(&folder.join("worktrees")) {
        one(&tree, kept);
    }
    modules(&folder.join("modules"), DEPTH, kept);
}

fn modules(folder: &Path, depth: usize, kept: &mut BTreeSet<PathBuf>) {
    for entry in entries(folder) {
        match entry.join("HEAD").exists() {
            true => repository(&entry, kept),
            // A submodule's name may have several parts.
            false if depth > 0 && is_folder(&entry) => modules(&entry, depth - 1, kept),
            false => close(&entry, kept),
        }
    }
}

/// Everything but what is known to hold no copy of a file.
fn one(folder: &Path, kept: &mut BTreeSet<PathBuf>) {
    for entry in entries(folder) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let has_password =
            || SETTINGS.contains(&name.as_str()) && text(&entry).is_none_or(|text| carries_credential(&text));
        let nests = NESTING.contains(&name.as_str()) && is_folder(&entry);
        if !nests && (!is_open_in_git(&name) || has_password()) {
            close(&entry, kept);
        }
    }
    borrowed(&folder.join("objects"), DEPTH, kept);
}

/// A link holds nothing: what it leads to does.
fn close(entry: &Path, kept: &mut BTreeSet<PathBuf>) {
    kept.extend(entry.canonicalize());
}

/// True for a folder that is no link.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Objects that a repository takes from another.
fn borrowed(objects: &Path, depth: usize, kept: &mut BTreeSet<PathBuf>) {
    let list = text(&objects.join("info/alternates")).unwrap_or_default();
    for line in list.lines().filter(|line| !line.is_empty()) {
        let Ok(other) = objects.join(line).canonicalize() else { continue };
        if kept.insert(other.clone()) && depth > 0 {
            borrowed(&other, depth - 1, kept);
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn text(file: &Path) -> Option<String> {
    let is_small = |found: fs::Metadata| found.is_file() && found.len() <= MOST_BYTES;
    if !fs::metadata(file).is_ok_and(is_small) {
        return None;
    }
    // A pipe that has come meanwhile would make us wait.
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(file).ok()?;
    if !file.metadata().is_ok_and(is_small) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_every_repository_in_a_folder_is_found() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        for folder in [
            ".git/refs/heads",
            ".git/logs",
            ".git/objects/info",
            ".git/modules/deep/er/objects",
            ".git/worktrees/other/rebase-merge",
            "shared/objects/info",
            "last",
        ] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at(".git/modules/deep/er/HEAD"), "ref").unwrap();
        fs::write(at(".git/modules/deep/er/config"), "url = https://me:password@host/x").unwrap();
        for open in ["config", "HEAD", "index", "packed-refs"] {
            fs::write(at(".git").join(open), "[core]\n").unwrap();
        }
        fs::write(at(".git/unheard-of"), "content").unwrap();
        fs::write(at(".git/modules/stray"), "content").unwrap();
        fs::write(at(".git/objects/info/alternates"), "../../shared/objects\n").unwrap();
        let last = format!("{}\n", at("last").display());
        fs::write(at("shared/objects/info/alternates"), last).unwrap();
        let mut kept = BTreeSet::new();
        note(&at(".git"), &mut kept);
        let expected = [
            ".git/logs",
            ".git/modules/deep/er/config",
            ".git/modules/deep/er/objects",
            ".git/modules/stray",
            ".git/objects",
            ".git/unheard-of",
            ".git/worktrees/other/rebase-merge",
            "last",
            "shared/objects",
        ];
        assert_eq!(kept, expected.map(at).into());
    }
}
