//! The interface tried by its own document: Schemathesis makes requests that fit it and requests that do not.

use std::process::Command;

use charla_testkit::Script;

use super::client::Served;
use super::place;
use crate::place::server;

/// Streams do not end by themselves.
const LEFT_OUT: [&str; 2] = ["session_events", "events"];

#[test]
fn what_the_document_says_holds_for_requests_that_nobody_thought_of() {
    let server = server(Script::new(["unused"]));
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-4.1"}}"#);
    let served = Served::start(&place);
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let url = format!("http://{}", served.address);
    let mut command = Command::new(python);
    command.args(["-m", "schemathesis.cli", "run", &format!("{url}/api/v1/openapi.json"), "--url", &url]);
    command.args(["--header", &format!("Authorization: Bearer {}", served.token), "--no-color"]);
    command.args([
        "--seed",
        "1",
        "--max-examples",
        "5",
        "--request-timeout",
        "60",
        "--generation-database",
        "none",
    ]);
    // No schema tells which folders, models and sessions there are.
    command.args(["--exclude-checks", "positive_data_acceptance"]);
    command.args(LEFT_OUT.iter().flat_map(|name| ["--exclude-operation-id", name]));
    let output = command.current_dir(place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("test cases") || said.contains("Test cases"), "{said}");
    assert_eq!(served.get("/me").status, 200, "it lives on");
}
