//! Every route, declared once: the router, the OpenAPI document and the tests of who may what are made of this table.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use charla_proto::BoxFuture;
use http::StatusCode;

use crate::accounts::{Right, Role};
use crate::api::{
    about, account, approvals, changes, identity, keys, moving, outputs, sessions, shares, taking, tokens,
    users,
};
use crate::app::App;
use crate::bodies::BodyLimit;
use crate::call::{self, Call};
use crate::problem::Problem;
use crate::repeats::Answer;

/// What all routes of this version begin with.
pub(crate) const BASE: &str = "/api/v1";

/// Answers whatever the request is.
pub(crate) type Reading = fn(Call) -> BoxFuture<'static, Result<Response, Problem>>;
/// Changes something and says what came of it.
pub(crate) type Acting = fn(Call) -> BoxFuture<'static, Result<Answer, Problem>>;

/// What a route is for.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// It changes nothing.
    Reads(Reading),
    /// It changes nothing, and what it gives away is in the audit log.
    Hands(Reading),
    /// It changes something; a repeated request with the same key does so once.
    Acts(Acting),
    /// The same, and what it answers is a secret: it is told once and kept nowhere.
    Tells(Acting),
    /// Somebody shows who they are.
    SignIn(Reading),
    /// A browser is sent to a provider of identities.
    BeginElsewhere(Reading),
    /// Somebody shows who they are by a provider of identities, whose page sends the browser back.
    SignInElsewhere(Reading),
}

/// A parameter of a query.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) form: ParameterForm,
}

/// What a parameter of a query may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterForm {
    Text,
    Number,
    /// The whole path of a folder.
    Folder,
}

/// One route.
pub(crate) struct Route {
    pub(crate) method: MethodFilter,
    /// Behind [`BASE`].
    pub(crate) path: &'static str,
    /// A name for programs.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Who may use it; everybody where there is none.
    pub(crate) access: Option<Role>,
    /// What one must be allowed to do with the session that the path names.
    pub(crate) session: Option<Right>,
    pub(crate) query: &'static [Parameter],
    /// The names of the schemas of what is sent and answered.
    pub(crate) takes: Option<&'static str>,
    pub(crate) gives: &'static str,
    /// How much may be sent.
    pub(crate) body: BodyLimit,
    pub(crate) does: Does,
}

const AFTER: Parameter =
    Parameter { name: "after", about: "Only records after this number", form: ParameterForm::Number };
const SEARCH: Parameter = Parameter {
    name: "search",
    about: "Only sessions whose title, folder, model or id holds this",
    form: ParameterForm::Text,
};
const SESSION: Parameter =
    Parameter { name: "session", about: "The session to follow, too", form: ParameterForm::Text };
const STATE: Parameter =
    Parameter { name: "state", about: "Which attempt it was", form: ParameterForm::Text };
const CODE: Parameter =
    Parameter { name: "code", about: "What is exchanged for an identity", form: ParameterForm::Text };
const SEQ: Parameter = Parameter {
    name: "seq",
    about: "Only while this is the number of its last record",
    form: ParameterForm::Number,
};
const WORKSPACE: Parameter = Parameter {
    name: "workspace",
    about: "The folder; the server's own when left out",
    form: ParameterForm::Folder,
};

macro_rules! route {
    ($method:ident $path:literal, $name:literal, $about:literal, $access:expr, $session:expr, $query:expr, $takes:expr => $gives:literal, $does:ident($handle:path)) => {
        Route {
            method: MethodFilter::$method,
            path: $path,
            name: $name,
            about: $about,
            access: $access,
            session: $session,
            query: $query,
            takes: $takes,
            gives: $gives,
            body: BodyLimit::of($takes),
            does: Does::$does(|call| Box::pin($handle(call))),
        }
    };
}

const ANYBODY: Option<Role> = None;
const VIEWER: Option<Role> = Some(Role::Viewer);
const MEMBER: Option<Role> = Some(Role::Member);
const ADMIN: Option<Role> = Some(Role::Admin);

const NO_SESSION: Option<Right> = None;
const READ: Option<Right> = Some(Right::Read);
const APPROVE: Option<Right> = Some(Right::Approve);
const OWN: Option<Right> = Some(Right::Own);

