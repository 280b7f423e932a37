use serde_json::{Value, json};

use super::{Stage, call, part, say, shell, streamed};

#[test]
fn what_happened_is_on_disk_when_the_run_ends() {
    let stage = Stage::plain();
    let answers = [shell("echo one"), call("list_dir", json!({"path": "."})), say("Done.")];
    let run = stage.run(&answers, &["--approval-mode=yolo", "-p", "go on"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let prompts = stage.events("user_prompt");
    assert_eq!(
        (prompts.len(), &prompts[0]["prompt"], &prompts[0]["prompt_length"]),
        (1, &json!("go on"), &json!(5))
    );
    let asked = stage.events("api_request");
    assert_eq!((asked.len(), &asked[0]["model"]), (3, &json!("gemini-3-flash-preview")));
    let contents: Value = serde_json::from_str(asked[2]["request_text"].as_str().unwrap()).unwrap();
    assert!(contents.is_array() && contents.to_string().contains("one"), "{contents}");
    assert_eq!(stage.events("api_response").len(), 3);
    let calls = stage.events("tool_call");
    let told: Vec<(&Value, &Value)> =
        calls.iter().map(|call| (&call["function_name"], &call["success"])).collect();
    assert_eq!(told, [(&json!("run_shell_command"), &json!(true)), (&json!("list_dir"), &json!(false))]);
    assert_eq!(calls[0]["function_args"], json!({"command": "echo one"}).to_string());
    assert!(calls[0]["duration_ms"].is_u64() && calls[0]["prompt_id"] == prompts[0]["prompt_id"]);
    assert!(calls[1]["error"].as_str().unwrap().contains(r#"Tool "list_dir" not found"#));
    assert_eq!(calls[1]["error_type"], "unknown_tool");
}

#[test]
fn metrics_are_objects_of_their_own() {
    let stage = Stage::plain();
    stage.run(&[say("Hi.")], &["-p", "x"]);
    let text = stage.place.read("telemetry.log").unwrap();
    assert!(text.contains("\"scopeMetrics\"") && text.ends_with("}\n"));
    assert!(text.contains("gemini_cli.session.count") && !text.contains("gemini_cli.ui.flicker.count"));
    let metrics: Vec<Value> =
        stage.telemetry().into_iter().filter(|object| object.get("scopeMetrics").is_some()).collect();
    let count = &metrics[0]["scopeMetrics"][0]["metrics"][0];
    assert_eq!(count["descriptor"]["name"], "gemini_cli.session.count");
    assert_eq!(count["dataPoints"][0]["value"], 1);
}

#[test]
fn braces_in_what_was_said_tear_no_object() {
    let stage = Stage::plain();
    let odd = "}\n{\n}\n{";
    let run = stage.run(&[call("read_file", json!({"file_path": odd})), say(odd)], &["-p", odd]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(stage.events("user_prompt")[0]["prompt"], odd);
    assert_eq!(stage.calls()[0].1["file_path"], odd);
}

#[test]
fn nothing_is_written_unless_it_is_wanted() {
    let off = Stage::new(&json!({"telemetry": {"enabled": false}}));
    assert_eq!(off.run(&[say("Hi.")], &["-p", "x"]).code, Some(0));
    assert_eq!(off.place.read("telemetry.log"), None);
    let place = off.place.variable("GEMINI_TELEMETRY_ENABLED", "true");
    let place = place
        .variable("GEMINI_TELEMETRY_OUTFILE", "other.log")
        .variable("GEMINI_TELEMETRY_TRACES_ENABLED", "true");
    let place = place.variable("GEMINI_TELEMETRY_LOG_PROMPTS", "false");
    let on = Stage { place };
    assert_eq!(on.run(&[say("Hi there.")], &["-p", "secret"]).code, Some(0));
    let text = on.place.read("other.log").unwrap();
    assert!(text.contains("gen_ai.output.messages") && text.contains("Hi there."), "{text}");
    assert_eq!(on.place.read("telemetry.log"), None);
    assert!(!text.contains("\"prompt\":") && !text.contains("request_text"), "{text}");
}

#[test]
fn runs_that_share_a_file_add_to_it() {
    let stage = Stage::plain();
    for _ in 0..2 {
        stage.run(&[streamed(&[part("list_directory", json!({"dir_path": "."}))]), say("Hi.")], &["-p", "x"]);
    }
    assert_eq!((stage.events("user_prompt").len(), stage.calls().len()), (2, 2));
}

#[test]
fn a_compression_is_told_and_logged_and_none_is_not() {
    let stage = Stage::plain();
    let told = |turn: usize| -> String {
        (0..400)
            .map(|line| format!("Ship {line} of day {turn} brought {} barrels. ", line * 7 + turn))
            .collect()
    };
    for turn in 0..4 {
        let more: &[&str] = if turn == 0 { &[] } else { &["--resume", "latest"] };
        let run = stage.run(&[say(&told(turn))], &[more, &["-p", "tell me"]].concat());
        assert_eq!(run.code, Some(0), "{}", run.err);
    }
    let snapshot = "<state_snapshot><overall_goal>The harbour is told of.</overall_goal></state_snapshot>";
    let summary = say(snapshot);
    let whole = json!({"method": "generateContent", "response": summary["response"][0]});
    let run = stage.run(&[whole, summary], &["--resume", "latest", "-p", "/compress"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("Chat history compressed"), "{}{}", run.out, run.err);
    let logged = stage.events("chat_compression");
    assert_eq!(logged.len(), 1);
    assert!(logged[0]["tokens_before"].as_u64() > logged[0]["tokens_after"].as_u64(), "{logged:?}");
    let stage = Stage::plain();
    stage.run(&[say("Hi.")], &["-p", "x"]);
    assert_eq!(stage.events("chat_compression").len(), 0);
}
