//! Every event × everything a hook can decide × every way in which it can answer or fail, with real programs.
//!
//! What must come of a row is in two tables: [`EFFECTS`] says what a decision does at an event once it is heard, [`WAYS`] which ways
//! of answering are heard. What is not heard, or means nothing at its event, leaves the run as it is without hooks.

use super::*;

/// What came of a run: requests to the model, whether the file was written, how the turn ended.
type Outcome = (usize, bool, &'static str);

/// A run in which no hook decides anything: a call, and then words.
const UNTOUCHED: Outcome = (2, true, "finished");

/// `reject` is no decision that is known.
const DECISIONS: [&str; 7] = ["nothing", "allow", "deny", "block", "ask", "reject", "stop"];

/// What a decision does; all others do nothing at that event. `block` is `deny`.
const EFFECTS: [(&str, &str, Outcome); 17] = [
    ("BeforeAgent", "deny", (0, false, "hook_blocked")),
    ("BeforeAgent", "reject", (0, false, "hook_blocked")),
    ("BeforeAgent", "stop", (0, false, "hook_stopped")),
    ("BeforeModel", "deny", (0, false, "hook_blocked")),
    ("BeforeModel", "reject", (0, false, "hook_blocked")),
    ("BeforeModel", "stop", (0, false, "hook_stopped")),
    ("BeforeToolSelection", "stop", (0, false, "hook_stopped")),
    ("AfterModel", "deny", (1, false, "hook_blocked")),
    ("AfterModel", "reject", (1, false, "hook_blocked")),
    ("AfterModel", "stop", (1, false, "hook_stopped")),
    ("BeforeTool", "deny", (2, false, "finished")),
    ("BeforeTool", "ask", (2, false, "finished")), // nobody is there to be asked
    ("BeforeTool", "reject", (2, false, "finished")),
    ("BeforeTool", "stop", (1, false, "hook_stopped")),
    ("AfterTool", "stop", (1, true, "hook_stopped")),
    ("AfterAgent", "deny", (3, true, "finished")), // the turn goes on once
    ("AfterAgent", "stop", (2, true, "hook_stopped")),
];

/// Ways to answer: what is done with the answer, how long it may take, whether it is heard, what the person is told otherwise.
const WAYS: [(&str, &str, u32, bool, &str); 5] = [
    ("at once", "printf %s ANSWER", 60_000, true, ""),
    ("slowly", "sleep 0.2; printf %s ANSWER", 60_000, true, ""),
    ("too late", "printf %s ANSWER; sleep 1000", 250, false, "took too long"),
    ("and dies", "printf %s ANSWER; kill -SEGV $$", 60_000, false, "ended by a signal"),
    ("with garbage", "printf '%s {]' ANSWER", 60_000, false, "{]"),
];

fn answer(decision: &str) -> Value {
    match decision {
        "nothing" => json!({}),
        "stop" => json!({"continue": false, "stopReason": "because"}),
        decision => json!({"decision": decision, "reason": "because"}),
    }
}

fn expected(event: &str, decision: &str, heard: bool) -> Outcome {
    let decision = if decision == "block" { "deny" } else { decision };
    let effect = EFFECTS.iter().find(|(at, what, _)| (*at, *what) == (event, decision));
    effect.filter(|_| heard).map_or(UNTOUCHED, |(.., outcome)| *outcome)
}

/// The settings of a hook that decides so in this way.
fn hook(event: &str, decision: &str, (_, way, timeout, ..): (&str, &str, u32, bool, &str)) -> Value {
    let answers = way.replace("ANSWER", &shell_quote(&answer(decision).to_string()));
    // A turn that goes on because of it has been asked about before.
    let command = format!("if grep -q '\"stop_hook_active\":true'; then exit 0; fi; {answers}");
    json!({ event: [{ "hooks": [{ "command": command, "timeout": timeout }] }] })
}

fn outcome(server: &Server, place: &Place) -> (usize, bool, String) {
    let ended = records(place, "turn_ended").pop().map(|ended| ended["end"].as_str().unwrap().to_owned());
    (server.requests().len(), place.read("a.txt").is_some(), ended.unwrap_or_default())
}

/// All decisions in all ways at one event.
fn table(event: &str, run: impl Fn(&Place) -> Run) {
    for decision in DECISIONS {
        for way in WAYS {
            let (name, .., heard, told) = way;
            let server = server(Script::new([writes("x"), "Done.".into(), "Again.".into()]));
            let place = place(&server, &hook(event, decision, way));
            let run = run(&place);
            let row = format!("{event} {decision} {name}: {}{}", run.out, run.err);
            let (requests, written, end) = expected(event, decision, heard);
            assert_eq!(run.code, Some(0), "{row}");
            assert_eq!(outcome(&server, &place), (requests, written, end.to_owned()), "{row}");
            let is_told = event == "SessionEnd" || event == "Notification" || row.contains(told);
            assert!(is_told, "{row}");
            let why = heard && end.starts_with("hook_");
            assert!(!why || run.err.contains("because"), "{row}");
            assert!(server.problems().is_empty(), "{row}: {:?}", server.problems());
        }
    }
}

fn headless(event: &str) {
    table(event, |place| place.run(&["-m", MODEL, "--approval-mode", "yolo", "-p", "go"]));
}

macro_rules! events {
    ($($name:ident: $event:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            headless($event);
        })*

        /// Those that need nobody at a terminal.
        const HEADLESS: &[&str] = &[$($event),*];
    };
}

events! {
    every_answer_at_session_start: "SessionStart",
    every_answer_before_the_agent: "BeforeAgent",
    every_answer_before_a_compression: "PreCompress",
    every_answer_before_the_model: "BeforeModel",
    every_answer_before_tools_are_chosen: "BeforeToolSelection",
    every_answer_after_the_model: "AfterModel",
    every_answer_before_a_tool: "BeforeTool",
    every_answer_after_a_tool: "AfterTool",
    every_answer_after_the_agent: "AfterAgent",
    every_answer_at_session_end: "SessionEnd",
}

#[test]
fn every_answer_to_a_notification() {
    table("Notification", |place| {
        place.run_on_terminal(&["-m", MODEL, "-p", "go"], &[("n REASON no, go on? ", "y\n")])
    });
}

#[test]
fn the_table_has_every_event() {
    let mut covered = [HEADLESS, &["Notification"]].concat();
    let mut all = EVENTS.to_vec();
    covered.sort_unstable();
    all.sort_unstable();
    assert_eq!(covered, all);
}