/// All routes.
#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    route!(GET "/health", "health", "Whether the server runs", ANYBODY, NO_SESSION, &[], None => "Health", Reads(about::health)),
    route!(GET "/ready", "ready", "Whether sessions can be read and written", ANYBODY, NO_SESSION, &[], None => "Health", Reads(about::ready)),
    route!(GET "/openapi.json", "openapi", "This document", ANYBODY, NO_SESSION, &[], None => "Document", Reads(about::openapi)),
    Route { body: BodyLimit::SIGN_IN, ..route!(POST "/sign-in", "sign_in", "Signs a browser in, with a name and a password or the code of a one-time link", ANYBODY, NO_SESSION, &[], Some("SignIn") => "Account", SignIn(account::sign_in)) },
    route!(GET "/oidc/begin", "oidc_begin", "Sends the browser to the provider of identities", ANYBODY, NO_SESSION, &[], None => "Redirect", BeginElsewhere(identity::begin)),
    route!(GET "/oidc/callback", "oidc_callback", "Where the provider of identities sends the browser back to", ANYBODY, NO_SESSION, &[STATE, CODE], None => "Redirect", SignInElsewhere(identity::callback)),
    route!(POST "/sign-out", "sign_out", "Signs the browser out", VIEWER, NO_SESSION, &[], None => "Nothing", SignIn(account::sign_out)),
    route!(POST "/links", "new_link", "Makes a one-time link for another browser", MEMBER, NO_SESSION, &[], None => "Link", Tells(account::new_link)),
    route!(GET "/me", "me", "Who asks, and where the server works", VIEWER, NO_SESSION, &[], None => "Account", Reads(account::me)),
    route!(POST "/password", "set_password", "Changes one's own password; every browser is signed out", VIEWER, NO_SESSION, &[], Some("NewPassword") => "Nothing", Acts(account::set_password)),
    route!(GET "/tokens", "list_tokens", "One's own tokens, without their secrets", VIEWER, NO_SESSION, &[], None => "Tokens", Reads(tokens::list)),
    route!(POST "/tokens", "create_token", "Makes a token for a program; its secret is told once", VIEWER, NO_SESSION, &[], Some("NewToken") => "CreatedToken", Tells(tokens::create)),
    route!(DELETE "/tokens/{token}", "revoke_token", "Takes a token back", VIEWER, NO_SESSION, &[], None => "Nothing", Acts(tokens::revoke)),
    route!(GET "/keys", "list_keys", "Providers for which one keeps a key of one's own", MEMBER, NO_SESSION, &[], None => "Keys", Reads(keys::list)),
    route!(POST "/keys", "set_key", "Keeps one's own key for a provider", MEMBER, NO_SESSION, &[], Some("NewKey") => "Nothing", Acts(keys::set)),
    route!(DELETE "/keys/{provider}", "remove_key", "Forgets one's own key for a provider", MEMBER, NO_SESSION, &[], None => "Nothing", Acts(keys::remove)),
    route!(GET "/users", "list_users", "Accounts, with what each may spend and has spent today", ADMIN, NO_SESSION, &[], None => "Users", Reads(users::list)),
    route!(POST "/users", "create_user", "Adds an account", ADMIN, NO_SESSION, &[], Some("NewUser") => "User", Acts(users::create)),
    route!(POST "/users/{user}", "change_user", "Changes an account", ADMIN, NO_SESSION, &[], Some("UserChange") => "User", Acts(users::change)),
    route!(DELETE "/users/{user}", "remove_user", "Removes an account with its tokens and sign-ins; what it kept stays", ADMIN, NO_SESSION, &[], None => "Nothing", Acts(users::remove)),
    route!(GET "/sessions", "list_sessions", "Sessions, the latest first", VIEWER, NO_SESSION, &[SEARCH], None => "Sessions", Reads(sessions::list)),
    route!(POST "/sessions", "create_session", "Begins a session", MEMBER, NO_SESSION, &[], Some("NewSession") => "CreatedSession", Acts(sessions::create)),
    route!(GET "/sessions/{id}", "get_session", "A session, briefly", VIEWER, READ, &[], None => "Session", Reads(sessions::get)),
    route!(DELETE "/sessions/{id}", "delete_session", "Removes a session for good", MEMBER, OWN, &[SEQ], None => "Nothing", Acts(sessions::delete)),
    route!(POST "/sessions/{id}/fork", "fork_session", "Begins a session with what this one said", MEMBER, OWN, &[], Some("Fork") => "CreatedSession", Acts(sessions::fork)),
    route!(GET "/sessions/{id}/bundle", "export_session", "The whole session, to keep it elsewhere", VIEWER, OWN, &[], None => "SessionBundle", Hands(moving::export)),
    Route { body: BodyLimit::SESSION, ..route!(POST "/sessions/import", "import_session", "Keeps a session that comes from elsewhere, whole or not at all", MEMBER, NO_SESSION, &[], Some("SessionBundle") => "Imported", Acts(moving::import)) },
    route!(GET "/sessions/{id}/snapshot", "snapshot", "The session as it is", VIEWER, READ, &[], None => "Snapshot", Reads(sessions::snapshot)),
    route!(GET "/sessions/{id}/records", "records", "Records of the session, oldest first", VIEWER, READ, &[AFTER], None => "Records", Reads(sessions::records)),
    route!(GET "/sessions/{id}/events", "session_events", "Server-sent events: records after `after` or `Last-Event-ID`, then everything as it happens", VIEWER, READ, &[AFTER], None => "Events", Reads(sessions::events)),
    route!(GET "/sessions/{id}/outputs/{call}", "whole_output", "The whole output of a call, where its record tells less", VIEWER, READ, &[], None => "Text", Reads(outputs::whole)),
    route!(GET "/sessions/{id}/changes/{turn}", "turn_changes", "What a turn made of each file, as diffs", VIEWER, READ, &[], None => "Changes", Reads(changes::of_turn)),
    route!(POST "/sessions/{id}/commands", "command", "Sends the session a command: prompt, cancel, answer, set_mode, rewind, undo and the others", MEMBER, OWN, &[], Some("Command") => "Reply", Acts(sessions::command)),
    route!(POST "/sessions/{id}/take", "take_session", "Opens the session here; whoever has it open in a terminal is asked to leave it first", MEMBER, OWN, &[], None => "Taken", Acts(taking::take)),
    route!(GET "/sessions/{id}/shares", "list_shares", "Who else may use the session", VIEWER, OWN, &[], None => "Shares", Reads(shares::list)),
    route!(POST "/sessions/{id}/shares", "share", "Lets another user read the session, or answer its questions too", MEMBER, OWN, &[], Some("NewShare") => "Nothing", Acts(shares::share)),
    route!(DELETE "/sessions/{id}/shares/{user}", "unshare", "Takes that back; who was let in may leave", VIEWER, READ, &[], None => "Nothing", Acts(shares::unshare)),
    route!(GET "/approvals", "list_approvals", "Every question that waits, across sessions", VIEWER, NO_SESSION, &[], None => "Approvals", Reads(approvals::list)),
    route!(POST "/approvals/{approval}", "answer", "Answers a question; the first answer counts", MEMBER, APPROVE, &[], Some("Outcome") => "Reply", Acts(approvals::answer)),
    route!(GET "/events", "events", "Server-sent events: the overview whenever it changes, and a session's, where one is named", VIEWER, NO_SESSION, &[SESSION, AFTER], None => "Events", Reads(about::events)),
    route!(GET "/models", "models", "Providers and their models", VIEWER, NO_SESSION, &[], None => "Models", Reads(about::models)),
    route!(GET "/tools", "tools", "What a session's tools would be", VIEWER, NO_SESSION, &[WORKSPACE], None => "Tools", Reads(about::tools)),
    route!(GET "/settings", "settings", "The settings that hold, and who set them", VIEWER, NO_SESSION, &[WORKSPACE], None => "Settings", Reads(about::settings)),
    route!(POST "/policy/explain", "explain", "What the rules say to a command line", VIEWER, NO_SESSION, &[], Some("Explain") => "Judgement", Reads(about::explain)),
    route!(GET "/usage", "usage", "Tokens and money of one's own sessions, by model and session", VIEWER, NO_SESSION, &[], None => "Usage", Reads(about::usage)),
    route!(GET "/usage/users", "usage_of_users", "Tokens and money by user and model", ADMIN, NO_SESSION, &[], None => "UsageOfUsers", Reads(about::usage_of_users)),
    route!(GET "/metrics", "metrics", "Counts for Prometheus", ADMIN, NO_SESSION, &[], None => "Text", Reads(about::metrics)),
];

