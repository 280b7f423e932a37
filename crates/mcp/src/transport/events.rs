//! The older way over HTTP: a stream of events to hear, and an address to post to.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::streamable::refusal;
use super::{Transport, WAITING};
use crate::config::Endpoint;
use crate::ports::{Http, HttpBody, HttpEvent, HttpMethod, HttpRequest};

/// How long a server may take to say where to post to.
const GREETING: Duration = Duration::from_secs(15);

type Events = BoxStream<'static, Result<HttpEvent, String>>;

/// Listens to a server at an address, once it says where it wants to be spoken to.
pub(crate) async fn listen(http: Arc<dyn Http>, endpoint: Endpoint) -> Result<Transport, String> {
    let (url, headers) = (endpoint.url.as_str(), endpoint.headers.as_slice());
    let request = HttpRequest { method: HttpMethod::Get, server: url, url, headers };
    let answer = http.send(request).await?;
    if let Some(why) = refusal(&answer) {
        return Err(why);
    }
    let HttpBody::Events(mut events) = answer.body else {
        return Err("the server sends no events".to_owned());
    };
    let place = tokio::time::timeout(GREETING, place(&mut events)).await;
    let place = place.map_err(|_| "the server does not say where to post to".to_owned())??;
    let to = joined(&endpoint.url, &place).ok_or("the server wants to be spoken to at another address")?;
    let (outgoing, to_send) = mpsc::channel(WAITING);
    let (heard, incoming) = mpsc::channel(WAITING);
    let mut tasks = JoinSet::new();
    tasks.spawn(post_all(http, endpoint, to, to_send, heard.clone()));
    tasks.spawn(hear(events, heard));
    Ok(Transport { outgoing, incoming, complaints: None, _tasks: tasks, _holder: None })
}

async fn place(events: &mut Events) -> Result<String, String> {
    while let Some(event) = events.next().await {
        let event = event?;
        if event.name == "endpoint" {
            return Ok(event.data.trim().to_owned());
        }
    }
    Err("the stream ended".to_owned())
}

/// A place of the same server; none for another one, which must not get the headers.
fn joined(url: &str, place: &str) -> Option<String> {
    let after = url.find("://")? + 3;
    let end = url.get(after..)?.find(['/', '?', '#']).map_or(url.len(), |at| after + at);
    let origin = url.get(..end)?;
    if place.contains("://") || place.starts_with("//") {
        let rest = place.strip_prefix(origin)?;
        return (rest.is_empty() || rest.starts_with(['/', '?'])).then(|| place.to_owned());
    }
    if place.starts_with('/') {
        return Some(format!("{origin}{place}"));
    }
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let folder = path.get(..path.rfind('/').filter(|at| *at >= end).unwrap_or(path.len()))?;
    Some(format!("{folder}/{place}"))
}

async fn post_all(
    http: Arc<dyn Http>,
    endpoint: Endpoint,
    to: String,
    mut to_send: mpsc::Receiver<Value>,
    heard: mpsc::Sender<Result<Value, String>>,
) {
    while let Some(message) = to_send.recv().await {
        let method = HttpMethod::Post(&message);
        let request = HttpRequest { method, server: &endpoint.url, url: &to, headers: &endpoint.headers };
        let sent = http.send(request).await;
        if let Err(why) = sent.and_then(|answer| refusal(&answer).map_or(Ok(()), Err)) {
            return drop(heard.send(Err(why)).await);
        }
    }
}

async fn hear(mut events: Events, heard: mpsc::Sender<Result<Value, String>>) {
    while let Some(event) = events.next().await {
        let said = match event {
            Ok(event) => match serde_json::from_str(&event.data) {
                Ok(message) => Ok(message),
                Err(_) => continue,
            },
            Err(why) => Err(why),
        };
        if heard.send(said).await.is_err() {
            return;
        }
    }
    let _ = heard.send(Err("the stream ended".to_owned())).await;
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn messages_go_to_the_same_server_only() {
        let url = "http://host:1/base/sse?x=1";
        let at = |place| joined(url, place);
        assert_eq!(at("/messages?s=1").as_deref(), Some("http://host:1/messages?s=1"));
        assert_eq!(at("messages").as_deref(), Some("http://host:1/base/messages"));
        assert_eq!(at("http://host:1/m").as_deref(), Some("http://host:1/m"));
        for other in
            ["http://host:12/m", "https://host:1/m", "//evil/m", "http://evil/", "http://host:1@evil/"]
        {
            assert_eq!(at(other), None, "{other}");
        }
        assert_eq!(joined("http://host", "m").as_deref(), Some("http://host/m"));
    }
}
