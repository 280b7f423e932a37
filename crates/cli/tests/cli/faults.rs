//! The fault table: what goes wrong at the server or on the way, and what the user gets of it.
//!
//! Every row runs the binary against a scripted server on a real socket, on every wire it applies to, once
//! in text and once in JSON lines. All rows run, and each one that failed is told on a line of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use charla_proto::WireKind;
use charla_testkit::{Reply, Script, Server};
use serde_json::{Value, json};

use crate::place::{Place, Run, server};

mod network;
mod rows;

/// Rows run side by side: most of their time is spent waiting.
const WORKERS: usize = 8;

/// Most attempts with the settings of a row that sets none.
const ATTEMPTS: usize = 4;

/// Who is at the other end.
#[derive(Clone, Copy, PartialEq)]
enum Peer {
    /// The scripted server.
    Scripted,
    /// The scripted server, taken for one that speaks TLS.
    TakenForTls,
    /// Nobody listens.
    Refusing,
    /// A name that nobody has.
    Nameless,
}

/// One fault and what comes of it.
struct Row {
    name: &'static str,
    wires: Vec<WireKind>,
    peer: Peer,
    script: Script,
    settings: Value,
    code: i32,
    /// The error's type in the JSON formats; empty for a success.
    kind: &'static str,
    /// Requests the server gets.
    attempts: usize,
    /// How many of them are no repetition: steps of the turn.
    steps: usize,
    /// Standard output in text mode, to the byte.
    out: String,
    /// The kinds of the JSON lines, runs of the same one once.
    events: &'static str,
    says: Vec<(Option<WireKind>, &'static str)>,
    never_says: Vec<&'static str>,
    /// The bounds of the first wait, in milliseconds.
    waits: Option<(u64, u64)>,
}

impl Row {
    /// A row that succeeds with `Hello.`, until told otherwise.
    fn new(name: &'static str, script: Script) -> Self {
        Self {
            name,
            wires: WireKind::ALL.to_vec(),
            peer: Peer::Scripted,
            script,
            settings: json!({}),
            code: 0,
            kind: "",
            attempts: 1,
            steps: 1,
            out: "Hello.\n".to_owned(),
            events: "init message result",
            says: Vec::new(),
            never_says: Vec::new(),
            waits: None,
        }
    }

    /// A fault that passes: one such reply, then `Hello.`.
    fn once(name: &'static str, fault: impl Into<Reply>) -> Self {
        let row = Self::new(name, Script::new([fault.into(), Reply::from("Hello.")]));
        row.attempts(2).events("init message retry message result").says("attempt 1 of ")
    }

    /// A fault that stays and that nobody can wait out: one attempt.
    fn fatal(name: &'static str, code: i32, kind: &'static str, fault: impl Into<Reply>) -> Self {
        let row = Self::new(name, Script::always(fault));
        row.fails(code, kind, 1).events("init message error result").never_says("trying again")
    }

    /// A fault that stays and is tried again.
    fn stays(name: &'static str, attempts: usize, kind: &'static str, fault: impl Into<Reply>) -> Self {
        let row = Self::new(name, Script::always(fault));
        row.fails(1, kind, attempts).events("init message retry error result").says("trying again")
    }

    fn on(mut self, wires: &[WireKind]) -> Self {
        self.wires = wires.to_vec();
        self
    }

    fn fails(mut self, code: i32, kind: &'static str, attempts: usize) -> Self {
        self.out.clear();
        self.code = code;
        self.kind = kind;
        self.attempts(attempts)
    }

    fn attempts(mut self, attempts: usize) -> Self {
        self.attempts = attempts;
        self
    }

    fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    fn out(mut self, out: impl Into<String>) -> Self {
        self.out = out.into();
        self
    }

    fn events(mut self, events: &'static str) -> Self {
        self.events = events;
        self
    }

    fn says(mut self, words: &'static str) -> Self {
        self.says.push((None, words));
        self
    }

    fn says_on(mut self, wire: WireKind, words: &'static str) -> Self {
        self.says.push((Some(wire), words));
        self
    }

    fn never_says(mut self, words: &'static str) -> Self {
        self.never_says.push(words);
        self
    }

    fn waits(mut self, least: u64, most: u64) -> Self {
        self.waits = Some((least, most));
        self
    }

    fn settings(mut self, settings: Value) -> Self {
        self.settings = settings;
        self
    }

    fn peer(mut self, peer: Peer) -> Self {
        self.peer = peer;
        self
    }
}

fn model(wire: WireKind) -> &'static str {
    match wire {
        WireKind::Gemini => "gemini/gemini-test",
        WireKind::OpenaiChat => "openai/gpt-test",
        WireKind::OpenaiResponses => "responses/gpt-test",
        WireKind::Anthropic => "anthropic/claude-test",
    }
}

/// A place where every provider's address is that of the row's peer.
fn place(row: &Row, server: &Server) -> Place {
    let origin = match row.peer {
        Peer::Scripted => server.url(),
        Peer::TakenForTls => server.url().replace("http:", "https:"),
        Peer::Refusing => "http://127.0.0.1:1".to_owned(),
        Peer::Nameless => "http://charla.invalid".to_owned(),
    };
    let mut settings = row.settings.clone();
    let responses =
        json!({"wire": "openai-responses", "baseUrl": format!("{origin}/v1"), "apiKey": {"env": "KEY"}});
    settings["providers"]["responses"] = responses;
    let retry = json!({"initialDelaySeconds": 0, "maxDelaySeconds": 0, "maxAttempts": ATTEMPTS});
    if settings["retry"].is_null() {
        settings["retry"] = retry;
    }
    Place::new()
        .variable("KEY", "key-secret-1")
        .variable("GEMINI_API_KEY", "key-secret-1")
        .variable("OPENAI_API_KEY", "key-secret-1")
        .variable("ANTHROPIC_API_KEY", "key-secret-1")
        .variable("GOOGLE_GEMINI_BASE_URL", &origin)
        .variable("ANTHROPIC_BASE_URL", &origin)
        .variable("OPENAI_BASE_URL", &format!("{origin}/v1"))
        .settings(&settings.to_string())
}

