//! Going back in a conversation: `charla rewind`, `--fork ID --at N`; and the model a session goes on with.

use std::time::{Duration, SystemTime};

use charla_testkit::{Reply, Script, Server};
use serde_json::json;

use crate::place::{Place, Run, server};

/// Three turns of one session, the second of which makes a file.
fn session() -> (Place, Server) {
    let write = Reply::new().call("write_file", json!({"file_path": "made.txt", "content": "Hello.\n"}));
    let replies = [Reply::from("One."), write, "Two.".into(), "Three.".into(), "Four.".into()];
    let server = server(Script::new(replies));
    let place = Place::with_server(&server);
    ok(&place, &["-m", "openai/gpt-test", "-p", "alpha"]);
    ok(&place, &["--resume", "--approval-mode", "auto_edit", "-p", "beta"]);
    ok(&place, &["--resume", "-p", "gamma"]);
    (place, server)
}

fn ok(place: &Place, arguments: &[&str]) -> Run {
    let run = place.run(arguments);
    assert_eq!(run.code, Some(0), "{arguments:?}: {}{}", run.out, run.err);
    run
}

/// The number of the message with these words, as `charla rewind` lists it.
fn message(place: &Place, words: &str) -> String {
    let listed = ok(place, &["rewind"]).out;
    let line = listed.lines().find(|line| line.contains(words));
    line.unwrap_or_else(|| panic!("{words} is missing: {listed}"))
        .split_whitespace()
        .next()
        .unwrap()
        .to_owned()
}

fn last_request(server: &Server) -> String {
    server.requests().last().unwrap().body.to_string()
}

#[test]
fn rewind_lists_the_messages_with_their_numbers() {
    let (place, _server) = session();
    let listed = ok(&place, &["rewind"]);
    let told: Vec<(&str, &str)> = listed
        .out
        .lines()
        .map(|line| line.trim_start().split_once("  ").unwrap().1)
        .map(|line| line.split_once(' ').unwrap())
        .map(|(who, words)| (who, words.trim()))
        .collect();
    let expected = [
        ("you", "alpha"),
        ("model", "One."),
        ("you", "beta"),
        ("model", "[write_file]"),
        ("you", "[result of write_file]"),
        ("model", "Two."),
        ("you", "gamma"),
        ("model", "Three."),
    ];
    assert_eq!(told, expected, "{}", listed.out);
    assert!(listed.err.contains("charla rewind NUMBER --session"), "{}", listed.err);
}

