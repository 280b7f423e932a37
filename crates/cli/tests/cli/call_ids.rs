//! Calls are known by ids of our own, whatever a server calls them: each is asked about, run and answered once, and what
//! is said about one never counts for another.

use std::collections::HashSet;

use charla_testkit::{Recorded, Reply, Script, Server};
use serde_json::{Value, json};

use crate::place::{Place, server};

/// Who answers, and how it calls tools.
type Seat = (&'static str, &'static str);

const SEATS: [Seat; 5] = [
    ("openai/gpt-test", "native"),
    ("responses/gpt-5", "native"),
    ("anthropic/claude-sonnet-4-5", "native"),
    ("gemini/gemini-2.5-test", "native"),
    ("openai/gpt-test", "text"),
];

fn place(server: &Server) -> Place {
    let responses = json!({"baseUrl": format!("{}/v1", server.url()), "wire": "openai-responses"});
    let settings = json!({"providers": {"responses": responses}});
    Place::with_server(server)
        .settings(&settings.to_string())
        .variable("TERM", "dumb")
        .variable("NO_COLOR", "1")
}

/// An answer that calls for these commands, all under one id. Calls in text have none.
fn calls(seat: Seat, id: &str, commands: &[&str]) -> Reply {
    commands.iter().fold(Reply::new(), |reply, command| {
        let args = json!({"command": command});
        if seat.1 == "native" {
            return reply.call_with_id(id, "run_shell_command", args);
        }
        let call = json!({"tool_call": {"name": "run_shell_command", "arguments": args}});
        reply.text(format!("```json\n{call}\n```\n"))
    })
}

/// The ids of the calls in the journal of the only session, and of their ends.
fn recorded(place: &Place) -> (Vec<String>, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (mut called, mut ended) = (Vec::new(), Vec::new());
    let (_, journal) = place.journals().remove(0);
    for line in journal.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let parts = record["content"]["parts"].as_array().into_iter().flatten();
        called.extend(parts.filter_map(|part| part.get("functionCall")).map(|call| text(&call["id"])));
        if record["kind"] == "call_ended" {
            ended.push(text(&record["call"]));
        }
    }
    (called, ended)
}

/// The first of two calls with one id is refused, the second allowed; a third comes with that id in the next answer.
fn check(seat: Seat, id: &str) {
    let label: String = id.chars().take(12).collect();
    let first = calls(seat, id, &["touch refused", "touch allowed"]);
    let server = server(Script::new([first, calls(seat, id, &["touch later"]), "Done.".into()]));
    let place = place(&server);
    let talk = [
        ("│ touch refused", ""),
        ("n REASON", "n nope\n"),
        ("│ touch allowed", ""),
        ("n REASON", "y\n"),
        ("│ touch later", ""),
        ("n REASON", "y\n"),
    ];
    let run = place.run_on_terminal(&["-m", seat.0, "--tool-mode", seat.1, "-p", "go"], &talk);
    assert_eq!(run.code, Some(0), "{seat:?} {label}: {}", run.out);
    assert_eq!(run.out.matches("n REASON").count(), 3, "{seat:?} {label}: {}", run.out);
    let there = ["refused", "allowed", "later"].map(|file| place.read(file).is_some());
    assert_eq!(there, [false, true, true], "{seat:?} {label}");
    let asked: Vec<Recorded> = server.requests().into_iter().filter(|request| request.streaming).collect();
    assert!(asked.iter().all(|request| request.status == 200), "{seat:?} {label}: {asked:?}");
    let last = asked.last().unwrap().body.to_string();
    assert_eq!((asked.len(), last.matches("nope").count()), (3, 1), "{seat:?} {label}: {last}");
    assert!(!last.contains("no result"), "{seat:?} {label}: {last}");
    let (called, ended) = recorded(&place);
    assert_eq!((called.len(), &called), (3, &ended), "{seat:?} {label}");
    assert_eq!(called.iter().collect::<HashSet<_>>().len(), 3, "{seat:?} {label}: {called:?}");
    assert!(called.iter().all(|id| id.len() < 40), "{seat:?} {label}: {called:?}");
    let replayed = place.run(&["replay"]);
    assert_eq!(replayed.code, Some(0), "{seat:?} {label}: {}{}", replayed.out, replayed.err);
}

