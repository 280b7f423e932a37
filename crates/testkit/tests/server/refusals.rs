//! What the real services refuse is refused here, in their form; what they take is taken.

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

use charla_proto::WireKind;
use charla_testkit::{Script, Server};
use serde_json::{Value, json};

use crate::client::{ask, prompt};

type Row = (&'static str, Value, &'static str);

/// Every body must give 400 with these words, and leave a problem behind.
fn all_refused(wire: WireKind, rows: Vec<Row>) {
    let server = Server::start(Script::always("fine")).unwrap();
    for (at, (name, body, words)) in rows.iter().enumerate() {
        let answer = ask(&server, wire, body);
        assert_eq!(answer.status, 400, "{name}: {}", answer.text());
        let error = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(error.contains(words), "{name}: {error}");
        assert_eq!(server.problems().len(), at + 1, "{name}");
        assert_eq!(server.problems()[at].message, error, "{name}");
    }
    let lenient = Server::start(Script::always("fine").lenient()).unwrap();
    for (name, body, _) in rows {
        assert_eq!(ask(&lenient, wire, &body).status, 200, "{name} without strictness");
    }
}

fn all_taken(wire: WireKind, bodies: Vec<Value>) {
    let server = Server::start(Script::always("fine")).unwrap();
    for body in bodies {
        let answer = ask(&server, wire, &body);
        assert_eq!(answer.status, 200, "{}\n{body:#}", answer.text());
    }
    assert_eq!(server.problems(), []);
}

/// The smallest good request with these fields set.
fn with(wire: WireKind, fields: Value) -> Value {
    let mut body = prompt(wire, "hi", false);
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// Parameters of a tool that every service takes.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}},
        "required": ["a"],
    })
}
