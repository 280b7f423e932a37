//! The real engine with the real small model, as `./test` installs them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use charla::Environment;
use charla::engine::{self, EngineGenerator, SmallModel};
use charla::models::{Choice, Directory};
use charla::settings::Settings;
use charla_local::Engine;
use charla_proto::{
    Content, ContentGenerator, Fetch, FetchRequest, FunctionCall, FunctionDeclaration, GenerateRequest, Tool,
};
use charla_providers::layers::Layered;
use charla_providers::{Client, NetworkOptions};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::place::{PATIENCE, Place, Run};

const CACHE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.test-env/cache/local");
/// Words for one wish. What the model says depends on the folder's name and on the processor's rounding, so it may miss
/// one of them.
const LISTINGS: [&str; 4] =
    ["List the files in src", "Show the contents of the folder src", "ls src", "List everything under src"];
const INITS: [&str; 4] =
    ["Run git init", "Execute git init", "Run the command git init", "Please run git init"];
const CHATS: [&str; 3] = ["Say hello", "What is the capital of France?", "Good morning!"];

const PROMPTS: &str = include_str!("tool_prompts.tsv");
const EXAMPLES: &str = include_str!("../../../../model/examples.json");
/// Nine in ten. More was measured, but other processors round otherwise.
const TOOLS_AT_LEAST: u32 = 36;
const CHATS_AT_LEAST: u32 = 9;

/// A place with the installed engine but none running.
pub struct Machine {
    pub place: Place,
}

impl Machine {
    pub fn new() -> Self {
        let installed = Path::new(CACHE);
        assert!(installed.is_dir(), "the engine is not installed: run ./test, which sets it up");
        let place = Place::new();
        let cache = place.path().join("cache/local");
        std::fs::create_dir_all(&cache).unwrap();
        for entry in std::fs::read_dir(installed).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_dir() && entry.file_name() != "running" {
                let target = entry.path().canonicalize().unwrap();
                std::os::unix::fs::symlink(target, cache.join(entry.file_name())).unwrap();
            }
        }
        std::fs::create_dir_all(place.path().join("work/src")).unwrap();
        std::fs::write(place.path().join("work/src/harbour.rs"), "fn main() {}\n").unwrap();
        let path = place.path().join("cache").display().to_string();
        Self { place: place.variable("CHARLA_CACHE", &path) }
    }

    pub fn settings(self, text: &str) -> Self {
        Self { place: self.place.settings(text) }
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        self.place.run(arguments)
    }

    /// The same command, running, with its output at hand.
    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.place.process(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    pub fn state(&self) -> Option<Value> {
        let running = std::fs::read_dir(self.place.path().join("cache/local/running")).ok()?;
        let files: Vec<PathBuf> = running.map(|entry| entry.unwrap().path().join("engine.json")).collect();
        assert_eq!(files.len(), 1, "more than one kind of engine was started");
        serde_json::from_slice(&std::fs::read(&files[0]).ok()?).ok()
    }

    fn pid(&self) -> u64 {
        self.state().unwrap()["pid"].as_u64().unwrap()
    }

    /// Waits until no process of the engine's group is left.
    pub fn assert_engine_ends(&self) {
        let group = format!("-{}", self.pid());
        let until = Instant::now() + PATIENCE;
        while is_alive(&group) {
            assert!(Instant::now() < until, "the engine {group} goes on running");
            std::thread::yield_now();
        }
    }
}

