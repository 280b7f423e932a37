//! Somebody else's llama.cpp server with the real small model, as `./test` installs them: no engine of Charla's.

mod host;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::place::{PATIENCE, Place, Run};
use host::{LlamaServer, Tap};

const WINDOW: u32 = 4096;
/// The folders of every place, each with its one file.
const SRC: (&str, &str) = ("src", "harbour.rs");
const WEB: (&str, &str) = ("web", "lantern.css");
/// Words for a wish, each with the folder's name at the end.
const LISTINGS: [&str; 4] =
    ["List the files in", "Show me the files in", "Which are the files in", "Name the files in"];
/// What all of them have in common.
const LISTED: &str = "files in src";
/// What the model may say where nothing but words tells of tools: it is too small to hold to a form by itself, but which
/// of the two it says, and about what, is its own choice.
const FORMS: &str = r#"root ::= call | told
call ::= "```json\n{\"tool_call\":{\"name\":\"list_directory\",\"arguments\":{\"dir_path\":\"" ("src" | "web") "\"}}}\n```"
told ::= "There is one file: " [a-z]+ "." [a-z]+"#;
const STORY: &str = "Tell me a very long story";

/// One server for all tests, one test at a time: it has one slot.
fn shared() -> MutexGuard<'static, LlamaServer> {
    static SERVER: OnceLock<Mutex<LlamaServer>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Mutex::new(LlamaServer::start(WINDOW)));
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Settings in which the provider `own` is at this address, as are `endless`, which goes on until its output limit, and
/// `formal`, which keeps to the forms.
fn settings(url: &str, facts: Value) -> String {
    let own = json!({"baseUrl": format!("{url}/v1"), "models": {"tiny": facts}});
    let mut endless = own.clone();
    endless["extraBody"] = json!({"ignore_eos": true, "max_tokens": 3500});
    let mut formal = own.clone();
    formal["extraBody"] = json!({"grammar": FORMS});
    let settings = json!({
        "model": {"temperature": 0, "maxOutputTokens": 128},
        "providers": {"own": own, "endless": endless, "formal": formal},
        "tools": {"core": ["list_directory"]},
        "retry": {"maxAttempts": 2, "initialDelaySeconds": 0.05},
    });
    settings.to_string()
}

/// A place with these settings, where llama.cpp's provider is at the same address.
fn place(url: &str, facts: Value) -> Place {
    let place = Place::new().variable("LLAMACPP_BASE_URL", &format!("{url}/v1"));
    let place = place.settings(&settings(url, facts));
    for (folder, file) in [SRC, WEB] {
        std::fs::create_dir(place.work().join(folder)).unwrap();
        std::fs::write(place.work().join(folder).join(file), "\n").unwrap();
    }
    place
}

/// What is known of the model: its window, and that it understands most when it is told most.
fn facts() -> Value {
    json!({"contextWindow": WINDOW, "textTools": {"style": "full"}})
}

fn run(place: &Place, arguments: &[&str]) -> Run {
    place.run(&[&["-o", "stream-json"], arguments].concat())
}

fn start(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.process(&[&["-o", "stream-json"], arguments].concat());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn is_word(event: &Value) -> bool {
    event["type"] == "message" && event["role"] == "assistant"
}

/// Reads events until the model has said something.
fn wait_for_words(child: &mut Child) {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert!(events.any(|event| is_word(&event)), "the model said nothing");
}

/// What a run lacks that was to list this folder and to end well.
fn lack(run: &Run, (folder, file): (&str, &str)) -> Option<&'static str> {
    let events = run.lines();
    let find = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap_or(&Value::Null);
    let (called, result) = (find("tool_use"), find("tool_result"));
    let call = (&called["tool_name"], &called["parameters"]);
    [
        (run.code == Some(0), "success"),
        (call == (&json!("list_directory"), &json!({"dir_path": folder})), "the call"),
        ((&result["status"], &result["tool_id"]) == (&json!("success"), &called["tool_id"]), "the result"),
        (result["output"].as_str().is_some_and(|output| output.contains(file)), "the file in the result"),
        (events.iter().any(is_word), "words about it"),
    ]
    .into_iter()
    .find_map(|(is_there, what)| (!is_there).then_some(what))
}

