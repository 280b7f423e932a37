//! The interface tried by its own document: Schemathesis makes requests that fit it and requests that do not.

use std::process::Command;

use charla_testkit::{Otherwise, Script};

use super::client::Served;
use super::{place, write};
use crate::place::server;

/// Streams do not end by themselves.
const LEFT_OUT: [&str; 2] = ["session_events", "events"];

/// What may be answered to what the document describes: which folders, models and sessions there are, no document tells. It is never 400.
const POSSIBLE: [&str; 8] = ["2xx", "401", "402", "403", "404", "409", "422", "429"];

#[test]
fn what_the_document_says_holds_for_requests_that_nobody_thought_of() {
    let script = Script::new([write("a.txt"), "Hello.".into(), "Hello again.".into()]);
    let server = server(Script { otherwise: Otherwise::Repeat, ..script });
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-4.1"}}"#);
    let served = Served::start(&place);
    // What is sent is sent to sessions that are there: one whose question waits, and one that rests.
    let asks = served.begin("write it");
    let question = served.questions(1).remove(0);
    let session = served.begin("hi");
    served.events(&session, 0).until("turn_ended");
    let gone = served.begin("hi again");
    served.events(&gone, 0).until("turn_ended");
    let approval = question["asked"]["approval"].as_str().unwrap();
    let known = format!(
        "[parameters]\n\"path.id\" = \"{session}\"\n\"path.turn\" = \"1\"\n\"path.approval\" = \"{approval}\"\n\n\
         [checks]\npositive_data_acceptance.expected-statuses = {POSSIBLE:?}\n\n\
         [[operations]]\ninclude-operation-id = \"delete_session\"\nparameters = {{ \"path.id\" = \"{gone}\" }}\n"
    );
    std::fs::write(place.path().join("schemathesis.toml"), known).unwrap();
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let url = format!("http://{}", served.address);
    let mut command = Command::new(python);
    command.args(["-m", "schemathesis.cli", "run", &format!("{url}/api/v1/openapi.json"), "--url", &url]);
    command.args(["--header", &format!("Authorization: Bearer {}", served.token), "--no-color"]);
    command.args([
        "--seed",
        "1",
        "--max-examples",
        "10",
        "--request-timeout",
        "60",
        "--generation-database",
        "none",
    ]);
    command.args(LEFT_OUT.iter().flat_map(|name| ["--exclude-operation-id", name]));
    let output = command.current_dir(place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("test cases") || said.contains("Test cases"), "{said}");
    assert_eq!(served.get("/me").status, 200, "it lives on");
    let records = |session: &str| served.get(&format!("/sessions/{session}/records")).text();
    assert!(records(&asks).contains("approval_answered"), "answers that fit the document are taken");
    assert_eq!(served.get(&format!("/sessions/{gone}")).status, 404, "so is what removes a session");
    let turns = records(&session).matches("turn_started").count();
    assert!(turns > 1, "so are commands: {turns} turns");
}