fn is_alive(process: &str) -> bool {
    let status = Command::new("kill").args(["-0", "--", process]).stderr(Stdio::null()).status();
    status.unwrap().success()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Reads stream-json until the model says something.
fn wait_for_words(child: &mut Child) {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let mut seen = Vec::new();
    for line in lines {
        let line = line.unwrap();
        if is_word(&line) {
            return;
        }
        seen.push(line);
    }
    panic!("the model said nothing: {seen:?}");
}

fn is_word(line: &str) -> bool {
    let event: Value = serde_json::from_str(line).unwrap();
    event["type"] == "message" && event["role"] == "assistant"
}

/// One of these runs is as it should be; those after it do not take place.
fn assert_any(runs: &mut dyn Iterator<Item = Run>, is_right: impl Fn(&Run) -> bool) {
    let mut wrong = Vec::new();
    for run in runs {
        if is_right(&run) {
            return;
        }
        wrong.push(run);
    }
    panic!("{wrong:#?}");
}

const LONG: [&str; 6] = ["-m", "local", "--no-tools", "-o", "stream-json", "-pWho are you?"];
/// It goes on when it has said everything.
const ENDLESS: &str = r#"{"providers": {"local": {"extraBody": {"ignore_eos": true}}}}"#;

#[test]
fn without_key_and_server_the_built_in_model_answers_and_the_user_is_told_once() {
    let machine = Machine::new();
    let run = machine.run(&["--no-tools", "-p", "Say hello"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains(char::is_alphabetic), "{}", run.out);
    assert_eq!(run.err.matches("the built-in SmolLM2-135M answers").count(), 1, "{}", run.err);
    machine.assert_engine_ends();
}

#[test]
fn the_built_in_model_lists_a_folder_through_a_tool() {
    let machine = Machine::new();
    let mut runs = LISTINGS.iter().map(|wish| machine.run(&["-m", "local", "-o", "stream-json", "-p", wish]));
    let listed = |run: &Run| run.out.contains("\"list_directory\"") && run.out.contains("harbour.rs");
    assert_any(&mut runs, listed);
    machine.assert_engine_ends();
}

#[test]
fn the_built_in_model_tells_what_a_tool_returned_and_nothing_else() {
    let machine = Machine::new();
    let mut runs = LISTINGS.iter().map(|wish| machine.run(&["-m", "local", "-p", wish]));
    let expected = "Directory listing for ~/work/src:\nharbour.rs (13 bytes)\n";
    assert_any(&mut runs, |run| (run.code, run.out.as_str()) == (Some(0), expected));
}

#[test]
fn that_a_file_is_not_there_is_the_answer() {
    let machine = Machine::new();
    let run = machine.run(&["-m", "local", "-p", "Show me the file absent.txt"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "There is no file absent.txt.\n"), "{}", run.err);
}

#[test]
fn a_tools_error_is_no_answer() {
    let machine = Machine::new();
    let run = machine.run(&["-m", "local", "-p", "Run the command rm src/harbour.rs"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
    assert!(run.err.contains("it needs approval"), "{}", run.err);
}

/// The template that the model's file has makes the trained prompt of what is sent.
#[test]
fn the_engine_reads_the_trained_prompt_byte_for_byte() {
    let machine = Machine::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let engine = engine_of(&machine);
    let used = runtime.block_on(engine.ensure(&mut |_| {})).unwrap();
    let client = Client::new(NetworkOptions::default()).unwrap();
    let url = used.base_url.replace("/v1", "/apply-template");
    for example in serde_json::from_str::<Vec<Value>>(EXAMPLES).unwrap() {
        let prompt = example["prompt"].as_str().unwrap();
        let told = prompt.split("<|im_end|>\n").filter_map(|turn| turn.strip_prefix("<|im_start|>"));
        let told = told.filter_map(|turn| turn.split_once('\n')).filter(|(_, text)| !text.is_empty());
        let messages: Vec<Value> = told.map(|(role, text)| json!({"role": role, "content": text})).collect();
        let body = json!({"messages": messages});
        let key = Some(used.key.expose_secret());
        let request =
            FetchRequest { url: &url, key, body: Some(&body), limit: PATIENCE, most_bytes: 1_000_000 };
        let answer = runtime.block_on(client.fetch(request)).unwrap();
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer["prompt"], prompt);
    }
}

#[test]
fn no_mode_lets_the_built_in_model_run_what_changes_something_but_a_rule_does() {
    let machine = Machine::new();
    let made = machine.place.path().join("work/.git");
    let mut runs = INITS.iter().map(|wish| {
        let wish = ["-m", "local", "--approval-mode", "yolo", "-p", wish];
        let run = machine.run(&wish);
        assert!(run.err.contains("too small for yolo"), "{}", run.err);
        assert!(!made.exists(), "{}\n{}", run.out, run.err);
        machine.run(&[&wish[..], &["--allowed-tools", "run_shell_command(git init)"]].concat())
    });
    assert_any(&mut runs, |_| made.exists());
}

/// With this much chance in the choice of words, a model of this size writes no valid JSON of its own accord.
#[test]
fn a_call_that_was_begun_is_valid_for_a_known_tool_whatever_the_model_would_say() {
    let machine = Machine::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let choice = choice_at(&machine);
    let client = Client::new(NetworkOptions::default()).unwrap();
    let (endpoint, row) = (choice.entry.endpoint().unwrap(), choice.row());
    let engine = EngineGenerator::new(choice.engine().unwrap().clone(), endpoint, row, client);
    let generator = Layered::over(Arc::new(engine), SmallModel::new(machine.place.path().to_owned()));
    let mut calls = 0;
    for prompt in ["List \"src\"}}", "Read the {file} a\\b.txt", "Search for \"x\"", "Run make"] {
        // Where it begins a call and writes more than an answer may have, there is none.
        let Ok(answer) = runtime.block_on(generator.generate(&wild(prompt))) else { continue };
        for call in answer.function_calls() {
            calls += 1;
            assert_fits(call);
        }
    }
    assert!(calls >= 2, "{calls}");
}

fn wild(prompt: &str) -> GenerateRequest {
    let name = "read_file".to_owned();
    let tool = Arc::new(FunctionDeclaration { name, ..FunctionDeclaration::default() });
    GenerateRequest {
        tools: vec![Tool::functions(vec![tool])],
        temperature: Some(2.0),
        system_instruction: Some(Arc::new(Content::user(engine::system(Path::new("/srv"))))),
        ..GenerateRequest::new("local", vec![Arc::new(Content::user(prompt))])
    }
}

fn assert_fits(call: &FunctionCall) {
    let known = engine::trained_tools(&Settings::default());
    assert!(call.invalid.is_none() && known.contains(&call.name), "{call:?}");
    // The program itself says of a search in one file that no lines around the matches are wanted.
    let words = call.args.iter().filter(|(name, _)| *name != "context");
    assert!(!call.args.is_empty() && words.clone().all(|(_, value)| value.is_string()), "{call:?}");
    assert!(words.count() > 0, "{call:?}");
}

#[test]
fn a_model_file_of_ones_own_runs_in_the_same_engine_and_is_asked_once_how_it_calls_tools() {
    let machine = Machine::new();
    let weights = machine.place.path().join("cache/local/models/smollm2-135m.gguf").canonicalize().unwrap();
    std::os::unix::fs::symlink(weights, machine.place.path().join("work/own.gguf")).unwrap();
    let mut runs = CHATS.iter().map(|words| machine.run(&["-m", "local/own.gguf", "-p", words]));
    assert_any(&mut runs, |run| run.code == Some(0) && !run.out.trim().is_empty());
    let findings = || std::fs::read_dir(machine.place.path().join("cache/probes")).unwrap();
    let [finding] = findings().map(|file| file.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
    let finding: Value = serde_json::from_slice(&std::fs::read(finding).unwrap()).unwrap();
    assert!(finding["address"].as_str().unwrap().ends_with("work/own.gguf"), "{finding}");
    assert_ne!(finding["tools"], "auto");
    machine.assert_engine_ends();
}

#[test]
fn an_answer_comes_in_pieces() {
    let machine = Machine::new();
    let mut runs = CHATS
        .iter()
        .map(|words| machine.run(&["-m", "local", "--no-tools", "-o", "stream-json", "-p", words]));
    let pieces = |run: &Run| run.out.lines().filter(|line| is_word(line)).count();
    assert_any(&mut runs, |run| run.code == Some(0) && pieces(run) > 2);
}

#[test]
fn a_run_cancelled_halfway_ends_with_its_engine() {
    let machine = Machine::new().settings(ENDLESS);
    let mut child = machine.start(&LONG);
    wait_for_words(&mut child);
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    machine.assert_engine_ends();
}

#[test]
fn a_killed_run_leaves_no_engine_behind() {
    let machine = Machine::new().settings(ENDLESS);
    let mut child = machine.start(&LONG);
    wait_for_words(&mut child);
    let group = format!("-{}", machine.pid());
    assert!(is_alive(&group));
    signal(&child, "-KILL");
    child.wait().unwrap();
    machine.assert_engine_ends();
}

#[test]
fn a_prompt_larger_than_the_window_is_refused_with_numbers() {
    let machine = Machine::new().settings(r#"{"local": {"contextWindow": 512}}"#);
    let prompt = "many words ".repeat(600);
    let run = machine.run(&["-m", "local", "--no-tools", "-o", "json", "-p", &prompt]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert!(run.err.contains("\"context_overflow\"") && run.err.contains("512"), "{}", run.err);
    assert!(run.err.contains("the conversation has about"), "the engine refused it: {}", run.err);
    machine.assert_engine_ends();
}

#[test]
fn two_processes_share_one_engine() {
    let machine = Machine::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let engine = engine_of(&machine);
    let used = runtime.block_on(engine.ensure(&mut |_| {})).unwrap();
    let before = machine.state().unwrap();
    let run = machine.run(&["-m", "local", "--no-tools", "-p", "Say hello"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(machine.state().unwrap(), before, "another engine was started");
    assert!(is_alive(&format!("-{}", machine.pid())), "the engine ended with its second user");
    drop((used, engine));
    // A child of this process is gone for good only when the runtime has taken note of its end.
    let ended = async { tokio::task::spawn_blocking(move || machine.assert_engine_ends()).await };
    runtime.block_on(ended).unwrap();
}

/// Forty requests that need a tool and ten that need none; see docs/local-models.md for what was measured.
#[test]
fn the_built_in_model_mostly_chooses_the_right_tool() {
    let machine = Machine::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let engine = engine_of(&machine);
    // While it is held here the prompt's beginning stays read.
    let _used = runtime.block_on(engine.ensure(&mut |_| {})).unwrap();
    let (mut tools, mut chats, mut wrong) = (0, 0, Vec::new());
    for line in PROMPTS.lines() {
        let (expected, prompt) = line.split_once('\t').unwrap();
        let run = machine.run(&["-m", "local", "-o", "stream-json", "--max-turns", "1", "-p", prompt]);
        let called = run.lines().into_iter().find(|event| event["type"] == "tool_use");
        let called = called.map_or("-".to_owned(), |event| event["tool_name"].as_str().unwrap().to_owned());
        match (called == expected, expected) {
            (true, "-") => chats += 1,
            (true, _) => tools += 1,
            (false, _) => wrong.push(format!("{prompt}: {called} instead of {expected}")),
        }
    }
    assert!(tools >= TOOLS_AT_LEAST && chats >= CHATS_AT_LEAST, "{tools} and {chats}: {wrong:#?}");
}

pub fn engine_of(machine: &Machine) -> Engine {
    choice_at(machine).engine().unwrap().clone()
}

/// The model that the binary would use at this place.
fn choice_at(machine: &Machine) -> Choice {
    let cache = machine.place.path().join("cache").display().to_string();
    let path = std::env::var("PATH").unwrap();
    let variables = [("CHARLA_CACHE", cache.as_str()), ("PATH", path.as_str()), ("CHARLA_OFFLINE", "1")];
    let (environment, settings) = (Environment::of(variables), Settings::default());
    let entry = Directory::new(&settings).find(engine::PROVIDER).unwrap();
    Choice::of_engine(entry, None, &settings, &environment).unwrap()
}
