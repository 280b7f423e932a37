//! What the server and its user have: models, tools, rules, settings, figures.

use std::path::Path;

use axum::response::{IntoResponse, Response};
use charla::models::survey::{survey, to_json};
use charla::session::{PreviewRequest, RuleCheck, RulePlaces};
use charla::trust::TrustDemand;
use charla::{Charla, Notice};
use charla_proto::ApprovalMode;
use charla_store::Database;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::json;

use super::sessions::follow;
use crate::accounts::OWNER;
use crate::call::{self, Call};
use crate::openapi;
use crate::overview::SHOWN;
use crate::problem::Problem;
use crate::spending::{Bill, READ, told};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explain {
    command: String,
    #[serde(default)]
    mode: ApprovalMode,
    workspace: Option<String>,
}

/// The server runs.
pub(crate) async fn health(call: Call) -> Result<Response, Problem> {
    let elsewhere = call.app.oidc.is_some().then_some("oidc");
    let ways: Vec<&str> = ["link", "password"].into_iter().chain(elsewhere).collect();
    call::json(StatusCode::OK, &json!({ "status": "ok", "sign_in": ways }))
}

/// Sessions can be read, and the server is not about to end.
pub(crate) async fn ready(call: Call) -> Result<Response, Problem> {
    let unavailable = |why: String| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", why);
    if call.app.stopping.is_cancelled() {
        return Err(unavailable("the server is about to end".to_owned()));
    }
    if call.app.database.as_ref().is_some_and(|database| !database.is_up()) {
        return Err(unavailable("the database cannot be reached; sessions wait for it".to_owned()));
    }
    // Anybody may ask, as often as they like.
    let look = async {
        match call.app.people.owner.hub.charla().sessions() {
            Ok(sessions) => sessions.list().await.is_ok(),
            Err(_) => false,
        }
    };
    if !call.app.probe.is_fine(look).await {
        return Err(unavailable("sessions cannot be read".to_owned()));
    }
    call::json(StatusCode::OK, &json!({ "status": "ok" }))
}

/// The document that describes this interface.
pub(crate) async fn openapi(_: Call) -> Result<Response, Problem> {
    call::json(StatusCode::OK, &openapi::document())
}

/// The overview as it changes, and a session's events where one is named.
pub(crate) async fn events(call: Call) -> Result<Response, Problem> {
    let session = call.query("session");
    follow(&call, session, true).await
}

/// Providers and their models.
pub(crate) async fn models(call: Call) -> Result<Response, Problem> {
    call.user.hub.refresh().await?;
    let charla = call.user.hub.charla();
    let effective = charla.settings(Vec::new(), &TrustDemand::default())?;
    let rows = survey(&effective.settings, charla.environment()).await;
    call::json(StatusCode::OK, &to_json(&rows))
}

async fn in_workspace(call: &Call, folder: Option<String>) -> Result<Charla, Problem> {
    let hub = &call.user.hub;
    hub.refresh().await?;
    let folder = folder.map(|folder| hub.workspace(Path::new(&folder))).transpose()?;
    Ok(folder.map_or_else(|| hub.charla().clone(), |folder| hub.charla().in_workspace(folder)))
}

/// What a session's tools would be.
pub(crate) async fn tools(call: Call) -> Result<Response, Problem> {
    let charla = in_workspace(&call, call.query("workspace")).await?;
    let effective = charla.settings(Vec::new(), &TrustDemand::default())?;
    let mut notices: Vec<Notice> = Vec::new();
    let request = PreviewRequest { somebody: true, ..PreviewRequest::default() };
    let preview = charla.prompt_preview(&request, &effective.settings, &mut notices).await?;
    call::json(StatusCode::OK, &json!({ "model": preview.model, "tools": preview.tools }))
}

/// The settings that hold.
pub(crate) async fn settings(call: Call) -> Result<Response, Problem> {
    let charla = in_workspace(&call, call.query("workspace")).await?;
    let effective = charla.settings(Vec::new(), &TrustDemand::default())?;
    call::json(StatusCode::OK, &json!({ "settings": effective.shown() }))
}

/// What the rules say to a command line.
pub(crate) async fn explain(call: Call) -> Result<Response, Problem> {
    let Explain { command, mode, workspace } = call.json()?;
    let charla = in_workspace(&call, workspace).await?;
    let rules = RuleCheck::new(&RulePlaces::of(charla.environment()), &[], &[]);
    let rules =
        rules.map_err(|error| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "config", error.to_string()))?;
    call::json(StatusCode::OK, &rules.explain(&command, mode))
}

/// What one's own sessions have cost, by the model of each answer and by session.
pub(crate) async fn usage(call: Call) -> Result<Response, Problem> {
    let _reading = call.app.limits.reads.acquire().await;
    let mut left = READ;
    let bill = call.user.spendings.bill(&call.user.hub, &mut left).await?;
    let sessions = bill.sessions.get(..SHOWN).unwrap_or(&bill.sessions);
    let told = json!({
        "total": bill.total, "models": told(bill.models), "sessions": sessions, "unread": bill.unread,
    });
    call::json(StatusCode::OK, &told)
}

/// What the sessions of all users have cost, by user and model; nothing else of the sessions is told.
pub(crate) async fn usage_of_users(call: Call) -> Result<Response, Problem> {
    let (book, mut left) = (call.app.people.book()?, READ);
    let _reading = call.app.limits.reads.acquire().await;
    let (mut users, mut total_unread) = (Vec::new(), 0);
    for name in std::iter::once(OWNER).chain(book.accounts.keys().map(String::as_str)) {
        let Some((user, _)) = call.app.people.find(&book, name) else { continue };
        let Bill { total, models, unread, .. } = user.spendings.bill(&user.hub, &mut left).await?;
        total_unread += unread;
        users.push(json!({ "user": name, "total": total, "models": told(models), "unread": unread }));
    }
    call::json(StatusCode::OK, &json!({ "users": users, "unread": total_unread }))
}

/// How many questions wait; unknown while the database is away, which the counts are to tell.
async fn waiting(call: &Call) -> Result<Option<usize>, Problem> {
    let is_up = || call.app.database.as_ref().is_none_or(Database::is_up);
    let mut waiting = 0;
    for user in call.app.people.all() {
        if !is_up() {
            return Ok(None);
        }
        match user.lookout.look().await {
            Ok(overview) => waiting += overview.approvals.len(),
            Err(_) if !is_up() => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(waiting))
}

/// Counts for Prometheus.
pub(crate) async fn metrics(call: Call) -> Result<Response, Problem> {
    let running = call.app.people.all().iter().map(|user| user.hub.all_running().len()).sum();
    let mut text = call.app.metrics.text(running, waiting(&call).await?);
    if let Some(database) = &call.app.database {
        let up = u8::from(database.is_up());
        text.push_str(&format!("# TYPE charla_database_up gauge\ncharla_database_up {up}\n"));
    }
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