/// The router over all routes.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let app = app.clone();
        let handle = move |path: Result<RawPathParams, RawPathParamsRejection>, request: Request| {
            let app = app.clone();
            async move {
                let Ok(path) = path else {
                    return Problem::not_found("the address is no text").into_response();
                };
                let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                // Every connection tells who is at its other end.
                let peer = request.extensions().get::<SocketAddr>().copied();
                let peer = peer.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)));
                match call::answer(app, route, path, peer, request).await {
                    Ok(response) => response,
                    Err(problem) => problem.into_response(),
                }
            }
        };
        router = router.route(&format!("{BASE}{}", route.path), on(route.method, handle));
    }
    let unknown = || async { Problem::not_found("there is nothing at this address") };
    router.fallback(unknown).method_not_allowed_fallback(wrong_method)
}

/// The address is known, and does something else.
pub(crate) async fn wrong_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this address does not take that method")
}

#[cfg(test)]
mod tests {
    use charla::session::SessionBundle;
    use serde_json::json;

    use super::*;

    /// A session of such an id could not be named.
    #[test]
    fn no_session_is_brought_in_under_the_name_of_a_route() {
        let below = |route: &Route| route.path.strip_prefix("/sessions/")?.split('/').next();
        let words: Vec<&str> =
            ROUTES.iter().filter_map(below).filter(|part| !part.starts_with('{')).collect();
        assert!(!words.is_empty());
        for word in words {
            let first = json!({"seq": 1, "at": 0, "kind": "session_started", "version": 1, "session": word, "cwd": "/w", "model": "m"});
            let bundle: SessionBundle = serde_json::from_value(json!({"records": [first]})).unwrap();
            assert!(bundle.session().is_err(), "{word}");
        }
    }
}
