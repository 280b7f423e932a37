//! What hooks change: one test for each effect that they may have.

use super::*;

#[test]
fn every_point_is_come_to_once_in_order_with_its_input() {
    let hooks: serde_json::Map<String, Value> = EVENTS
        .iter()
        .map(|event| (event.to_string(), json!([{ "hooks": [{ "command": keeps("") }] }])))
        .collect();
    let (run, server, place) = run([writes("x"), "Done.".into()], &Value::Object(hooks));
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    let seen = seen(&place);
    let step = ["PreCompress", "BeforeModel", "BeforeToolSelection", "AfterModel"];
    let order: Vec<&str> = [
        &["SessionStart", "BeforeAgent"][..],
        &step,
        &["BeforeTool", "AfterTool"],
        &step,
        &["AfterAgent", "SessionEnd"],
    ]
    .concat();
    let names: Vec<&str> = seen.iter().map(|input| input["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(names, order);
    for input in &seen {
        let session = input["session_id"].as_str().unwrap();
        assert!(input["transcript_path"].as_str().unwrap().ends_with(&format!("{session}.jsonl")), "{input}");
        assert!(input["cwd"].as_str().unwrap().ends_with("/work"), "{input}");
        assert!(input["timestamp"].as_str().unwrap().ends_with('Z'), "{input}");
    }
    let of = |event: &str| seen.iter().rfind(|input| input["hook_event_name"] == event).unwrap();
    assert_eq!(of("SessionStart")["source"], "startup");
    assert_eq!(of("SessionEnd")["reason"], "exit");
    assert_eq!(of("BeforeAgent")["prompt"], "go");
    assert_eq!(of("PreCompress")["trigger"], "auto");
    assert_eq!(of("BeforeModel")["llm_request"]["model"], "gpt-test");
    assert_eq!(of("BeforeModel")["llm_request"]["messages"][0], json!({"role": "user", "content": "go"}));
    assert_eq!(of("AfterModel")["llm_response"]["candidates"][0]["content"]["parts"][0], "Done.");
    assert_eq!(of("BeforeTool")["tool_input"], json!({"file_path": "a.txt", "content": "x"}));
    assert!(!of("AfterTool")["tool_response"]["llmContent"].as_str().unwrap().is_empty());
    let after = of("AfterAgent");
    assert_eq!((&after["prompt"], &after["prompt_response"]), (&json!("go"), &json!("Done.")));
    assert_eq!(after["stop_hook_active"], false);
    assert!(server.problems().is_empty());
}

#[test]
fn a_blocked_call_fails_with_its_reason_and_the_model_goes_on() {
    let deny = says(&json!({"decision": "deny", "reason": "File writing blocked by security policy"}));
    let block = says(&json!({"decision": "block", "reason": "File writing blocked by security policy"}));
    let code = "cat > /dev/null; echo File writing blocked by security policy >&2; exit 2".to_owned();
    for hook in [deny, block, code] {
        let (run, server, place) = run([writes("x"), "I could not.".into()], &at("BeforeTool", &hook));
        assert_eq!((run.code, run.out.as_str()), (Some(0), "I could not.\n"), "{}", run.err);
        let told = "Tool execution blocked: File writing blocked by security policy";
        assert!(run.err.contains(told) && asked(&server, 1).contains(told), "{}", run.err);
        assert_eq!(place.read("a.txt"), None);
        let ended = records(&place, "call_ended");
        assert_eq!((ended.len(), &ended[0]["error"]), (1, &json!("blocked_by_hook")));
        assert!(records(&place, "call_started").is_empty());
    }
}

#[test]
fn changed_arguments_are_what_runs_and_what_is_recorded() {
    let args = json!({"file_path": "a.txt", "content": "theirs"});
    let hook = keeps(&says(&json!({"hookSpecificOutput": {"tool_input": args}})));
    let (run, server, place) = run([writes("mine"), "Done.".into()], &at("BeforeTool", &hook));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(place.read("a.txt").as_deref(), Some("theirs"));
    assert_eq!(seen(&place).len(), 1, "asked once");
    assert_eq!(records(&place, "hook_acted")[0]["effect"]["args"], args);
    assert_eq!(records(&place, "call_ended").len(), 1);
    assert!(asked(&server, 1).contains("a hook changed this call before it ran"));
}

#[test]
fn changed_arguments_are_judged_as_if_the_model_had_made_them() {
    let to = |command: &str| {
        let answer = json!({"decision": "allow", "hookSpecificOutput": {"tool_input": {"command": command}}});
        at("BeforeTool", &says(&answer))
    };
    let server = server(Script::new([shell("echo a"), "Done.".into(), shell("echo a"), "Done.".into()]));
    let place = place(&server, &to("touch made"));
    // Nothing was allowed but `echo`, and a hook's yes is none of the rules'.
    let run = place.run(&["-m", MODEL, "--allowed-tools", "run_shell_command(echo)", "-p", "go"]);
    assert_eq!((run.code, place.read("made")), (Some(0), None), "{}", run.err);
    assert_eq!(records(&place, "call_ended")[0]["error"], "nobody_to_ask");
    // A rule that denies does so whatever a hook makes of the call.
    let rule = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"touch\"\ndecision = \"deny\"\npriority = 900\n";
    std::fs::create_dir_all(place.home().join("policies")).unwrap();
    std::fs::write(place.home().join("policies/own.toml"), rule).unwrap();
    let run = place.run(&["-m", MODEL, "--approval-mode", "yolo", "-p", "go"]);
    assert_eq!((run.code, place.read("made")), (Some(0), None), "{}", run.err);
    assert_eq!(records(&place, "call_ended")[0]["error"], "denied_by_rule");
    assert!(run.err.contains("Tool execution denied by policy"), "{}", run.err);
}

#[test]
fn a_hook_that_wants_a_person_to_be_asked_is_heard_even_where_all_is_allowed() {
    let answer = json!({"decision": "ask", "systemMessage": "look at this one"});
    let hooks = at("BeforeTool", &says(&answer));
    let (run, _, place) = run([writes("x"), "I could not.".into()], &hooks);
    assert_eq!((run.code, place.read("a.txt")), (Some(0), None), "{}", run.err);
    assert_eq!(records(&place, "call_ended")[0]["error"], "nobody_to_ask");
    let server = server(Script::new([writes("x"), "Done.".into()]));
    let place = super::place(&server, &hooks);
    let talk = [("n REASON no, go on? ", "y\n")];
    let run = place.run_on_terminal(&["-m", MODEL, "--approval-mode", "yolo", "-p", "go"], &talk);
    assert_eq!(place.read("a.txt").as_deref(), Some("x"), "{}{}", run.out, run.err);
    assert!(format!("{}{}", run.out, run.err).contains("look at this one"), "{}{}", run.out, run.err);
}

#[test]
fn a_turn_that_hooks_ended_says_so_in_every_format() {
    let rows = [
        (
            json!({"decision": "deny", "reason": "not today"}),
            "hook_blocked",
            "Agent execution blocked by hook",
        ),
        (
            json!({"continue": false, "stopReason": "not today"}),
            "hook_stopped",
            "Agent execution stopped by hook",
        ),
    ];
    for (answer, end, told) in rows {
        let told = format!("{told}: not today");
        let server = server(Script::new(["Never."]));
        let place = place(&server, &at("BeforeModel", &says(&answer)));
        let run = |format: &str| place.run(&["-m", MODEL, "-p", "go", "--output-format", format]);
        let text = run("text");
        assert_eq!((text.code, text.out.as_str()), (Some(0), ""), "{}", text.err);
        assert!(text.err.contains(&told), "{}", text.err);
        let json = run("json");
        let document: Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(
            (json.code, &document["stopped"], &document["reason"]),
            (Some(0), &json!(end), &json!(told))
        );
        assert_eq!((&document["response"], document.get("error")), (&json!(""), None));
        let lines = run("stream-json").lines();
        let result = lines.last().unwrap();
        assert_eq!((&result["type"], &result["status"]), (&json!("result"), &json!("success")));
        assert_eq!((&result["stopped"], &result["reason"]), (&json!(end), &json!(told)));
        assert!(server.requests().is_empty());
    }
}

#[test]
fn a_hook_may_end_the_turn_anywhere() {
    let answer = json!({"continue": false, "stopReason": "that is enough"});
    // The event, and how many requests there are before it.
    let rows = [
        ("BeforeAgent", 0),
        ("BeforeModel", 0),
        ("BeforeToolSelection", 0),
        ("AfterModel", 1),
        ("BeforeTool", 1),
    ];
    for (event, requests) in rows.into_iter().chain([("AfterTool", 1), ("AfterAgent", 2)]) {
        let (run, server, place) = run([writes("x"), "Done.".into()], &at(event, &says(&answer)));
        assert_eq!(run.code, Some(0), "{event}: {}", run.err);
        let told = "Agent execution stopped by hook: that is enough";
        assert!(run.err.contains(told), "{event}: {}", run.err);
        assert_eq!(run.out, if event == "AfterAgent" { "Done.\n" } else { "" }, "{event}");
        assert_eq!(server.requests().len(), requests, "{event}");
        assert_eq!(records(&place, "turn_ended")[0]["end"], "hook_stopped", "{event}");
        let calls = records(&place, "call_ended").len();
        assert_eq!(
            calls,
            usize::from(event == "BeforeTool" || event.starts_with("After") && event != "AfterModel")
        );
    }
}

#[test]
fn a_turn_that_a_hook_ends_before_its_form_was_filled_is_no_success() {
    let stop = json!({"continue": false, "stopReason": "that is enough"});
    let block = json!({"decision": "block", "reason": "not here"});
    let run = |event: &str, answer: &Value, format: &str| {
        let server = server(Script::new(["I will write.".into(), writes("x"), "{}".into()]));
        let place = place(&server, &at(event, &says(answer))).file("schema.json", r#"{"type": "object"}"#);
        let flags = ["--output-schema", "schema.json", "-o", format, "--yolo", "-p", "go"];
        place.run(&[&["-m", MODEL][..], &flags].concat())
    };
    for (event, answer, why) in [("BeforeAgent", &block, "not here"), ("BeforeTool", &stop, "that is enough")]
    {
        let text = run(event, answer, "text");
        assert_eq!((text.code, text.out.as_str()), (Some(56), ""), "{event}: {}", text.err);
        assert!(
            text.err.contains("there is no answer to fit the schema") && text.err.contains(why),
            "{}",
            text.err
        );
        let lines = run(event, answer, "stream-json");
        let result: Value = serde_json::from_str(lines.out.lines().last().unwrap()).unwrap();
        assert_eq!((lines.code, &result["error"]["code"]), (Some(56), &json!(56)), "{result}");
    }
    // One that ends a turn behind its answer leaves that as it is.
    let answered = run("AfterAgent", &stop, "text");
    assert_eq!((answered.code, answered.out.as_str()), (Some(0), "{}\n"), "{}", answered.err);
}

#[test]
fn what_a_tool_gave_is_added_to_or_withheld() {
    let context = json!({"hookSpecificOutput": {"additionalContext": "it was a Monday"}});
    let (_, server, _) = run([shell("echo said"), "Done.".into()], &at("AfterTool", &says(&context)));
    assert!(asked(&server, 1).contains("said") && asked(&server, 1).contains("it was a Monday"));
    let deny = json!({"decision": "deny", "reason": "it holds a key"});
    let (run, server, place) = run([shell("echo s3cret"), "Done.".into()], &at("AfterTool", &says(&deny)));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(asked(&server, 1).contains("Tool result blocked: it holds a key"));
    assert_eq!(records(&place, "call_ended")[0]["error"], "blocked_by_hook");
    // The command stands in the call; what it printed stands nowhere.
    assert_eq!(asked(&server, 1).matches("s3cret").count(), 1);
}

#[test]
fn a_tail_call_is_a_call_of_its_own_and_gives_the_result() {
    let tail = json!({"name": "read_file", "args": {"file_path": "b.txt"}});
    let answer = json!({"hookSpecificOutput": {"tailToolCallRequest": tail}});
    let hooks = json!({"AfterTool": [{"matcher": "write_file", "hooks": [{"command": says(&answer)}]}],
                       "BeforeTool": [{"hooks": [{"command": keeps("")}]}]});
    let server = server(Script::new([writes("x"), "Done.".into()]));
    let place = super::place(&server, &hooks).file("b.txt", "of the other\n");
    let arguments = ["-m", MODEL, "--approval-mode", "yolo", "-p", "go", "--output-format", "stream-json"];
    let run = place.run(&arguments);
    assert_eq!((run.code, place.read("a.txt").as_deref()), (Some(0), Some("x")), "{}", run.err);
    let tools: Vec<Value> = seen(&place).into_iter().map(|input| input["tool_name"].clone()).collect();
    assert_eq!(tools, ["write_file", "read_file"]);
    assert!(asked(&server, 1).contains("of the other"), "{}", asked(&server, 1));
    let ended = records(&place, "call_ended");
    assert_eq!((ended.len(), &ended[0]["tool"]), (1, &json!("read_file")));
    assert_eq!(ended[0]["response"]["name"], "write_file");
    let results: Vec<Value> = run.lines().into_iter().filter(|line| line["type"] == "tool_result").collect();
    assert_eq!((results.len(), &results[0]["tool_name"]), (1, &json!("read_file")));
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

#[test]
fn a_tail_call_is_judged_by_the_rules() {
    let tail = json!({"name": "run_shell_command", "args": {"command": "touch made"}});
    let answer = json!({"hookSpecificOutput": {"tailToolCallRequest": tail}});
    let server = server(Script::new([writes("x"), "Done.".into()]));
    let hooks = json!({"AfterTool": [{"matcher": "write_file", "hooks": [{"command": says(&answer)}]}]});
    let place = super::place(&server, &hooks);
    let run = place.run(&["-m", MODEL, "--allowed-tools", "write_file", "-p", "go"]);
    assert_eq!((run.code, place.read("made")), (Some(0), None), "{}", run.err);
    assert_eq!(records(&place, "call_ended")[0]["error"], "nobody_to_ask");
}

#[test]
fn a_request_is_not_made_where_a_hook_does_not_let_it_through() {
    for answer in [
        json!({"decision": "deny", "reason": "no model today"}),
        json!({"decision": "block", "reason": "no model today"}),
    ] {
        let (run, server, place) = run(["Done."], &at("BeforeModel", &says(&answer)));
        assert_eq!((run.code, server.requests().len()), (Some(0), 0), "{}", run.err);
        assert!(run.err.contains("no model today"), "{}", run.err);
        assert_eq!(records(&place, "turn_ended")[0]["end"], "hook_blocked");
    }
}

#[test]
fn a_hook_answers_in_the_models_place() {
    let candidate =
        json!({"content": {"role": "model", "parts": ["From ", "a hook."]}, "finishReason": "STOP"});
    let answer = json!({"decision": "deny", "reason": "made up", "hookSpecificOutput": {"llm_response": {"candidates": [candidate]}}});
    let (run, server, place) = run(["Done."], &at("BeforeModel", &says(&answer)));
    assert_eq!((run.code, run.out.as_str()), (Some(0), "From a hook.\n"), "{}", run.err);
    assert!(server.requests().is_empty());
    let said = records(&place, "model_content");
    assert!(said[0]["hook"].as_str().unwrap().contains("printf"), "{said:?}");
}

#[test]
fn a_hook_changes_what_is_asked_once() {
    let messages = json!([{"role": "user", "content": "one"}, {"role": "model", "content": "two"}, {"role": "user", "content": "three"}]);
    let answer = json!({"hookSpecificOutput": {"llm_request": {"messages": messages}}});
    let (run, server, place) = run(["Done."], &at("BeforeModel", &says(&answer)));
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    let asked = asked(&server, 0);
    assert!(asked.contains("\"three\"") && asked.contains("\"two\"") && !asked.contains("\"go\""), "{asked}");
    assert_eq!(records(&place, "hook_acted")[0]["effect"]["type"], "request");
}

#[test]
fn nobody_sees_an_answer_before_its_hooks() {
    let candidate = json!({"content": {"role": "model", "parts": ["[redacted]"]}, "finishReason": "STOP"});
    let answer = json!({"hookSpecificOutput": {"llm_response": {"candidates": [candidate]}}});
    let server = server(Script::new(["the s3cret word"]));
    let place = place(&server, &at("AfterModel", &says(&answer)));
    let run = place.run(&["-m", MODEL, "-p", "go", "--output-format", "stream-json"]);
    let shown: Vec<Value> = run.lines().into_iter().filter(|line| line["type"] == "message").collect();
    assert!(shown.iter().any(|line| line["content"] == "[redacted]"), "{}", run.out);
    assert!(!shown.iter().any(|line| line.to_string().contains("s3cret")), "{}", run.out);
    let said = records(&place, "model_content");
    assert_eq!(said[0]["content"]["parts"][0]["text"], "[redacted]");
    assert!(said[0]["hook"].is_string());
}

#[test]
fn context_of_the_session_and_of_the_prompt_goes_into_the_request() {
    let context = |text: &str| says(&json!({"hookSpecificOutput": {"additionalContext": text}}));
    let hooks = json!({"SessionStart": [{"hooks": [{"command": context("the branch is main")}]}],
                       "BeforeAgent": [{"hooks": [{"command": context("the time is noon")}]}]});
    let (run, server, place) = run([writes("x"), "Done.".into()], &hooks);
    assert_eq!(run.code, Some(0), "{}", run.err);
    for request in 0..2 {
        let asked = asked(&server, request);
        assert_eq!(asked.matches("the branch is main").count(), 1, "{asked}");
        assert_eq!(asked.matches("the time is noon").count(), 1, "{asked}");
    }
    let effects: Vec<Value> =
        records(&place, "hook_acted").into_iter().map(|acted| acted["event"].clone()).collect();
    assert_eq!(effects, ["SessionStart", "BeforeAgent"]);
}

#[test]
fn a_prompt_that_is_not_let_through_is_no_part_of_the_conversation() {
    let guard = "if grep -q s3cret; then echo '{\"decision\":\"deny\",\"reason\":\"no secrets\"}'; fi";
    let server = server(Script::new(["Done."]));
    let place = place(&server, &at("BeforeAgent", guard));
    let run = place.run(&["-m", MODEL, "-p", "my s3cret is x"]);
    assert_eq!((run.code, server.requests().len()), (Some(0), 0), "{}", run.err);
    assert!(run.err.contains("no secrets"), "{}", run.err);
    assert!(place.run(&["sessions"]).out.contains("[refused by a hook]"));
    let run = place.run(&["-m", MODEL, "--resume", "-p", "hello"]);
    let listed = place.run(&["sessions"]).out;
    assert!(listed.contains("hello") && !listed.contains("s3cret"), "{listed}");
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    assert!(!asked(&server, 0).contains("s3cret"));
}

#[test]
fn a_turn_goes_on_with_the_reason_of_a_hook_and_says_so_to_it() {
    let once = keeps(
        "if grep -q '\"stop_hook_active\":true' seen; then exit 0; fi; echo '{\"decision\":\"deny\",\"reason\":\"run the tests, too\"}'",
    );
    let (run, server, place) = run(["First.", "Second."], &at("AfterAgent", &once));
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Second.\n"), "{}", run.err);
    assert!(asked(&server, 1).contains("run the tests, too") && asked(&server, 1).contains("First."));
    let active: Vec<Value> =
        seen(&place).into_iter().map(|input| input["stop_hook_active"].clone()).collect();
    assert_eq!(active, [false, true]);
    assert_eq!(records(&place, "turn_started").len(), 1);
}

#[test]
fn a_hook_may_have_everything_forgotten_before_the_turn_goes_on() {
    let answer =
        json!({"decision": "block", "reason": "begin anew", "hookSpecificOutput": {"clearContext": true}});
    let once =
        keeps(&format!("if grep -q '\"stop_hook_active\":true' seen; then exit 0; fi; {}", says(&answer)));
    let (run, server, _) = run(["First.", "Second."], &at("AfterAgent", &once));
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Second.\n"), "{}", run.err);
    let asked = asked(&server, 1);
    assert!(
        asked.contains("begin anew") && !asked.contains("First.") && !asked.contains("\"go\""),
        "{asked}"
    );
}

#[test]
fn a_hook_that_is_never_content_does_not_hold_a_turn_for_ever() {
    let answer = json!({"decision": "deny", "reason": "again"});
    let server = server(Script::always("Still here."));
    let place = place(&server, &at("AfterAgent", &says(&answer)));
    let run = place.run(&["-m", MODEL, "-p", "go"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Still here.\n"), "{}", run.err);
    assert_eq!(server.requests().len(), 26);
}

#[test]
fn a_hook_chooses_among_the_tools() {
    let config = |config: Value| {
        at("BeforeToolSelection", &says(&json!({"hookSpecificOutput": {"toolConfig": config}})))
    };
    let offered = |hooks: &Value| {
        let (run, server, _) = run(["Done."], hooks);
        assert_eq!(run.code, Some(0), "{}", run.err);
        let tools = server.requests()[0].body["tools"].as_array().cloned().unwrap_or_default();
        tools
            .into_iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(offered(&json!({})).len() > 2);
    assert_eq!(
        offered(&config(json!({"mode": "ANY", "allowedFunctionNames": ["read_file", "no_such"]}))),
        ["read_file"]
    );
    assert!(offered(&config(json!({"mode": "NONE"}))).is_empty());
    assert!(offered(&config(json!({"mode": "ANY", "allowedFunctionNames": ["no_such"]}))).is_empty());
}

#[test]
fn a_person_who_is_asked_is_told_of_by_a_notification() {
    // The call ends when the hook has been there: nobody waits for it but this.
    let command = "touch made; until [ -e seen ]; do sleep 0.01; done";
    let server = server(Script::new([shell(command), "Done.".into()]));
    let place = place(&server, &at("Notification", "cat > part; mv part seen"));
    let run = place.run_on_terminal(&["-m", MODEL, "-p", "go"], &[("n REASON no, go on? ", "y\n")]);
    assert!(run.out.contains("Done."), "{}{}", run.out, run.err);
    let input = &seen(&place)[0];
    assert_eq!(input["notification_type"], "ToolPermission");
    assert_eq!(input["details"]["type"], "exec");
    assert_eq!(
        (&input["details"]["command"], &input["details"]["rootCommand"]),
        (&json!(command), &json!("touch"))
    );
}

#[test]
fn a_compression_that_somebody_asks_for_is_told_as_such() {
    let server = server(Script::new(["One."]));
    let place = place(&server, &at("PreCompress", &keeps("")));
    place.run(&["-m", MODEL, "-p", "go"]);
    place.run(&["-m", MODEL, "--resume", "-p", "/compress"]);
    let triggers: Vec<Value> = seen(&place).into_iter().map(|input| input["trigger"].clone()).collect();
    assert_eq!(triggers, ["auto", "manual"]);
}
