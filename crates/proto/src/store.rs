//! The store's port: where sessions are kept, who may write them, and how a session's owner is reached.
//!
//! A session has one owner at a time. Owning it gives a token, a number that grows with each owner; an owner that was
//! replaced is told so by its next [`Journal::append`], which then writes nothing.

mod inbox;
mod snapshot;

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::Stream;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{BoxFuture, Conversation, Record, SessionStarted, Standing};

pub use inbox::{Inbox, MAX_POST, Mailbox, PostError, Posted};
pub use snapshot::{SnapshotError, Snapshots, content_hash};

/// Records as they are read, in order. At most one `Err`, as the last item. Dropping it ends the reading.
pub type RecordStream = Pin<Box<dyn Stream<Item = Result<Record, JournalError>> + Send>>;

/// Keeps sessions. Nothing here blocks the caller's thread on a disk or a network.
pub trait SessionStore: Send + Sync {
    /// Makes a session of these records and owns it. The first one starts the session and names it.
    fn create<'a>(&'a self, records: &'a [Record]) -> BoxFuture<'a, Result<Owned, JournalError>>;

    /// Every session, the one written to last first.
    fn list(&self) -> BoxFuture<'_, Result<SessionList, JournalError>>;

    /// The session of exactly this id, briefly.
    fn find<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<SessionSummary>, JournalError>> {
        Box::pin(
            async move { Ok(self.list().await?.sessions.into_iter().find(|known| known.session == session)) },
        )
    }

    /// Owns a session to go on with it; [`JournalError::Locked`] while somebody else does.
    fn own<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>>;

    /// Owns a session whose owner is stuck. Everything that owner was told is kept is there; it keeps nothing more.
    fn take_over<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>>;

    /// True while somebody owns the session, as far as can be told at this moment.
    fn is_owned<'a>(&'a self, session: &'a str) -> BoxFuture<'a, bool>;

    /// Those of these sessions that somebody owns, as far as can be told at this moment, each with what that node is known by;
    /// empty where owners have no names.
    fn owned<'a>(&'a self, sessions: &'a [String]) -> BoxFuture<'a, HashMap<String, String>> {
        Box::pin(async move {
            let mut owned = HashMap::new();
            for session in sessions {
                if self.is_owned(session).await {
                    owned.insert(session.clone(), String::new());
                }
            }
            owned
        })
    }

    /// Sessions whose owner has died without letting go of them, where others are to go on with what it did. Nobody is
    /// to where each session belongs to whoever opens it.
    fn abandoned(&self) -> BoxFuture<'_, Result<Vec<String>, JournalError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Waits until something may have been written elsewhere. Only a hint, and none where nobody tells: whoever must
    /// know looks from time to time as well.
    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// What a session's records add up to, as far as it is needed to go on; somebody may be writing it.
    fn fold<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Conversation, JournalError>>;

    /// Where the sessions stand in which something is under way or waits, by their ids; others rest. Nothing where that is known of each
    /// one's records alone.
    fn standings(&self) -> BoxFuture<'_, Result<Option<HashMap<String, Standing>>, JournalError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Every record after number `after`, as far as they are written now.
    fn read_after(&self, session: &str, after: u64) -> RecordStream;

    /// Removes a session for good, with the contents of files and the large outputs that no other one refers to;
    /// [`JournalError::Locked`] while somebody owns it.
    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), JournalError>>;

    /// Removes sessions, but none that is in use, and whatever belongs to no session any more.
    fn prune<'a>(&'a self, sessions: &'a [String]) -> BoxFuture<'a, Result<PrunedSessions, JournalError>> {
        Box::pin(async move {
            let mut pruned = PrunedSessions::default();
            for session in sessions {
                match self.delete(session).await {
                    Ok(()) => pruned.deleted.push(session.clone()),
                    Err(JournalError::Locked(_)) => pruned.in_use.push(session.clone()),
                    Err(JournalError::Missing(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(pruned)
        })
    }

    /// Hands a command (JSON; [`MAX_POST`] bytes can always be sent) to the session's owner and gives back its reply.
    fn post<'a>(&'a self, session: &'a str, command: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, PostError>>;

    /// Where the contents of changed files are kept.
    fn snapshots(&self) -> Arc<dyn Snapshots>;

    /// The folder for large outputs of a session's tools. It need not exist.
    fn outputs(&self, session: &str) -> PathBuf;

    /// The file of one of them, made again where it is kept elsewhere and this machine does not have it. It need not exist.
    fn output<'a>(&'a self, session: &'a str, name: &'a str) -> BoxFuture<'a, Result<PathBuf, JournalError>> {
        Box::pin(std::future::ready(Ok(self.outputs(session).join(name))))
    }
}

/// What came of removing sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrunedSessions {
    /// Those that are gone.
    pub deleted: Vec<String>,
    /// Those that somebody writes.
    pub in_use: Vec<String>,
    /// Bytes of contents and outputs that went with them.
    pub freed: u64,
}

