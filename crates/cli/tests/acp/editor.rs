//! Editors for tests: one on the official TypeScript library, one that writes lines itself.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use agent_client_protocol_schema::v1;
use charla_testkit::{Reply, Server};
use serde_json::{Value, json};

use crate::place::Place;

const MODEL: &str = "openai/gpt-test";

pub fn place(model: &Server) -> Place {
    Place::with_server(model).settings(&json!({"model": {"name": MODEL}}).to_string())
}

/// A call of the shell.
pub fn shell(command: &str) -> Reply {
    Reply::new().call("run_shell_command", json!({"command": command}))
}

/// The step that begins a session in the workspace.
pub fn new(place: &Place) -> Value {
    json!({"method": "session/new", "params": {"cwd": place.work(), "mcpServers": []}})
}

/// The step that says something in it.
pub fn prompt(words: &str) -> Value {
    let blocks = json!([{"type": "text", "text": words}]);
    json!({"method": "session/prompt", "params": {"sessionId": "$session", "prompt": blocks}})
}

/// What an editor saw that did this.
pub fn edit(place: &Place, plan: &Value) -> Seen {
    let folder = std::env::var_os("CHARLA_TEST_MCP").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.test-env/mcp"));
    let sdk = folder.join("node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js");
    assert!(sdk.exists(), "{} is missing: ./test installs it", sdk.display());
    let served = place.process(&["acp"]);
    let mut node = Command::new("node");
    node.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/client.mjs"));
    node.arg(sdk).arg(plan.to_string()).arg(served.get_program()).args(served.get_args());
    node.current_dir(served.get_current_dir().unwrap()).env_clear();
    node.envs(served.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = node.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Seen(serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}\n{err}")))
}

/// What an editor saw.
#[derive(Debug)]
pub struct Seen(pub Value);

impl Seen {
    /// What came of the step with this number, from 0.
    pub fn result(&self, step: usize) -> &Value {
        &self.0["results"][step]
    }

    /// The updates of this kind.
    pub fn updates(&self, kind: &str) -> Vec<&Value> {
        let updates = self.0["updates"].as_array().unwrap().iter();
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// What chunks of this kind say together.
    pub fn text(&self, kind: &str) -> String {
        self.updates(kind).iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    /// The last that was told of the first call.
    pub fn call(&self) -> Value {
        let id = &self.updates("tool_call")[0]["toolCallId"];
        let mut call = self.updates("tool_call")[0].clone();
        for update in self.updates("tool_call_update").into_iter().filter(|one| one["toolCallId"] == *id) {
            call.as_object_mut().unwrap().extend(update.as_object().unwrap().clone());
        }
        call
    }

    pub fn list(&self, what: &str) -> &Vec<Value> {
        self.0[what].as_array().unwrap()
    }
}

/// A client that writes lines itself.
pub struct Raw {
    pub child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    /// What was asked, by id.
    asked: HashMap<u64, String>,
}

impl Raw {
    pub fn start(place: &Place) -> Self {
        let mut command = place.process(&["acp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, asked: HashMap::new() }
    }

    /// One that has said what it can do.
    pub fn greeted(place: &Place) -> Self {
        let mut client = Self::start(place);
        client.ask(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
        assert_eq!(client.answer(1)["result"]["protocolVersion"], 1);
        client
    }

    /// The same in a session; its id.
    pub fn in_session(place: &Place) -> (Self, String) {
        let mut client = Self::greeted(place);
        client.ask(2, "session/new", json!({"cwd": place.work(), "mcpServers": []}));
        let session = client.answer(2)["result"]["sessionId"].as_str().unwrap().to_owned();
        (client, session)
    }

    pub fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn ask(&mut self, id: u64, method: &str, params: Value) {
        self.asked.insert(id, method.to_owned());
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
    }

    pub fn prompt(&mut self, id: u64, session: &str, words: &str) {
        let blocks = json!([{"type": "text", "text": words}]);
        self.ask(id, "session/prompt", json!({"sessionId": session, "prompt": blocks}));
    }

    /// The next line; every one is a message of the protocol, as the official types have it.
    pub fn hear(&mut self) -> Value {
        let line = self.lines.next().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        let asked = message["id"].as_u64().and_then(|id| self.asked.get(&id)).map(String::as_str);
        official(&message, asked);
        message
    }

    /// The answer of this id; what comes before it is passed over.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.hear();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The next message with this method.
    pub fn wait_for(&mut self, method: &str) -> Value {
        loop {
            let message = self.hear();
            if message["method"] == method {
                return message;
            }
        }
    }

    /// The editor writes nothing more, and still reads.
    pub fn stop_writing(&mut self) {
        drop(self.child.stdin.take());
    }

    /// The editor goes away; the program ends by itself.
    pub fn leave(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Reads a message into the official type; `asked` is the request that it answers, if it answers one.
fn official(message: &Value, asked: Option<&str>) {
    macro_rules! read {
        ($kind:ident, $place:expr) => {
            serde_json::from_value::<v1::$kind>($place.clone()).map(drop)
        };
    }
    let (params, result) = (&message["params"], &message["result"]);
    let read = match (message["method"].as_str(), asked) {
        (Some("session/update"), _) => read!(SessionNotification, params),
        (Some("session/request_permission"), _) => read!(RequestPermissionRequest, params),
        (Some("$/cancel_request"), _) => read!(CancelRequestNotification, params),
        (None, _) if message.get("error").is_some() => read!(Error, message["error"]),
        (None, Some("initialize")) => read!(InitializeResponse, result),
        (None, Some("session/new")) => read!(NewSessionResponse, result),
        (None, Some("session/load")) => read!(LoadSessionResponse, result),
        (None, Some("session/prompt")) => read!(PromptResponse, result),
        (None, Some("session/close")) => read!(CloseSessionResponse, result),
        _ => panic!("no type is known for {message:#}"),
    };
    if let Err(error) = read {
        panic!("{message:#}\n{error}");
    }
}
