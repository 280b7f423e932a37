//! Charla as an MCP server: another program prompts sessions, and asks its user what the rules do not answer.
//!
//! It speaks through a reader and a writer that are handed in. Every request runs beside the others; when nothing more
//! comes, what runs is cancelled and recorded as everywhere.

mod ask;
mod sessions;
mod tools;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use charla_core::CancellationToken;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::Charla;
use crate::json_rpc::{Connection, INVALID_REQUEST, Line, METHOD_NOT_FOUND, PARSE_ERROR};
use crate::settings::Override;
use sessions::OpenSessions;
use tools::{Call, Work};

/// The versions of the protocol that are spoken, the newest first.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];
/// How long cancelled prompts may take to end.
const PARTING: Duration = Duration::from_secs(5);
/// So many calls run at once.
const MOST_CALLS: usize = 32;
/// Takes a request back.
const CANCELLED: &str = "notifications/cancelled";

/// Serves one client until it is gone. Settings are read for each session, with `overrides` on top.
pub async fn serve(
    charla: &Charla,
    overrides: Vec<Override>,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) {
    let (connection, mut lines) = Connection::start(input, output, CANCELLED);
    let work = Work {
        charla: charla.clone(),
        overrides,
        sessions: OpenSessions::default(),
        connection,
        asks: AtomicBool::new(false),
    };
    let mut server = Server { work: Arc::new(work), running: HashMap::new(), tasks: JoinSet::new() };
    server.run(&mut lines).await;
    server.end().await;
}

/// The task that owns a connection.
struct Server {
    work: Arc<Work>,
    /// What stops the calls that run, by the id of their request as it was written.
    running: HashMap<String, CancellationToken>,
    tasks: JoinSet<String>,
}

impl Server {
    async fn run(&mut self, lines: &mut mpsc::Receiver<Line>) {
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(Line::Message(message)) => self.message(message).await,
                    Some(Line::Nonsense) => self.refuse(&Value::Null, PARSE_ERROR, "that is no JSON").await,
                    None => return,
                },
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    if let Ok(id) = done {
                        self.running.remove(&id);
                    }
                }
            }
        }
    }

    /// Stops what runs, and waits for it.
    async fn end(mut self) {
        self.running.values().for_each(CancellationToken::cancel);
        let _ =
            tokio::time::timeout(PARTING, async { while self.tasks.join_next().await.is_some() {} }).await;
        self.work.sessions.close_all().await;
    }

    async fn message(&mut self, message: Value) {
        let messages = match message {
            Value::Array(messages) => messages,
            message => vec![message],
        };
        for message in messages {
            let id = message.get("id").filter(|id| !id.is_null()).cloned();
            let params = message.get("params").cloned().unwrap_or_default();
            match (message.get("method").and_then(Value::as_str), id) {
                (Some(method), Some(id)) => self.request(&id, method, params).await,
                (Some(method), None) => self.notification(method, &params),
                (None, Some(id)) => self.work.connection.answered(&id, message),
                (None, None) => self.refuse(&Value::Null, INVALID_REQUEST, "that is no request").await,
            }
        }
    }

    async fn request(&mut self, id: &Value, method: &str, params: Value) {
        let result = match method {
            "initialize" => self.greet(&params),
            "ping" => json!({}),
            "tools/list" => json!({"tools": tools::list()}),
            "tools/call" => return self.call(id, params).await,
            _ => {
                let said: String = method.chars().take(80).collect();
                return self.refuse(id, METHOD_NOT_FOUND, &format!("there is no method `{said}`")).await;
            }
        };
        self.work.connection.answer(id, &result).await;
    }

    /// Hears what the client can do, and says who we are.
    fn greet(&self, params: &Value) -> Value {
        let asks = params.pointer("/capabilities/elicitation").is_some_and(Value::is_object);
        self.work.asks.store(asks, Ordering::Release);
        let wanted = params.get("protocolVersion").and_then(Value::as_str);
        let version = VERSIONS.into_iter().find(|version| Some(*version) == wanted).unwrap_or(VERSIONS[0]);
        json!({
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "charla", "title": "Charla", "version": env!("CARGO_PKG_VERSION")},
            "instructions": "`prompt` has an agent work in a folder and gives its answer; with `session` it goes on.",
        })
    }

    async fn call(&mut self, id: &Value, params: Value) {
        let key = id.to_string();
        if self.tasks.len() >= MOST_CALLS || self.running.contains_key(&key) {
            let why = format!("more than {MOST_CALLS} calls at once, or two with one id");
            return self.refuse(id, INVALID_REQUEST, &why).await;
        }
        let cancel = CancellationToken::new();
        self.running.insert(key.clone(), cancel.clone());
        let (work, id) = (self.work.clone(), id.clone());
        self.tasks.spawn(async move {
            let result = Call::new(&work, &id, params, cancel.clone()).run().await;
            // Who has cancelled a call waits for no answer.
            if !cancel.is_cancelled() {
                work.connection.answer(&id, &result).await;
            }
            key
        });
    }

    fn notification(&self, method: &str, params: &Value) {
        if method == CANCELLED
            && let Some(running) = params.get("requestId").and_then(|id| self.running.get(&id.to_string()))
        {
            running.cancel();
        }
    }

    async fn refuse(&self, id: &Value, code: i64, message: &str) {
        self.work.connection.refuse(id, code, message).await;
    }
}
