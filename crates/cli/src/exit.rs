//! Failures as a person and a script see them: what happened, what to do, and the exit code.

use std::fmt;

use charla_proto::{LlmError, exit};

use crate::hints;

/// A run that cannot go on.
///
/// Every failure of the binary becomes one of these, once, at the place where it is known best; the
/// renderers only print it.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What the process exits with.
    pub code: i32,
    /// A stable word for programs: the names of [`charla_proto::LlmErrorKind`], and `input`.
    pub kind: &'static str,
    /// What happened, and why.
    pub message: String,
    /// What to do about it; may have several lines.
    pub hint: Option<String>,
}

impl Failure {
    /// The prompt or an argument cannot be used.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(exit::INPUT, "input", message)
    }

    /// Settings cannot be used.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(exit::CONFIG, "config", message)
    }

    /// There is no usable key.
    pub fn auth(message: impl Into<String>) -> Self {
        Self::new(exit::AUTH, "auth", message)
    }

    /// The user cancelled.
    pub fn cancelled() -> Self {
        Self::new(exit::CANCELLED, "cancelled", "cancelled")
    }

    /// The model's answer is no answer.
    pub fn answer(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(exit::OTHER, kind, message)
    }

    /// A limit ended the run.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(exit::TURN_LIMIT, "limit", message)
    }

    /// Files are not as they are needed.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(exit::OTHER, "conflict", message)
    }

    /// The workspace is not trusted.
    pub fn untrusted(message: impl Into<String>) -> Self {
        Self::new(exit::UNTRUSTED, "untrusted", message)
    }

    /// Something of this machine failed: a file, a pipe, a process.
    pub fn system(message: impl Into<String>) -> Self {
        Self::new(exit::OTHER, "system", message)
    }

    fn new(code: i32, kind: &'static str, message: impl Into<String>) -> Self {
        Self { code, kind, message: message.into(), hint: None }
    }

    /// The same failure with advice.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<&LlmError> for Failure {
    fn from(error: &LlmError) -> Self {
        let mut message = error.to_string();
        if let Some(model) = &error.detail.model {
            message = format!("{model}: {message}");
        }
        if error.detail.attempts > 1 {
            message.push_str(&format!(", after {} attempts", error.detail.attempts));
        }
        if let Some(id) = &error.detail.request_id {
            message.push_str(&format!(" [request {id}]"));
        }
        Self {
            code: error.exit_code(),
            kind: error.kind.name(),
            message,
            hint: error.hint().map(|hint| hints::words(&hint)),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use charla_proto::{LlmErrorKind, exit};

    use super::*;

    #[test]
    fn a_failure_names_model_attempts_and_request() {
        let mut error = LlmError::new(LlmErrorKind::RateLimit, "slow down");
        error.detail.status = Some(429);
        error.detail.model = Some("openai/gpt-5".into());
        error.detail.attempts = 4;
        error.detail.request_id = Some("req_7".into());
        let failure = Failure::from(&error);
        assert_eq!(failure.message, "openai/gpt-5: slow down (HTTP 429), after 4 attempts [request req_7]");
        assert_eq!((failure.code, failure.kind), (exit::OTHER, "rate_limit"));
        assert!(failure.hint.is_some());
    }

    #[test]
    fn a_refused_key_exits_with_the_auth_code() {
        let failure = Failure::from(&LlmError::new(LlmErrorKind::Auth, "API key not valid"));
        assert_eq!(failure.code, exit::AUTH);
    }
}
