//! What the services took, as recorded in the wire corpus, is taken here.

use std::path::Path;

use charla_proto::WireKind;
use charla_testkit::{Script, Server};
use serde_json::Value;

use crate::client::{exchange, request};

/// Refused because the proof, or the conversation, is the real service's and not this server's.
const NOT_OURS: [&str; 4] =
    ["signature is not valid", "Invalid `signature`", "could not be verified", "Previous response with id"];

#[test]
fn requests_the_services_took_are_taken() {
    let server = Server::start(Script::always("fine")).unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../providers/tests/corpus");
    let mut taken = 0;
    let mut refused = Vec::new();
    for wire in WireKind::ALL {
        for case in std::fs::read_dir(corpus.join(wire.name())).unwrap() {
            let case = case.unwrap().path();
            let Some((path, body)) = recorded(&case) else { continue };
            let beta = if path.contains("beta=true") { "anthropic-beta: some\r\n" } else { "" };
            let answer = exchange(&server, &request(&path, beta, &body));
            match answer.status {
                200 => taken += 1,
                _ if NOT_OURS.iter().any(|words| answer.text().contains(words)) => {}
                _ => refused.push(format!("{}: {}", case.display(), answer.text())),
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(taken > 150, "only {taken} requests were taken");
}

/// Path and body of a recorded request that its own vendor answered.
fn recorded(case: &Path) -> Option<(String, Value)> {
    let read = |name: &str| serde_json::from_slice::<Value>(&std::fs::read(case.join(name)).ok()?).ok();
    let meta = read("meta.json")?;
    let vendors = ["google", "google-vertex", "openai", "anthropic"];
    let own = meta["vendor"].as_str().is_some_and(|vendor| vendors.contains(&vendor));
    // Some servers speak another vendor's wire; only a wire's own vendor says what it takes.
    let foreign = meta["vendor"] != "openai" && case.parent()?.ends_with("openai-chat");
    if !own || foreign || meta["status"] != 200 || meta["authenticity"] != "recorded" {
        return None;
    }
    Some((meta["endpoint"].as_str()?.to_owned(), read("request.json")?))
}
