//! Answers of a scripted server, over every wire.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;

use charla_testkit::{Call, Cut, Failure, FailureKind, Finish, Reply, Script, Step, Usage};
use serde_json::json;

use crate::killed_turns::{is_alive, wait_until};
use crate::place::{Place, server};

/// No waits between attempts.
const IMPATIENT: &str = r#"{"retry": {"initialDelaySeconds": 0, "maxDelaySeconds": 0, "maxAttempts": 4}}"#;

/// A model on every wire.
pub const MODELS: [&str; 4] =
    ["gemini/gemini-test", "anthropic/claude-test", "openai/gpt-test", "responses/gpt-test"];

/// Settings under which `responses/…` is the server's Responses wire.
pub fn with_responses(server: &charla_testkit::Server) -> String {
    let url = server.base_url(charla_proto::WireKind::OpenaiResponses);
    json!({
        "providers": {"responses": {"wire": "openai-responses", "baseUrl": url, "apiKey": {"env": "OPENAI_API_KEY"}}},
        "retry": {"initialDelaySeconds": 0, "maxDelaySeconds": 0, "maxAttempts": 4},
    })
    .to_string()
}

#[test]
fn every_wire_answers() {
    for model in MODELS {
        let server = server(Script::new([Reply::new().thought("easy").text("Hello, ").text("world!\n\n")]));
        let place = Place::with_server(&server).settings(&with_responses(&server));
        let run = place.run(&["-m", model, "-p", "hi"]);
        assert_eq!(
            (run.code, run.out.as_str(), run.err.as_str()),
            (Some(0), "Hello, world!\n", ""),
            "{model}"
        );
        assert!(server.problems().is_empty(), "{model}: {:?}", server.problems());
    }
}

