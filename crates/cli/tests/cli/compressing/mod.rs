//! Long conversations: compressed, restored, and refused with reasons, through the binary and a real socket.

mod facts;
mod restoring;
mod useless;
mod window;

use charla_proto::WireKind;
use charla_testkit::{Recorded, Server};
use serde_json::{Value, json};

use crate::place::{Place, Run};

/// What a request for a summary ends with.
const ASKS: &str = "Write the snapshot now.";

const WIRES: [WireKind; 4] =
    [WireKind::Gemini, WireKind::OpenaiChat, WireKind::OpenaiResponses, WireKind::Anthropic];

/// A model whose calls must come back with their signatures where the wire is Gemini's.
const MODEL: &str = "test/gemini-3-m";

/// A place whose model speaks this wire and has this window.
fn place(server: &Server, wire: WireKind, window: u32) -> Place {
    place_with(server, wire, window, json!({}))
}

fn place_with(server: &Server, wire: WireKind, window: u32, compression: Value) -> Place {
    let settings = json!({
        "model": {"name": MODEL, "prompt": "full"},
        "compression": compression,
        "retry": {"initialDelaySeconds": 0.01},
        "providers": {"test": {
            "wire": wire,
            "baseUrl": server.base_url(wire),
            "apiKey": {"env": "TEST_KEY"},
            "models": {"gemini-3-m": {"contextWindow": window, "tools": "native", "thinking": "levels"}},
        }},
    });
    Place::new().variable("TEST_KEY", "k").settings(&settings.to_string())
}

/// Changes the window of the place's model.
fn set_window(place: &Place, window: u32) {
    let file = place.home().join("settings.json");
    let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    settings["providers"]["test"]["models"]["gemini-3-m"]["contextWindow"] = window.into();
    std::fs::write(file, settings.to_string()).unwrap();
}

fn is_summary(request: &Recorded) -> bool {
    request.body.to_string().contains(ASKS)
}

fn summaries(server: &Server) -> usize {
    server.requests().iter().filter(|request| is_summary(request)).count()
}

/// The last request that is not for a summary, as it was sent.
fn last_request(server: &Server) -> String {
    let requests = server.requests();
    requests.iter().rev().find(|request| !is_summary(request)).unwrap().body.to_string()
}

/// A prompt in the latest session.
fn go_on(place: &Place, prompt: &str) -> Run {
    let run = place.run(&["--resume", "-p", prompt]);
    assert_eq!(run.code, Some(0), "{prompt}: {}", run.err);
    run
}
