//! Summaries that are no help change nothing, and are not paid for over and over.

use charla_proto::WireKind;
use charla_testkit::{Cut, Failure, FailureKind, Finish, Reply, Rule, Script, Server, When};
use serde_json::{Value, json};

use super::{ASKS, go_on, last_request, place, summaries};
use crate::place::{Place, server};

const SNAPSHOT: &str =
    "<state_snapshot><overall_goal>Find it out</overall_goal><task_state>half done, more to do</task_state>";

fn useless() -> Vec<(&'static str, Reply, &'static str)> {
    let long = format!("{SNAPSHOT}{}</state_snapshot>", "and so on and on ".repeat(9_000));
    vec![
        ("nothing", Reply::new(), "empty_summary"),
        ("whitespace", " \n ".into(), "empty_summary"),
        ("prose", "We spoke about this and that, and then about something else.".into(), "empty_summary"),
        ("only thoughts", Reply::new().thought(format!("{SNAPSHOT}</state_snapshot>")), "empty_summary"),
        ("a call", Reply::new().call("read_file", json!({"file_path": "a"})), "empty_summary"),
        ("cut off", Reply::from(SNAPSHOT).finish(Finish::Length), "empty_summary"),
        ("a filter", Reply::from(SNAPSHOT).finish(Finish::Safety), "empty_summary"),
        ("refused", Reply::new().finish(Finish::Safety), "failed"),
        ("more than it got", long.into(), "would_inflate"),
        ("an error", Failure::new(FailureKind::Server).into(), "failed"),
        ("too long for it", Failure::new(FailureKind::ContextOverflow).into(), "failed"),
        ("overloaded", Failure::new(FailureKind::Overloaded).into(), "failed"),
        ("a broken connection", Reply::from(SNAPSHOT).cut(Cut::Reset), "failed"),
        ("no answer", Reply::new().cut(Cut::NoAnswer), "failed"),
    ]
}

/// A model that answers at length, and summarises by these replies, one after another.
fn script(summaries: impl IntoIterator<Item = Reply>) -> Script {
    let mut script = Script::always("Here is all that I found out about it. ".repeat(40)).lenient();
    for reply in summaries {
        script.rules.push(Rule { when: When::text(ASKS), reply, times: Some(1) });
    }
    script
}

/// The id of a run's session, and its lines.
fn lines(place: &Place, arguments: &[&str]) -> (String, Vec<Value>) {
    let run = place.run(&[&["-o", "stream-json"], arguments].concat());
    let lines = run.lines();
    (lines[0]["session_id"].as_str().unwrap().to_owned(), lines)
}

#[test]
fn the_next_request_is_the_same_to_the_byte_as_if_nothing_had_been_tried() {
    for wire in [WireKind::OpenaiChat, WireKind::Gemini] {
        let cases = useless();
        let server = server(script(cases.iter().map(|(_, reply, _)| reply.clone())));
        let place = place(&server, wire, 1_000_000);
        let (id, _) = lines(&place, &["-p", "first"]);
        for prompt in ["second", "third", "fourth"] {
            go_on(&place, prompt);
        }
        lines(&place, &["--fork", &id, "-p", "fifth"]);
        let untouched = last_request(&server);
        for (n, (name, _, expected)) in cases.iter().enumerate() {
            let (copy, told) = lines(&place, &["--fork", &id, "-p", "/compress"]);
            let report = told.iter().find(|line| line["type"] == "chat_compressed").unwrap();
            assert_eq!(report["status"], *expected, "{wire:?}, {name}: {report}");
            assert_eq!(report["before"], report["after"], "{name}");
            assert_eq!(summaries(&server), n + 1, "{name}");
            let (_, told) = lines(&place, &["--resume", &copy, "-p", "fifth"]);
            assert_eq!(told.last().unwrap()["status"], "success", "{name}");
            assert!(last_request(&server) == untouched, "{wire:?}, {name}: the request differs");
        }
    }
}

/// Prompts until the conversation is long, and how many summaries each cost.
fn costs(server: &Server, place: &Place, prompts: usize) -> Vec<usize> {
    place.run(&["-p", "first"]);
    let prompt = |n: usize| {
        let before = summaries(server);
        let run = place.run(&["--resume", "-p", &format!("prompt {n}")]);
        assert!(matches!(run.code, Some(0 | 42)), "{}", run.err);
        summaries(server) - before
    };
    (0..prompts).map(prompt).collect()
}

#[test]
fn no_prompt_costs_more_than_two_summaries_and_a_failure_is_not_repeated_by_every_prompt() {
    let kinds = ["nothing", "prose", "more than it got", "an error", "overloaded"];
    for (name, reply, _) in useless().into_iter().filter(|(name, ..)| kinds.contains(name)) {
        let server = server(script(vec![reply; 200]));
        // Each prompt adds some 400 tokens to the 2,000 of instructions and tools.
        let place = place(&server, WireKind::OpenaiChat, 10_000);
        let costs = costs(&server, &place, 26);
        assert!(costs.iter().all(|cost| *cost <= 2), "{name}: {costs:?}");
        let paid = costs.iter().filter(|cost| **cost > 0).count();
        let first = costs.iter().position(|cost| *cost > 0).unwrap_or(0);
        let last = costs.iter().rposition(|cost| *cost > 0).unwrap_or(0);
        assert!(paid >= 2, "{name}: {costs:?}");
        // It has to grow by a tenth of the window, two to three prompts, between two failures; what no longer
        // fits at all is tried once a prompt.
        assert!(costs.iter().take(16).filter(|cost| **cost > 0).count() <= 2, "{name}: {costs:?}");
        assert!(paid < last - first + 1, "{name}: {costs:?}");
    }
}
