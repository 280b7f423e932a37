//! Every route, declared once: the router, the OpenAPI document and the tests of who may what are made of this table.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use charla_proto::BoxFuture;
use http::StatusCode;

use crate::access::Role;
use crate::api::{about, account, approvals, moving, sessions};
use crate::app::App;
use crate::call::{self, BodyLimit, Call};
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
    /// It changes something; a repeated request with the same key does so once.
    Acts(Acting),
    /// Somebody shows who they are.
    SignIn(Reading),
}

/// A parameter of a query.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) is_number: bool,
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
    pub(crate) query: &'static [Parameter],
    /// The names of the schemas of what is sent and answered.
    pub(crate) takes: Option<&'static str>,
    pub(crate) gives: &'static str,
    /// How much may be sent.
    pub(crate) body: BodyLimit,
    pub(crate) does: Does,
}

const AFTER: Parameter =
    Parameter { name: "after", about: "Only records after this number", is_number: true };
const SEARCH: Parameter = Parameter {
    name: "search",
    about: "Only sessions whose title, folder, model or id holds this",
    is_number: false,
};
const SESSION: Parameter =
    Parameter { name: "session", about: "The session to follow, too", is_number: false };
const SEQ: Parameter =
    Parameter { name: "seq", about: "Only while this is the number of its last record", is_number: true };
const WORKSPACE: Parameter =
    Parameter { name: "workspace", about: "The folder; the server's own when left out", is_number: false };

macro_rules! route {
    ($method:ident $path:literal, $name:literal, $about:literal, $access:expr, $query:expr, $takes:expr => $gives:literal, $does:ident($handle:path)) => {
        Route {
            method: MethodFilter::$method,
            path: $path,
            name: $name,
            about: $about,
            access: $access,
            query: $query,
            takes: $takes,
            gives: $gives,
            body: BodyLimit::USUAL,
            does: Does::$does(|call| Box::pin($handle(call))),
        }
    };
}

const ANYBODY: Option<Role> = None;
const VIEWER: Option<Role> = Some(Role::Viewer);
const MEMBER: Option<Role> = Some(Role::Member);

/// All routes.
#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    route!(GET "/health", "health", "Whether the server runs", ANYBODY, &[], None => "Health", Reads(about::health)),
    route!(GET "/ready", "ready", "Whether sessions can be read and written", ANYBODY, &[], None => "Health", Reads(about::ready)),
    route!(GET "/openapi.json", "openapi", "This document", ANYBODY, &[], None => "Document", Reads(about::openapi)),
    route!(POST "/sign-in", "sign_in", "Signs a browser in with the code of a one-time link", ANYBODY, &[], Some("SignIn") => "Account", SignIn(account::sign_in)),
    route!(POST "/sign-out", "sign_out", "Signs the browser out", VIEWER, &[], None => "Nothing", SignIn(account::sign_out)),
    route!(POST "/links", "new_link", "Makes a one-time link for another browser", MEMBER, &[], None => "Link", Acts(account::new_link)),
    route!(GET "/me", "me", "Who asks, and where the server works", VIEWER, &[], None => "Account", Reads(account::me)),
    route!(GET "/sessions", "list_sessions", "Sessions, the latest first", VIEWER, &[SEARCH], None => "Sessions", Reads(sessions::list)),
    route!(POST "/sessions", "create_session", "Begins a session", MEMBER, &[], Some("NewSession") => "CreatedSession", Acts(sessions::create)),
    route!(GET "/sessions/{id}", "get_session", "A session, briefly", VIEWER, &[], None => "Session", Reads(sessions::get)),
    route!(DELETE "/sessions/{id}", "delete_session", "Removes a session for good", MEMBER, &[SEQ], None => "Nothing", Acts(sessions::delete)),
    route!(POST "/sessions/{id}/fork", "fork_session", "Begins a session with what this one said", MEMBER, &[], Some("Fork") => "CreatedSession", Acts(sessions::fork)),
    route!(GET "/sessions/{id}/bundle", "export_session", "The whole session, to keep it elsewhere", VIEWER, &[], None => "SessionBundle", Reads(moving::export)),
    Route { body: BodyLimit::SESSION, ..route!(POST "/sessions/import", "import_session", "Keeps a session that comes from elsewhere, whole or not at all", MEMBER, &[], Some("SessionBundle") => "Imported", Acts(moving::import)) },
    route!(GET "/sessions/{id}/snapshot", "snapshot", "The session as it is", VIEWER, &[], None => "Snapshot", Reads(sessions::snapshot)),
    route!(GET "/sessions/{id}/records", "records", "Records of the session, oldest first", VIEWER, &[AFTER], None => "Records", Reads(sessions::records)),
    route!(GET "/sessions/{id}/events", "session_events", "Server-sent events: records after `after` or `Last-Event-ID`, then everything as it happens", VIEWER, &[AFTER], None => "Events", Reads(sessions::events)),
    route!(POST "/sessions/{id}/commands", "command", "Sends the session a command: prompt, cancel, answer, set_mode, rewind, undo and the others", MEMBER, &[], Some("Command") => "Reply", Acts(sessions::command)),
    route!(GET "/approvals", "list_approvals", "Every question that waits, across sessions", VIEWER, &[], None => "Approvals", Reads(approvals::list)),
    route!(POST "/approvals/{approval}", "answer", "Answers a question; the first answer counts", MEMBER, &[], Some("Outcome") => "Reply", Acts(approvals::answer)),
    route!(GET "/events", "events", "Server-sent events: the overview whenever it changes, and a session's, where one is named", VIEWER, &[SESSION, AFTER], None => "Events", Reads(about::events)),
    route!(GET "/models", "models", "Providers and their models", VIEWER, &[], None => "Models", Reads(about::models)),
    route!(GET "/tools", "tools", "What a session's tools would be", VIEWER, &[WORKSPACE], None => "Tools", Reads(about::tools)),
    route!(GET "/settings", "settings", "The settings that hold, and who set them", VIEWER, &[WORKSPACE], None => "Settings", Reads(about::settings)),
    route!(POST "/policy/explain", "explain", "What the rules say to a command line", VIEWER, &[], Some("Explain") => "Judgement", Reads(about::explain)),
    route!(GET "/usage", "usage", "Tokens and money by session and model", VIEWER, &[], None => "Usage", Reads(about::usage)),
    route!(GET "/metrics", "metrics", "Counts for Prometheus", VIEWER, &[], None => "Text", Reads(about::metrics)),
];

/// The router over all routes.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let app = app.clone();
        let handle = move |path: RawPathParams, request: Request| {
            let app = app.clone();
            async move {
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
    let wrong = || async {
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this address does not take that method")
    };
    router.fallback(unknown).method_not_allowed_fallback(wrong)
}
