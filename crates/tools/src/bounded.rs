//! Reads files that others may have written: regular ones alone, and never more than is of use.

use std::fs::{File, OpenOptions};
use std::io::{self, Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::paths::folder::open_regular;

/// A larger file is not read.
pub const MOST_BYTES: u64 = 1024 * 1024;

/// Opens a file, links followed. A device or a pipe in its place, which would never end, is an error; it never waits, even if
/// one is put there meanwhile.
pub fn open(path: &Path) -> io::Result<File> {
    // To open a device may do something.
    expect_regular(&std::fs::metadata(path)?)?;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    expect_regular(&file.metadata()?)?;
    Ok(file)
}

/// Opens a file by its real path: a link that was put on the way since it was looked at is not followed. Otherwise as [`open`].
pub fn open_real(path: &Path) -> io::Result<File> {
    open_regular(path)
}

fn expect_regular(found: &std::fs::Metadata) -> io::Result<()> {
    if found.is_file() { Ok(()) } else { Err(Error::other("it is no regular file")) }
}

/// The bytes of a file that is not large.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, MOST_BYTES)
}

/// The bytes of a file that has at most so many.
pub fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_from(open(path)?, most)
}

/// The bytes of an opened file that has at most so many.
pub fn read_from(file: File, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || Error::other(format!("it has more than {most} bytes"));
    if file.metadata()?.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// The same of a text.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| Error::new(ErrorKind::InvalidData, "it is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who swaps a pipe in between the look and the opening makes nobody wait.
    #[test]
    fn a_pipe_that_comes_meanwhile_is_no_trap() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pipe, kept) =
            (folder.path().join("file"), folder.path().join("pipe"), folder.path().join("kept"));
        std::fs::write(&kept, "text").unwrap();
        std::fs::hard_link(&kept, &path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0.. {
                    if done.load(std::sync::atomic::Ordering::Relaxed) {
                        break;
                    }
                    let next = folder.path().join("next");
                    std::fs::hard_link(if turn % 2 == 0 { &pipe } else { &kept }, &next).unwrap();
                    std::fs::rename(&next, &path).unwrap();
                    // Renaming onto another name of the same file leaves both.
                    std::fs::remove_file(&next).ok();
                }
            });
            for _ in 0..2000 {
                let text = text(&path);
                assert!(text.is_err() || text.is_ok_and(|text| text == "text"));
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("small"), "text").unwrap();
        std::fs::write(at("bytes"), b"\xff").unwrap();
        let large = File::create(at("large")).unwrap();
        large.set_len(MOST_BYTES + 1).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("device")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        assert_eq!(text(&at("small")).unwrap(), "text");
        assert_eq!(read(&at("bytes")).unwrap(), b"\xff");
        assert!(text(&at("bytes")).is_err());
        for name in ["large", "device", "pipe", "", "absent"] {
            assert!(read(&at(name)).is_err(), "{name}");
        }
    }
}
