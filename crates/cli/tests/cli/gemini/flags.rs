use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use charla_testkit::{Failure, FailureKind, Reply, Script};
use serde_json::{Value, json};

use super::{Stage, call, say, shell, streamed};

#[test]
fn an_editor_starts_it_by_a_flag_and_is_told_of_a_missing_key() {
    for flag in ["--acp", "--experimental-acp"] {
        let stage = Stage::plain();
        let place = stage.place.variable("GEMINI_API_KEY", "");
        let client = json!({"protocolVersion": 1, "clientCapabilities": {}});
        let new = json!({"cwd": place.work(), "mcpServers": []});
        let lines = [
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": new}),
        ];
        let mut command = place.process(&[flag]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut editor = command.spawn().unwrap();
        let mut said = editor.stdin.take().unwrap();
        let mut heard = BufReader::new(editor.stdout.take().unwrap()).lines();
        let mut answer = |line: &Value| -> Value {
            writeln!(said, "{line}").unwrap();
            let answers = heard.by_ref().map(|heard| serde_json::from_str(&heard.unwrap()).unwrap());
            let mut answers = answers.filter(|heard: &Value| heard["id"] == line["id"]);
            answers.next().unwrap()
        };
        assert_eq!(answer(&lines[0])["result"]["protocolVersion"], 1);
        let refused = answer(&lines[1])["error"]["message"].as_str().unwrap().to_owned();
        assert!(refused.contains("Gemini API key is missing or not configured."), "{refused}");
        drop(said);
        assert!(editor.wait().unwrap().success(), "{flag}");
    }
}

#[test]
fn an_editor_is_told_of_a_key_that_is_refused_and_of_the_answer_otherwise() {
    let refused = Reply::from(Failure::new(FailureKind::Auth));
    let server = crate::place::server(Script::new([refused, "Hello there.".into()]));
    let stage = Stage::plain();
    let place = stage.place.variable("GOOGLE_GEMINI_BASE_URL", &server.url());
    let folder = place.path().join("elsewhere");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(".env"), "GEMINI_API_KEY=key-of-the-folder\n").unwrap();
    let mut command = place.process(&["--acp"]);
    command.env_remove("GEMINI_API_KEY");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut editor = command.spawn().unwrap();
    let mut said = editor.stdin.take().unwrap();
    let mut heard = BufReader::new(editor.stdout.take().unwrap()).lines();
    let mut told = Vec::new();
    let mut answer = |id: u32, method: &str, params: Value| -> Value {
        writeln!(said, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .unwrap();
        loop {
            let line: Value = serde_json::from_str(&heard.next().unwrap().unwrap()).unwrap();
            if line["id"] == id {
                return line;
            }
            told.push(line["params"]["update"]["content"]["text"].as_str().unwrap_or_default().to_owned());
        }
    };
    answer(0, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let opened = answer(1, "session/new", json!({"cwd": folder, "mcpServers": []}));
    let session = opened["result"]["sessionId"].clone();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]});
    let failed = answer(2, "session/prompt", prompt.clone());
    assert!(failed["error"]["message"].to_string().contains("API key not valid"), "{failed}");
    assert_eq!(answer(3, "session/prompt", prompt)["result"]["stopReason"], "end_turn");
    assert!(told.concat().contains("Hello there."), "{told:?}");
    assert_eq!(server.requests()[0].key.as_deref(), Some("key-of-the-folder"));
    drop(said);
    assert!(editor.wait().unwrap().success());
}

