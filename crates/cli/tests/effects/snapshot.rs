//! What a folder is at one moment, so that any change of it can be told.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Every file and folder beneath some folders, by path.
pub struct Snapshot(BTreeMap<PathBuf, Entry>);

/// The change time tells of everything: content, names in a folder, links, rights, owners, times, attributes. Nobody can set it.
#[derive(PartialEq, Eq)]
struct Entry {
    inode: u64,
    changed: (i64, i64),
}

impl Snapshot {
    /// Looks at all of these folders, except where `skip` says so.
    pub fn of(folders: &[PathBuf], skip: impl Fn(&Path) -> bool) -> Self {
        let mut entries = BTreeMap::new();
        let mut left = folders.to_vec();
        while let Some(path) = left.pop() {
            if skip(&path) {
                continue;
            }
            // What vanished while looking was not there.
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if metadata.is_dir() {
                left.extend(
                    std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()),
                );
            }
            let changed = (metadata.ctime(), metadata.ctime_nsec());
            entries.insert(path, Entry { inode: metadata.ino(), changed });
        }
        Self(entries)
    }

    /// What is different now, in words, with paths from `root`. A folder that only got or lost what is named is not.
    pub fn changes(&self, now: &Self, root: &Path) -> Vec<String> {
        let paths: BTreeSet<&PathBuf> = self.0.keys().chain(now.0.keys()).collect();
        let came_or_went = |path: &Path| self.0.contains_key(path) != now.0.contains_key(path);
        let explained: BTreeSet<&Path> =
            paths.iter().filter(|path| came_or_went(path)).filter_map(|path| path.parent()).collect();
        let changes = paths.iter().filter_map(|path| {
            let what = match (self.0.get(*path), now.0.get(*path)) {
                (None, Some(_)) => "made",
                (Some(_), None) => "removed",
                (Some(before), Some(after)) if before != after && !explained.contains(path.as_path()) => {
                    "changed"
                }
                _ => return None,
            };
            Some(format!("{what} {}", path.strip_prefix(root).unwrap_or(path).display()))
        });
        changes.collect()
    }
}
