//! Killed with SIGKILL at random points, a session loses nothing, runs nothing twice and goes on.
//! `bench/kill9.py` does the same a thousand times.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use charla_proto::{Fact, Record};
use charla_testkit::{Call, Otherwise, Reply, Script, Server, Step};
use serde_json::{Value, json};

use crate::place::{Place, server};

const KILLS: u64 = 20;
const CALLS_PER_TURN: u64 = 5;

/// Turns of a few calls, each with a token of its own. The server gives every reply once.
fn script() -> Script {
    let mut replies = Vec::new();
    for token in 0..(KILLS + 2) * CALLS_PER_TURN {
        let args = json!({"command": format!("echo token-{token} >> ../tokens; sleep 0.01")});
        let call = Call { name: "run_shell_command".to_owned(), args, ..Call::default() };
        replies.push(Reply {
            steps: vec![Step::Delay(2), Step::Text("Working. ".to_owned()), Step::Call(call)],
        });
        if token % CALLS_PER_TURN == CALLS_PER_TURN - 1 {
            replies.push(Reply::from("All done."));
        }
    }
    Script { otherwise: Otherwise::Repeat, ..Script::new(replies) }
}

/// A small generator of numbers: the same kills in every run of the test.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

struct Session {
    place: Place,
    server: Server,
}

impl Session {
    fn journal(&self) -> Option<PathBuf> {
        let files = std::fs::read_dir(self.place.home().join("sessions")).ok()?;
        let mut files = files.map(|entry| entry.unwrap().path());
        files.find(|path| path.extension().is_some_and(|end| end == "jsonl"))
    }

    fn start(&self) -> Child {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("charla"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.place.path().join("home")).env("OPENAI_API_KEY", "k");
        command.env("OPENAI_BASE_URL", self.server.base_url(charla_proto::WireKind::OpenaiChat));
        command.current_dir(self.place.path().join("work"));
        command.args(["-m", "openai/test", "-o", "stream-json", "--approval-mode", "yolo"]);
        if let Some(journal) = self.journal() {
            command.arg("--resume").arg(journal.file_stem().unwrap());
        }
        command.args(["-p", "go on"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Runs a prompt, kills it `wait` after its n-th line, and gives back the whole lines it printed.
    fn run(&self, kill: Option<(usize, Duration)>) -> Vec<Value> {
        let mut child = self.start();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut printed = Vec::new();
        loop {
            if let Some((_, wait)) = kill.filter(|(lines, _)| printed.len() == *lines) {
                std::thread::sleep(wait);
                child.kill().unwrap();
            }
            let mut line = String::new();
            if out.read_line(&mut line).unwrap() == 0 || !line.ends_with('\n') {
                break;
            }
            printed.push(serde_json::from_str(&line).unwrap());
        }
        child.wait().unwrap();
        printed
    }

    fn records(&self) -> Vec<Record> {
        let Some(path) = self.journal() else { return Vec::new() };
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().filter_map(|line| Record::from_json(line).ok()).collect()
    }
}

/// What was printed is recorded.
fn check_acknowledged(printed: &[Value], records: &[Record]) {
    let mut called = HashSet::new();
    let mut ended = HashSet::new();
    for (record, seq) in records.iter().zip(1..) {
        assert_eq!(record.seq, seq, "records have no gaps");
        match &record.fact {
            Fact::ModelContent(said) => {
                called.extend(said.content.function_calls().filter_map(|call| call.id.clone()));
            }
            Fact::CallEnded(call) => assert!(ended.insert(call.call.clone()), "a call has one end"),
            _ => {}
        }
    }
    for line in printed {
        let id = || line["tool_id"].as_str().unwrap();
        match line["type"].as_str().unwrap() {
            "tool_use" => assert!(called.contains(id()), "{line} is not recorded"),
            "tool_result" => assert!(ended.contains(id()), "{line} is not recorded"),
            "result" => {
                assert!(matches!(records.last().unwrap().fact, Fact::TurnEnded(_)), "{line} is not recorded");
            }
            _ => {}
        }
    }
}

#[test]
fn a_killed_session_loses_nothing_runs_nothing_twice_and_goes_on() {
    let server = server(script());
    let session = Session { place: Place::new(), server };
    let mut numbers = Numbers(7);
    let mut kept = Vec::new();
    for _ in 0..KILLS {
        let lines = numbers.below(3 * CALLS_PER_TURN) as usize;
        let printed = session.run(Some((lines, Duration::from_micros(numbers.below(15_000)))));
        let records = session.records();
        assert!(records.starts_with(&kept), "what was recorded stays");
        check_acknowledged(&printed, &records);
        kept = records;
    }
    let printed = session.run(None);
    assert_eq!(printed.last().unwrap()["status"], "success", "the next prompt is answered");
    check_acknowledged(&printed, &session.records());
    assert!(session.server.problems().is_empty(), "{:?}", session.server.problems());
    let tokens = std::fs::read_to_string(session.place.path().join("tokens")).unwrap();
    let tokens: Vec<&str> = tokens.lines().collect();
    assert_eq!(tokens.len(), tokens.iter().collect::<HashSet<_>>().len(), "no tool ran twice: {tokens:?}");
}
