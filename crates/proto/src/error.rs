//! What can go wrong between us and a model, in kinds that a program can act on.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Hint, WindowPart};

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LlmErrorKind {
    /// No key, or a key the server does not accept.
    Auth,
    /// The key is known but may not do this.
    Permission,
    /// The model, or the address, does not exist there.
    NotFound,
    /// The server says the request is wrong.
    InvalidRequest,
    /// The conversation does not fit the model's window.
    ContextOverflow,
    /// Too many requests just now; worth waiting.
    RateLimit,
    /// A quota or budget is used up; waiting minutes does not help.
    Quota,
    /// The server is overloaded.
    Overloaded,
    /// The server failed.
    Server,
    /// The connection failed or broke.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// The answer ended without a reason, was empty, or held only thoughts or a malformed call.
    InvalidStream,
    /// What came is not what this wire sends.
    Protocol,
    /// The provider refused the prompt or the answer.
    Blocked,
    /// This provider cannot do that.
    NotSupported,
    /// The endpoint is not configured right.
    Config,
    /// The user cancelled.
    Cancelled,
    /// The conversation cannot be kept: without its journal nothing goes on.
    Journal,
    /// The answer does not fit the schema that was asked for.
    OutputSchema,
}

impl LlmErrorKind {
    /// The kind's name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LlmErrorKind::Auth => "auth",
            LlmErrorKind::Permission => "permission",
            LlmErrorKind::NotFound => "not_found",
            LlmErrorKind::InvalidRequest => "invalid_request",
            LlmErrorKind::ContextOverflow => "context_overflow",
            LlmErrorKind::RateLimit => "rate_limit",
            LlmErrorKind::Quota => "quota",
            LlmErrorKind::Overloaded => "overloaded",
            LlmErrorKind::Server => "server",
            LlmErrorKind::Network => "network",
            LlmErrorKind::Timeout => "timeout",
            LlmErrorKind::InvalidStream => "invalid_stream",
            LlmErrorKind::Protocol => "protocol",
            LlmErrorKind::Blocked => "blocked",
            LlmErrorKind::NotSupported => "not_supported",
            LlmErrorKind::Config => "config",
            LlmErrorKind::Cancelled => "cancelled",
            LlmErrorKind::Journal => "journal",
            LlmErrorKind::OutputSchema => "output_schema",
        }
    }

    /// The same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            LlmErrorKind::RateLimit
                | LlmErrorKind::Overloaded
                | LlmErrorKind::Server
                | LlmErrorKind::Network
                | LlmErrorKind::Timeout
                | LlmErrorKind::InvalidStream
                | LlmErrorKind::Protocol
        )
    }

    /// Another model may do what this one cannot just now. Never for a wrong request or a refusal.
    pub fn allows_fallback(self) -> bool {
        self.is_retryable() || self == LlmErrorKind::Quota
    }

    /// What was sent may be the cause: sent again, with whatever is said after it, it would be refused again.
    pub fn refuses_content(self) -> bool {
        matches!(
            self,
            LlmErrorKind::InvalidRequest
                | LlmErrorKind::ContextOverflow
                | LlmErrorKind::Blocked
                | LlmErrorKind::NotSupported
        )
    }

    /// What a person can do about it, when nothing better is known.
    pub fn hint(self) -> Option<Hint> {
        Some(match self {
            LlmErrorKind::Auth => Hint::CheckKey,
            LlmErrorKind::Permission => Hint::ChooseAllowedModel,
            LlmErrorKind::NotFound => Hint::CheckModelName,
            LlmErrorKind::ContextOverflow => Hint::MakeRoom { fullest: WindowPart::Input, compress: false },
            LlmErrorKind::RateLimit | LlmErrorKind::Overloaded => Hint::WaitAndRetry,
            LlmErrorKind::Quota => Hint::CheckQuota,
            LlmErrorKind::Server => Hint::RetryLater,
            LlmErrorKind::Network => Hint::CheckNetwork,
            LlmErrorKind::Timeout => Hint::RaiseIdleTimeout,
            LlmErrorKind::InvalidStream | LlmErrorKind::Protocol => Hint::Retry,
            LlmErrorKind::Blocked => Hint::Rephrase,
            LlmErrorKind::Config => Hint::CheckEndpoint,
            LlmErrorKind::OutputSchema => Hint::SimplifySchema,
            LlmErrorKind::Journal => Hint::CheckSessionFolder,
            LlmErrorKind::InvalidRequest | LlmErrorKind::NotSupported | LlmErrorKind::Cancelled => {
                return None;
            }
        })
    }
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LlmError {
    /// What kind of failure it was.
    pub kind: LlmErrorKind,
    /// What happened and why, in words; the server's own words where it said any.
    pub message: String,
    /// What else is known.
    #[serde(flatten)]
    pub detail: Box<ErrorDetail>,
}

/// What else is known about a failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorDetail {
    /// The HTTP status, where there was an answer at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The server's code or status word (`insufficient_quota`, `RESOURCE_EXHAUSTED`, …).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The server's type word, where it has one beside the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor_type: Option<String>,
    /// How long the server asked us to wait.
    #[serde(rename = "retry_after_ms", with = "milliseconds", skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// The server's id of the request, for its support.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// It came inside a stream that had begun well.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_stream: bool,
    /// `provider/model` it happened with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A hint better than the kind's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
    /// How many attempts were made in all.
    pub attempts: u32,
}

impl LlmError {
    /// An error of this kind.
    pub fn new(kind: LlmErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), detail: Box::default() }
    }

    /// The same error with a hint of its own.
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.detail.hint = Some(hint.into());
        self
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<Hint> {
        self.detail.hint.clone().or_else(|| self.kind.hint())
    }
}

impl fmt::Display for LlmError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)?;
        match (&self.detail.status, &self.detail.code) {
            (Some(status), Some(code)) if *code != status.to_string() => {
                write!(f, " (HTTP {status}, {code})")
            }
            (Some(status), _) => write!(f, " (HTTP {status})"),
            (None, _) => Ok(()),
        }
    }
}

impl std::error::Error for LlmError {}

/// A wait as a whole number of milliseconds.
mod milliseconds {
    use super::*;

    pub(super) fn serialize<S: Serializer>(wait: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::deserialize(from)?.map(Duration::from_millis))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_written_with_what_is_known_and_read_back() {
        let bare = LlmError::new(LlmErrorKind::Cancelled, "cancelled");
        let written = json!({"kind": "cancelled", "message": "cancelled", "attempts": 0});
        assert_eq!(serde_json::to_value(&bare).unwrap(), written);

        let mut error = LlmError::new(LlmErrorKind::RateLimit, "slow down").with_hint(Hint::WaitAndRetry);
        error.detail.status = Some(429);
        error.detail.retry_after = Some(Duration::from_millis(1500));
        error.detail.in_stream = true;
        let written = serde_json::to_value(&error).unwrap();
        assert_eq!(written["retry_after_ms"], 1500);
        assert_eq!(written["hint"], json!({"action": "wait_and_retry"}));
        assert_eq!(serde_json::from_value::<LlmError>(written).unwrap(), error);
    }
}
