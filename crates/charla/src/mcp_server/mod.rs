//! Charla as an MCP server: another program prompts sessions, and asks its user what the rules do not answer.
//!
//! It speaks through a reader and a writer that are handed in. Every request runs beside the others; when nothing more
//! comes, prompts that run are cancelled and recorded as everywhere, and everything that was asked is answered.

mod ask;
mod sessions;
mod tools;

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use charla_core::CancellationToken;
use serde_json::{Value, json};

use crate::Charla;
use crate::json_rpc::{Connection, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Requests};
use crate::settings::Override;
use sessions::OpenSessions;
use tools::{Call, PROMPT, Work};

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
    let (connection, mut requests) = Connection::start(input, output, CANCELLED, MOST_CALLS);
    let work = Arc::new(Work {
        charla: charla.clone(),
        overrides,
        sessions: OpenSessions::default(),
        connection,
        asks: AtomicBool::new(false),
        greeted: AtomicBool::new(false),
    });
    while let Some(incoming) = requests.next().await {
        if let Some(id) = &incoming.id {
            answer(&work, &mut requests, id, &incoming.method, incoming.params).await;
        }
    }
    requests.cancel(PROMPT);
    requests.finish(PARTING).await;
    work.sessions.close_all().await;
    work.connection.flush(PARTING).await;
}

async fn answer(work: &Arc<Work>, requests: &mut Requests, id: &Value, method: &str, params: Value) {
    let result = match method {
        "initialize" => greet(work, &params),
        "ping" => json!({}),
        _ if !work.greeted.load(Ordering::Acquire) => {
            let why = "nothing but `initialize` and `ping` can be asked before `initialize` was answered";
            return work.connection.refuse(id, INVALID_REQUEST, why).await;
        }
        "tools/list" => json!({"tools": tools::list()}),
        "tools/call" => match tools::problem(&params) {
            Some(why) => return work.connection.refuse(id, INVALID_PARAMS, &why).await,
            None => return call(work, requests, id, params).await,
        },
        _ => {
            let said: String = method.chars().take(80).collect();
            let why = format!("there is no method `{said}`");
            return work.connection.refuse(id, METHOD_NOT_FOUND, &why).await;
        }
    };
    work.connection.answer(id, &result).await;
}

/// Hears what the client can do, and says who we are.
fn greet(work: &Work, params: &Value) -> Value {
    let asks = params.pointer("/capabilities/elicitation").is_some_and(Value::is_object);
    work.asks.store(asks, Ordering::Release);
    work.greeted.store(true, Ordering::Release);
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.into_iter().find(|version| Some(*version) == wanted).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "charla", "title": "Charla", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "`prompt` has an agent work in a folder and gives its answer; with `session` it goes on.",
    })
}

async fn call(work: &Arc<Work>, requests: &mut Requests, id: &Value, params: Value) {
    let about = (params.get("name") == Some(&json!(PROMPT))).then(|| PROMPT.to_owned());
    let (work, call_id) = (work.clone(), id.clone());
    let call = async move |cancel: CancellationToken| {
        let result = Call::new(&work, &call_id, params, cancel.clone()).run().await;
        // Who has cancelled a call waits for no answer; who has only stopped to write may.
        if !cancel.is_cancelled() || work.connection.is_gone() {
            work.connection.answer(&call_id, &result).await;
        }
    };
    requests.begin(id, about, call).await;
}
