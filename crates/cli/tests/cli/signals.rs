//! Signals that ask for an end, in every phase of a run: one ending, nothing left running, and the session goes on.

use std::io::{BufRead, BufReader};
use std::process::Command;

use charla_testkit::{Failure, Reply, Script};
use serde_json::{Value, json};

use crate::place::{Place, server};
use crate::terminal::Terminal;

const SIGNALS: [&str; 3] = ["-INT", "-TERM", "-HUP"];

/// A phase: what the server does, and the line of output that tells that the run has come there.
struct Phase {
    name: &'static str,
    reply: fn() -> Reply,
    reached: &'static str,
}

const PHASES: [Phase; 4] = [
    Phase { name: "waiting", reply: || Reply::new().stall(), reached: "\"type\":\"message\"" },
    Phase { name: "streaming", reply: || Reply::new().text("half").stall(), reached: "\"content\":\"half\"" },
    Phase {
        name: "a tool runs",
        reply: || Reply::new().call("run_shell_command", json!({"command": "echo pid $$; exec sleep 1000"})),
        reached: "\"content\":\"pid ",
    },
    Phase {
        name: "before a retry",
        reply: || Failure::rate_limit().retry_after("90").into(),
        reached: "\"type\":\"retry\"",
    },
];

fn send(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

fn records(place: &Place) -> Vec<Value> {
    let (_, journal) = place.journals().remove(0);
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn check(signal: &str, phase: &Phase) {
    let label = format!("{signal}, {}", phase.name);
    let server = server(Script::new([(phase.reply)(), "Here again.".into()]));
    let place = Place::with_server(&server);
    let options = ["-m", "openai/gpt-test", "--approval-mode", "yolo", "-o", "stream-json", "-p", "go"];
    let mut child = place.spawn(&options);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let reached =
        lines.by_ref().find(|line| line.contains(phase.reached)).unwrap_or_else(|| panic!("{label}"));
    send(signal, &child.id().to_string());
    let rest: Vec<Value> = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{label}");
    let results: Vec<&Value> = rest.iter().filter(|line| line["type"] == "result").collect();
    assert_eq!((results.len(), rest.last()), (1, results.first().copied()), "{label}: {rest:?}");
    assert_eq!(results[0]["status"], "cancelled", "{label}");
    if let Some(pid) = reached.split("pid ").nth(1) {
        let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
        assert!(!std::path::Path::new("/proc").join(&pid).exists(), "{label}: {pid} still runs");
    }
    let records = records(&place);
    assert_eq!(records.last().unwrap()["kind"], "turn_ended", "{label}: {records:?}");
    let kept = records.iter().any(|record| record["content"]["parts"][0]["text"] == "half");
    assert_eq!(kept, phase.name == "streaming", "{label}: {records:?}");
    let run = place.run(&["-m", "openai/gpt-test", "--resume", "-p", "on"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Here again.\n"), "{label}: {}", run.err);
    assert!(server.problems().is_empty(), "{label}: {:?}", server.problems());
}

#[test]
fn a_signal_ends_every_phase_of_a_run_in_one_way() {
    for phase in &PHASES {
        SIGNALS.iter().for_each(|signal| check(signal, phase));
    }
}

#[test]
fn a_signal_at_a_question_runs_nothing() {
    for signal in SIGNALS {
        let call = Reply::new().call("run_shell_command", json!({"command": "touch unasked"}));
        let server = server(Script::new([call, "Here again.".into()]));
        let place = Place::with_server(&server).variable("TERM", "dumb");
        let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
        terminal.wait_for("n REASON");
        terminal.signal(signal);
        let (code, shown) = terminal.finish();
        assert_eq!((code, place.read("unasked")), (Some(130), None), "{signal}: {shown}");
        assert_eq!(records(&place).last().unwrap()["kind"], "turn_ended", "{signal}");
        let run = place.run(&["-m", "openai/gpt-test", "--resume", "-p", "on"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Here again.\n"), "{signal}: {}", run.err);
    }
}
