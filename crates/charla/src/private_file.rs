//! Files that only their owner reads, and turns at changing them.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long somebody else may have a turn. Changing a file takes no time worth speaking of.
const PATIENCE: Duration = Duration::from_secs(10);

/// A turn at changing a file that other processes change, too: from reading it to writing it nobody else has one. It ends with
/// its value, or with the process.
pub(crate) struct Turn {
    _locked: Option<File>,
}

/// Waits for a turn at a file; all files of a folder share one, so nobody takes a second turn while they have the first. What is
/// locked is the folder, which has to be there: nothing is left behind.
pub(crate) fn turn(path: &Path) -> io::Result<Turn> {
    let folder = File::open(path.parent().unwrap_or(Path::new(".")))?;
    let until = Instant::now() + PATIENCE;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Turn { _locked: Some(folder) }),
            // Not every file system has locks; then it goes on as it would for somebody alone.
            Err(TryLockError::Error(_)) => return Ok(Turn { _locked: None }),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another program does not let go of its folder",
                ));
            }
        }
    }
}

/// The same for a file of the user's, whose folder is made where it is not there.
pub(crate) fn own_turn(path: &Path) -> io::Result<Turn> {
    make_folder(path.parent().unwrap_or(Path::new(".")))?;
    turn(path)
}

/// Writes a file as a whole, and the folders it needs. It is written beside and renamed over: whoever reads it, and a
/// crash, finds the old text or the new one.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let file = beside(path, text)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// The same for what can be made anew at any time: nobody waits for the disk, and after a crash of the machine the file may be empty.
pub(crate) fn write_soon(path: &Path, text: &str) -> io::Result<()> {
    beside(path, text)?.persist(path).map(drop).map_err(|error| error.error)
}

/// The text in a file beside. A temporary file is made with 0600 and keeps that when it is renamed.
fn beside(path: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// Makes a folder, and those it needs, that only its owner can look into.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_changes_a_file_in_turn_loses_nothing_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/list");
        std::thread::scope(|scope| {
            for number in 0..16 {
                let path = &path;
                scope.spawn(move || {
                    let _turn = own_turn(path).unwrap();
                    let before = std::fs::read_to_string(path).unwrap_or_default();
                    write(path, &format!("{before}{number}\n")).unwrap();
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 16);
        let left: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