/// A session that is ours to write.
pub struct Owned {
    /// What is written goes here.
    pub journal: Box<dyn Journal>,
    /// What was said so far, as far as it is needed to go on.
    pub conversation: Conversation,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
    /// The first and last number of records that are not there.
    pub missing: Vec<(u64, u64)>,
    /// Larger than that of every earlier owner.
    pub token: u64,
    /// Where others' commands arrive.
    pub mailbox: Box<dyn Mailbox>,
}

impl Owned {
    /// Begins to take commands that others [post](SessionStore::post), until the inbox is dropped.
    pub fn listen(&self) -> BoxFuture<'_, Result<Inbox, PostError>> {
        self.mailbox.listen()
    }
}

/// Takes records of one session. When `append` returns, they survive a crash.
pub trait Journal: Send {
    /// Appends all of `records`, or none. After [`JournalError::NotOwner`] nothing more is taken, and whoever
    /// appends must stop acting for the session.
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

/// Why a session could not be had, read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Somebody else owns the session.
    #[error("the session is in use by another process: {0}")]
    Locked(String),
    /// The session is no longer ours: it was taken over, moved or removed.
    #[error("the session is no longer ours, owner {token} was replaced: {place}")]
    NotOwner {
        /// Where it is kept.
        place: String,
        /// The token that no longer counts.
        token: u64,
    },
    /// There is no such session.
    #[error("there is no session {0}")]
    Missing(String),
    /// There is a session of this name already.
    #[error("there is a session {0} already")]
    Exists(String),
    /// The first record does not start a session, or names none that can be kept.
    #[error("the session {0} has no beginning")]
    NoBeginning(String),
    /// The medium cannot be reached now, and may be later.
    #[error("sessions cannot be reached now: {0}")]
    Away(String),
    /// The medium failed.
    #[error("the journal cannot be used: {0}")]
    Io(String),
}

/// Something in a journal that is no record, told so that nothing is lost silently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with the line.
    pub reason: String,
}

/// All sessions, and what looks like one but is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionList {
    /// The sessions, the one written to last first.
    pub sessions: Vec<SessionSummary>,
    /// Ids of what cannot be read as a session, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// One session, briefly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// The session's id.
    pub session: String,
    /// When it was written to last; in JSON in milliseconds since 1970.
    #[serde(serialize_with = "to_millis", deserialize_with = "from_millis")]
    pub modified: SystemTime,
    /// When it began, by its first record; as `modified` in JSON.
    #[serde(serialize_with = "to_millis", deserialize_with = "from_millis", default = "long_ago")]
    pub began: SystemTime,
    /// Its size in bytes.
    pub size: u64,
    /// Its first record, with the session it was forked from.
    pub started: SessionStarted,
    /// `provider/model` that answered last, or was chosen since.
    pub model: String,
    /// The beginning of its first prompt.
    pub title: String,
    /// Something was asked in it.
    pub has_turns: bool,
}

/// When sessions began that do not say so.
fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH
}

fn to_millis<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn from_millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let since = Duration::from_millis(u64::deserialize(deserializer)?);
    SystemTime::UNIX_EPOCH.checked_add(since).ok_or_else(|| serde::de::Error::custom("too late a time"))
}
