//! Failures as every front end sees them: what kind, what happened, and what to do about it.

use std::fmt;

use charla_proto::{LlmError, LlmErrorKind};

use crate::hint::Hint;

/// Something that was asked for and cannot be done.
///
/// Every failure becomes one of these, once, at the place where it is known best. What it means for a process
/// (an exit code) or for a connection (a status) is the front end's to say, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened, and why.
    pub message: String,
    /// What to do about it.
    pub hint: Option<Hint>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The prompt or an argument cannot be used.
    Input,
    /// Settings or rules cannot be used.
    Config,
    /// There is no usable key.
    Auth,
    /// Somebody would log in another way than must be.
    AuthType,
    /// The workspace is not trusted.
    Untrusted,
    /// Commands cannot be confined here, and must be.
    Sandbox,
    /// Things are not as they are needed: nothing was changed.
    Conflict,
    /// A limit ended the turn.
    Limit,
    /// Something of this machine failed: a file, a pipe, a process.
    System,
    /// The user cancelled.
    Cancelled,
    /// A model or its server failed.
    Model(LlmErrorKind),
}

impl FailureKind {
    /// A stable word for programs.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Input => "input",
            FailureKind::Config => "config",
            FailureKind::Auth => "auth",
            // The word that scripts for Gemini CLI look for.
            FailureKind::AuthType => "Error",
            FailureKind::Untrusted => "untrusted",
            FailureKind::Sandbox => "sandbox",
            FailureKind::Conflict => "conflict",
            FailureKind::Limit => "limit",
            FailureKind::System => "system",
            FailureKind::Cancelled => "cancelled",
            FailureKind::Model(kind) => kind.name(),
        }
    }
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The prompt or an argument cannot be used.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Input, message)
    }

    /// Settings or rules cannot be used.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Config, message)
    }

    /// There is no usable key.
    pub fn auth(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Auth, message)
    }

    /// The workspace is not trusted.
    pub fn untrusted(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Untrusted, message)
    }

    /// Things are not as they are needed.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Conflict, message)
    }

    /// Something of this machine failed.
    pub fn system(message: impl Into<String>) -> Self {
        Self::new(FailureKind::System, message)
    }

    /// The user cancelled.
    pub fn cancelled() -> Self {
        Self::new(FailureKind::Cancelled, "cancelled")
    }

    /// What happened, why, and what to do, in words that hold in every program.
    pub fn explained(&self) -> String {
        self.explained_by(Hint::to_string)
    }

    /// The same, with advice in the words of a front end.
    pub fn explained_by(&self, words: impl FnOnce(&Hint) -> String) -> String {
        joined(&self.message, self.hint.as_ref().map(words))
    }

    /// The same failure with advice.
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A sentence, and what to do about it.
pub(crate) fn joined(text: &str, advice: Option<String>) -> String {
    match advice {
        None => text.to_owned(),
        Some(words) if text.is_empty() => words,
        Some(words) => format!("{}; {words}", text.trim_end_matches(['.', ';', ',', ':', ' '])),
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
        let kind = match error.kind {
            LlmErrorKind::Cancelled => FailureKind::Cancelled,
            kind => FailureKind::Model(kind),
        };
        Self { kind, message, hint: error.hint().map(Hint::Model) }
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
        assert_eq!(failure.kind.name(), "rate_limit");
        assert_eq!(failure.hint, Some(Hint::Model(charla_proto::Hint::WaitAndRetry)));
        let words = "wait and try again, or name other models in the setting `model.fallback`";
        assert_eq!(failure.explained(), format!("{}; {words}", failure.message));
    }

    #[test]
    fn advice_comes_behind_what_happened_and_in_the_words_of_whoever_gives_it() {
        let failure = Failure::input("there is no such session.").with_hint(Hint::ListSessions);
        assert_eq!(failure.explained(), "there is no such session; look at the list of all sessions");
        assert_eq!(failure.explained_by(|_| "press F5".to_owned()), "there is no such session; press F5");
        assert_eq!(Failure::system("the disk is full").explained(), "the disk is full");
    }
}
