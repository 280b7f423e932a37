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
use serde_json::Value;

use crate::access::{Caller, Credential, network, unauthorized};
use crate::accounts::{AccountError, Book, Right, Role};
use crate::app::App;
use crate::attempts;
use crate::audit::{self, Entry, Outcome};
use crate::bodies::Held;
use crate::forms;
use crate::people::User;
use crate::places::Place;
use crate::problem::Problem;
use crate::repeats::Answer;
use crate::routes::{Acting, Does, Route};

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
        let mut about = audit::told(route.takes, &self.body);
        about.extend(self.path.iter().map(|(name, value)| (name.clone(), audit::shown(value))));
        Entry { who: self.who(), from: from.to_string(), what: route.name.to_owned(), about }
    }

    /// What the log says about the question that this request answers; nothing where it answers none, or none that waits.
    async fn question(&self, entry: &Entry) -> Vec<(String, Value)> {
        let approval = entry.about.get("approval").and_then(Value::as_str).unwrap_or_default();
        let Some((session, _)) = approval.rsplit_once(':') else { return Vec::new() };
        let Ok(snapshot) = self.owner.hub.snapshot(session).await else { return Vec::new() };
        let mut asked = snapshot.calls.iter().filter_map(|call| call.approval.as_ref());
        let asked = asked.find(|it| it.asked.approval == approval && it.answer.is_none());
        asked.map(|it| audit::question(&it.asked.confirmation).to_vec()).unwrap_or_default()
    }

    /// Who the log says it was: nobody where anybody may ask.
    pub(crate) fn who(&self) -> String {
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
        let read = serde_json::from_slice(&self.body).or_else(|error| whole_numbers(&self.body).ok_or(error));
        read.map_err(|error| {
            Problem::bad_request(format!("the body is not what is wanted here: {error}"))
                .with_hint("`/api/v1/openapi.json` describes the body of each route")
        })
    }
}

/// How large a body may be that is read once more.
const READ_AGAIN: usize = 1024 * 1024;

/// A body whose whole numbers are written with a point, as `7.0`: in JSON they are the same.
fn whole_numbers<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    if body.len() > READ_AGAIN {
        return None;
    }
    let mut value: Value = serde_json::from_slice(body).ok()?;
    shorten(&mut value).then(|| serde_json::from_value(value).ok())?
}

/// Writes such numbers without their point; whether there were any.
fn shorten(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|it| number.is_f64() && it.fract() == 0.0 && it.abs() < EXACT);
            if let Some(whole) = whole {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole, and exact up to here")]
                let whole = whole as i64;
                *value = whole.into();
            }
            whole.is_some()
        }
        Value::Array(items) => items.iter_mut().map(shorten).filter(|is_shorter| *is_shorter).count() > 0,
        Value::Object(fields) => {
            fields.values_mut().map(shorten).filter(|is_shorter| *is_shorter).count() > 0
        }
        _ => false,
    }
}

/// Whole numbers below this are what they are written as.
const EXACT: f64 = 9_007_199_254_740_992.0;

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
    must_know_query(route, head.uri.query().unwrap_or_default())?;
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
    if route.takes.is_some() && !is_object(&body) {
        return Err(
            Problem::bad_request("the body is no JSON object").with_hint("name each field: `{\"name\": …}`")
        );
    }
    attempts::admit(&app, route, &body, client)?;
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
            attempts::signing(call, handle, route, client).await
        }
        // Nothing is done that is not in the log.
        Does::Hands(handle) => {
            let (app, entry) = (call.app.clone(), call.entry(route, client));
            let number = write(&app, entry.clone()).await?;
            let handed = handle(call).await;
            app.audit.write_result(entry.result(number, handed.as_ref().map(Outcome::of_response))).await;
            handed
        }
        Does::Tells(handle) => act(call, handle, route, client, true).await,
        Does::Acts(handle) => act(call, handle, route, client, false).await,
    }
}

/// An error where the address says something that the route does not know: it would be done without that.
fn must_know_query(route: &Route, query: &str) -> Result<(), Problem> {
    // What a provider of identities says beside what is needed is its own matter.
    if matches!(route.does, Does::SignInElsewhere(_)) {
        return Ok(());
    }
    let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
    match names.find(|name| !route.query.iter().any(|known| known.name == name)) {
        None => Ok(()),
        Some(unknown) => {
            let unknown: String = unknown.chars().take(forms::LONGEST_NAME).collect();
            let detail = format!("there is no parameter `{unknown}` at this address");
            Err(Problem::bad_request(detail).with_hint("nothing was done; /api/v1/openapi.json has them"))
        }
    }
}

/// Writes to the log; the entry's number.
pub(crate) async fn write(app: &App, entry: Entry) -> Result<u64, Problem> {
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

/// There is none of this id that whoever asks may know of.
pub(crate) fn unknown_session(id: &str) -> Problem {
    let hint = "an id is given whole, as the list of sessions has it";
    Problem::not_found(format!("there is no session `{id}`")).with_hint(hint)
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
    Err(unknown_session(session))
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

/// Whether a body can only be read as an object, whose fields have names that the log tells; an empty one is left to its route. What is no
/// text hides nothing either: readers that skip a field do not look at it.
fn is_object(body: &[u8]) -> bool {
    body.is_empty() || std::str::from_utf8(body).is_ok_and(|text| text.trim_ascii_start().starts_with('{'))
}

fn no_json() -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", "bodies are JSON here")
        .with_hint("send it as `Content-Type: application/json`")
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_KEY && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// What changes something is done to its end, whether or not the client waits for it: it is in the log before, and what came of it is
/// there afterwards.
async fn act(
    call: Call,
    handle: Acting,
    route: &Route,
    client: IpAddr,
    is_secret: bool,
) -> Result<Response, Problem> {
    let (app, mut entry) = (call.app.clone(), call.entry(route, client));
    entry.about.extend(call.question(&entry).await);
    let number = write(&app, entry.clone()).await?;
    let work = async move {
        let done = tokio::spawn(once(call, handle, is_secret)).await;
        let answered = done.unwrap_or_else(|_| Err(Problem::internal("the request could not be done")));
        app.audit.write_result(entry.result(number, answered.as_ref().map(Outcome::of))).await;
        answered
    };
    match tokio::spawn(work).await {
        Ok(answered) => answered.map(IntoResponse::into_response),
        Err(_) => Err(Problem::internal("the request could not be done")),
    }
}

/// Does it once for each key.
async fn once(call: Call, handle: Acting, is_secret: bool) -> Result<Answer, Problem> {
    let key = match call.head.headers.get("idempotency-key").map(|key| key.to_str()) {
        Some(Ok(key)) if is_key(key) => key.to_owned(),
        Some(_) => return Err(Problem::bad_request("the Idempotency-Key is no word, or too long")),
        None => return handle(call).await,
    };
    // What a query says is part of what is asked.
    let mut request = format!("{} {}\n", call.head.method, call.head.uri).into_bytes();
    request.extend_from_slice(&call.body);
    let (app, user) = (call.app.clone(), call.user.clone());
    let request = app.repeats.digest(&request);
    match is_secret {
        true => app.repeats.once_untold(&user.id, &key, request, handle(call)).await,
        false => app.repeats.once(&user.id, &key, request, handle(call)).await,
    }
}
