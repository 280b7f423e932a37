//! Who may do what with whose: every route of the document, for every role, with one's own session, another's and shared ones.

use charla_testkit::Script;
use serde_json::{Value, json};

use super::client::{Client, status_of};
use super::team::{Team, share};

/// Who may use what, and what they must be allowed to do with the session it names. A route that is new needs its row here.
pub const ROWS: &[(&str, &str, Option<&str>)] = &[
    ("health", "anybody", None),
    ("ready", "anybody", None),
    ("openapi", "anybody", None),
    ("sign_in", "anybody", None),
    ("oidc_begin", "anybody", None),
    ("oidc_callback", "anybody", None),
    ("sign_out", "viewer", None),
    ("new_link", "member", None),
    ("me", "viewer", None),
    ("set_password", "viewer", None),
    ("list_tokens", "viewer", None),
    ("create_token", "viewer", None),
    ("revoke_token", "viewer", None),
    ("list_keys", "member", None),
    ("set_key", "member", None),
    ("remove_key", "member", None),
    ("list_users", "admin", None),
    ("create_user", "admin", None),
    ("change_user", "admin", None),
    ("remove_user", "admin", None),
    ("list_sessions", "viewer", None),
    ("create_session", "member", None),
    ("get_session", "viewer", Some("read")),
    ("fork_session", "member", Some("own")),
    ("export_session", "viewer", Some("own")),
    ("import_session", "member", None),
    ("snapshot", "viewer", Some("read")),
    ("records", "viewer", Some("read")),
    ("session_events", "viewer", Some("read")),
    ("whole_output", "viewer", Some("read")),
    ("turn_changes", "viewer", Some("read")),
    ("command", "member", Some("own")),
    ("take_session", "member", Some("own")),
    ("list_shares", "viewer", Some("own")),
    ("share", "member", Some("own")),
    ("unshare", "viewer", Some("read")),
    ("list_approvals", "viewer", None),
    ("answer", "member", Some("approve")),
    ("events", "viewer", Some("read")),
    ("models", "viewer", None),
    ("tools", "viewer", None),
    ("settings", "viewer", None),
    ("explain", "viewer", None),
    ("usage", "viewer", None),
    ("usage_of_users", "admin", None),
    ("metrics", "admin", None),
    ("delete_session", "member", Some("own")),
];

const ROLES: [&str; 4] = ["anybody", "viewer", "member", "admin"];
const RIGHTS: [&str; 3] = ["read", "approve", "own"];
/// What may be done with a session of this relation; nothing of one that is not known.
const RELATIONS: [(&str, Option<&str>); 4] = [
    ("other", None),
    ("shared to read", Some("read")),
    ("shared to approve", Some("approve")),
    ("own", Some("own")),
];

fn rank(all: &[&str], word: &str) -> usize {
    all.iter().position(|known| *known == word).unwrap()
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    NobodyKnown,
    Forbidden,
    Hidden,
    /// It got as far as the route itself.
    Let,
}

fn expected(needed: &str, right: Option<&str>, role: &str, has: Option<&str>) -> Outcome {
    match (right, has) {
        _ if needed != "anybody" && role == "anybody" => Outcome::NobodyKnown,
        _ if rank(&ROLES, role) < rank(&ROLES, needed) => Outcome::Forbidden,
        (Some(_), None) => Outcome::Hidden,
        (Some(right), Some(has)) if rank(&RIGHTS, has) < rank(&RIGHTS, right) => Outcome::Forbidden,
        _ => Outcome::Let,
    }
}

/// A route as the document tells it.
pub struct Operation {
    pub name: String,
    pub method: String,
    pub path: String,
    pub streams: bool,
}

/// Every route; those that remove what others need come last.
pub fn operations(document: &Value) -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            all.push(Operation {
                name: operation["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase(),
                path: path.trim_start_matches("/api/v1").to_owned(),
                streams: operation["responses"]["200"]["content"].get("text/event-stream").is_some(),
            });
        }
    }
    // What removes a session comes last.
    all.sort_by_key(|operation| ROWS.iter().position(|row| row.0 == operation.name));
    all
}

/// A path with something for its variable parts.
pub fn filled(path: &str, session: &str) -> String {
    let path = path.replace("{id}", session).replace("{approval}", &format!("{session}:4"));
    let path = path.replace("{user}", "nobody").replace("{token}", "none").replace("{call}", "none");
    let path = path.replace("{turn}", "1");
    path.replace("{provider}", "mistral")
}

