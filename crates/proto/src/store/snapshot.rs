//! Keeping what files held, so that a change can be taken back.

use sha2::{Digest, Sha256};

/// Where the contents of changed files are kept. A content is kept once, whoever changed it.
pub trait Snapshots: Send + Sync {
    /// Keeps `bytes` and gives back their [`content_hash`]. Durable when it returns.
    /// Blocks on the disk: not for an async task.
    fn keep(&self, bytes: &[u8]) -> Result<String, SnapshotError>;

    /// The bytes kept under `hash`. Blocks on the disk: not for an async task.
    fn load(&self, hash: &str) -> Result<Vec<u8>, SnapshotError>;
}

/// The name under which a content is kept: its SHA-256 in lower-case hex. Changes name contents before they are kept, so whoever
/// keeps, changes and takes back has to call them the same.
pub fn content_hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Why a content could not be kept or found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Nothing is kept under this hash.
    #[error("no content with the hash {0} is kept")]
    Missing(String),
    /// What is kept no longer has this hash.
    #[error("the content kept as {0} is damaged")]
    Damaged(String),
    /// The place it is kept in failed.
    #[error("{0}")]
    Io(String),
}
