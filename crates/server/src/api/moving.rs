//! Sessions on their way to this server, or from it.

use axum::response::Response;
use charla::session::{Arrival, SessionBundle};
use http::StatusCode;
use serde_json::json;

use super::{done, freeing};
use crate::call::{self, Call};
use crate::problem::Problem;
use crate::repeats::Answer;

/// The whole session, to keep it elsewhere.
pub(crate) async fn export(call: Call) -> Result<Response, Problem> {
    let id = call.part("id");
    let _reading = call.app.limits.reads.acquire().await;
    call::json(StatusCode::OK, &freeing(&call, id, || call.user.hub.bundle(id)).await?)
}

/// Keeps a session that comes from elsewhere.
pub(crate) async fn import(call: Call) -> Result<Answer, Problem> {
    let bundle: SessionBundle = call.json()?;
    let named = bundle.session()?;
    let taking_in = async {
        // An id belongs to whoever has it.
        let taken = call.app.people.is_anothers(&call.user, named).await?;
        let renamed = taken.then(charla::new_id);
        let from = format!("{}, over HTTP", call.user.name);
        let arrival = call.user.hub.take_in(&bundle, renamed.as_deref(), &from).await?;
        Ok((arrival, renamed))
    };
    let (arrival, renamed) = call.app.arrivals.alone(named, taking_in).await?;
    let session = renamed.as_deref().unwrap_or(named);
    let status = match arrival {
        Arrival::Kept => StatusCode::CREATED,
        Arrival::Known => StatusCode::OK,
    };
    done(status, &json!({ "session": session, "arrival": arrival }))
}