#[test]
fn an_editor_is_answered_from_a_recording() {
    let stage = Stage::plain();
    let recording = stage.place.path().join("answers.jsonl");
    std::fs::write(&recording, say("Hello from a file.").to_string()).unwrap();
    let mut command = stage.place.process(&["--acp", "--fake-responses", recording.to_str().unwrap()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut editor = command.spawn().unwrap();
    let mut said = editor.stdin.take().unwrap();
    let mut heard = BufReader::new(editor.stdout.take().unwrap()).lines();
    let mut told = String::new();
    let mut answer = |id: u32, method: &str, params: Value| -> Value {
        writeln!(said, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .unwrap();
        loop {
            let line: Value = serde_json::from_str(&heard.next().unwrap().unwrap()).unwrap();
            told.push_str(line["params"]["update"]["content"]["text"].as_str().unwrap_or_default());
            if line["id"] == id {
                return line;
            }
        }
    };
    answer(0, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let opened = answer(1, "session/new", json!({"cwd": stage.place.work(), "mcpServers": []}));
    let prompt = [json!({"type": "text", "text": "hi"})];
    let prompt = json!({"sessionId": opened["result"]["sessionId"], "prompt": prompt});
    let ended = answer(2, "session/prompt", prompt);
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    assert!(told.contains("Hello from a file."), "{told}");
    drop(said);
    assert!(editor.wait().unwrap().success());
}

#[test]
fn short_forms_that_people_type_elsewhere_are_known() {
    let stage = Stage::plain();
    let version = stage.place.run(&["-v"]);
    assert_eq!((version.code, version.out.starts_with("charla ")), (Some(0), true), "{}", version.err);
    for more in [&["--sandbox"][..], &["-s"]] {
        let run = stage.run(&[say("Hello.")], &[more, &["-p", "hi"]].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Hello.\n"), "{more:?}: {}", run.err);
    }
    for more in [&["--continue"][..], &["-c"], &["-r"], &["-r", "latest"]] {
        let run = stage.run(&[say("Again.")], &[more, &["-p", "go on"]].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Again.\n"), "{more:?}: {}", run.err);
    }
}

#[test]
fn a_recording_answers_in_every_form_of_prompt() {
    let stage = Stage::plain();
    let runs = [
        stage.run(&[say("Hi.")], &["-p", "hello"]),
        stage.run(&[say("Hi.")], &["hello"]),
        stage.run(&[say("Hi.")], &["--debug", "--model", "gemini-2.5-flash", "--prompt", "hello"]),
        stage.run_with_input(&[say("Hi.")], &[], "hello"),
        stage.run_with_input(&[say("Hi.")], &["-p", "sum"], "1 2 3"),
    ];
    for run in runs {
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Hi.\n"), "{}", run.err);
    }
    let asked = stage.events("api_request");
    let last = asked.last().unwrap()["request_text"].as_str().unwrap();
    assert!(last.find("1 2 3") < last.find("sum"), "what is piped goes first: {last}");
}

#[test]
fn every_process_begins_with_the_first_line() {
    let stage = Stage::plain();
    for _ in 0..2 {
        let run = stage.run(&[say("one"), say("two")], &["-p", "x"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "one\n"), "{}", run.err);
    }
}

#[test]
fn a_recording_that_does_not_fit_is_a_failed_request() {
    let stage = Stage::plain();
    let whole = json!({"method": "generateContent", "response": say("x")["response"][0]});
    let rows: [(&[_], &str); 3] = [
        (
            std::slice::from_ref(&whole),
            "Unexpected response type, next response was for generateContent but expected generateContentStream",
        ),
        (&[], "No more mock responses for generateContentStream, got request:"),
        (
            &[call("list_directory", json!({"dir_path": "."}))],
            "No more mock responses for generateContentStream",
        ),
    ];
    for (answers, words) in rows {
        let run = stage.run(answers, &["-p", "x"]);
        assert_eq!(run.code, Some(1), "{}", run.err);
        assert!(run.err.contains(words), "{}", run.err);
    }
    // What the program that recorded it asked beside the conversation is nothing that is asked here.
    let run = stage.run(&[whole.clone(), say("found")], &["-p", "x"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "found\n"), "{}", run.err);
    let recording = stage.place.path().join("loose.jsonl");
    std::fs::write(&recording, format!("{whole}\n\n{}\n", say("found"))).unwrap();
    let run = stage.place.run(&["--fake-responses-non-strict", recording.to_str().unwrap(), "-p", "x"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "found\n"), "{}", run.err);
}

#[test]
fn a_recording_that_cannot_be_read_is_told_with_its_line() {
    let stage = Stage::plain().file("broken.jsonl", "{}\n");
    for (file, words) in [("broken.jsonl", "line 1"), ("none.jsonl", "No such file")] {
        let run = stage.place.run(&["--fake-responses", file, "-p", "x"]);
        assert_eq!(run.code, Some(42), "{}", run.err);
        assert!(run.err.contains("cannot use the recording") && run.err.contains(words), "{}", run.err);
    }
}

#[test]
fn what_is_recorded_answers_again() {
    let stage = Stage::plain().file("a.txt", "alpha");
    let server = crate::place::server(charla_testkit::Script::new([
        charla_testkit::Reply::new().call("read_file", json!({"file_path": "a.txt"})),
        "It says alpha.".into(),
    ]));
    let place = stage.place.with_addresses(&server);
    let stage = Stage { place };
    let recorded = stage.place.run(&["--record-responses", "r.jsonl", "-p", "read it"]);
    let again = stage.place.run(&["--fake-responses", "r.jsonl", "-p", "read it"]);
    for run in [recorded, again] {
        assert_eq!((run.code, run.out.as_str()), (Some(0), "It says alpha.\n"), "{}", run.err);
    }
    assert_eq!(server.requests().len(), 2, "the second run asks nobody");
    assert_eq!(stage.calls().iter().filter(|(name, _, success)| name == "read_file" && *success).count(), 2);
}

#[test]
fn chunks_of_every_kind_are_survived() {
    let stage = Stage::plain();
    let chunks = json!([
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "secret thought", "thought": true}]}}]},
        {"usageMetadata": {"promptTokenCount": 4}},
        {"candidates": [{"index": 0}]},
        {"candidates": [{"content": {"role": "model"}}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Visible."}]}, "finishReason": "STOP"}]},
    ]);
    let odd = json!({"method": "generateContentStream", "response": chunks});
    let malformed = json!({"method": "generateContentStream",
                           "response": [{"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}]});
    let run = stage.run(&[malformed, odd], &["-p", "x"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Visible.\n"), "{}", run.err);
    assert!(!run.err.contains("secret"), "{}", run.err);
}

#[test]
fn yolo_has_a_short_form_and_no_other_mode_beside_it() {
    let stage = Stage::plain();
    let run = stage.run(&[shell("echo made > made.txt"), say("Done.")], &["-y", "-p", "x"]);
    assert_eq!((run.code, stage.place.read("made.txt").as_deref()), (Some(0), Some("made\n")), "{}", run.err);
    assert_eq!(stage.place.run(&["-y", "--approval-mode", "plan", "-p", "x"]).code, Some(42));
}

#[test]
fn a_conversation_is_no_answer_to_what_is_piped() {
    let stage = Stage::plain();
    for words in [&["-i", "begin"][..], &["--prompt-interactive", "begin", "and more"]] {
        let run = stage.run_with_input(&[say("no")], words, "piped");
        assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
        let told = "--prompt-interactive flag cannot be used when input is piped";
        assert!(run.err.contains(told), "{}", run.err);
    }
    assert_eq!(stage.events("api_request").len(), 0);
}

#[test]
fn a_session_is_gone_on_with() {
    let stage = Stage::plain();
    let first = stage.run(&[say("I will remember 42.")], &["-p", "remember 42"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    for which in ["latest", "1"] {
        let run = stage.run(&[say("It was 42.")], &["--resume", which, "-p", "what was it?"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "It was 42.\n"), "{which}: {}", run.err);
    }
    let asked = stage.events("api_request");
    assert!(asked.last().unwrap()["request_text"].as_str().unwrap().contains("remember 42"));
    let listed = stage.place.run(&["--list-sessions"]);
    assert!(listed.code == Some(0) && listed.out.contains("remember 42"), "{}{}", listed.out, listed.err);
    stage.run(&[say("Hi.")], &["-p", "another"]);
    let listed = stage.place.run(&["--list-sessions"]).out;
    let numbered = |number: &str| listed.lines().find(|line| line.contains(number)).unwrap().to_owned();
    assert!(numbered(" *1 ").contains("remember 42") && numbered(" *2 ").contains("another"), "{listed}");
    let unknown = stage.place.run(&["--delete-session", "3"]);
    assert_eq!(unknown.code, Some(42), "{}", unknown.err);
    // By its number, and by its id.
    let second = numbered(" *2 ");
    for which in ["1", second.split(' ').next().unwrap()] {
        let deleted = stage.place.run(&["--delete-session", which]);
        assert_eq!(deleted.code, Some(0), "{}", deleted.err);
    }
    assert_eq!(stage.place.run(&["--list-sessions"]).out, "");
    assert_eq!(stage.run(&[say("x")], &["--resume", "1", "-p", "x"]).code, Some(42), "there is none left");
}

#[test]
fn a_signature_goes_back_with_its_call() {
    let stage = Stage::plain();
    let signed = streamed(&[json!({"functionCall": {"name": "list_directory", "args": {"dir_path": "."}},
                                   "thoughtSignature": "c2lnbmF0dXJl"})]);
    let run = stage.run(&[signed, say("Done.")], &["-p", "x"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let asked = stage.events("api_request");
    assert!(asked[1]["request_text"].as_str().unwrap().contains("c2lnbmF0dXJl"), "{asked:?}");
}
