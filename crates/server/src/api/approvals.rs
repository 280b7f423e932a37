//! Questions across sessions, and their answers.

use axum::response::Response;
use charla_proto::{Command, Outcome, Request};
use http::StatusCode;
use serde_json::json;

use super::done;
use crate::call::{self, Call};
use crate::problem::Problem;
use crate::repeats::Answer;
use crate::shared::everything;

/// Every question that waits.
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let overview = everything(&call.app, &call.user).await?;
    call::json(StatusCode::OK, &json!({ "approvals": overview.approvals }))
}

/// Answers that are about this call as it is, and nothing else: what somebody may say who was let in to approve.
fn answers_once(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::ProceedOnce | Outcome::Cancel { .. } | Outcome::Answers { .. })
}

/// Answers a question.
pub(crate) async fn answer(call: Call) -> Result<Answer, Problem> {
    let approval = call.part("approval").to_owned();
    let outcome: Outcome = call.json()?;
    if call.owner.id != call.user.id && !answers_once(&outcome) {
        return Err(Problem::forbidden(
            "whoever shares it decides what runs in its place, and what holds from now on",
        )
        .with_hint("allow it once, deny it, or say why not"));
    }
    let unknown = || Problem::not_found(format!("there is no question `{approval}`"));
    let (session, _) = approval.rsplit_once(':').ok_or_else(unknown)?;
    let session = session.to_owned();
    let request = Request { by: call.user.name.clone(), command: Command::Answer { approval, outcome } };
    done(StatusCode::OK, &call.owner.hub.request(&session, request).await?)
}
