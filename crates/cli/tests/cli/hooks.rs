//! Hooks through the binary: real programs at every point of a session.

mod answers;
mod conversations;
mod effects;
mod matrix;
mod misbehaving;
mod origins;

use charla_proto::text::shell_quote;
use charla_testkit::{Reply, Script, Server};
use serde_json::{Value, json};

use crate::place::{Place, Run, server};

const MODEL: &str = "openai/gpt-test";
const EVENTS: [&str; 11] = [
    "SessionStart",
    "BeforeAgent",
    "PreCompress",
    "BeforeModel",
    "BeforeToolSelection",
    "AfterModel",
    "BeforeTool",
    "Notification",
    "AfterTool",
    "AfterAgent",
    "SessionEnd",
];

/// A hook that answers with this.
fn says(answer: &Value) -> String {
    format!("cat > /dev/null; printf %s {}", shell_quote(&answer.to_string()))
}

/// A hook that keeps what it is given in `seen` and then does this.
fn keeps(then: &str) -> String {
    format!("cat >> seen; {then}")
}

/// The settings of one hook at one event.
fn at(event: &str, command: &str) -> Value {
    json!({ event: [{ "hooks": [{ "type": "command", "command": command }] }] })
}

/// The inputs that hooks have kept.
fn seen(place: &Place) -> Vec<Value> {
    let kept = place.read("seen").unwrap_or_default();
    kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn place(server: &Server, hooks: &Value) -> Place {
    Place::with_server(server).settings(&json!({ "hooks": hooks }).to_string())
}

/// A run in which the model says these things, everything is allowed, and these hooks run.
fn run<R: Into<Reply>>(replies: impl IntoIterator<Item = R>, hooks: &Value) -> (Run, Server, Place) {
    let server = server(Script::new(replies));
    let place = place(&server, hooks);
    let run = place.run(&["-m", MODEL, "--approval-mode", "yolo", "-p", "go"]);
    (run, server, place)
}

fn writes(content: &str) -> Reply {
    Reply::new().call("write_file", json!({"file_path": "a.txt", "content": content}))
}

fn shell(command: &str) -> Reply {
    Reply::new().call("run_shell_command", json!({"command": command}))
}

/// The body of a request, as text.
fn asked(server: &Server, request: usize) -> String {
    server.requests()[request].body.to_string()
}

/// The records of one kind in the latest journal.
fn records(place: &Place, kind: &str) -> Vec<Value> {
    let (_, journal) = place.journals().pop().unwrap();
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["kind"] == kind).collect()
}

/// Waits until there is such a file in the workspace; false when it takes too long.
fn appears(place: &Place, name: &str) -> bool {
    let until = std::time::Instant::now() + crate::place::PATIENCE;
    while place.read(name).is_none() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    place.read(name).is_some()
}