/// Runs a row on one wire in one format, on a server of its own.
fn run(row: &Row, wire: WireKind, format: &str) -> (Run, usize) {
    let server = server(row.script.clone());
    let run = place(row, &server).run(&["-m", model(wire), "-o", format, "-p", "hi"]);
    (run, server.requests().len())
}

/// What is not as the row says.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn unless(&mut self, right: bool, what: impl FnOnce() -> String) {
        if !right {
            self.0.push(what());
        }
    }

    fn check(&mut self, row: &Row, wire: WireKind, run: &Run, attempts: usize) {
        self.unless(run.code == Some(row.code), || format!("exit {:?}, not {}", run.code, row.code));
        self.unless(attempts == row.attempts, || format!("{attempts} attempts, not {}", row.attempts));
        for words in row.says.iter().filter(|(on, _)| on.is_none_or(|on| on == wire)).map(|(_, words)| *words)
        {
            self.unless(run.err.contains(words), || format!("does not say {words:?}"));
        }
        for words in row.never_says.iter().chain(&["panicked", "<html", "<body", "key-secret"]) {
            self.unless(!run.err.contains(words), || format!("says {words:?}"));
        }
        self.unless(run.err.len() < 10_000, || format!("says {} bytes", run.err.len()));
        let failed = run.err.contains("error: ");
        self.unless(failed == (row.code != 0), || "an error is told exactly when there is one".to_owned());
    }

    fn check_text(&mut self, row: &Row, run: &Run) {
        let shown = |text: &str| text.chars().take(200).collect::<String>();
        self.unless(run.out == row.out, || {
            format!("prints {:?}, not {:?}", shown(&run.out), shown(&row.out))
        });
    }

    fn check_lines(&mut self, row: &Row, run: &Run) {
        let kinds = run.kinds().join(" ");
        self.unless(kinds == row.events, || format!("events {kinds}, not {}", row.events));
        let lines = run.lines();
        let status = if row.code == 0 { "success" } else { "error" };
        let result = lines.last().unwrap_or(&Value::Null);
        self.unless(result["status"] == status, || format!("ends with {result}"));
        let kind = result["error"]["type"].as_str().unwrap_or_default();
        self.unless(kind == row.kind, || format!("is of type {kind:?}, not {:?}", row.kind));
        let said = said_since_the_last_retry(&lines);
        let expected = row.out.trim_end_matches('\n');
        self.unless(row.code != 0 || said == expected, || format!("stands at {} characters", said.len()));
        let retries: Vec<&Value> = lines.iter().filter(|line| line["type"] == "retry").collect();
        let scripted = row.peer == Peer::Scripted;
        self.unless(!scripted || retries.len() + row.steps == row.attempts, || {
            format!("{} retry lines", retries.len())
        });
        if let Some((least, most)) = row.waits {
            let wait = retries.first().and_then(|retry| retry["delay_ms"].as_u64()).unwrap_or_default();
            self.unless((least..=most).contains(&wait), || format!("waits {wait} ms"));
        }
    }
}

/// The text that stands when every `retry` line has withdrawn what came before it.
fn said_since_the_last_retry(lines: &[Value]) -> String {
    let mut said = String::new();
    for line in lines {
        if line["type"] == "retry" {
            said.clear();
        } else if line["role"] == "assistant" {
            said.push_str(line["content"].as_str().unwrap_or_default());
        }
    }
    said
}

fn check(row: &Row, wire: WireKind) -> Option<String> {
    let mut reports = Vec::new();
    for format in ["text", "stream-json"] {
        let (run, attempts) = run(row, wire, format);
        let mut wrong = Wrong::default();
        wrong.check(row, wire, &run, attempts);
        match format {
            "text" => wrong.check_text(row, &run),
            _ => wrong.check_lines(row, &run),
        }
        if !wrong.0.is_empty() {
            let said = run.err.chars().take(600).collect::<String>().replace('\n', " | ");
            reports.push(format!(
                "{} on {wire:?} in {format}: {}; stderr: {said}",
                row.name,
                wrong.0.join(", ")
            ));
        }
    }
    (!reports.is_empty()).then(|| reports.join("\n"))
}

#[test]
fn every_fault_ends_as_the_table_says() {
    // The slow ones first, so that nobody waits for them at the end.
    let rows: Vec<Row> = network::all().into_iter().chain(rows::all()).collect();
    assert!(rows.len() >= 40, "only {} rows", rows.len());
    all_end_as_they_say(&rows);
}

/// By itself: here, and nowhere else, a name server is asked.
#[test]
fn a_server_of_a_name_that_nobody_has() {
    all_end_as_they_say(&[network::nameless()]);
}

fn all_end_as_they_say(rows: &[Row]) {
    let work: Vec<(&Row, WireKind)> =
        rows.iter().flat_map(|row| row.wires.iter().map(move |wire| (row, *wire))).collect();
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((row, wire)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(report) = check(row, *wire) {
                        reports.lock().unwrap().push(report);
                    }
                }
            });
        }
    });
    let reports = reports.into_inner().unwrap();
    let failed = reports.len();
    assert!(
        reports.is_empty(),
        "{failed} of {} cases in {} rows failed:\n{}",
        work.len(),
        rows.len(),
        reports.join("\n")
    );
}
