//! Why a request is refused, and the parameters that requests need.

use charla::json_rpc::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST};
use charla::session::SessionError;
use charla::settings::Settings;
use charla::{Failure, FailureKind};
use charla_proto::text::one_line;
use serde_json::Value;

use crate::hints;

/// The code of a request that wants somebody to log in first.
const AUTH_REQUIRED: i64 = -32000;
/// So many characters of something unknown are shown.
const SHOWN: usize = 80;

/// A request that is not done.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: i64,
    pub(crate) message: String,
}

impl Refused {
    /// The parameters cannot be used.
    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self { code: INVALID_PARAMS, message: message.into() }
    }

    /// It cannot be done now.
    pub(crate) fn now(message: impl Into<String>) -> Self {
        Self { code: INVALID_REQUEST, message: message.into() }
    }

    /// A session cannot be opened. Editors that were set up for Gemini CLI look for its words where the key is missing.
    pub(crate) fn opening(failure: Failure, settings: &Settings) -> Self {
        let wants_key = settings.security.selected_auth.as_deref() == Some("gemini-api-key");
        let is_missing = failure.kind == FailureKind::Auth && wants_key;
        let refused = Self::from(failure);
        match is_missing {
            true => Self {
                message: format!("Gemini API key is missing or not configured. {}", refused.message),
                ..refused
            },
            false => refused,
        }
    }

    /// It was tried and failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { code: INTERNAL_ERROR, message: message.into() }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        let message = hints::failure(&failure);
        match failure.kind {
            FailureKind::Auth | FailureKind::AuthType => Self { code: AUTH_REQUIRED, message },
            FailureKind::Input => Self::params(message),
            _ => Self::failed(message),
        }
    }
}

impl From<SessionError> for Refused {
    fn from(error: SessionError) -> Self {
        Failure::from(error).into()
    }
}

/// A parameter that must be there, and be a text.
pub(crate) fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, Refused> {
    params
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| Refused::params(format!("`{name}` is missing, or no text")))
}

/// The beginning of somebody else's word, on one line.
pub(crate) fn shown(word: &str) -> String {
    one_line(word).chars().take(SHOWN).collect()
}
