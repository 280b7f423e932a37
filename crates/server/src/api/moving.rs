//! Sessions on their way to this server, or from it.

use std::collections::HashMap;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use charla::session::{Arrival, SessionBundle};
use charla_proto::Record;
use futures_util::{StreamExt, stream};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::{done, freeing};
use crate::call::Call;
use crate::pages;
use crate::problem::Problem;
use crate::repeats::Answer;

/// A session as it is sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent<R> {
    records: Vec<R>,
}

/// Fields of any names.
type Fields = HashMap<String, IgnoredAny>;

/// The whole session, to keep it elsewhere: told as it is read, so that little of it is in memory at once. One that cannot be read to its
/// end breaks off.
pub(crate) async fn export(call: Call) -> Result<Response, Problem> {
    let id = call.part("id");
    let records = freeing(&call, id, || call.user.hub.records(id)).await?;
    let begin = stream::once(std::future::ready(Ok(Bytes::from_static(b"{\"records\":["))));
    let end = stream::once(std::future::ready(Ok(Bytes::from_static(b"]}"))));
    let body = Body::from_stream(begin.chain(pages::written(records)).chain(end));
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}

/// Keeps a session that comes from elsewhere.
pub(crate) async fn import(call: Call) -> Result<Answer, Problem> {
    let Sent { records } =
        call.json::<Sent<Record>>().map_err(|problem| match call.json::<Sent<Fields>>() {
            // It is what the document describes, and what stands in it is no record.
            Ok(_) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "input", problem.detail),
            Err(problem) => problem,
        })?;
    let bundle = SessionBundle { records };
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
