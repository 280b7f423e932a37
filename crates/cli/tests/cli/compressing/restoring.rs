//! A compression can be seen in every form of output, and taken back.

use std::io::{BufRead, BufReader};

use charla_proto::WireKind;
use charla_testkit::{Reply, Script, Server, Step, When};
use serde_json::json;

use super::{ASKS, WIRES, go_on, last_request, place, place_with, set_window, summaries};
use crate::place::{Place, server};

fn talker() -> Server {
    let honest = Reply::new().step(Step::Snapshot("rule ".into()));
    server(
        Script::always("Here is all that I found out about it. ".repeat(60)).rule(When::text(ASKS), honest),
    )
}

/// Six prompts and their answers.
fn talk(place: &Place) {
    assert_eq!(place.run(&["-p", "rule 0: be brief"]).code, Some(0));
    for n in 1..6 {
        go_on(place, &format!("rule {n}: keep file-{n}"));
    }
}

#[test]
fn restore_brings_the_whole_conversation_back() {
    let server = talker();
    let place = place(&server, WireKind::Gemini, 1_000_000);
    talk(&place);
    let run = place.run(&["restore"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
    assert!(
        run.err.contains("there is nothing to restore") && run.err.contains("12 messages"),
        "{}",
        run.err
    );

    go_on(&place, "/compress");
    go_on(&place, "/compress");
    let run = place.run(&["restore"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(
        run.out.starts_with("restored the session ") && run.out.contains(": 12 messages, about "),
        "{}",
        run.out
    );
    assert_eq!(run.err, "");
    go_on(&place, "still there?");
    let body = last_request(&server);
    assert!(!body.contains("told in short"));
    let place_of = |text: &str| body.find(text).unwrap_or_else(|| panic!("{text} is lost"));
    assert!((1..6).all(|n| place_of(&format!("rule {}:", n - 1)) < place_of(&format!("rule {n}:"))));
    assert_eq!(place.run(&["restore"]).code, Some(1));
    let run = place.run(&["restore", "nonsense"]);
    assert_eq!(run.code, Some(42), "{}", run.err);
}

#[test]
fn uncompress_does_the_same_as_a_prompt() {
    let server = talker();
    let place = place(&server, WireKind::Anthropic, 1_000_000);
    talk(&place);
    assert_eq!(go_on(&place, "/uncompress").out, "Nothing is compressed: the conversation is whole.\n");
    go_on(&place, "/compress");
    let told = go_on(&place, "/uncompress").out;
    assert!(told.starts_with("The whole conversation is back: 12 messages, about "), "{told}");
    go_on(&place, "still there?");
    assert!(!last_request(&server).contains("told in short"));
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

#[test]
fn a_conversation_of_one_turn_is_compressed_and_comes_back_whole() {
    for wire in WIRES {
        let server = talker();
        let place = place(&server, wire, 1_000_000);
        assert_eq!(place.run(&["-p", "rule 0: be brief"]).code, Some(0));
        let told = go_on(&place, "/compress").out;
        assert!(told.contains("Chat history compressed"), "{wire:?}: {told}");
        assert_eq!(summaries(&server), 1, "{wire:?}");
        go_on(&place, "and now?");
        let body = last_request(&server);
        assert!(body.contains("rule 0: be brief") && body.contains("and now?"), "{wire:?}: {body}");
        assert!(!body.contains("all that I found out"), "{wire:?}: {body}");
        let told = go_on(&place, "/uncompress").out;
        assert!(told.starts_with("The whole conversation is back: 4 messages, about "), "{wire:?}: {told}");
        go_on(&place, "still there?");
        let body = last_request(&server);
        assert!(body.contains("all that I found out") && body.contains("still there?"), "{wire:?}: {body}");
        assert!(server.problems().is_empty(), "{wire:?}: {:?}", server.problems());
    }
}

#[test]
fn a_session_in_use_is_not_restored() {
    let honest = Reply::new().step(Step::Snapshot("rule ".into()));
    let script = Script::always("Yes. ".repeat(300)).rule(When::text(ASKS), honest);
    let server = server(script.rule(When::text("stall"), Reply::new().text("begun").stall()));
    let place = place(&server, WireKind::OpenaiChat, 1_000_000);
    talk(&place);
    go_on(&place, "/compress");
    let mut child = place.spawn(&["--resume", "-o", "stream-json", "-p", "stall"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("begun")));
    let run = place.run(&["restore"]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert!(run.err.contains("in use by another process") && run.err.contains("/uncompress"), "{}", run.err);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.run(&["restore"]).code, Some(0));
}

#[test]
fn what_will_not_fit_is_restored_with_a_warning_and_compressed_again_in_the_open() {
    let server = talker();
    let place = place(&server, WireKind::OpenaiChat, 1_000_000);
    talk(&place);
    go_on(&place, "/compress");
    set_window(&place, 12_500);
    for n in 0..12 {
        go_on(&place, &format!("more {n}"));
    }
    let before = summaries(&server);
    let run = place.run(&["restore"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(
        run.err.contains("the model's window of 12500 tokens") && run.err.contains("compression.automatic"),
        "{}",
        run.err
    );
    assert_eq!(summaries(&server), before);
    let run = go_on(&place, "and now?");
    assert!(run.err.contains("compressed the conversation from about "), "{}", run.err);
}

#[test]
fn a_summary_that_does_not_come_can_be_cancelled() {
    let script =
        Script::always("Yes. ".repeat(300)).rule(When::text(ASKS), Reply::new().text("begun").stall());
    let server = server(script);
    let place = place(&server, WireKind::OpenaiChat, 1_000_000);
    talk(&place);
    let (_, before) = place.journals().pop().unwrap();
    let mut child = place.spawn(&["--resume", "-o", "stream-json", "-p", "/compress"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("pre_compress")));
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(lines.last().unwrap().contains("cancelled"));
    // The conversation is as it was.
    let (_, after) = place.journals().pop().unwrap();
    assert_eq!(before.matches("turn_started").count(), after.matches("turn_started").count());
    assert!(!after.contains("\"compressed\""));
}

#[test]
fn every_form_of_output_tells_of_a_compression() {
    let server = talker();
    let place = place(&server, WireKind::OpenaiChat, 1_000_000);
    talk(&place);
    let (id, _) = place.journals().pop().unwrap();
    let copy = |arguments: &[&str]| {
        let run = place.run(&[&["--fork", &id, "-p", "go on"], arguments].concat());
        assert_eq!(run.code, Some(0), "{}", run.err);
        run
    };
    set_window(&place, 6_500);
    let text = copy(&[]);
    assert_eq!(text.err.lines().count(), 1, "{}", text.err);
    assert!(text.err.starts_with("compressed the conversation from about "), "{}", text.err);

    let json: serde_json::Value = serde_json::from_str(&copy(&["-o", "json"]).out).unwrap();
    assert_eq!(json["compressions"][0]["status"], "compressed");
    assert_eq!(json["compressions"][0]["trigger"], "auto");
    // What the summary cost is part of what the run cost.
    let model = &json["stats"]["models"]["test/gemini-3-m"];
    assert_eq!(model["api"]["totalRequests"], 2);
    let summary = json["compressions"][0]["usage"]["promptTokenCount"].as_u64().unwrap();
    assert!(model["tokens"]["prompt"].as_u64().unwrap() > summary && summary > 0);

    let lines = copy(&["-o", "stream-json"]).lines();
    let at = |kind: &str| lines.iter().position(|line| line["type"] == kind).unwrap();
    let (coming, done) = (&lines[at("pre_compress")], &lines[at("chat_compressed")]);
    assert!(at("pre_compress") < at("chat_compressed"));
    assert_eq!((&coming["trigger"], &coming["window"]), (&json!("auto"), &json!(6_500)));
    assert_eq!((&done["status"], &done["before"]), (&json!("compressed"), &coming["tokens"]));
    assert!(done["after"].as_u64() < done["before"].as_u64());

    let manual = place.run(&["--fork", &id, "-o", "stream-json", "-p", "/compress"]);
    let kinds = manual.kinds();
    assert_eq!(kinds, ["init", "message", "pre_compress", "chat_compressed", "message", "result"]);
    let lines = manual.lines();
    let stats = &lines.last().unwrap()["stats"]["models"]["test/gemini-3-m"];
    assert_eq!(stats["api"]["totalRequests"], 1);
}

#[test]
fn the_settings_decide_when_and_whether() {
    let server = talker();
    let eager = place_with(&server, WireKind::OpenaiChat, 30_000, json!({"threshold": 0.1}));
    talk(&eager);
    assert!(summaries(&server) > 0);

    let server = talker();
    let off = place_with(&server, WireKind::OpenaiChat, 1_000_000, json!({"automatic": false}));
    talk(&off);
    set_window(&off, 5_000);
    let run = off.run(&["--resume", "-p", "go on"]);
    assert_eq!((run.code, summaries(&server)), (Some(42), 0), "{}", run.err);
    assert!(run.err.contains("window has 5000") && run.err.contains("/compress"), "{}", run.err);
    go_on(&off, "/compress");

    for wrong in
        [json!({"threshold": 1.5}), json!({"keep": 0}), json!({"threshold": "0.7"}), json!({"treshold": 0.7})]
    {
        let run = place_with(&server, WireKind::OpenaiChat, 1_000, wrong.clone()).run(&["-p", "hi"]);
        assert_eq!(run.code, Some(52), "{wrong}: {}", run.err);
        assert!(run.err.contains("compression."), "{wrong}: {}", run.err);
    }
}
