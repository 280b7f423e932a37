//! What is told when a request cannot be done: RFC 9457's problem documents.

use axum::response::{IntoResponse, Response};
use charla::session::SessionError;
use charla::{Failure, FailureKind, Hint};
use charla_proto::{JournalError, Refusal, Reply};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::accounts::AccountError;

/// The kind of a problem with a session that another process has open.
pub(crate) const IN_USE: &str = "in_use";
/// The kind of a problem whose session was asked and did not answer.
pub(crate) const NO_REPLY: &str = "no_reply";

/// Why a request was not done.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Problem {
    #[serde(serialize_with = "as_number")]
    pub(crate) status: StatusCode,
    /// A stable word for programs.
    pub(crate) kind: &'static str,
    /// What happened, and why.
    pub(crate) detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// What the session itself said, where it refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reply: Option<Box<Reply>>,
    /// Whether the request may have acted all the same: who sends it again would have it done twice.
    #[serde(skip)]
    pub(crate) may_have_acted: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn as_number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}

impl Problem {
    /// A problem. What failed for reasons of the server's own may have acted first, or in part; what was refused has not.
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        let may_have_acted = status.is_server_error();
        Self { status, kind, detail: detail.into(), hint: None, reply: None, may_have_acted }
    }

    /// The same, where it is known that nothing was done.
    pub(crate) fn before_anything(self) -> Self {
        Self { may_have_acted: false, ..self }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", what)
    }

    pub(crate) fn forbidden(why: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", why)
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// The session has said no. Nothing was changed.
    pub(crate) fn refused(refusal: Refusal) -> Self {
        let (status, kind) = match &refusal {
            Refusal::Unknown { .. } => (StatusCode::NOT_FOUND, "unknown"),
            Refusal::DoesNotFit { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "does_not_fit"),
            Refusal::Late { .. } => (StatusCode::CONFLICT, "late"),
            Refusal::Busy => (StatusCode::CONFLICT, "busy"),
            Refusal::Nothing { .. } => (StatusCode::CONFLICT, "nothing"),
            Refusal::Conflict { .. } => (StatusCode::CONFLICT, "conflict"),
            Refusal::Kept => (StatusCode::CONFLICT, "kept"),
            Refusal::Ended => (StatusCode::CONFLICT, "ended"),
            _ => (StatusCode::UNPROCESSABLE_ENTITY, "failed"),
        };
        let detail = refusal.to_string();
        Self { reply: Some(Box::new(Reply::Refused(refusal))), ..Self::new(status, kind, detail) }
    }

    /// There is nothing left to spend, or too little.
    pub(crate) fn spent(why: String) -> Self {
        Self::new(StatusCode::PAYMENT_REQUIRED, "budget", why).with_hint(
            "wait until what runs has ended, go on tomorrow (UTC), or ask an administrator for more",
        )
    }

    /// What sessions are kept in cannot be reached.
    pub(crate) fn away(why: &impl std::fmt::Display) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "away", why.to_string()).with_hint(
            "nothing is lost; send it again in a moment, with an Idempotency-Key if it must act once",
        )
    }

    /// A session that some other process has to itself.
    pub(crate) fn in_use(id: &str) -> Self {
        let detail = format!("the session {id} is in use by another process, which takes no requests now");
        Self::new(StatusCode::CONFLICT, IN_USE, detail).with_hint("go on there, or end that process first")
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        if failure.hint == Some(Hint::ForkSession) {
            return Self::new(StatusCode::CONFLICT, IN_USE, failure.message)
                .with_hint("go on there, end that process first, or go on in a copy (fork)");
        }
        let status = match failure.kind {
            FailureKind::Conflict | FailureKind::Untrusted | FailureKind::Limit => StatusCode::CONFLICT,
            FailureKind::Model(_) => StatusCode::BAD_GATEWAY,
            // It is as the document describes it, and cannot be done.
            FailureKind::Input | FailureKind::Auth | FailureKind::AuthType | FailureKind::Config => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let hint = match failure.hint {
            Some(Hint::Text(text)) => Some(text),
            _ => None,
        };
        Self { hint, ..Self::new(status, failure.kind.name(), failure.message) }
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::InUse(id) => Self::in_use(&id),
            error @ (SessionError::Unknown(_) | SessionError::NoMessage { .. } | SessionError::NoneHere) => {
                Self::not_found(error.to_string())
            }
            SessionError::Journal(error @ JournalError::Away(_)) => Self::away(&error),
            error @ SessionError::Differs(_) => {
                let hint = "nothing was changed; remove one of the two, or fork it";
                Self::new(StatusCode::CONFLICT, "differs", error.to_string()).with_hint(hint)
            }
            error => Failure::from(error).into(),
        }
    }
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Self {
        Self::from(&error)
    }
}

impl From<&AccountError> for Problem {
    fn from(error: &AccountError) -> Self {
        let (status, kind) = match error {
            AccountError::Unknown(_) => (StatusCode::NOT_FOUND, "not_found"),
            AccountError::Taken(_) | AccountError::Identity(_) => (StatusCode::CONFLICT, "taken"),
            AccountError::Workspace { .. } => (StatusCode::CONFLICT, "workspace"),
            AccountError::Name(_) | AccountError::Password(_) => (StatusCode::BAD_REQUEST, "bad_request"),
            AccountError::Reserved(_) => (StatusCode::UNPROCESSABLE_ENTITY, "reserved"),
            AccountError::OnlyLooks(_) => {
                return Self::new(StatusCode::CONFLICT, "viewer", error.to_string())
                    .with_hint("share it to `read`, or ask an administrator to make them a member");
            }
            AccountError::Budget(_) => return Self::spent(error.to_string()),
            AccountError::Asker => (StatusCode::UNAUTHORIZED, "unauthorized"),
            AccountError::Audit(_) => {
                return Self::new(StatusCode::SERVICE_UNAVAILABLE, "audit", error.to_string())
                    .before_anything();
            }
            AccountError::Untold => (StatusCode::SERVICE_UNAVAILABLE, "audit"),
            AccountError::Kept(_) => (StatusCode::SERVICE_UNAVAILABLE, "accounts"),
        };
        Self::new(status, kind, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (self.status, body).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        if matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
