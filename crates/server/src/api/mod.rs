//! What each route does.

pub(crate) mod about;
pub(crate) mod account;
pub(crate) mod approvals;
pub(crate) mod changes;
pub(crate) mod identity;
pub(crate) mod keys;
pub(crate) mod moving;
pub(crate) mod outputs;
pub(crate) mod sessions;
pub(crate) mod shares;
pub(crate) mod taking;
pub(crate) mod tokens;
pub(crate) mod users;

use http::StatusCode;
use serde::Serialize;

use crate::call::Call;
use crate::problem::Problem;
use crate::repeats::Answer;

/// Does something that wants a session of the caller's which nobody has open, at no node.
async fn freeing<T, W: Future<Output = Result<T, Problem>>>(
    call: &Call,
    session: &str,
    work: impl Fn() -> W,
) -> Result<T, Problem> {
    match &call.app.live {
        Some(live) => live.freeing(&call.user, session, work).await,
        None => work().await,
    }
}

/// What came of a change, as JSON.
fn done(status: StatusCode, value: &impl Serialize) -> Result<Answer, Problem> {
    let body = serde_json::to_vec(value).map_err(|error| Problem::internal(error.to_string()))?;
    Ok(Answer { status, body: body.into() })
}

/// It is done, and there is nothing to say about it.
fn nothing() -> Answer {
    Answer { status: StatusCode::NO_CONTENT, body: bytes::Bytes::new() }
}