#[test]
fn a_stream_that_breaks_is_tried_again_and_printed_once() {
    for model in MODELS {
        let broken = Reply::new().text("Hello, wor").cut(Cut::Abort);
        let server = server(Script::new([broken, Reply::new().text("Hello, world!")]));
        let place = Place::with_server(&server).settings(&with_responses(&server));
        let run = place.run(&["-m", model, "-p", "hi"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Hello, world!\n"), "{model}: {}", run.err);
        assert!(run.err.starts_with("attempt 1 of 4 failed: "), "{model}: {}", run.err);
        assert_eq!(server.requests().len(), 2, "{model}");
    }
}

#[test]
fn a_retry_is_an_event_that_withdraws() {
    let broken = Reply::new().text("Hello, wor").cut(Cut::Eof);
    let server = server(Script::new([broken, Reply::new().text("Hello!")]));
    let place = Place::with_server(&server).settings(IMPATIENT);
    let run = place.run(&["-o", "stream-json", "-p", "hi"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.kinds(), ["init", "message", "retry", "message", "result"]);
    let lines = run.lines();
    let retry = lines.iter().find(|line| line["type"] == "retry").unwrap();
    assert_eq!((&retry["withdraws"], &retry["attempt"]), (&json!(true), &json!(1)));
    let result = lines.last().unwrap();
    assert_eq!(result["status"], "success");
    let api = &result["stats"]["models"]["gemini/gemini-3.6-flash"]["api"];
    assert_eq!((&api["totalRequests"], &api["totalErrors"]), (&json!(2), &json!(1)));
}

#[test]
fn standard_input_is_put_before_the_prompt() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    place.run_with_input(&["-p", "Summarise"], "one\ntwo\n");
    place.run_with_input(&[], "only this");
    let texts: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.body["contents"][0]["parts"][0]["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(texts, ["one\ntwo\n\nSummarise", "only this"]);
}

#[test]
fn a_prompt_of_ten_megabytes_and_nul_bytes_arrives_whole() {
    let server = server(Script::always(Reply::new().text("long")));
    let place = Place::with_server(&server);
    let mut input = "0123456789".repeat(1_000_000);
    input.push('\0');
    let run = place.run_with_input(&["-m", "gemini/any", "-p", "Count"], input.clone());
    assert_eq!((run.code, run.out.as_str()), (Some(0), "long\n"), "{}", run.err);
    let requests = server.requests();
    let text = requests[0].body["contents"][0]["parts"][0]["text"].as_str().unwrap();
    assert!(text == format!("{input}\n\nCount"));
}

#[test]
fn what_cannot_fit_the_window_is_refused_with_numbers_before_it_is_sent() {
    let server = server(Script::always("never"));
    let place = Place::with_server(&server);
    let run = place.run_with_input(&["-m", "openai/gpt-4o", "-p", "sum up"], "word ".repeat(200_000));
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""));
    assert!(run.err.contains("window has 128000") && run.err.contains("your messages 2"), "{}", run.err);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn json_carries_answer_and_statistics() {
    let usage = Usage { prompt: 11, output: 5, thoughts: 2, cached: 3 };
    let server = server(Script::always(Reply::new().thought("hm").text("42").usage(usage)));
    let run = Place::with_server(&server).run(&["-m", "gemini-test", "-o", "json", "-p", "hi"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let document: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(document["response"], "42");
    assert!(document.get("error").is_none());
    let model = &document["stats"]["models"]["gemini/gemini-test"];
    assert_eq!(
        model["tokens"],
        json!({"prompt": 11, "candidates": 5, "total": 18, "cached": 3, "thoughts": 2})
    );
    assert_eq!(document["stats"]["tools"]["totalCalls"], 0);
}

#[test]
fn a_wrong_key_exits_with_the_auth_code_and_is_not_repeated() {
    for model in MODELS {
        let server = server(Script::always(Reply::new().text("never")).with_key("another"));
        let place = Place::with_server(&server).settings(&with_responses(&server));
        let run = place.run(&["-m", model, "-p", "hi"]);
        assert_eq!((run.code, run.out.as_str()), (Some(41), ""), "{model}: {}", run.err);
        assert!(run.err.contains("error: ") && run.err.contains("hint: "), "{model}: {}", run.err);
        assert!(!run.err.contains("key-"), "{model}: {}", run.err);
        assert_eq!(server.requests().len(), 1, "{model}");
    }
}

#[test]
fn an_overloaded_model_hands_over_to_its_fallback() {
    let overloaded = Failure::new(FailureKind::Overloaded);
    let script = Script::always(Reply::new().text("from two"))
        .rule(charla_testkit::When::model("gemini-one"), overloaded);
    let server = server(script);
    let settings = r#"{"model": {"name": "gemini-one", "fallback": ["nowhere/x", "anthropic/claude-two"]},
        "retry": {"initialDelaySeconds": 0, "maxDelaySeconds": 0}}"#;
    let place = Place::with_server(&server).settings(settings);
    let run = place.run(&["-p", "hi", "-o", "json"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let document: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (&document["response"], &document["model"]),
        (&json!("from two"), &json!("anthropic/claude-two"))
    );
    assert!(
        run.err.contains("fallback nowhere/x is left out: there is no provider `nowhere`"),
        "{}",
        run.err
    );
    assert!(run.err.contains("anthropic/claude-two goes on"), "{}", run.err);
}

#[test]
fn a_model_that_always_calls_a_tool_nobody_has_is_stopped() {
    let call = Call { name: "rm".into(), args: json!({}), ..Call::default() };
    let server = server(Script::always(Reply::new().step(Step::Call(call))).lenient());
    let run = Place::with_server(&server).settings(IMPATIENT).run(&["-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(53), ""), "{}", run.err);
    assert!(run.err.contains("Tool \"rm\" not found"), "{}", run.err);
    assert_eq!(server.requests().len(), 7);
}

#[test]
fn an_empty_answer_is_tried_again_and_then_no_success() {
    let server = server(Script::always(Reply::new().finish(Finish::Stop)));
    let run = Place::with_server(&server).settings(IMPATIENT).run(&["-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
    assert!(server.requests().len() > 1);
}

#[test]
fn the_log_holds_the_call_but_no_key_and_only_its_owner_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let server = server(Script::always(Reply::new().text("logged")));
    let place = Place::with_server(&server);
    let log = place.path().join("log.jsonl");
    let arguments = ["-p", "my key is key-gemini-1", "--log-file", log.to_str().unwrap()];
    assert_eq!(place.run(&arguments).code, Some(0));
    let text = std::fs::read_to_string(&log).unwrap();
    let entry: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(entry["model"], "gemini/gemini-3.6-flash");
    assert!(text.contains("logged") && !text.contains("key-gemini-1"), "{text}");
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_workspace_cannot_move_the_provider() {
    let server = server(Script::always(Reply::new().text("home")));
    let workspace =
        r#"{"providers": {"gemini": {"headers": {"x-evil": "1"}}}, "model": {"temperature": 0.25}}"#;
    let place = Place::with_server(&server).workspace_settings(workspace);
    let run = place.run(&["-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "home\n"));
    assert!(run.err.contains("`providers.gemini.headers.x-evil` is ignored"), "{}", run.err);
    let request = &server.requests()[0];
    assert_eq!(request.headers.get("x-evil"), None);
    assert_eq!(request.body["generationConfig"]["temperature"], 0.25);
}

#[test]
fn extra_body_goes_into_the_request() {
    let server = server(Script::always(Reply::new().text("ok")).lenient());
    let settings = r#"{"providers": {"openai": {"extraBody": {"seed": 7}}}}"#;
    let run = Place::with_server(&server).settings(settings).run(&["-m", "gpt-test", "-p", "hi"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(server.requests()[0].body["seed"], 7);
}

#[test]
fn ctrl_c_cancels_with_one_final_event() {
    let server = server(Script::always(Reply::new().text("begun").stall()));
    let place = Place::with_server(&server);
    let mut child = place.spawn(&["-o", "stream-json", "-p", "hi"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("begun")));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let results: Vec<&String> = rest.iter().filter(|line| line.contains("\"type\":\"result\"")).collect();
    assert_eq!(results.len(), 1, "{rest:?}");
    assert!(results[0].contains("\"status\":\"cancelled\""), "{rest:?}");
    assert_eq!(rest.last(), Some(results[0]));
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let server = server(Script::always(Reply::new().text("word ".repeat(200_000)).chunk(50)));
    let place = Place::with_server(&server);
    let mut child = place.spawn(&["-o", "stream-json", "-p", "hi"]);
    let mut first = [0; 16];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(141), "the turn had not ended");
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn what_runs_is_stopped_when_the_reader_leaves() {
    let call = Reply::new()
        .call("run_shell_command", json!({"command": "echo $$ > pid; sleep 600; touch finished"}));
    let server = server(Script::new([call, "Done.".into()]));
    let place = Place::with_server(&server);
    let mut child = place.spawn(&["-y", "-o", "stream-json", "-p", "hi"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("tool_use") {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended before the call");
    }
    let pid = || place.read("pid").filter(|pid| pid.ends_with('\n')).map(|pid| pid.trim().to_owned());
    wait_until("the command runs", || pid().is_some());
    let pid = pid().unwrap();
    assert!(is_alive(&pid));
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(141));
    assert_eq!(server.requests().len(), 1, "nothing more is asked for");
    assert!(!is_alive(&pid), "the command goes with its run");
    assert_eq!(place.read("finished"), None);
}