fn attempt(client: &Client<'_>, operation: &Operation, session: &str) -> Outcome {
    let path = filled(&operation.path, session);
    if operation.streams {
        let named = if path.starts_with("/events") { format!("{path}?session={session}") } else { path };
        return match status_of(client.stream(&named, 0)) {
            401 => Outcome::NobodyKnown,
            403 => Outcome::Forbidden,
            404 => Outcome::Hidden,
            status => {
                assert_eq!(status, 200, "{named}");
                Outcome::Let
            }
        };
    }
    let answer = client.send(&operation.method, &path, &json!({}));
    let problem = || serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
    let hides = |problem: Value| {
        problem["kind"] == "not_found"
            && problem["detail"].as_str().is_some_and(|detail| detail.contains(session))
    };
    match answer.status {
        401 if operation.name != "sign_in" => Outcome::NobodyKnown,
        403 => Outcome::Forbidden,
        404 if hides(problem()) => Outcome::Hidden,
        status => {
            assert!(
                !matches!(status, 0 | 405 | 500..),
                "{} {path}: {status} {}",
                operation.name,
                answer.text()
            );
            Outcome::Let
        }
    }
}

pub fn new_session(client: &Client<'_>) -> String {
    let created = client.post("/sessions", &json!({}));
    assert_eq!(created.status, 201, "{}", created.text());
    created.json()["session"].as_str().unwrap().to_owned()
}

#[test]
fn nobody_reaches_what_is_not_theirs_by_any_route() {
    let team = Team::new(Script::new(["unused"]));
    let other = team.add("other", "member", json!({}));
    let document = team.served.request("GET", "/api/v1/openapi.json", &[], b"").json();
    let operations = operations(&document);
    let names: Vec<&str> = operations.iter().map(|operation| operation.name.as_str()).collect();
    assert_eq!(names, ROWS.iter().map(|row| row.0).collect::<Vec<_>>(), "each route has its row");
    let theirs = new_session(&other);
    let before = other.get(&format!("/sessions/{theirs}/records")).text();
    let mut cases = 0;
    for (name, role) in [("", "anybody"), ("vera", "viewer"), ("mia", "member"), ("ada", "admin")] {
        let who = Somebody::new(&team, &other, name, role, &theirs);
        cases += operations.iter().map(|operation| who.tries(operation)).sum::<usize>();
    }
    assert!(cases >= 200, "{cases} cases");
    assert_eq!(other.get(&format!("/sessions/{theirs}/records")).text(), before, "nothing of it was touched");
}

/// Somebody of a role, and sessions of each relation to them.
struct Somebody<'a> {
    client: Client<'a>,
    role: &'a str,
    sessions: Vec<String>,
}

impl<'a> Somebody<'a> {
    fn new(team: &'a Team, other: &Client<'_>, name: &str, role: &'a str, theirs: &str) -> Self {
        if role == "anybody" {
            let client = team.served.with_token("wrong");
            return Self { client, role, sessions: vec![theirs.to_owned(); RELATIONS.len()] };
        }
        let client = team.add(name, "member", json!({}));
        let mut sessions = vec![theirs.to_owned()];
        for right in ["read", "approve"] {
            let session = new_session(other);
            share(other, &session, name, right);
            sessions.push(session);
        }
        sessions.push(new_session(&client));
        // Who may only look has sessions of earlier days.
        let changed = team.owner().post(&format!("/users/{name}"), &json!({"role": role}));
        assert_eq!(changed.status, 200, "{}", changed.text());
        Self { client, role, sessions }
    }

    /// Tries an operation on each session; how many cases that were.
    fn tries(&self, operation: &Operation) -> usize {
        let (_, needed, right) = ROWS.iter().find(|row| row.0 == operation.name).unwrap();
        let mut cases = 0;
        for ((relation, has), session) in RELATIONS.iter().zip(&self.sessions) {
            if right.is_some() || *relation == "own" {
                let outcome = attempt(&self.client, operation, session);
                let wanted = expected(needed, *right, self.role, *has);
                assert_eq!(outcome, wanted, "{} as {}, {relation}", operation.name, self.role);
                cases += 1;
            }
        }
        cases
    }
}
