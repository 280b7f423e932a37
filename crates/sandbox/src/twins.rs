//! Second names of files (hard links): what a file holds is the same under each of them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Which file it is: its device and its number.
pub(crate) type Identity = (u64, u64);

/// A file that has more than one name.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    let file = fs::symlink_metadata(path).ok()?;
    (file.is_file() && file.nlink() > 1).then(|| (file.dev(), file.ino()))
}

/// The files of a set, and below folders of it, that have more than one name.
pub(crate) fn of(paths: &BTreeSet<PathBuf>, most: usize) -> HashSet<Identity> {
    let mut found = HashSet::new();
    each_file(paths.iter(), most, |_| true, |path| found.extend(identity(path)));
    found
}

/// The files of a set, and below folders of it, each with its name there.
pub(crate) fn files(paths: &BTreeSet<PathBuf>, most: usize) -> HashMap<Identity, PathBuf> {
    let mut found = HashMap::new();
    each_file(
        paths.iter(),
        most,
        |_| true,
        |path| {
            if let Ok(file) = fs::symlink_metadata(path) {
                found.entry((file.dev(), file.ino())).or_insert_with(|| path.to_owned());
            }
        },
    );
    found
}

/// Other names of these files below `roots`, in folders that are looked into. Looks at every entry, so it is only worth it where
/// there are such files.
pub(crate) fn names<'a>(
    files: &HashSet<Identity>,
    roots: impl Iterator<Item = &'a PathBuf>,
    most: usize,
    looked_into: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut names = Vec::new();
    each_file(roots, most, looked_into, |path| {
        if identity(path).is_some_and(|file| files.contains(&file)) {
            names.push(path.to_owned());
        }
    });
    names
}

fn each_file<'a>(
    roots: impl Iterator<Item = &'a PathBuf>,
    most: usize,
    looked_into: impl Fn(&Path) -> bool,
    mut take: impl FnMut(&Path),
) {
    let (mut folders, files): (Vec<PathBuf>, Vec<PathBuf>) = roots.cloned().partition(|path| path.is_dir());
    files.iter().for_each(|file| take(file));
    let mut left = most;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(now) = left.checked_sub(1) else { return };
            left = now;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && looked_into(&entry.path()) => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => take(&entry.path()),
                _ => {}
            }
        }
    }
}
