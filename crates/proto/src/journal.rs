//! The journal's port: where durable facts go.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::BoxFuture;

/// One durable fact of a session.
///
/// The kind and its fields are open: a reader keeps kinds it does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its place in the session, from 1, without gaps.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What kind of fact.
    pub kind: String,
    /// The fact.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

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