fn calls_of(run: &Run) -> usize {
    run.lines().iter().filter(|event| event["type"] == "tool_use").count()
}

/// Plays a scene whose runs list these folders. The model is the smallest there is, and what it says depends on the
/// folder's name and on the processor's rounding, so it may miss; then the scene is played elsewhere in other words.
fn play<const RUNS: usize>(
    server: &LlamaServer,
    folders: [(&str, &str); RUNS],
    scene: impl Fn(&Place, [String; RUNS]) -> [Run; RUNS],
) -> (Tap, [Run; RUNS]) {
    let mut failures = Vec::new();
    for words in LISTINGS {
        let tap = Tap::before(server);
        let runs = scene(&place(&tap.url, facts()), folders.map(|(folder, _)| format!("{words} {folder}")));
        let lacks: Vec<&str> =
            runs.iter().zip(folders).filter_map(|(run, folder)| lack(run, folder)).collect();
        if lacks.is_empty() {
            return (tap, runs);
        }
        failures.push((lacks, runs));
    }
    panic!("{failures:#?}");
}

/// Ids of calls and of results in a request, each in order.
fn ids(body: &Value) -> (Vec<&str>, Vec<&str>) {
    let messages = body["messages"].as_array().unwrap();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    (
        calls.map(|call| call["id"].as_str().unwrap()).collect(),
        results.map(|result| result["tool_call_id"].as_str().unwrap()).collect(),
    )
}

/// A request of text mode: nothing of it is native.
fn assert_textual(body: &Value) {
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none(), "{body}");
    for message in body["messages"].as_array().unwrap() {
        assert!(message.get("tool_calls").is_none() && message["role"] != "tool", "{message}");
    }
}

#[test]
fn the_model_calls_a_tool_natively_and_is_told_its_result() {
    let server = shared();
    for model in ["own/tiny", "llamacpp/tiny"] {
        let (tap, [run]) = play(&server, [SRC], |place, [wish]| {
            [run(place, &["-m", model, "--tool-mode", "native", "-p", &wish])]
        });
        let sent = tap.chats(LISTED);
        assert_eq!(sent.len(), calls_of(&run) + 1, "{sent:#?}");
        assert_eq!(sent[0]["tools"][0]["function"]["name"], "list_directory");
        let (calls, results) = ids(&sent[1]);
        assert_eq!((calls.len(), &calls), (1, &results));
        let result = sent[1]["messages"].as_array().unwrap().last().unwrap();
        assert!(result["content"].as_str().unwrap().contains("harbour.rs"), "{result}");
    }
}

#[test]
fn the_model_calls_a_tool_in_its_text_and_is_told_its_result() {
    let server = shared();
    let (tap, [run]) = play(&server, [SRC], |place, [wish]| {
        [run(place, &["-m", "formal/tiny", "--tool-mode", "text", "-p", &wish])]
    });
    let sent = tap.chats(LISTED);
    assert_eq!(sent.len(), calls_of(&run) + 1, "{sent:#?}");
    sent.iter().for_each(assert_textual);
    let result = sent[1]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(result["role"], "user");
    let words = result["content"].as_str().unwrap();
    assert!(words.starts_with("Result of tool list_directory:") && words.contains("harbour.rs"), "{words}");
}

