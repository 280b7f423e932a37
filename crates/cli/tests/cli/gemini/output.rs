use serde_json::{Value, json};

use super::{Stage, call, say, shell};

#[test]
fn text_is_the_answer_and_nothing_else() {
    let stage = Stage::plain();
    let run = stage.run(&[say("Paris.")], &["-p", "capital of France?"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "Paris.\n", ""));
    let run = stage.run(&[say("Which file?")], &["-p", "@missing-file.txt what is in it?"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Which file?\n"), "{}", run.err);
    let marked = |line: &str| line.starts_with("[ERROR]") || line.starts_with("[INFO]");
    assert!(!run.out.lines().any(marked));
}

#[test]
fn json_is_one_document_with_statistics() {
    let stage = Stage::plain();
    let answers = [call("read_file", json!({"file_path": "none.txt"})), shell("echo x"), say("Done.")];
    let run = stage.run(&answers, &["--output-format", "json", "--approval-mode=yolo", "-p", "x"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert!(!document["session_id"].as_str().unwrap().is_empty());
    assert_eq!((&document["response"], document.get("error")), (&json!("Done."), None));
    let tools = &document["stats"]["tools"];
    let counts = ["totalCalls", "totalSuccess", "totalFail"].map(|key| tools[key].as_u64().unwrap());
    assert_eq!(counts, [2, 1, 1]);
    assert_eq!(document["stats"]["models"].as_object().unwrap().len(), 1);
    assert!(run.err.contains("Error executing tool read_file: "), "{}", run.err);
}

#[test]
fn lines_of_json_have_the_types_that_readers_know() {
    let stage = Stage::plain();
    let answers = [call("list_directory", json!({"dir_path": "."})), say("Done.")];
    let run = stage.run(&answers, &["-o", "stream-json", "-p", "look"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let lines = run.lines();
    let of =
        |kind: &str| lines.iter().find(|line| line["type"] == kind).unwrap_or_else(|| panic!("no {kind}"));
    assert!(lines.iter().all(|line| line["timestamp"].is_string()));
    assert!(of("init")["session_id"].is_string() && of("init")["model"].is_string());
    assert_eq!((&of("message")["role"], &of("message")["content"]), (&json!("user"), &json!("look")));
    assert_eq!(
        (&of("tool_use")["tool_name"], &of("tool_use")["parameters"]),
        (&json!("list_directory"), &json!({"dir_path": "."}))
    );
    assert_eq!(
        (&of("tool_result")["status"], &of("tool_result")["tool_id"]),
        (&json!("success"), &of("tool_use")["tool_id"])
    );
    let said: Vec<&Value> = lines.iter().filter(|line| line["role"] == "assistant").collect();
    assert_eq!((&said[0]["content"], &said[0]["delta"]), (&json!("Done."), &json!(true)));
    assert_eq!(of("result")["status"], "success");
}

/// The last text with braces on standard error.
fn error_document(err: &str) -> Value {
    serde_json::from_str(err.get(err.find("{\n").unwrap()..=err.rfind('}').unwrap()).unwrap()).unwrap()
}

#[test]
fn another_login_than_the_enforced_one_is_refused() {
    let auth = json!({"security": {"auth": {"enforcedType": "gemini-api-key", "selectedType": ""}}});
    let stage = Stage::new(&auth);
    let place = stage.place.variable("GOOGLE_GENAI_USE_GCA", "true");
    let stage = Stage { place };
    let run = stage.run(&[say("no")], &["--output-format", "json", "-p", "x"]);
    assert_eq!((run.code, run.out.as_str()), (Some(41), ""), "{}", run.err);
    let document = error_document(&run.err);
    let error = &document["error"];
    assert!(document["session_id"].is_string());
    assert_eq!((&error["type"], &error["code"]), (&json!("Error"), &json!(41)));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("enforced authentication type is 'gemini-api-key'"), "{message}");
    assert!(message.contains("current type is 'oauth-personal'"), "{message}");
    assert_eq!(stage.events("api_request").len(), 0);
    // It is no business of other models.
    let run = stage.run(&[say("yes")], &["-m", "anthropic/claude-sonnet-5", "-p", "x"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "yes\n"), "{}", run.err);
    let same = Stage::new(&json!({"security": {"auth": {"enforcedType": "gemini-api-key"}}}));
    assert_eq!(same.run(&[say("yes")], &["-p", "x"]).code, Some(0));
}

#[test]
fn exit_codes_are_those_that_scripts_know() {
    let stage = Stage::plain();
    assert_eq!(stage.run(&[], &["-p", "x"]).code, Some(1));
    assert_eq!(stage.run_with_input(&[], &[], "").code, Some(42));
    std::fs::write(stage.place.home().join("settings.json"), "{").unwrap();
    let moved = stage.place.path().join("gemini-home/.charla");
    std::fs::create_dir_all(&moved).unwrap();
    std::fs::write(moved.join("settings.json"), "{").unwrap();
    assert_eq!(stage.run(&[say("x")], &["-p", "x"]).code, Some(52));
    std::fs::remove_file(moved.join("settings.json")).unwrap();
    assert_eq!(stage.run(&[say("x")], &["--require-trust", "-p", "x"]).code, Some(55));
}

#[test]
fn statistics_count_the_lines_of_changed_files() {
    let stage = Stage::plain().file("a.txt", "one\ntwo\n");
    let replace =
        json!({"file_path": "a.txt", "instruction": "i", "old_string": "two", "new_string": "2\n3"});
    let write = json!({"file_path": "b.txt", "content": "--- a\n+++ b\n"});
    let failing = json!({"file_path": "a.txt", "instruction": "i", "old_string": "nine", "new_string": "9"});
    let answers =
        [call("replace", replace), call("write_file", write), call("replace", failing), say("Done.")];
    let run = stage.run(&answers, &["-o", "json", "-y", "-p", "x"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(document["stats"]["files"], json!({"totalLinesAdded": 4, "totalLinesRemoved": 1}));
}

#[test]
fn no_prompt_at_all_is_told_in_the_known_words() {
    let stage = Stage::plain();
    let run = stage.run(&[say("never")], &[]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert!(run.err.contains("No input provided via stdin."), "{}", run.err);
}
