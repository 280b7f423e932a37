//! Reads files that others may have written: regular ones alone, and never more than is of use.

use std::fs::File;
use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;

/// A larger file is not read.
pub(crate) const MOST_BYTES: u64 = 1024 * 1024;

/// Opens a file. A device or a pipe in its place, which would never end, is an error.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Opening a pipe waits for somebody to write.
    match std::fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(Error::other("it is no regular file")),
    }
}

/// The bytes of a file that is not large.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(Error::other(format!("it has more than {MOST_BYTES} bytes"))),
        false => Ok(bytes),
    }
}

/// The same of a text.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| Error::new(ErrorKind::InvalidData, "it is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
