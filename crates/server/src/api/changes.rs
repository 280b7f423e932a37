//! What turns made of files.

use axum::response::Response;
use http::StatusCode;
use serde_json::json;

use crate::call::{self, Call};
use crate::problem::Problem;

/// What a turn made of each file.
pub(crate) async fn of_turn(call: Call) -> Result<Response, Problem> {
    let (session, number) = (call.part("id"), call.part("turn"));
    let unknown = || Problem::not_found(format!("there is no turn `{number}` that has changed files"));
    let turn: u64 = number.parse().map_err(|_| unknown())?;
    let sessions = call.owner.hub.charla().sessions()?;
    // Whole journals and contents of files are read for it: not many at once.
    let _turn = call.app.limits.outputs.acquire().await;
    let files = sessions.turn_diffs(session, turn).await?.ok_or_else(unknown)?;
    call::json(StatusCode::OK, &json!({ "turn": turn, "files": files }))
}
