//! Files that only their owner reads.

use std::io::{self, Write};
use std::path::Path;

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