#[test]
fn two_calls_with_one_id_are_two_calls() {
    SEATS.iter().for_each(|seat| check(*seat, "call_0"));
}

#[test]
fn calls_without_an_id_are_told_apart() {
    SEATS.iter().for_each(|seat| check(*seat, ""));
}

#[test]
fn an_id_of_a_megabyte_is_replaced() {
    let id = "call_".repeat(200_000);
    SEATS.iter().for_each(|seat| check(*seat, &id));
}

#[test]
fn an_id_of_odd_characters_is_replaced_where_the_wire_refuses_it() {
    SEATS.iter().for_each(|seat| check(*seat, "functions.run:0 \u{1b}[2J\"\\é"));
}

#[test]
fn a_server_gets_back_the_id_it_gave() {
    for seat in SEATS.iter().filter(|seat| seat.1 == "native") {
        let first = calls(*seat, "toolu_17-b", &["true"]);
        let server = server(Script::new([first, calls(*seat, "toolu_18-b", &["true"]), "Done.".into()]));
        let place = place(&server);
        let run = place.run(&["-m", seat.0, "--approval-mode", "yolo", "-p", "go"]);
        assert_eq!(run.code, Some(0), "{seat:?}: {}", run.err);
        let last = server.requests().last().unwrap().body.to_string();
        assert_eq!(last.matches("toolu_17-b").count(), 2, "{seat:?}: {last}");
        assert_eq!(last.matches("toolu_18-b").count(), 2, "{seat:?}: {last}");
        assert!(!last.contains("charla_"), "{seat:?}: {last}");
    }
}

/// A server that does not know its model's template hands its calls out as words.
#[test]
fn raw_call_markup_is_told_to_the_model_and_never_the_answer() {
    let markup =
        r#"<tool_call>{"name": "run_shell_command", "arguments": {"command": "touch unasked"}}</tool_call>"#;
    for seat in SEATS.iter().filter(|seat| seat.1 == "native") {
        let words = format!("I will do that.\n{markup}");
        let server = server(Script::new([Reply::from(words), "Done.".into()]));
        let place = place(&server);
        let run = place.run(&["-m", seat.0, "--tool-mode", "native", "--approval-mode", "yolo", "-p", "go"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{seat:?}: {}", run.err);
        assert_eq!(place.read("unasked"), None, "{seat:?}");
        let requests = server.requests();
        let told = requests.last().unwrap().body.to_string();
        assert!(told.contains("function calling interface"), "{seat:?}: {told}");
        assert!(server.problems().is_empty(), "{seat:?}: {:?}", server.problems());
    }
    let server = server(Script::always(markup));
    let place = place(&server);
    let run = place.run(&["-m", "openai/gpt-test", "--tool-mode", "native", "-p", "go"]);
    assert_eq!((run.code, run.out.as_str()), (Some(53), ""), "{}", run.err);
    assert!(server.requests().len() < 20);
}

#[test]
fn what_was_edited_allows_no_later_call_with_its_id() {
    for seat in SEATS.iter().filter(|seat| seat.1 == "native") {
        let args = json!({"file_path": "hello.txt", "content": "Hello.\n"});
        let write = Reply::new().call_with_id("call_0", "write_file", args);
        let server = server(Script::new([write, calls(*seat, "call_0", &["touch unasked"]), "Done.".into()]));
        let place = place(&server).variable("VISUAL", r#"sh -c 'printf "Mine.\n" > "$1"' editor"#);
        let talk = [("e edit", "e\n"), ("│ touch unasked", ""), ("n REASON", "n not this\n")];
        let run = place.run_on_terminal(&["-m", seat.0, "-p", "go"], &talk);
        assert_eq!(run.code, Some(0), "{seat:?}: {}", run.out);
        let files = (place.read("hello.txt"), place.read("unasked"));
        assert_eq!(files, (Some("Mine.\n".to_owned()), None), "{seat:?}");
    }
}
