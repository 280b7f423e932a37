//! Sessions: begun, listed, read, followed, told something, removed.

use std::path::PathBuf;

use axum::response::Response;
use charla::Begin;
use charla_proto::{ApprovalMode, Command, Content, Reply, Request};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::approvals::must_be_brief;
use super::{done, freeing, nothing};
use crate::accounts::{Book, Right};
use crate::call::{self, Call};
use crate::feed::{Feed, Viewer};
use crate::forms;
use crate::hub::NewSession;
use crate::overview::{Entry, SHOWN};
use crate::pages::{self, Page};
use crate::people::User;
use crate::problem::Problem;
use crate::repeats::Answer;
use crate::shared::everything;

/// How many records are told at once, where they are not large.
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
    let overview = everything(&call.app, &call.user).await?;
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
    if let Some(prompt) = &prompt {
        forms::must_be_a_prompt(prompt, &call.body, "prompt")?;
    }
    let workspace = workspace.map(|folder| call.user.hub.workspace(&folder)).transpose()?;
    let mode = mode.map(|mode| json!(mode));
    begin(&call, NewSession { workspace, model, mode, begin: Begin::New }, prompt).await
}

async fn begin(call: &Call, new: NewSession, prompt: Option<Content>) -> Result<Answer, Problem> {
    let prompt = prompt.map(Command::prompt);
    let (hub, id) = (&call.user.hub, charla::new_id());
    if let Some(prompt) = &prompt {
        hub.admit(&id, prompt).await.map_err(Problem::before_anything)?;
    }
    let running = match hub.create(&id, new).await {
        Ok(running) => running,
        Err(problem) => {
            hub.release(&id).await;
            return Err(problem);
        }
    };
    let session = &running.session;
    let prompted = match prompt {
        Some(prompt) => Some(session.send(session.with_resources(prompt).await, &call.user.name).await),
        None => None,
    };
    if let Some(Reply::Refused(refusal)) = prompted {
        // Nobody would know what it is for.
        hub.release(&id).await;
        hub.delete(&id, None).await?;
        return Err(Problem::refused(refusal));
    }
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
    // A session from elsewhere may have begun in a folder that is not here, or not theirs: its fork begins where it goes on.
    let workspace = call.user.hub.workspace(&source.started.cwd).ok();
    let new = NewSession { workspace, begin: begin_with, ..NewSession::default() };
    begin(&call, new, None).await
}

/// A session, briefly.
pub(crate) async fn get(call: Call) -> Result<Response, Problem> {
    let overview = everything(&call.app, &call.user).await?;
    let id = call.part("id");
    match overview.sessions.iter().find(|entry| entry.summary.session == id) {
        Some(entry) => call::json(StatusCode::OK, entry),
        None => Err(call::unknown_session(id)),
    }
}

/// Removes a session for good.
pub(crate) async fn delete(call: Call) -> Result<Answer, Problem> {
    let id = call.part("id").to_owned();
    let seq = call.number("seq")?;
    freeing(&call, &id, || call.user.hub.delete(&id, seq)).await?;
    let owner = call.user.name.clone();
    if call.app.people.book()?.share(&owner, &id).is_some() {
        let forget = move |book: &mut Book| {
            book.take_back(&owner, &id, None);
            Ok(())
        };
        call.change(forget).await?;
    }
    Ok(nothing())
}

/// The session as it is.
pub(crate) async fn snapshot(call: Call) -> Result<Response, Problem> {
    let id = call.part("id");
    let _reading = call.app.limits.reads.acquire().await;
    call::json(StatusCode::OK, &call.owner.hub.snapshot(id).await?)
}

#[derive(Serialize)]
struct Records {
    records: Vec<Box<RawValue>>,
    more: bool,
}

/// Records of the session.
pub(crate) async fn records(call: Call) -> Result<Response, Problem> {
    let after = call.number("after")?.unwrap_or(0);
    let sessions = call.owner.hub.charla().sessions()?;
    let _reading = call.app.limits.reads.acquire().await;
    let Page { lines, more } = pages::read(&sessions, call.part("id"), after, PAGE).await?;
    let records = lines.into_iter().map(|line| line.json).collect();
    call::json(StatusCode::OK, &Records { records, more })
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
    let after = call.number("after")?;
    let session = match session {
        Some(id) => {
            let owner = call.reach(&id, Right::Read).await?;
            let seen = call.head.headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
            let seen = seen.or(after).unwrap_or(0);
            must_be_there(call, &owner, &id, seen).await?;
            Some((owner, id, seen))
        }
        None => None,
    };
    let viewer = Viewer::new(call).ok_or_else(|| {
        let detail = "you have too many streams of events open";
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", detail).with_hint("close a few first")
    })?;
    Ok(Feed::new(viewer, session, overview, call.app.metrics.stream()).into_response().await)
}

/// An error where a client has seen a record that the session does not have: what it saw was another one's, or is lost. It would wait for
/// what it has not seen, and pass over what is written meanwhile.
async fn must_be_there(call: &Call, owner: &User, id: &str, seen: u64) -> Result<(), Problem> {
    let Some(before) = seen.checked_sub(1) else { return Ok(()) };
    let running = owner.hub.running(id);
    let snapshot = match &running {
        Some(running) => running.session.handle.snapshot().await,
        None => None,
    };
    let is_there = match snapshot {
        Some((snapshot, _)) => seen <= snapshot.seq,
        None => {
            let sessions = owner.hub.charla().sessions()?;
            let _reading = call.app.limits.reads.acquire().await;
            !pages::read(&sessions, id, before, 1).await?.lines.is_empty()
        }
    };
    match is_there {
        true => Ok(()),
        false => {
            let detail =
                format!("the session has no record {seen}: what was seen of it is not what there is");
            Err(Problem::new(StatusCode::CONFLICT, "beyond", detail).with_hint("begin anew, with `after=0`"))
        }
    }
}

/// Sends the session a command.
pub(crate) async fn command(call: Call) -> Result<Answer, Problem> {
    let command: Command = call.json()?;
    forms::must_be_known("Command", &call.body)?;
    match &command {
        Command::Answer { outcome, .. } => must_be_brief(outcome, true)?,
        Command::Prompt { content, .. } => forms::must_be_a_prompt(content, &call.body, "content")?,
        _ => {}
    }
    let request = Request { by: call.user.name.clone(), command };
    done(StatusCode::OK, &call.owner.hub.request(call.part("id"), request).await?)
}
