//! The index: which files git tracks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use charla_proto::looks_secret;

use crate::bounded;

/// A larger index is not read.
const MOST_BYTES: u64 = 256 << 20;
/// Numbers of objects are as long as SHA-1 makes them; others are not understood.
const ID: usize = 20;
/// What stands before the number of the object: times, device, inode, mode, owner, size.
const STAT: usize = 40;
const ASSUME_UNCHANGED: u8 = 0x80;
const EXTENDED: u8 = 0x40;
const STAGE: u8 = 0x30;
/// The mode of an entry that names a commit.
const SUBMODULE: u32 = 0o160_000;

/// The files that git tracks.
#[derive(Debug, Default)]
pub(crate) struct Index {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// A file that git tracks.
#[derive(Debug)]
pub(crate) struct Entry {
    /// From the top of the working tree.
    pub(crate) path: PathBuf,
    /// It is a repository of its own, not a file.
    is_submodule: bool,
    /// When it was last changed and how large it was, as git saw it last.
    seen: (u32, u32, u32),
    /// Where its flags stand.
    flags: usize,
}

impl Index {
    /// Reads it; none is an empty one. Absent when it is not understood.
    pub(super) fn read(path: &Path) -> Option<Self> {
        match path.metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Self::default()),
            Ok(found) if found.is_file() && found.len() <= MOST_BYTES => {}
            _ => return None,
        }
        Self::parse(bounded::read_up_to(path, MOST_BYTES).ok()?)
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let version = number(&bytes, 4)?;
        if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
            return None;
        }
        let mut entries: Vec<Entry> = Vec::new();
        let mut at = 12;
        for _ in 0..number(&bytes, 8)? {
            let before = entries.last().map(|entry| entry.path.as_os_str().as_bytes());
            let (entry, next) = entry(&bytes, at, version, before.unwrap_or_default())?;
            entries.push(entry);
            at = next;
        }
        // A part of it may stand in another file, which changes how this one is to be read.
        while at + ID < bytes.len() {
            if bytes.get(at..at + 4)? == b"link" {
                return None;
            }
            at += 8 + number(&bytes, at + 4)? as usize;
        }
        Some(Self { bytes, entries })
    }

    /// The files that look like secrets.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| looks_secret(&entry.path))
    }

    /// True while a merge is under way that has conflicts.
    pub(crate) fn is_unmerged(&self) -> bool {
        self.entries.iter().any(|entry| self.bytes.get(entry.flags).is_some_and(|flags| flags & STAGE != 0))
    }

    /// The folders of submodules.
    pub(crate) fn submodules(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().filter(|entry| entry.is_submodule).map(|entry| entry.path.as_path())
    }

    /// The tracked files that say how git treats others.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &Path> {
        let named = |entry: &&Entry| entry.path.file_name() == Some(OsStr::new(".gitattributes"));
        self.entries.iter().filter(named).map(|entry| entry.path.as_path())
    }

    /// The same index, in which git takes these files as unchanged without looking at them.
    pub(crate) fn unchanged<'a>(&self, entries: impl Iterator<Item = &'a Entry>) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for entry in entries {
            if let Some(flags) = bytes.get_mut(entry.flags) {
                *flags |= ASSUME_UNCHANGED;
            }
        }
        bytes
    }
}

impl Entry {
    /// True when git would have to look into the file to tell whether it was changed.
    pub(crate) fn may_be_changed(&self, work: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let Ok(file) = work.join(&self.path).symlink_metadata() else { return false };
        let (seconds, nanoseconds, size) = self.seen;
        // As git does: only so many bits are kept.
        file.mtime() as u32 != seconds
            || file.mtime_nsec() as u32 != nanoseconds
            || file.size() as u32 != size
    }
}

/// The entry that stands at `at`, and where the next one does.
fn entry(bytes: &[u8], at: usize, version: u32, before: &[u8]) -> Option<(Entry, usize)> {
    let flags = at + STAT + ID;
    let extended = bytes.get(flags)? & EXTENDED != 0;
    let name = flags + if extended { 4 } else { 2 };
    let (kept, name) = match version {
        4 => {
            let (dropped, name) = variable(bytes, name)?;
            (before.get(..before.len().checked_sub(dropped)?)?, name)
        }
        _ => (&before[..0], name),
    };
    let rest = bytes.get(name..)?;
    let length = rest.iter().position(|byte| *byte == 0)?;
    let path = [kept, rest.get(..length)?].concat();
    let end = name + length;
    let next = match version {
        4 => end + 1,
        // Filled up with at least one zero.
        _ => at + (end - at + 8) / 8 * 8,
    };
    let seen = (number(bytes, at + 8)?, number(bytes, at + 12)?, number(bytes, at + 36)?);
    let is_submodule = number(bytes, at + 24)? & SUBMODULE == SUBMODULE;
    Some((Entry { path: PathBuf::from(OsStr::from_bytes(&path)), is_submodule, seen, flags }, next))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// A number of as many bytes as it needs, and where what follows stands.
pub(super) fn variable(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, words: &[&str]) {
        let done = Command::new("git").args(words).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn an_index_that_never_ends_is_not_read() {
        assert!(Index::read(Path::new("/dev/zero")).is_none());
        assert!(Index::read(Path::new("/nowhere/index")).is_some());
    }

    #[test]
    fn every_version_of_an_index_tells_the_same_names() {
        for version in ["2", "3", "4"] {
            let folder = tempfile::tempdir().unwrap();
            git(folder.path(), &["init", "-q", "."]);
            for name in [".env", "deep/er/.env.local", "deep/er/plain.txt", "deep/.gitattributes", "z"] {
                std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
                std::fs::write(folder.path().join(name), "x").unwrap();
            }
            git(folder.path(), &["add", "-f", "."]);
            git(folder.path(), &["add", "-N", "z"]);
            git(folder.path(), &["update-index", "--index-version", version]);
            let index = Index::read(&folder.path().join(".git/index")).unwrap();
            let secrets: Vec<&Path> = index.secrets().map(|entry| entry.path.as_path()).collect();
            assert_eq!(secrets, [Path::new(".env"), Path::new("deep/er/.env.local")], "version {version}");
            assert_eq!(index.attributes().count(), 1);
            assert!(index.secrets().all(|entry| !entry.may_be_changed(folder.path())));
            std::fs::write(folder.path().join(".env"), "longer").unwrap();
            let changed = index.secrets().filter(|entry| entry.may_be_changed(folder.path()));
            std::fs::write(folder.path().join(".git/index"), index.unchanged(changed)).unwrap();
            let mut status = Command::new("git");
            status.args(["status", "--short", "--", ".env"]).current_dir(folder.path());
            let said = status.output().unwrap();
            assert!(!String::from_utf8_lossy(&said.stdout).contains(" M"), "{said:?}");
        }
    }

    #[test]
    fn what_is_no_index_is_not_understood() {
        assert!(Index::parse(b"DIRC\0\0\0\x02\xff\xff\xff\xff".to_vec()).is_none());
        assert!(Index::parse(b"nothing at all".to_vec()).is_none());
        assert!(Index::parse(Vec::new()).is_none());
        assert!(Index::parse(b"DIRC\0\0\0\x02\0\0\0\0....................".to_vec()).is_some());
    }
}
