//! How a session's owner is reached from elsewhere.

use std::fmt;
use std::pin::Pin;

use futures_util::Stream;

use crate::BoxFuture;

/// How many bytes a command, and a reply, may have wherever sessions are kept.
pub const MAX_POST: usize = 1024 * 1024;

/// Commands as they arrive. Dropping it ends the listening.
pub type Inbox = Pin<Box<dyn Stream<Item = Posted> + Send>>;

/// Where an owner takes commands.
pub trait Mailbox: Send + Sync {
    /// Begins to take commands. Costs nothing until it is called.
    fn listen(&self) -> BoxFuture<'_, Result<Inbox, PostError>>;
}

/// A command that waits for its reply. Dropped without one, its sender gets [`PostError::NoReply`].
pub struct Posted {
    /// The command, in JSON as far as the sender kept to that.
    pub command: Vec<u8>,
    reply: Box<dyn FnOnce(Vec<u8>) + Send>,
}

impl Posted {
    /// A command whose reply goes to `reply`.
    pub fn new(command: Vec<u8>, reply: impl FnOnce(Vec<u8>) + Send + 'static) -> Self {
        Self { command, reply: Box::new(reply) }
    }

    /// Answers with JSON of at most [`MAX_POST`] bytes; a longer one is as none.
    pub fn reply(self, answer: Vec<u8>) {
        (self.reply)(answer);
    }
}

impl fmt::Debug for Posted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Posted").field("command", &String::from_utf8_lossy(&self.command)).finish()
    }
}

/// Why a command has no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// Nobody owns the session: it can be owned and acted on here.
    #[error("no process has the session open")]
    NotOwned,
    /// It has an owner who could not be reached. The command was not delivered.
    #[error("the process that has the session open cannot be reached: {0}")]
    Unreachable(String),
    /// The owner may have the command, and has not answered.
    #[error("the process that has the session open did not answer: {0}")]
    NoReply(String),
    /// The command is longer than [`MAX_POST`], and than what can be sent here.
    #[error("the command has {0} bytes, more than can be sent")]
    TooLarge(usize),
}
