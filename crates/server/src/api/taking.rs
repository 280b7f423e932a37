//! Going on here with a session that a terminal has open.

use charla_proto::{Command, Request};
use http::StatusCode;
use serde_json::json;

use super::done;
use crate::call::Call;
use crate::hub::Taking;
use crate::problem::Problem;
use crate::repeats::Answer;

/// Opens the session here, and goes on with a turn that was left in it. Where another process has it, whoever is there is asked to leave
/// it, and nothing is taken from them: who asks again waits a while for what they say. Their leaving it is a yes.
pub(crate) async fn take(call: Call) -> Result<Answer, Problem> {
    let request = Request { by: call.user.name.clone(), command: Command::HandOver };
    let is_here = Taking(&call.owner.hub).take(call.part("id"), &request).await?;
    done(StatusCode::OK, &json!({ "state": if is_here { "running" } else { "asked" } }))
}
