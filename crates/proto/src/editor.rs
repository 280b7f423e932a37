//! The editor that a session works in, as far as tools need it.

use std::path::Path;

/// An editor: files as it has them, changes that it makes. Which files a call may touch is decided before it is asked.
pub trait Editor: Send + Sync {
    /// The text of this file with what is not saved yet; nothing where the editor cannot say, and the disk's counts. Blocks.
    fn read(&self, path: &Path) -> Option<String>;

    /// Has the editor give the file this text; nothing where it writes no files. Blocks.
    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>>;
}
