//! Questions across sessions, and their answers.

use axum::response::Response;
use charla_proto::{Command, Outcome, Request};
use http::StatusCode;
use serde_json::json;

use super::done;
use crate::call::{self, Call};
use crate::forms;
use crate::problem::Problem;
use crate::repeats::Answer;
use crate::shared::everything;

/// The most characters of a reason. The model reads it at the expense of whoever owns the session.
const LONGEST: usize = 4096;

/// Every question that waits.
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let overview = everything(&call.app, &call.user).await?;
    call::json(StatusCode::OK, &json!({ "approvals": overview.approvals }))
}

/// Answers that are about this call as it is, and nothing else: what somebody may say who was let in to approve.
fn answers_once(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::ProceedOnce | Outcome::Cancel { .. } | Outcome::Answers { .. })
}

/// An error where an answer has more words than the model is to be told: a reason, or what somebody says in the owner's place.
pub(super) fn must_be_brief(outcome: &Outcome, is_own: bool) -> Result<(), Problem> {
    let said = match outcome {
        Outcome::Cancel { reason: Some(reason) } => reason.chars().count(),
        Outcome::Answers { answers } if !is_own => answers.iter().map(|answer| answer.chars().count()).sum(),
        _ => 0,
    };
    match said <= LONGEST {
        true => Ok(()),
        false => {
            let detail = format!(
                "the answer has {said} characters; a reason, or an answer in somebody else's session, has up to {LONGEST}"
            );
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "too_long", detail)
                .with_hint("say it in fewer words"))
        }
    }
}

/// Answers a question.
pub(crate) async fn answer(call: Call) -> Result<Answer, Problem> {
    let approval = call.part("approval").to_owned();
    let outcome: Outcome = call.json()?;
    forms::must_be_known("Outcome", &call.body)?;
    if call.owner.id != call.user.id && !answers_once(&outcome) {
        return Err(Problem::forbidden(
            "whoever shares it decides what runs in its place, and what holds from now on",
        )
        .with_hint("allow it once, deny it, or say why not"));
    }
    must_be_brief(&outcome, call.owner.id == call.user.id)?;
    let unknown = || Problem::not_found(format!("there is no question `{approval}`"));
    let (session, _) = approval.rsplit_once(':').ok_or_else(unknown)?;
    let session = session.to_owned();
    let request = Request { by: call.user.name.clone(), command: Command::Answer { approval, outcome } };
    done(StatusCode::OK, &call.owner.hub.request(&session, request).await?)
}
