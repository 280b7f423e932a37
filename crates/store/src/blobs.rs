//! Contents of changed files, kept by their hash so that a change can be taken back.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use charla_proto::{SnapshotError, Snapshots, content_hash};

use crate::make_private_folder;

/// A folder of contents, one file each, named by their hash. Files are written whole or not at all and
/// never change, so any number of processes may use the same folder.
#[derive(Clone, Debug)]
pub(crate) struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    /// The contents in `folder`, which is made when first written to.
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where a content is, or would be. Spread over 256 folders: one folder of very many files is slow.
    pub(crate) fn path(&self, hash: &str) -> Option<PathBuf> {
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if hash.len() != 64 || !hash.chars().all(hex) {
            return None;
        }
        let (shelf, rest) = hash.split_at_checked(2)?;
        Some(self.folder.join(shelf).join(rest))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let shelf = path.parent().unwrap_or(&self.folder);
        make_private_folder(shelf)?;
        // A temporary file is made with 0600 and keeps that when it is renamed.
        let mut file = tempfile::NamedTempFile::new_in(shelf)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Snapshots for Blobs {
    fn keep(&self, bytes: &[u8]) -> Result<String, SnapshotError> {
        let hash = content_hash(bytes);
        let path = self.path(&hash).ok_or_else(|| SnapshotError::Missing(hash.clone()))?;
        // A file of the right length is whole: it got its name only after its last byte.
        let there = fs::metadata(&path).is_ok_and(|data| data.len() == bytes.len() as u64);
        if !there {
            self.write(&path, bytes).map_err(|error| failed(&path, &error))?;
        }
        Ok(hash)
    }

    fn load(&self, wanted: &str) -> Result<Vec<u8>, SnapshotError> {
        let missing = || SnapshotError::Missing(wanted.to_owned());
        let path = self.path(wanted).ok_or_else(missing)?;
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing(),
            _ => failed(&path, &error),
        })?;
        if content_hash(&bytes) != wanted {
            return Err(SnapshotError::Damaged(wanted.to_owned()));
        }
        Ok(bytes)
    }
}

fn failed(path: &Path, error: &io::Error) -> SnapshotError {
    SnapshotError::Io(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs() -> (tempfile::TempDir, Blobs) {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(folder.path().join("blobs"));
        (folder, blobs)
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => found.extend(files(&entry.path())),
                false => found.push(entry.path()),
            }
        }
        found
    }

    #[test]
    fn what_is_kept_comes_back_byte_for_byte() {
        let (_folder, blobs) = blobs();
        for bytes in [&b""[..], b"a\r\nb", &[0, 255, 254, 10], &vec![7; 1 << 20]] {
            let hash = blobs.keep(bytes).unwrap();
            assert_eq!(blobs.load(&hash).unwrap(), bytes);
        }
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(blobs.keep(b"abc").unwrap(), abc);
    }

    #[test]
    fn a_content_is_kept_once() {
        let (folder, blobs) = blobs();
        assert_eq!(blobs.keep(b"same").unwrap(), blobs.keep(b"same").unwrap());
        assert_eq!(files(folder.path()).len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_contents() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, blobs) = blobs();
        blobs.keep(b"private").unwrap();
        let file = files(folder.path()).remove(0);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_damaged_content_is_never_given_out_and_is_healed_by_keeping_it_again() {
        let (folder, blobs) = blobs();
        let hash = blobs.keep(b"precious").unwrap();
        let file = files(folder.path()).remove(0);
        fs::write(&file, b"pre").unwrap();
        assert_eq!(blobs.load(&hash), Err(SnapshotError::Damaged(hash.clone())));
        blobs.keep(b"precious").unwrap();
        assert_eq!(blobs.load(&hash).unwrap(), b"precious");
    }

    #[test]
    fn a_hash_that_is_none_reaches_no_file() {
        let (_folder, blobs) = blobs();
        for hash in ["", "../../etc/passwd", &"a".repeat(64), &"A".repeat(64), &"é".repeat(32)] {
            assert_eq!(blobs.load(hash), Err(SnapshotError::Missing(hash.to_owned())));
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let (folder, _) = blobs();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(Blobs::new(file).keep(b"x"), Err(SnapshotError::Io(_))));
    }
}
