//! Streamable HTTP: every message is posted, and answers come back with it, alone or as a stream of events.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Transport, WAITING};
use crate::config::Endpoint;
use crate::ports::{Http, HttpAnswer, HttpBody, HttpMethod, HttpRequest};

/// How long after its end a stream of what the server tells by itself is asked for again.
const LISTEN_AGAIN: Duration = Duration::from_secs(5);
/// So much of a refusal is told.
const SHOWN: usize = 200;

type Heard = mpsc::Sender<Result<Value, String>>;

/// Speaks to a server at an address.
pub(crate) fn connect(http: Arc<dyn Http>, endpoint: Endpoint) -> Transport {
    let (outgoing, to_send) = mpsc::channel(WAITING);
    let (heard, incoming) = mpsc::channel(WAITING);
    let poster = Arc::new(Poster { http, endpoint, session: OnceLock::new(), version: OnceLock::new() });
    let mut tasks = JoinSet::new();
    tasks.spawn(post_all(poster, to_send, heard));
    Transport { outgoing, incoming, complaints: None, _tasks: tasks, _holder: None }
}

async fn post_all(poster: Arc<Poster>, mut to_send: mpsc::Receiver<Value>, heard: Heard) {
    // Dropped with this task, so that no request outlives its connection.
    let mut posts = JoinSet::new();
    while let Some(message) = to_send.recv().await {
        let begins = message.get("method").is_some_and(|method| method == "notifications/initialized");
        posts.spawn(post(poster.clone(), message, heard.clone()));
        if begins {
            posts.spawn(listen(poster.clone(), heard.clone()));
        }
        while posts.try_join_next().is_some() {}
    }
}

/// Posts one message and hears what comes back.
async fn post(poster: Arc<Poster>, message: Value, heard: Heard) {
    let id = message.get("id").filter(|_| message.get("method").is_some()).cloned();
    let answer = match poster.send(HttpMethod::Post(&message)).await {
        Ok(answer) => answer,
        Err(why) => return drop(heard.send(Err(why)).await),
    };
    if let Some(session) = &answer.session {
        let _ = poster.session.set(session.clone());
    }
    let is_lost = answer.status == 404 && poster.session.get().is_some();
    if is_lost {
        return drop(heard.send(Err("it has forgotten the session".to_owned())).await);
    }
    let missing = match refusal(&answer) {
        Some(why) => why,
        None => {
            hear(&poster, answer.body, &heard).await;
            "the answer broke off".to_owned()
        }
    };
    if let Some(id) = id {
        // For a request that was answered this is one answer too many, which nobody waits for.
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": 0, "message": missing}});
        let _ = heard.send(Ok(error)).await;
    }
}

/// Hears what the server tells by itself, where it does.
async fn listen(poster: Arc<Poster>, heard: Heard) {
    while let Ok(answer) = poster.send(HttpMethod::Get).await {
        let HttpBody::Events(_) = &answer.body else { return };
        if refusal(&answer).is_some() {
            return;
        }
        hear(&poster, answer.body, &heard).await;
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

/// Why an answer is none, if it is none.
pub(super) fn refusal(answer: &HttpAnswer) -> Option<String> {
    if (200..300).contains(&answer.status) {
        return None;
    }
    let said: String = match &answer.body {
        // A page for browsers says nothing to anybody here.
        HttpBody::Whole(text) if text.trim_start().starts_with('<') => String::new(),
        HttpBody::Whole(text) => text.trim().chars().take(SHOWN).collect(),
        HttpBody::Events(_) => String::new(),
    };
    let meaning = match answer.status {
        401 | 403 => " (it wants a login, or another token)",
        _ => "",
    };
    let said = if said.is_empty() { said } else { format!(": {said}") };
    Some(format!("the server answered with status {}{meaning}{said}", answer.status))
}

async fn hear(poster: &Poster, body: HttpBody, heard: &Heard) {
    match body {
        HttpBody::Whole(text) => poster.take(&text, heard).await,
        HttpBody::Events(mut events) => {
            while let Some(Ok(event)) = events.next().await {
                poster.take(&event.data, heard).await;
            }
        }
    }
}

/// Posts messages, with what the server wants to see in each of them.
struct Poster {
    http: Arc<dyn Http>,
    endpoint: Endpoint,
    session: OnceLock<String>,
    version: OnceLock<String>,
}

impl Poster {
    async fn send(&self, method: HttpMethod<'_>) -> Result<HttpAnswer, String> {
        let mut headers = self.endpoint.headers.clone();
        let own = [("Mcp-Session-Id", &self.session), ("MCP-Protocol-Version", &self.version)];
        let known = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.get()?.clone())));
        headers.extend(known);
        let url = &self.endpoint.url;
        self.http.send(HttpRequest { method, server: url, url, headers: &headers }).await
    }

    /// Takes a message, or several in a list.
    async fn take(&self, text: &str, heard: &Heard) {
        let messages = match serde_json::from_str(text) {
            Ok(Value::Array(messages)) => messages,
            Ok(message) => vec![message],
            Err(_) => return,
        };
        for message in messages {
            if let Some(version) = message.pointer("/result/protocolVersion").and_then(Value::as_str) {
                let _ = self.version.set(version.to_owned());
            }
            let _ = heard.send(Ok(message)).await;
        }
    }
}
