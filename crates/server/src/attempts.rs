//! Attempts to sign in, and out: how many there may be, and what the log says of each.

use std::net::IpAddr;
use std::time::Instant;

use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value};

use crate::access::network;
use crate::app::{App, RateLimits};
use crate::audit::{self, Entry};
use crate::call::{self, Call, too_often};
use crate::problem::Problem;
use crate::rate::Rate;
use crate::routes::{Does, Reading, Route};

/// How much the log tells of a name that nobody has shown to be theirs.
const TOLD_OF_A_NAME: usize = 64;

/// Who was signed in by a request, for the log.
#[derive(Clone)]
pub(crate) struct SignedIn(pub(crate) String);

/// Lets somebody sign in or out, and has what came of it in the log.
pub(crate) async fn signing(
    call: Call,
    handle: Reading,
    route: &Route,
    client: IpAddr,
) -> Result<Response, Problem> {
    let (app, who, is_link) = (call.app.clone(), call.who(), is_link(&call.body));
    let mut entry = Entry { who, ..attempt(&app, route, &call.body, client) };
    let answered = handle(call).await;
    let status = answered.as_ref().map_or_else(|problem| problem.status, Response::status);
    let signed_in = answered.as_ref().ok().and_then(|response| response.extensions().get());
    // Everything counts that does not succeed, and every beginning: who knows the answer is not slowed down.
    if status.is_success() || signed_in.is_some() {
        let attempts = if is_link { &app.limits.links } else { &app.limits.attempts };
        attempts.give_back(&network(client));
    }
    if status == StatusCode::TOO_MANY_REQUESTS {
        app.audit.count(&network(client), refused(entry));
        return answered;
    }
    if status == StatusCode::SERVICE_UNAVAILABLE && app.database.as_ref().is_some_and(|it| !it.is_up()) {
        // Nothing was done, and the log is away as well: whoever waits is told so now.
        return answered;
    }
    if let Some(SignedIn(name)) = signed_in {
        entry.about.insert("user".to_owned(), name.as_str().into());
    }
    entry.about.insert("status".to_owned(), status.as_u16().into());
    call::write(&app, entry).await?;
    answered
}

/// What the audit log says about an attempt to sign in, which anybody may make: the name that was given, and not all of a long one.
fn attempt(app: &App, route: &Route, body: &[u8], from: IpAddr) -> Entry {
    let mut about = Map::new();
    if let Some(name) = audit::told(route.takes, body).get("name").and_then(Value::as_str) {
        about.insert("name".to_owned(), name.chars().take(TOLD_OF_A_NAME).collect::<String>().into());
    }
    if let (Does::BeginElsewhere(_) | Does::SignInElsewhere(_), Some(oidc)) = (route.does, &app.oidc) {
        about.insert("provider".to_owned(), audit::shown(oidc.issuer()));
    }
    Entry { who: String::new(), from: from.to_string(), what: route.name.to_owned(), about }
}

/// The same of one that nobody listened to.
fn refused(mut attempt: Entry) -> Entry {
    attempt.about.insert("status".to_owned(), StatusCode::TOO_MANY_REQUESTS.as_u16().into());
    attempt
}

/// An error where somebody tries to get in too often; the log tells how often.
pub(crate) fn admit(app: &App, route: &Route, body: &[u8], from: IpAddr) -> Result<(), Problem> {
    let limit = limit(&app.limits, route, body);
    if limit.is_some_and(|limit| !limit.take(network(from), Instant::now())) {
        app.audit.count(&network(from), refused(attempt(app, route, body, from)));
        return Err(too_often());
    }
    Ok(())
}

/// What counts how often somebody tries to get in this way.
fn limit<'l>(limits: &'l RateLimits, route: &Route, body: &[u8]) -> Option<&'l Rate<String>> {
    match route.does {
        Does::SignIn(_) if is_link(body) => Some(&limits.links),
        Does::SignIn(_) | Does::SignInElsewhere(_) => Some(&limits.attempts),
        Does::BeginElsewhere(_) => Some(&limits.beginnings),
        Does::Reads(_) | Does::Hands(_) | Does::Acts(_) | Does::Tells(_) => None,
    }
}

/// Whether somebody shows the code of a one-time link, and nothing that could be guessed.
fn is_link(body: &[u8]) -> bool {
    let shown: Option<Map<String, Value>> = serde_json::from_slice(body).ok();
    shown.is_some_and(|shown| shown.contains_key("code") && !shown.contains_key("password"))
}
