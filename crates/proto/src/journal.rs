//! The journal's port: where durable facts go.

use crate::{BoxFuture, Record};

/// Takes records of one session. When `append` returns, they survive a crash.
pub trait Journal: Send {
    /// Appends all of `records`, or none.
    fn append<'a>(&'a mut self, records: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>>;
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
