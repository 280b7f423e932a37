//! The journal's port: where durable facts go.

use std::sync::Arc;

use crate::{BoxFuture, Record};

/// Takes records of one session. When `append` returns, they survive a crash.
pub trait Journal: Send {
    /// Appends all of `records`, or none.
    fn append<'a>(&'a mut self, records: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>>;

    /// Reads what was appended. A session whose journal has a reader lets go of what a summary stands for
    /// and of records everybody has seen; without one it must hold everything.
    fn reader(&self) -> Option<Arc<dyn JournalReader>> {
        None
    }
}

/// Reads a session's journal while it is written.
pub trait JournalReader: Send + Sync {
    /// Hands over every record after number `after`, oldest first. Blocks while it reads.
    fn read(&self, after: u64, each: &mut dyn FnMut(Record)) -> Result<(), JournalError>;

    /// Where the journal is, in words a person or a model can use.
    fn place(&self) -> String;
}

/// Why records could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Another process writes this session.
    #[error("the session is in use by another process: {0}")]
    Locked(String),
    /// The medium failed.
    #[error("the journal cannot be written: {0}")]
    Io(String),
}