#[test]
fn a_rewound_session_goes_on_after_the_message_and_its_files_stay() {
    let (place, server) = session();
    let run = ok(&place, &["rewind", &message(&place, "One.")]);
    assert_eq!(run.out, "", "no file is touched");
    assert!(run.err.contains("goes on after message"), "{}", run.err);
    assert_eq!(place.read("made.txt").as_deref(), Some("Hello.\n"));
    assert_eq!(ok(&place, &["--resume", "-p", "delta"]).out, "Four.\n");
    let told = last_request(&server);
    for (words, is_told) in
        [("alpha", true), ("One.", true), ("delta", true), ("beta", false), ("gamma", false)]
    {
        assert_eq!(told.contains(words), is_told, "{words}: {told}");
    }
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

#[test]
fn a_rewind_with_files_takes_later_changes_back_or_changes_nothing() {
    let (place, _server) = session();
    let one = message(&place, "One.");
    std::fs::write(place.work().join("made.txt"), "Mine.\n").unwrap();
    let run = place.run(&["rewind", &one, "--files"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.err.contains("nothing was changed") && run.err.contains("made.txt"), "{}", run.err);
    assert_eq!(place.read("made.txt").as_deref(), Some("Mine.\n"));
    message(&place, "gamma");
    std::fs::write(place.work().join("made.txt"), "Hello.\n").unwrap();
    let run = ok(&place, &["rewind", &one, "--files"]);
    assert!(run.out.starts_with("removed") && run.out.contains("made.txt"), "{}", run.out);
    assert_eq!(place.read("made.txt"), None);
    assert!(!ok(&place, &["rewind"]).out.contains("beta"));
}

#[test]
fn a_session_rewound_to_its_beginning_stays_when_nothing_comes_of_the_next_prompt() {
    let (place, _server) = session();
    ok(&place, &["rewind", "0"]);
    let commands = place.home().join("commands");
    std::fs::create_dir_all(&commands).unwrap();
    std::fs::write(commands.join("greet.toml"), "prompt = 'Greet !{touch it}'").unwrap();
    let (name, before) = place.journals().pop().unwrap();
    let run = place.run(&["--resume", "-p", "/greet"]);
    assert_eq!(run.code, Some(42), "{}", run.err);
    assert!(run.err.contains("/greet is not said"), "{}", run.err);
    let (still, after) = place.journals().pop().expect("the session is still there");
    assert!(still == name && after.starts_with(&before), "{after}");
    // One that begins with such a prompt is nothing to come back to.
    assert_eq!(place.run(&["-m", "openai/gpt-test", "-p", "/greet"]).code, Some(42));
    assert_eq!(place.journals().len(), 1);
}

#[test]
fn a_message_that_is_not_there_is_refused() {
    let (place, _server) = session();
    let (_, before) = place.journals().pop().unwrap();
    let run = place.run(&["rewind", "999"]);
    assert_eq!(run.code, Some(42), "{}", run.err);
    assert!(run.err.contains("there is no message 999"), "{}", run.err);
    let run = place.run(&["--fork", "latest", "--at", "999", "-p", "delta"]);
    assert_eq!(run.code, Some(42), "{}", run.err);
    assert!(run.err.contains("has no message 999"), "{}", run.err);
    let run = place.run(&["--fork", "latest", "--at", "1", "-p", "delta"]);
    assert_eq!(run.code, Some(42), "{}", run.err);
    let nearest = message(&place, "alpha");
    assert!(run.err.contains(&format!("has no message 1; the nearest is {nearest}")), "{}", run.err);
    let run = place.run(&["rewind", "abc"]);
    assert!(run.err.contains("'abc'") && run.err.contains("no number of a message"), "{}", run.err);
    assert_eq!(place.journals(), [(place.journals().pop().unwrap().0, before)], "nothing was written");
}

#[test]
fn a_fork_at_a_message_knows_nothing_of_what_came_after_it() {
    let (place, server) = session();
    let (id, before) = place.journals().pop().unwrap();
    let run = ok(&place, &["--fork", &id, "--at", &message(&place, "One."), "-p", "delta"]);
    assert_eq!(run.out, "Four.\n");
    let told = last_request(&server);
    assert!(told.contains("alpha") && told.contains("One.") && told.contains("delta"), "{told}");
    assert!(!told.contains("beta") && !told.contains("gamma"), "{told}");
    let journals = place.journals();
    assert_eq!((journals.len(), &journals[0]), (2, &(id, before)), "the other one is as it was");
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

#[test]
fn a_session_goes_on_with_its_last_model_and_is_listed_with_it() {
    let server = server(Script::always("Yes."));
    let place = Place::with_server(&server).settings(r#"{"model": {"name": "gemini/gemini-test"}}"#);
    ok(&place, &["-m", "openai/gpt-test", "-p", "first"]);
    ok(&place, &["--resume", "-m", "anthropic/claude-test", "-p", "second"]);
    ok(&place, &["--resume", "-p", "third"]);
    let listed = ok(&place, &["--list-sessions"]).out;
    assert!(listed.contains("anthropic/claude-test") && !listed.contains("openai"), "{listed}");
    let asked: Vec<String> = server.requests().iter().map(|request| request.model.clone()).collect();
    assert_eq!(asked, ["gpt-test", "claude-test", "claude-test"]);
}

#[test]
fn a_session_in_which_nothing_was_asked_is_not_the_latest() {
    let server = server(Script::always("Yes."));
    let place = Place::with_server(&server);
    ok(&place, &["-m", "openai/gpt-test", "-p", "first"]);
    let (_, journal) = place.journals().pop().unwrap();
    let (started, empty) = (journal.lines().next().unwrap(), "0199aaaa-empty");
    let id = place.journals().pop().unwrap().0;
    let path = place.home().join("sessions").join(format!("{empty}.jsonl"));
    std::fs::write(&path, format!("{}\n", started.replace(&id, empty))).unwrap();
    // Clocks of files are coarse.
    let later = SystemTime::now() + Duration::from_secs(60);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(later).unwrap();
    assert!(ok(&place, &["--list-sessions"]).out.starts_with(empty), "it was written last");
    ok(&place, &["--resume", "-p", "second"]);
    assert!(last_request(&server).contains("first"));
}
