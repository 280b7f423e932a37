//! Output that is too long to be told: its user has all of it, and so has the model.

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use super::client::Client;
use super::team::{Team, share};

/// More than is told.
const LINES: usize = 60_000;

fn printed() -> String {
    (1..=LINES).map(|line| format!("{line}\n")).collect()
}

/// A session of anna's in which a command has printed much: its id, and the record of its end.
fn much(anna: &Client<'_>) -> (String, Value) {
    let created = anna.post("/sessions", &json!({"mode": "yolo"})).json();
    let session = created["session"].as_str().unwrap().to_owned();
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "go"}]}});
    assert_eq!(anna.post(&format!("/sessions/{session}/commands"), &prompt).status, 200);
    let seen = anna.events(&session, 0).until("turn_ended");
    let ended = seen.into_iter().find(|event| event.data["kind"] == "call_ended").unwrap();
    (session, ended.data)
}

fn script() -> Script {
    let command = json!({"command": format!("seq 1 {LINES}")});
    Script::new([Reply::new().call("run_shell_command", command), "Much.".into()])
}

#[test]
fn who_may_read_a_session_has_the_whole_output_and_nobody_else_has() {
    let team = Team::new(script());
    let (anna, ben) = (team.add("anna", "member", json!({})), team.add("ben", "member", json!({})));
    let (session, ended) = much(&anna);
    let (call, path) = (ended["call"].as_str().unwrap(), ended["whole_output"].as_str().unwrap());
    let whole = format!("/sessions/{session}/outputs/{call}");
    let answer = anna.get(&whole);
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/plain; charset=utf-8"));
    assert!(answer.header("content-disposition").starts_with("attachment"));
    // It comes in chunks, whose sizes stand between its lines.
    let (text, most) = (answer.text(), printed().len());
    assert!(["1\n2\n3\n", "\n30000\n", "\n59999\n60000\n"].iter().all(|lines| text.contains(lines)));
    assert!((most..most + 1000).contains(&answer.body.len()), "{} bytes", answer.body.len());
    assert_eq!(ben.get(&whole).status, 404);
    share(&anna, &session, "ben", "read");
    assert_eq!(ben.get(&whole).status, 200);
    for other in ["nothing", "..%2f..%2fkeys.json", "%00"] {
        let refused = anna.get(&format!("/sessions/{session}/outputs/{other}"));
        assert_eq!(
            (refused.status, refused.header("content-type")),
            (404, "application/problem+json"),
            "{other}"
        );
    }
    // The model, which is told of the file, can read it; other files of the server stay out of reach.
    let read = |file: &str| {
        let tool = json!({"command": "run_tool", "name": "read_file", "args": {"file_path": file}});
        anna.post(&format!("/sessions/{session}/commands"), &tool)
    };
    assert_eq!(read(path).status, 200);
    let ended = anna.events(&session, 0).until("client_call_ended").pop().unwrap();
    let told = ended.data["response"].to_string();
    assert!(told.contains("1\\n2\\n3"), "{told}");
    let accounts = team.place.home().join("server/accounts.json");
    let refused = read(accounts.to_str().unwrap());
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("only the workspace can be reached"), "{}", refused.text());
}

#[test]
fn a_journal_from_elsewhere_names_no_file_of_this_server() {
    let team = Team::new(script());
    let anna = team.add("anna", "member", json!({}));
    let (session, ended) = much(&anna);
    let call = ended["call"].as_str().unwrap();
    let bundle = anna.get(&format!("/sessions/{session}/bundle")).text();
    let copy: Value = serde_json::from_str(&bundle.replace(&session, "another")).unwrap();
    let other: Value = serde_json::from_str(
        &bundle.replace(&format!("\"session\":\"{session}\""), "\"session\":\"forged\""),
    )
    .unwrap();
    for (name, bundle) in [("another", copy), ("forged", other)] {
        let brought = anna.post("/sessions/import", &bundle);
        assert_eq!(brought.status, 201, "{}", brought.text());
        assert_eq!(anna.get(&format!("/sessions/{name}/outputs/{call}")).status, 404, "{name}");
    }
}
