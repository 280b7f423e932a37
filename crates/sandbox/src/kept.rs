//! What version control keeps of files.
//!
//! Whoever can read the store of a repository can read every secret that was ever committed, staged or stashed, under
//! whatever name. So unasked children do not read it, but for those in which nothing but git reads files.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use charla_proto::{GITS_SETTINGS, carries_credential, is_open_in_git, looks_secret};

use crate::git_follow::Followed;
use crate::tree::Found;

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
/// Folders of git's that are open.
const OPEN_FOLDERS: [&str; 3] = ["hooks", "info", "refs"];
/// How many entries are looked at in one of them.
const MOST_OPEN: usize = 2_000;

/// Notes what only version control reads in a folder of this name.
pub(crate) fn note(folder: &Path, home: Option<&Path>, found: &mut Found) {
    let name = folder.file_name().unwrap_or_default();
    if name == ".git" {
        repository(folder, home, found);
    }
    let of_others = OTHERS.iter().filter(|(known, _)| name == *known);
    found.kept.extend(of_others.map(|(_, store)| folder.join(store)).filter(|store| store.exists()));
}

/// The same in a folder that is laid out as git's. One without references is none for git, but may have been.
pub(crate) fn bare(folder: &Path, home: Option<&Path>, found: &mut Found) {
    match folder.join("refs").exists() {
        true => repository(folder, home, found),
        false => close(&folder.join("objects"), found),
    }
}

/// The same in a workspace that is laid out as git's: there, people keep files of their own beside its.
pub(crate) fn bare_workspace(folder: &Path, found: &mut Found) {
    STORES.iter().for_each(|store| close(&folder.join(store), found));
    borrowed(&folder.join("objects"), DEPTH, found);
}

/// Notes what only git reads in its folder, those of submodules and other working trees included.
pub(crate) fn repository(folder: &Path, home: Option<&Path>, found: &mut Found) {
    one(folder, found);
    let trees: Vec<PathBuf> = entries(&folder.join("worktrees")).collect();
    let settings: Vec<&Path> = std::iter::once(folder).chain(trees.iter().map(PathBuf::as_path)).collect();
    let followed = Followed::of(&settings, folder.parent().unwrap_or(folder), home);
    // A place in whose way git's folder lies is the workspace itself, or holds it.
    let hooks = followed.hooks.into_iter().filter(|hooks| hooks.is_dir() && !folder.starts_with(hooks));
    let files = followed.files.into_iter().filter(|file| file.is_file());
    hooks.chain(files).for_each(|place| found.guard_named(place));
    trees.iter().for_each(|tree| one(tree, found));
    modules(&folder.join("modules"), DEPTH, home, found);
}

fn modules(folder: &Path, depth: usize, home: Option<&Path>, found: &mut Found) {
    for entry in entries(folder) {
        match entry.join("HEAD").exists() {
            true => repository(&entry, home, found),
            // A submodule's name may have several parts.
            false if depth > 0 && is_folder(&entry) => modules(&entry, depth - 1, home, found),
            false => close(&entry, found),
        }
    }
}

/// Everything but what is known to hold no copy of a file.
fn one(folder: &Path, found: &mut Found) {
    for entry in entries(folder) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let has_password =
            || SETTINGS.contains(&name.as_str()) && text(&entry).is_none_or(|text| carries_credential(&text));
        let nests = NESTING.contains(&name.as_str()) && is_folder(&entry);
        if !nests && (!is_open_in_git(&name) || has_password()) {
            close(&entry, found);
        } else if OPEN_FOLDERS.contains(&name.as_str()) {
            secrets_in(&entry, folder, found);
        }
    }
    borrowed(&folder.join("objects"), DEPTH, found);
}

/// Nobody reads a secret that lies among what is open of git's folder. Where there is too much to look at, only git reads it.
fn secrets_in(open: &Path, folder: &Path, found: &mut Found) {
    let mut folders = vec![open.to_owned()];
    let mut left = MOST_OPEN;
    while let Some(next) = folders.pop() {
        for entry in entries(&next) {
            let Some(now) = left.checked_sub(1) else { return close(open, found) };
            left = now;
            // By its name from git's folder: what is in that is secret to others for its sake.
            let name = entry.strip_prefix(folder).unwrap_or(&entry);
            match looks_secret(name) {
                // A branch may have any name, and git reads it.
                true if open.ends_with("refs") => close(&entry, found),
                true => found.hidden.extend(entry.canonicalize()),
                false if is_folder(&entry) => folders.push(entry),
                false => {}
            }
        }
    }
}

/// What says which programs git runs in its folder, those of submodules and other working trees included. Links hold nothing.
pub(crate) fn settings(folder: &Path) -> Vec<PathBuf> {
    let all = std::iter::once(folder.to_owned()).chain(nested(folder));
    let mut settings: Vec<PathBuf> = all.flat_map(|folder| settings_of(&folder)).collect();
    settings.retain(|path| !path.is_symlink());
    settings
}

/// The same of one folder of git's, links too.
pub(crate) fn settings_of(folder: &Path) -> Vec<PathBuf> {
    let named = GITS_SETTINGS.iter().map(|name| folder.join(name));
    named.filter(|path| path.symlink_metadata().is_ok()).collect()
}

/// The folders of git's in one of them: submodules, and other working trees.
pub(crate) fn nested(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for one in NESTING.iter().flat_map(|name| below(&folder.join(name), DEPTH)) {
        all.extend(nested(&one));
        all.push(one);
    }
    all
}

/// The folders of git's that lie below.
fn below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let one = |entry: PathBuf| match entry.join("HEAD").exists() {
        true => vec![entry],
        false if depth > 0 && is_folder(&entry) => below(&entry, depth - 1),
        false => Vec::new(),
    };
    entries(folder).flat_map(one).collect()
}

/// A link holds nothing: what it leads to does.
fn close(entry: &Path, found: &mut Found) {
    found.kept.extend(entry.canonicalize());
}

/// True for a folder that is no link.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Objects that a repository takes from another.
fn borrowed(objects: &Path, depth: usize, found: &mut Found) {
    let list = text(&objects.join("info/alternates")).unwrap_or_default();
    for line in list.lines().filter(|line| !line.is_empty()) {
        let Ok(other) = objects.join(line).canonicalize() else { continue };
        if found.kept.insert(other.clone()) && depth > 0 {
            borrowed(&other, depth - 1, found);
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// What a small file says.
pub(crate) fn text(file: &Path) -> Option<String> {
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
            ".git/hooks",
            ".git/info/deep",
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
        fs::write(at(".git/hooks/.env"), "content").unwrap();
        fs::write(at(".git/hooks/pre-commit"), "content").unwrap();
        fs::write(at(".git/info/deep/server.pem"), "content").unwrap();
        fs::write(at(".git/modules/stray"), "content").unwrap();
        fs::write(at(".git/objects/info/alternates"), "../../shared/objects\n").unwrap();
        let last = format!("{}\n", at("last").display());
        fs::write(at("shared/objects/info/alternates"), last).unwrap();
        let mut found = Found::default();
        note(&at(".git"), None, &mut found);
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
        assert_eq!(found.kept, expected.map(at).into());
        assert_eq!(found.hidden, [".git/hooks/.env", ".git/info/deep/server.pem"].map(at).into());
    }
}
