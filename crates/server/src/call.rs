//! One request on its way through the server: who asks, whether they may, what is done, what is answered.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::access::{Caller, Credential, Digest, network, unauthorized};
use crate::accounts::{AccountError, Book, Right, Role};
use crate::app::{App, RateLimits};
use crate::audit::{self, Entry};
use crate::bodies::Held;
use crate::people::User;
use crate::places::Place;
use crate::problem::Problem;
use crate::rate::Rate;
use crate::repeats::Answer;
use crate::routes::{Acting, Does, Reading, Route};

/// How much the log tells of a name that nobody has shown to be theirs.
const TOLD_OF_A_NAME: usize = 64;
/// The longest key of a repeated request.
const MAX_KEY: usize = 200;

/// A request of somebody who may send it.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) user: Arc<User>,
    /// The role that the route is for.
    needed: Option<Role>,
    /// How they showed who they are; nothing where anybody may ask.
    pub(crate) credential: Option<Credential>,
    /// Whose session the path names; the user's own where it names none.
    pub(crate) owner: Arc<User>,
    pub(crate) head: Parts,
    /// The variable parts of its path.
    pub(crate) path: Vec<(String, String)>,
    pub(crate) body: Bytes,
    /// Taken until the request is done.
    _taken: (Option<Place>, Held),
}

impl Call {
    /// What the audit log says about this request: what the body chooses, and what the path names, which no body hides.
    fn entry(&self, route: &Route, from: IpAddr) -> Entry {
        let mut about = audit::told(&self.body);
        about.extend(self.path.iter().map(|(name, value)| (name.clone(), audit::shown(value))));
        Entry { who: self.who(), from: from.to_string(), what: route.name.to_owned(), about }
    }

    /// Who the log says it was: nobody where anybody may ask.
    fn who(&self) -> String {
        self.credential.as_ref().map_or_else(String::new, |_| self.user.name.clone())
    }

    /// Changes the accounts, if whoever asks may still when that is done.
    pub(crate) async fn change(
        &self,
        change: impl Fn(&mut Book) -> Result<(), AccountError> + Send + Sync + 'static,
    ) -> Result<Arc<Book>, Problem> {
        let (app, user, needed) = (self.app.clone(), self.user.clone(), self.needed);
        let credential = self.credential.clone();
        let checked = move |book: &mut Book| {
            let role = credential.as_ref().and_then(|it| app.access.role(book, it, &user));
            if role.is_none_or(|role| Some(role) < needed) {
                return Err(AccountError::Asker);
            }
            change(book)
        };
        self.app.people.change(checked).await
    }

    /// A variable part of the path.
    pub(crate) fn part(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// A parameter of the query.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let query = self.head.uri.query().unwrap_or_default();
        form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Whose session this is, if the user may do that with it.
    pub(crate) async fn reach(&self, session: &str, needed: Right) -> Result<Arc<User>, Problem> {
        reach(&self.app, &self.user, session, needed).await
    }

    /// A number of the query.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let parse = |text: String| {
            text.parse().map_err(|_| Problem::bad_request(format!("`{name}` is no number: `{text}`")))
        };
        self.query(name).map(parse).transpose()
    }

    /// The body as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Problem::bad_request(format!("the body is not what is wanted here: {error}")))
    }
}

/// Who was signed in by a request, for the log.
#[derive(Clone)]
pub(crate) struct SignedIn(pub(crate) String);

/// JSON as an answer.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Result<Response, Problem> {
    let body = serde_json::to_vec(value).map_err(|error| Problem::internal(error.to_string()))?;
    Ok(Answer { status, body: body.into() }.into_response())
}

/// Does what a request to this route wants, if whoever sends it may.
pub(crate) async fn answer(
    app: Arc<App>,
    route: &'static Route,
    path: Vec<(String, String)>,
    peer: SocketAddr,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let caller = match route.access {
        Some(role) => Some(allowed(&app, role, &head, peer).await?),
        // The page of a provider of identities is another origin's.
        None if matches!(route.does, Does::BeginElsewhere(_) | Does::SignInElsewhere(_)) => None,
        None => {
            app.names.check_origin(&head.method, &head.headers, false)?;
            None
        }
    };
    let client = app.access.came_from(&head.headers, peer.ip());
    let (user, credential) = match caller {
        Some(Caller { user, credential, .. }) => (user, Some(credential)),
        None => (app.people.owner.clone(), None),
    };
    let place = match &credential {
        Some(_) => app.limits.at_once.take(&user.id).ok_or_else(too_often)?,
        None => None,
    };
    let from = credential.as_ref().map_or_else(|| network(client), |_| user.id.clone());
    let (body, held) = app.limits.bodies.collect(&from, body, route.body).await?;
    if route.takes.is_some() && !body.is_empty() && !says_json(&head.headers) {
        return Err(no_json());
    }
    let limit = attempts(&app.limits, route, &body);
    if limit.is_some_and(|limit| !limit.take(network(client), Instant::now())) {
        app.audit.count(&network(client), refused(attempt(&app, route, &body, client)));
        return Err(too_often());
    }
    let user = match &credential {
        Some(credential) => still_allowed(&app, route.access, &user, credential)?,
        None => user,
    };
    let (owner, needed) = (user.clone(), route.access);
    let mut call = Call { app, user, needed, credential, owner, head, path, body, _taken: (place, held) };
    if let Some((right, session)) = route.session.zip(named_session(&call.path)) {
        call.owner = call.reach(&session, right).await?;
    }
    match route.does {
        Does::Reads(handle) => handle(call).await,
        Does::SignIn(handle) | Does::BeginElsewhere(handle) | Does::SignInElsewhere(handle) => {
            signing(call, handle, route, client).await
        }
        Does::Hands(handle) => {
            write(&call.app, call.entry(route, client), None).await?;
            handle(call).await
        }
        Does::Tells(handle) => {
            write(&call.app, call.entry(route, client), None).await?;
            act(call, handle, true).await
        }
        Does::Acts(handle) => {
            // Nothing is done that is not in the log.
            write(&call.app, call.entry(route, client), None).await?;
            act(call, handle, false).await
        }
    }
}

