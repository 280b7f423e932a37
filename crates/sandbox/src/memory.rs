//! What was seen of the workspace's folders, so that those which nobody changed since need not be read again.
//!
//! The kernel notes when names come to a folder or go. A note of a moment ago may be of the same tick as a change to come,
//! so only a folder that had been left alone for a while when it was read is believed to be as it was.

use std::collections::HashMap;
use std::fs::{self, DirEntry, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::places::{Places, Treatment};

/// Longer than the tick of any local file system.
const WHILE: Duration = Duration::from_secs(3);

/// File systems of this machine, whose notes are told at once and by our own clock: ext4, xfs, btrfs, tmpfs, overlayfs, f2fs, ZFS, bcachefs.
const LOCAL: [i64; 8] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e];

/// The folders of a workspace as they were seen.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    folders: Mutex<HashMap<PathBuf, Remembered>>,
}

#[derive(Debug)]
struct Remembered {
    stamp: Stamp,
    listing: Arc<Listing>,
}

/// What changes when a folder is another, or holds other names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

/// What matters of a folder.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// How many entries it has.
    pub(crate) count: usize,
    /// Its folders, and what is not plain.
    pub(crate) entries: Vec<Entry>,
    /// It may be a folder of git's: there is a `HEAD` in it.
    pub(crate) has_head: bool,
    /// It is laid out as git's folder is.
    pub(crate) is_repository: bool,
}

/// An entry of a folder.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) treatment: Treatment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    Link,
    Other,
}

/// One look at a workspace. What it does not come across is forgotten.
pub(crate) struct Recall<'a> {
    places: &'a Places,
    before: MutexGuard<'a, HashMap<PathBuf, Remembered>>,
    now: HashMap<PathBuf, Remembered>,
    /// The devices whose notes are to be believed.
    believed: Vec<u64>,
}

impl Memory {
    /// Begins a look. Another one waits for it, and is the quicker then.
    pub(crate) fn recall<'a>(&'a self, places: &'a Places) -> Recall<'a> {
        let folders = places.roots.iter().chain(&places.readable);
        let believed = folders.filter(|root| is_local(root)).filter_map(|root| root.metadata().ok());
        Recall {
            places,
            before: self.folders.lock().unwrap_or_else(PoisonError::into_inner),
            now: HashMap::new(),
            believed: believed.map(|root| root.dev()).collect(),
        }
    }
}

impl Drop for Recall<'_> {
    fn drop(&mut self) {
        *self.before = std::mem::take(&mut self.now);
    }
}

impl Recall<'_> {
    /// What is in a folder; absent when it cannot be listed. A folder of more than `most` entries is not read to its end.
    pub(crate) fn listing(&mut self, folder: &Path, most: usize) -> Option<Arc<Listing>> {
        let found = fs::symlink_metadata(folder).ok()?;
        let stamp = Stamp::of(&found);
        if let Some((path, known)) = self.before.remove_entry(folder)
            && known.stamp == stamp
        {
            let listing = known.listing.clone();
            self.now.insert(path, known);
            return Some(listing);
        }
        let begun = SystemTime::now();
        let listing = Arc::new(read(folder, self.places, most)?);
        if self.believed.contains(&stamp.device) && stamp.is_old(begun) && listing.count <= most {
            self.now.insert(folder.to_owned(), Remembered { stamp, listing: listing.clone() });
        }
        Some(listing)
    }
}

impl Stamp {
    fn of(folder: &Metadata) -> Self {
        let changed = (folder.ctime(), folder.ctime_nsec());
        Self { device: folder.dev(), inode: folder.ino(), changed }
    }

    /// True when the last change lay a while back at that time.
    fn is_old(&self, at: SystemTime) -> bool {
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(self.changed.0), u32::try_from(self.changed.1))
        else {
            return false;
        };
        let changed = UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
        changed.and_then(|changed| at.duration_since(changed).ok()).is_some_and(|age| age >= WHILE)
    }
}

fn is_local(root: &Path) -> bool {
    let kind = rustix::fs::statfs(root).map(|found| found.f_type);
    kind.is_ok_and(|kind| LOCAL.contains(&(kind & 0xffff_ffff)))
}

fn read(folder: &Path, places: &Places, most: usize) -> Option<Listing> {
    let mut listing = Listing::default();
    let mut objects = false;
    for entry in fs::read_dir(folder).ok()?.flatten() {
        listing.count += 1;
        if listing.count > most {
            break;
        }
        let kind = kind(&entry);
        listing.has_head |= entry.file_name() == "HEAD";
        objects |= entry.file_name() == "objects";
        let path = entry.path();
        let treatment = (places.treatment)(&path);
        if kind == Kind::Folder || treatment != Treatment::Plain {
            listing.entries.push(Entry { path, kind, treatment });
        }
    }
    listing.is_repository = listing.has_head && objects;
    Some(listing)
}

fn kind(entry: &DirEntry) -> Kind {
    match entry.file_type() {
        Ok(kind) if kind.is_dir() => Kind::Folder,
        Ok(kind) if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A workspace that counts how many of its names are judged.
    fn places(root: &Path, judged: &Arc<AtomicUsize>) -> Places {
        let judged = judged.clone();
        Places {
            roots: vec![root.to_owned()],
            home: None,
            temporary: PathBuf::new(),
            programs: Vec::new(),
            readable: Vec::new(),
            history: Vec::new(),
            secrets: Vec::new(),
            denied: Vec::new(),
            treatment: Arc::new(move |path: &Path| {
                judged.fetch_add(1, Ordering::Relaxed);
                match path.ends_with(".env") {
                    true => Treatment::Hidden { guarded: false, denied: false },
                    false => Treatment::Plain,
                }
            }),
        }
    }

    fn stamp(folder: &Path) -> Stamp {
        Stamp::of(&folder.symlink_metadata().unwrap())
    }

    #[test]
    fn a_folder_is_read_again_when_it_was_changed_and_when_it_may_have_been() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("deep")).unwrap();
        fs::write(root.join("deep/plain"), "x").unwrap();
        let judged = Arc::new(AtomicUsize::new(0));
        let places = places(root, &judged);
        let memory = Memory::default();
        let look = || {
            judged.store(0, Ordering::Relaxed);
            let found = crate::tree::look(&places, &memory).unwrap();
            (judged.load(Ordering::Relaxed), found.hidden)
        };
        // It was made a moment ago, so it may change without a sign.
        assert_eq!(look().0, 2);
        assert_eq!(look().0, 2);
        // As if it had been left alone.
        for path in [root.to_owned(), root.join("deep")] {
            let listing = Arc::new(read(&path, &places, 100).unwrap());
            let known = Remembered { stamp: stamp(&path), listing };
            memory.folders.lock().unwrap().insert(path, known);
        }
        assert_eq!(look().0, 0);
        assert_eq!(look().0, 0);
        fs::write(root.join("deep/.env"), "secret").unwrap();
        let (read, hidden) = look();
        assert_eq!((read, hidden.len()), (2, 1));
        fs::remove_dir_all(root.join("deep")).unwrap();
        look();
        let remembered = memory.folders.lock().unwrap().len();
        assert!(remembered <= 1, "{remembered} folders of one");
    }

    #[test]
    fn only_what_was_left_alone_for_a_while_is_believed() {
        let changed = |seconds: i64| Stamp { device: 1, inode: 1, changed: (seconds, 0) };
        let at = UNIX_EPOCH + Duration::from_secs(1000);
        assert!(changed(996).is_old(at));
        for seconds in [998, 1000, 1001, -1, i64::MAX] {
            assert!(!changed(seconds).is_old(at), "{seconds}");
        }
    }
}
