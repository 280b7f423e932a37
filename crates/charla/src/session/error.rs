//! What can be wrong with a session that was asked for.

use charla_proto::JournalError;

use crate::failure::Failure;
use crate::hint::Hint;

/// Why there is no such session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Nothing can be kept.
    #[error("there is no home directory to keep conversations in")]
    NoHome,
    /// The workspace has none.
    #[error("there is no session of this folder to go on with")]
    NoneHere,
    /// The id is empty.
    #[error("the session's id is empty")]
    NoId,
    /// No session has this id.
    #[error("there is no session `{0}`")]
    Unknown(String),
    /// Several sessions have ids that begin so.
    #[error("`{which}` is the beginning of {count} sessions")]
    Ambiguous {
        /// What was given.
        which: String,
        /// How many they are.
        count: usize,
    },
    /// Another process writes it.
    #[error("the session {0} is in use by another process")]
    InUse(String),
    /// A newer Charla wrote it, and what it says may mean something else there.
    #[error(
        "the session {session} has journal version {version}, written by a newer Charla; it can be read, not gone on with"
    )]
    NewerVersion {
        /// The session.
        session: String,
        /// Its journal's version.
        version: u32,
    },
    /// It has no such message.
    #[error("the session {session} has no message {at}{}", about_nearest(*.nearest))]
    NoMessage {
        /// The session.
        session: String,
        /// What was asked for.
        at: u64,
        /// The message whose number is nearest.
        nearest: Option<u64>,
    },
    /// Another process has it, was asked something, and has not answered.
    #[error("it is not known what came of it in the session {session}: {why}")]
    NoReply {
        /// The session.
        session: String,
        /// What happened.
        why: String,
    },
    /// Another one of its id is here, and says something else.
    #[error("a session {0} is here already, and says something else")]
    Differs(String),
    /// It came from elsewhere and cannot be believed.
    #[error("the session {session} cannot be kept: {why}")]
    Unsound {
        /// The session.
        session: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Its journal does not say what it is.
    #[error("the session {0} has no beginning")]
    NoBeginning(String),
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

fn about_nearest(nearest: Option<u64>) -> String {
    nearest.map(|nearest| format!("; the nearest is {nearest}")).unwrap_or_default()
}

impl SessionError {
    /// What a journal's error says about the session of this id.
    pub(super) fn of(id: &str, error: JournalError) -> Self {
        match error {
            JournalError::Locked(_) => SessionError::InUse(id.to_owned()),
            JournalError::Missing(_) => SessionError::Unknown(id.to_owned()),
            JournalError::NoBeginning(_) => SessionError::NoBeginning(id.to_owned()),
            error => SessionError::Journal(error),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let message = error.to_string();
        match error {
            SessionError::NoHome => Failure::config(message).with_hint("set CHARLA_HOME"),
            SessionError::NoId => Failure::input(message).with_hint(Hint::NameSession),
            SessionError::Unknown(which) if which.contains(char::is_whitespace) => {
                Failure::input(message).with_hint(Hint::NameSession)
            }
            SessionError::NoneHere | SessionError::Unknown(_) => {
                Failure::input(message).with_hint(Hint::ListSessions)
            }
            SessionError::Ambiguous { .. } => Failure::input(message).with_hint("give more of the id"),
            SessionError::NoMessage { .. } => Failure::input(message).with_hint(Hint::ListMessages),
            SessionError::InUse(_) => Failure::input(message).with_hint(Hint::ForkSession),
            SessionError::NoBeginning(_) => Failure::input(message).with_hint(Hint::DeleteSession),
            SessionError::Differs(_) => {
                Failure::conflict(message).with_hint("nothing was changed; remove one of the two, or fork it")
            }
            SessionError::NewerVersion { .. } | SessionError::Unsound { .. } => Failure::input(message),
            SessionError::NoReply { .. } => Failure::system(message),
            SessionError::Journal(JournalError::Away(_)) => {
                Failure::system(message).with_hint("nothing is lost; try again in a moment")
            }
            SessionError::Journal(_) => {
                Failure::system(message).with_hint("CHARLA_HOME names another folder for conversations")
            }
        }
    }
}