/// Lets somebody sign in or out, and has what came of it in the log.
async fn signing(call: Call, handle: Reading, route: &Route, client: IpAddr) -> Result<Response, Problem> {
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
    if let Some(SignedIn(name)) = signed_in {
        entry.about.insert("user".to_owned(), name.as_str().into());
    }
    write(&app, entry, Some(status)).await?;
    answered
}

/// What the audit log says about an attempt to sign in, which anybody may make: the name that was given, and not all of a long one.
fn attempt(app: &App, route: &Route, body: &[u8], from: IpAddr) -> Entry {
    let mut about = Map::new();
    if let Some(name) = audit::told(body).get("name").and_then(Value::as_str) {
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

/// What counts how often somebody tries to get in this way.
fn attempts<'l>(limits: &'l RateLimits, route: &Route, body: &[u8]) -> Option<&'l Rate<String>> {
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

async fn write(app: &App, mut entry: Entry, status: Option<StatusCode>) -> Result<(), Problem> {
    if let Some(status) = status {
        entry.about.insert("status".to_owned(), status.as_u16().into());
    }
    app.audit.write(entry).await.map_err(|error| {
        let detail = format!("nothing was done, because it cannot be written to the audit log: {error}");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "audit", detail)
    })
}

/// Who sends the request, if they may use a route of this role.
async fn allowed(app: &Arc<App>, role: Role, head: &Parts, peer: SocketAddr) -> Result<Caller, Problem> {
    let caller = app.access.caller(&head.headers, peer.ip()).await?;
    app.names.check_origin(&head.method, &head.headers, caller.is_ambient())?;
    if caller.role < role {
        return Err(Problem::forbidden("your role does not allow this"));
    }
    match app.limits.requests.take(caller.user.name.clone(), Instant::now()) {
        true => Ok(caller),
        false => Err(too_often()),
    }
}

/// The user as they are now that the body is here, which may have taken its time.
fn still_allowed(
    app: &App,
    needed: Option<Role>,
    user: &User,
    credential: &Credential,
) -> Result<Arc<User>, Problem> {
    let book = app.people.book()?;
    let role = app.access.role(&book, credential, user);
    let role = role.ok_or_else(|| unauthorized("the account or its credential is gone"))?;
    if Some(role) < needed {
        return Err(Problem::forbidden("your role does not allow this any more"));
    }
    let found = app.people.find(&book, &user.name);
    found.map(|(user, _)| user).ok_or_else(|| unauthorized("the account is gone"))
}

/// The session that a path names, by itself or by one of its questions.
fn named_session(path: &[(String, String)]) -> Option<String> {
    path.iter().find_map(|(name, value)| match name.as_str() {
        "id" => Some(value.clone()),
        // A question's id begins with its session's.
        "approval" => Some(value.rsplit_once(':').map_or(value.as_str(), |(session, _)| session).to_owned()),
        _ => None,
    })
}

/// Whose session this is, if `user` may do that with it. Who may not know of it is told that there is none.
async fn reach(app: &App, user: &Arc<User>, session: &str, needed: Right) -> Result<Arc<User>, Problem> {
    // Nobody's sharing stands before what is one's own.
    if user.hub.knows(session).await? {
        return Ok(user.clone());
    }
    let book = app.people.book()?;
    if let Some((owner, right)) = book.shared_with(&user.name, session)
        && let Some((owner, _)) = app.people.find(&book, owner)
        && owner.hub.knows(session).await?
    {
        return match right >= needed {
            true => Ok(owner),
            false => Err(Problem::forbidden("the session is shared with you, but not for this")),
        };
    }
    Err(Problem::not_found(format!("there is no session `{session}`")))
}

pub(crate) fn too_often() -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "too many requests at once")
        .with_hint("wait a moment")
}

/// Whether a body is said to be JSON; one that nobody says anything about is taken for it.
fn says_json(headers: &HeaderMap) -> bool {
    let Some(said) = headers.get(header::CONTENT_TYPE) else { return true };
    let kind = said.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

fn no_json() -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", "bodies are JSON here")
        .with_hint("send it as `Content-Type: application/json`")
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_KEY && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// What changes something is done to its end, whether or not the client waits for it, and once for each key.
async fn act(call: Call, handle: Acting, is_secret: bool) -> Result<Response, Problem> {
    let key = match call.head.headers.get("idempotency-key").map(|key| key.to_str()) {
        Some(Ok(key)) if is_key(key) => Some(key.to_owned()),
        Some(_) => return Err(Problem::bad_request("the Idempotency-Key is no word, or too long")),
        None => None,
    };
    // What a query says is part of what is asked.
    let mut request = format!("{} {}\n", call.head.method, call.head.uri).into_bytes();
    request.extend_from_slice(&call.body);
    let request = Digest::of_bytes(&request);
    let (app, user) = (call.app.clone(), call.user.clone());
    let work = async move {
        match key {
            Some(key) if is_secret => app.repeats.once_untold(&user.id, &key, request, handle(call)).await,
            Some(key) => app.repeats.once(&user.id, &key, request, handle(call)).await,
            None => handle(call).await,
        }
    };
    match tokio::spawn(work).await {
        Ok(answered) => answered.map(IntoResponse::into_response),
        Err(_) => Err(Problem::internal("the request could not be done")),
    }
}
