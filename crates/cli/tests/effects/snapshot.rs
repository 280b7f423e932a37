//! What a folder is at one moment, so that any change of it can be told.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Every file and folder beneath some folders, by path.
pub struct Snapshot(BTreeMap<PathBuf, Entry>);

/// The change time covers what the other fields do not: names in a folder, links, rights, owners, attributes.
#[derive(PartialEq, Eq)]
struct Entry {
    mode: u32,
    changed: (i64, i64),
    modified: (i64, i64),
    size: u64,
    content: u64,
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
                left.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            }
            let entry = Entry {
                mode: metadata.mode(),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                size: metadata.size(),
                content: content(&path, &metadata),
            };
            entries.insert(path, entry);
        }
        Self(entries)
    }

    /// What is different now, in words, with paths from `root`.
    pub fn changes(&self, now: &Self, root: &Path) -> Vec<String> {
        let paths: BTreeSet<&PathBuf> = self.0.keys().chain(now.0.keys()).collect();
        let changes = paths.into_iter().filter_map(|path| {
            let what = match (self.0.get(path), now.0.get(path)) {
                (None, Some(_)) => "made",
                (Some(_), None) => "removed",
                (Some(before), Some(after)) if before != after => "changed",
                _ => return None,
            };
            Some(format!("{what} {}", path.strip_prefix(root).unwrap_or(path).display()))
        });
        changes.collect()
    }
}

fn content(path: &Path, metadata: &std::fs::Metadata) -> u64 {
    let mut hasher = DefaultHasher::new();
    if metadata.is_file() {
        std::fs::read(path).ok().hash(&mut hasher);
    } else if metadata.is_symlink() {
        std::fs::read_link(path).ok().hash(&mut hasher);
    }
    hasher.finish()
}