#[test]
fn a_conversation_goes_from_native_to_text_and_back() {
    let server = shared();
    let (tap, runs) = play(&server, [SRC, WEB, SRC], |place, [first, second, third]| {
        let step = |model: &str, mode: &str, more: &[&str]| {
            run(place, &[&["-m", model, "--tool-mode", mode], more].concat())
        };
        [
            step("own/tiny", "native", &["-p", &first]),
            step("formal/tiny", "text", &["--resume", "-p", &second]),
            step("own/tiny", "native", &["--resume", "-p", &third]),
        ]
    });
    let sent = tap.chats(LISTED);
    let requests: Vec<usize> = runs.iter().map(|run| calls_of(run) + 1).collect();
    assert_eq!(sent.len(), requests.iter().sum::<usize>(), "{sent:#?}");
    let textual = &sent[requests[0]..requests[0] + requests[1]];
    textual.iter().for_each(assert_textual);
    assert!(textual[1].to_string().contains("lantern.css"));
    let (calls, results) = ids(sent.last().unwrap());
    assert_eq!((calls.len(), &calls), (runs.iter().map(calls_of).sum(), &results));
    assert_eq!(ids(&sent[1]).0, calls[..1], "an id changed on its way");
}

#[test]
fn an_answer_comes_in_pieces() {
    let server = shared();
    let place = place(&server.url, facts());
    let run = run(&place, &["-m", "own/tiny", "--no-tools", "-p", "What is the capital of France?"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.lines().iter().filter(|event| is_word(event)).count() > 2, "{}", run.out);
}

#[test]
fn a_cancelled_answer_leaves_the_server_free() {
    let server = shared();
    let place = place(&server.url, facts());
    let mut child = start(&place, &["-m", "endless/tiny", "--no-tools", "-p", STORY]);
    wait_for_words(&mut child);
    assert_eq!(server.slot()["is_processing"], true);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));

    let until = Instant::now() + PATIENCE;
    let mut slot = server.slot();
    while slot["is_processing"] == true {
        assert!(Instant::now() < until, "the server goes on: {slot}");
        std::thread::yield_now();
        slot = server.slot();
    }
    assert_eq!(slot["next_token"][0]["has_next_token"], true, "the answer was not stopped but complete");
    let run = run(&place, &["-m", "own/tiny", "--no-tools", "--resume", "-p", "Say hello"]);
    assert_eq!(run.code, Some(0), "{}\n{}", run.out, run.err);
}

#[test]
fn a_prompt_larger_than_the_servers_window_is_refused_before_it_is_sent() {
    let server = shared();
    let tap = Tap::before(&server);
    let place = place(&tap.url, json!({}));
    let prompt = "many words ".repeat(4000);
    let run = run(&place, &["-m", "llamacpp/tiny", "--no-tools", "-p", &prompt]);
    assert_eq!(run.code, Some(42), "{}\n{}", run.out, run.err);
    let told = format!("{}{}", run.out, run.err);
    assert!(told.contains("context_overflow") && told.contains(&WINDOW.to_string()), "{told}");
    assert_eq!(tap.chats("many words"), Vec::<Value>::new());
}

#[test]
fn an_overflow_that_only_the_server_notices_is_the_same_error() {
    let server = shared();
    let tap = Tap::before(&server);
    let place = place(&tap.url, json!({"contextWindow": 1_000_000}));
    let prompt = "many words ".repeat(4000);
    let run = run(&place, &["-m", "own/tiny", "--no-tools", "-p", &prompt]);
    assert_eq!(run.code, Some(42), "{}\n{}", run.out, run.err);
    let told = format!("{}{}", run.out, run.err);
    assert!(told.contains("context_overflow") && told.contains(&WINDOW.to_string()), "{told}");
    assert_eq!(tap.chats("many words").len(), 1, "a request that cannot fit was tried again");
}

#[test]
fn a_server_that_dies_in_the_middle_ends_the_run_and_not_the_session() {
    let mut server = LlamaServer::start(WINDOW);
    let place = place(&server.url, facts());
    let mut child = start(&place, &["-m", "endless/tiny", "--no-tools", "-p", STORY]);
    wait_for_words(&mut child);
    server.kill();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("\"network\""), "{told}");

    let server = shared();
    let tap = Tap::before(&server);
    let place = place.settings(&settings(&tap.url, facts()));
    let run = run(&place, &["-m", "own/tiny", "--no-tools", "--resume", "-p", "Say hello"]);
    assert_eq!(run.code, Some(0), "{}\n{}", run.out, run.err);
    assert!(tap.chats("Say hello")[0].to_string().contains(STORY));
}
