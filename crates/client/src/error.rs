//! What can go wrong with a server.

use charla::{Failure, FailureKind, Hint};
use charla_proto::{LlmErrorKind, Refusal, Reply};
use serde::Deserialize;

/// Why something was not done, as the server tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct Problem {
    /// The status of its answer.
    pub status: u16,
    /// A stable word.
    pub kind: String,
    /// What happened, and why.
    pub detail: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What the session itself said, where it refused.
    pub reply: Option<Reply>,
}

/// Why a request came to nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClientError {
    /// It was not sent: there is no connection.
    #[error("{server} cannot be reached: {why}")]
    Unreachable {
        /// The server.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// It was sent, and no answer came: it may have been done.
    #[error("{server} was asked and has not answered, so it is not known what came of it: {why}")]
    NoAnswer {
        /// The server.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// The server has said no.
    #[error("{}", .0.detail)]
    Refused(Problem),
    /// The answer is not what a server of ours says.
    #[error("{server} does not answer as a Charla server does: {why}")]
    Unusable {
        /// The server.
        server: String,
        /// What is wrong.
        why: String,
    },
}

impl ClientError {
    /// The status of the server's answer, where it has said no.
    pub fn status(&self) -> Option<u16> {
        match self {
            ClientError::Refused(problem) => Some(problem.status),
            _ => None,
        }
    }

    /// What a session that cannot be asked says.
    pub(crate) fn into_reply(self) -> Reply {
        match self {
            ClientError::Refused(Problem { reply: Some(reply), .. }) => reply,
            error => Reply::Refused(Refusal::Failed { message: error.to_string() }),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        let (kind, hint): (_, Option<Hint>) = match error {
            ClientError::Refused(problem) => {
                let kind = match problem.status {
                    401 | 403 => FailureKind::Auth,
                    409 => FailureKind::Conflict,
                    500.. => FailureKind::System,
                    _ => FailureKind::Input,
                };
                let hint = match problem.status {
                    401 => Some(Hint::KeepServerToken),
                    _ => problem.hint.map(Hint::Text),
                };
                (kind, hint)
            }
            ClientError::Unreachable { .. } => {
                (FailureKind::Model(LlmErrorKind::Network), Some("is the server running there?".into()))
            }
            _ => (FailureKind::System, None),
        };
        let failure = Failure::new(kind, message);
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}
