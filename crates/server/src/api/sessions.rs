//! Sessions: begun, listed, read, followed, told something, removed.

use std::path::{Path, PathBuf};

use axum::response::Response;
use charla::Begin;
use charla_proto::{ApprovalMode, Command, Content, Request};
use charla_store::Database;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::{done, nothing};
use crate::call::{self, Call};
use crate::feed::Feed;
use crate::hub::NewSession;
use crate::overview::{Entry, SHOWN};
use crate::problem::Problem;
use crate::repeats::Answer;

/// How many records are told at once.
const PAGE: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    workspace: Option<PathBuf>,
    model: Option<String>,
    mode: Option<ApprovalMode>,
    prompt: Option<Content>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fork {
    at: Option<u64>,
}

/// Sessions, the latest first.
pub(crate) async fn list(call: Call) -> Result<Response, Problem> {
    let overview = call.user.lookout.look().await?;
    let search = call.query("search").unwrap_or_default().to_lowercase();
    let found = overview.sessions.iter().filter(|entry| holds(entry, &search)).take(SHOWN);
    call::json(StatusCode::OK, &json!({ "sessions": found.collect::<Vec<_>>() }))
}

fn holds(entry: &Entry, search: &str) -> bool {
    let summary = &entry.summary;
    let folder = summary.started.cwd.to_string_lossy();
    [summary.title.as_str(), &summary.session, &summary.model, &folder]
        .iter()
        .any(|text| text.to_lowercase().contains(search))
}

/// Begins a session.
pub(crate) async fn create(call: Call) -> Result<Answer, Problem> {
    let Create { workspace, model, mode, prompt } = call.json()?;
    let workspace = workspace.map(|folder| folder_of(&folder)).transpose()?;
    let mode = mode.map(|mode| json!(mode));
    begin(&call, NewSession { workspace, model, mode, begin: Begin::New }, prompt).await
}

fn folder_of(folder: &Path) -> Result<PathBuf, Problem> {
    match folder.is_absolute() && folder.is_dir() {
        true => Ok(folder.to_owned()),
        false => Err(Problem::bad_request(format!("{} is no folder here", folder.display()))
            .with_hint("give the whole path of a folder that exists")),
    }
}

async fn begin(call: &Call, new: NewSession, prompt: Option<Content>) -> Result<Answer, Problem> {
    let running = call.user.hub.create(new).await?;
    let session = &running.session;
    let prompted = match prompt {
        Some(content) => Some(session.send(Command::prompt(content), &call.user.name).await),
        None => None,
    };
    let created = json!({
        "session": session.id,
        "model": session.model,
        "notices": running.notices,
        "reply": prompted,
    });
    done(StatusCode::CREATED, &created)
}

/// Begins a session with what another one said.
pub(crate) async fn fork(call: Call) -> Result<Answer, Problem> {
    let Fork { at } = match call.body.is_empty() {
        true => Fork::default(),
        false => call.json()?,
    };
    let source = call.user.hub.summary(call.part("id")).await?;
    let begin_with = Begin::Fork { session: source.session, at };
    let new = NewSession { workspace: Some(source.started.cwd), begin: begin_with, ..NewSession::default() };
    begin(&call, new, None).await
}

/// A session, briefly.
pub(crate) async fn get(call: Call) -> Result<Response, Problem> {
    let overview = call.user.lookout.look().await?;
    let id = call.part("id");
    match overview.sessions.iter().find(|entry| entry.summary.session == id) {
        Some(entry) => call::json(StatusCode::OK, entry),
        None => Err(Problem::not_found(format!("there is no session `{id}`"))),
    }
}

/// Removes a session for good.
pub(crate) async fn delete(call: Call) -> Result<Answer, Problem> {
    call.user.hub.delete(call.part("id"), call.number("seq")?).await?;
    Ok(nothing())
}

/// The session as it is.
pub(crate) async fn snapshot(call: Call) -> Result<Response, Problem> {
    let id = call.part("id");
    call.user.hub.must_know(id).await?;
    call::json(StatusCode::OK, &call.user.hub.snapshot(id).await?)
}

/// Records of the session.
pub(crate) async fn records(call: Call) -> Result<Response, Problem> {
    let after = call.number("after")?.unwrap_or(0);
    call.user.hub.must_know(call.part("id")).await?;
    let sessions = call.user.hub.charla().sessions()?;
    let mut records = sessions.records_after(call.part("id"), after).await?;
    let more = records.len() > PAGE;
    records.truncate(PAGE);
    call::json(StatusCode::OK, &json!({ "records": records, "more": more }))
}

/// What happens in the session.
pub(crate) async fn events(call: Call) -> Result<Response, Problem> {
    let id = call.part("id").to_owned();
    follow(&call, Some(id), false).await
}

/// A stream of what happens, after the record that the client saw last.
pub(crate) async fn follow(
    call: &Call,
    session: Option<String>,
    overview: bool,
) -> Result<Response, Problem> {
    let session = match session {
        Some(id) => {
            call.user.hub.must_know(&id).await?;
            let seen = call.head.headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
            Some((id, seen.or(call.number("after")?).unwrap_or(0)))
        }
        None => None,
    };
    let (user, stopping, open) = (call.user.clone(), call.app.stopping.clone(), call.app.metrics.stream());
    let database = call.app.database.as_ref().map(Database::status);
    Ok(Feed::new(user, session, overview, database, stopping, open).into_response().await)
}

/// Sends the session a command.
pub(crate) async fn command(call: Call) -> Result<Answer, Problem> {
    let command: Command = call.json()?;
    let id = call.part("id");
    call.user.hub.must_know(id).await?;
    let request = Request { by: call.user.name.clone(), command };
    done(StatusCode::OK, &call.user.hub.request(id, request).await?)
}
