//! Sessions and answers in a form: what outlives a run, and what a run is held to.

use std::io::{BufRead, BufReader};

use charla_testkit::{Reply, Script, Server};
use serde_json::json;

use crate::place::{Place, Run, server};

const MODELS: [&str; 2] = ["gemini/gemini-test", "anthropic/claude-test"];

fn go_on(place: &Place, model: &str, arguments: &[&str]) -> Run {
    place.run(&[&["-m", model], arguments].concat())
}

#[test]
fn a_resumed_session_remembers_tools_and_all() {
    for model in MODELS {
        let read = Reply::new().call("read_file", json!({"file_path": "a.txt"}));
        let server = server(Script::new([read, "It says alpha.".into(), "As I said.".into()]));
        let place = Place::with_server(&server).file("a.txt", "alpha\n");
        assert_eq!(go_on(&place, model, &["-p", "first"]).code, Some(0));
        let run = go_on(&place, model, &["--resume", "-p", "second"]);
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "As I said.\n", ""), "{model}");
        let body = server.requests()[2].body.to_string();
        for said in ["first", "alpha", "It says alpha.", "second"] {
            assert!(body.contains(said), "{model}: {said} is missing");
        }
        assert!(server.problems().is_empty(), "{model}: {:?}", server.problems());
        assert_eq!(place.journals().len(), 1);
    }
}

#[test]
fn a_fork_leaves_the_session_as_it_is() {
    let server = server(Script::always("Yes."));
    let place = Place::with_server(&server);
    place.run(&["-p", "first"]);
    let (id, before) = place.journals().pop().unwrap();
    let run = place.run(&["--fork", &id, "-p", "second"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let journals = place.journals();
    assert_eq!(journals.len(), 2);
    assert_eq!(journals.iter().find(|(other, _)| *other == id).unwrap().1, before);
    assert!(server.requests()[1].body.to_string().contains("first"));
}

#[test]
fn sessions_are_listed_and_deleted() {
    let server = server(Script::always("Yes."));
    let place = Place::with_server(&server);
    assert!(place.run(&["--list-sessions"]).err.contains("there are no sessions yet"));
    place.run(&["-p", "about whales"]);
    let listed = place.run(&["--list-sessions"]);
    let (id, _) = place.journals().pop().unwrap();
    assert!(listed.out.contains(&id) && listed.out.contains("about whales"), "{}", listed.out);
    assert_eq!(place.run(&["--delete-session", &id]).code, Some(0));
    assert!(place.journals().is_empty());
    let run = place.run(&["--resume", &id, "-p", "hi"]);
    assert_eq!(run.code, Some(42), "{}", run.err);
    assert!(
        run.err.contains("there is no session") && run.err.contains("`charla sessions` lists"),
        "{}",
        run.err
    );
}

#[test]
fn a_session_of_a_newer_version_can_be_read_and_is_left_as_it_is() {
    let server = server(Script::always("Yes."));
    let place = Place::with_server(&server);
    place.run(&["-p", "about whales"]);
    let (id, journal) = place.journals().pop().unwrap();
    let newer = journal.replacen("\"version\":2", "\"version\":99", 1);
    assert_ne!(newer, journal);
    std::fs::write(place.home().join("sessions").join(format!("{id}.jsonl")), &newer).unwrap();
    assert!(place.run(&["--list-sessions"]).out.contains("about whales"));
    let run = place.run(&["--resume", &id, "-p", "second"]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert!(run.err.contains("newer Charla"), "{}", run.err);
    assert_eq!((place.journals(), server.requests().len()), (vec![(id, newer)], 1));
}

#[test]
fn one_process_at_a_time_writes_a_session() {
    let server = server(Script::new([Reply::from("Yes."), Reply::new().text("begun").stall()]));
    let place = Place::with_server(&server);
    place.run(&["-p", "first"]);
    let (id, _) = place.journals().pop().unwrap();
    let mut child = place.spawn(&["--resume", &id, "-o", "stream-json", "-p", "second"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("begun")));
    let run = place.run(&["--resume", &id, "-p", "third"]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert!(run.err.contains("in use by another process") && run.err.contains("--fork"), "{}", run.err);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_session_whose_process_died_goes_on() {
    let slow = Reply::new().call("run_shell_command", json!({"command": "echo started; sleep 60"}));
    let server = server(Script::new([slow, "Here again.".into()]));
    let place = Place::with_server(&server);
    let mut child = place.spawn(&["--approval-mode", "yolo", "-o", "stream-json", "-p", "first"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("started\\n")));
    child.kill().unwrap();
    child.wait().unwrap();
    let run = place.run(&["--resume", "-p", "second"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Here again.\n"), "{}", run.err);
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

/// A run that must answer with a number.
fn number(replies: &[&str]) -> (Run, Server) {
    let server = server(Script::new(replies.iter().map(|reply| Reply::from(*reply))));
    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
    let place = Place::with_server(&server).file("schema.json", schema);
    let run = place.run(&["-m", "openai/gpt-test", "--output-schema", "schema.json", "-p", "a number"]);
    (run, server)
}

#[test]
fn an_answer_is_held_to_its_schema() {
    let (run, server) = number(&[r#"{"n": 4}"#]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "{\"n\": 4}\n", ""));
    assert!(server.requests()[0].body.to_string().contains("JSON Schema"));
    let (run, server) = number(&["Four.", r#"{"n": 4}"#]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "{\"n\": 4}\n"), "{}", run.err);
    assert!(server.requests()[1].body.to_string().contains("it is not JSON"));
    let (run, server) = number(&[r#"{"n": "4"}"#, r#"{"m": 4}"#, "[]"]);
    assert_eq!((run.code, run.out.as_str()), (Some(56), ""), "{}", run.err);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn the_result_line_has_the_answer_that_fits_its_schema() {
    let fenced = "Here it is:\n```json\n{\"n\": 4}\n```";
    let server = server(Script::new(["Four.", fenced]));
    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
    let place = Place::with_server(&server).file("schema.json", schema);
    let arguments = ["-o", "stream-json", "--output-schema", "schema.json", "-p", "a number"];
    let run = place.run(&[&["-m", "openai/gpt-test"], &arguments[..]].concat());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let lines = run.lines();
    assert_eq!(lines.last().unwrap()["response"], "{\"n\": 4}");
    let repaired: Vec<_> = lines.iter().filter(|line| line["type"] == "prompt_joined").collect();
    assert_eq!(repaired.len(), 1, "{lines:?}");
    assert!(repaired[0]["content"].as_str().unwrap().contains("it is not JSON"), "{repaired:?}");
}

#[test]
fn a_schema_that_is_none_is_refused_before_anything_is_sent() {
    let server = server(Script::always("never"));
    let place = Place::with_server(&server).file("schema.json", "{\"type\": 5}");
    for file in ["schema.json", "missing.json"] {
        let run = place.run(&["--output-schema", file, "-p", "hi"]);
        assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    }
    assert_eq!(server.requests().len(), 0);
}
