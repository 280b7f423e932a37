use serde_json::{Value, json};

use super::{Stage, call, part, say, streamed};

/// A call under yolo: whether it came to something, and what the model is told in the next request.
fn told(stage: &Stage, name: &str, args: Value) -> (bool, String) {
    let run = stage.run(&[call(name, args), say("Done.")], &["--approval-mode=yolo", "-p", "x"]);
    assert_eq!(run.code, Some(0), "{name}: {}", run.err);
    let (called, _, success) = stage.calls().pop().unwrap();
    assert_eq!(called, name);
    (success, stage.events("api_request").pop().unwrap()["request_text"].as_str().unwrap().to_owned())
}

/// A recorded answer that rests on these sources.
fn grounded(text: &str, sources: &[(&str, &str)]) -> Value {
    let mut answer = say(text);
    let chunks: Vec<Value> =
        sources.iter().map(|(title, uri)| json!({"web": {"title": title, "uri": uri}})).collect();
    answer["response"][0]["candidates"][0]["groundingMetadata"] = json!({"groundingChunks": chunks});
    answer
}

#[test]
fn sources_are_recorded_and_told_in_every_format() {
    let found = [("One", "https://one.example/a"), ("Two", "https://two.example/b")];
    let searched = grounded("The team won.", &found);
    let answers = [
        call("google_web_search", json!({"query": "who won"})),
        json!({"method": "generateContent", "response": searched["response"][0]}),
        grounded("They won.", &[found[0], ("Three", "https://three.example/c")]),
    ];
    let stage = Stage::new(&json!({"tools": {"allowed": ["google_web_search"]}}));
    let run = |format: &str| stage.run(&answers, &["--output-format", format, "-p", "x"]);
    let text = run("text");
    assert_eq!((text.code, text.out.as_str()), (Some(0), "They won.\n"), "{}", text.err);
    let all = ["One https://one.example/a", "Two https://two.example/b", "Three https://three.example/c"];
    for source in all {
        assert_eq!(text.err.matches(&format!("source: {source}")).count(), 1, "{}", text.err);
    }
    let named = |citations: &Value| -> Vec<String> {
        let citations = citations.as_array().unwrap().iter();
        citations
            .map(|one| format!("{} {}", one["title"].as_str().unwrap(), one["uri"].as_str().unwrap()))
            .collect()
    };
    let document: Value = serde_json::from_str(&run("json").out).unwrap();
    assert_eq!(named(&document["citations"]), all);
    let lines = run("stream-json").lines();
    assert_eq!(lines.iter().filter(|line| line["type"] == "citation").count(), 4);
    assert_eq!(named(&lines.last().unwrap()["citations"]), all);
    let exported = stage.place.run(&["sessions", "export", "--format", "json"]).out;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    let records = exported["records"].as_array().unwrap();
    let of = |kind: &str| records.iter().rfind(|record| record["kind"] == kind).unwrap();
    assert_eq!(named(&of("sampled")["citations"]), all[..2]);
    assert_eq!(named(&of("model_content")["citations"]), [all[0], all[2]]);
    assert!(of("call_ended")["display"].to_string().contains("[2] Two (https://two.example/b)"));
}

#[test]
fn files_are_read_whatever_their_encoding() {
    let stage = Stage::plain();
    let text = "héllo wörld ☃";
    let units: Vec<u16> = text.encode_utf16().collect();
    let bom16 = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once(0xfeff).chain(units.iter().copied()).flat_map(bytes).collect()
    };
    let bom32 = |bytes: fn(u32) -> [u8; 4]| -> Vec<u8> {
        std::iter::once(0xfeff).chain(text.chars().map(u32::from)).flat_map(bytes).collect()
    };
    let rows = [
        ("plain.txt", text.as_bytes().to_vec()),
        ("utf8.txt", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
        ("utf16le.txt", bom16(u16::to_le_bytes)),
        ("utf16be.txt", bom16(u16::to_be_bytes)),
        ("utf32le.txt", bom32(u32::to_le_bytes)),
        ("utf32be.txt", bom32(u32::to_be_bytes)),
    ];
    for (name, bytes) in rows {
        std::fs::write(stage.place.work().join(name), bytes).unwrap();
        let (success, request) = told(&stage, "read_file", json!({"file_path": name}));
        assert!(success && request.contains(text), "{name}: {request}");
    }
}

#[test]
fn file_tools_do_what_their_arguments_say() {
    let stage = Stage::plain().file("a.txt", "one $1 two\n").file("b.txt", "beta");
    let work = stage.place.work();
    let replace = |file: &str| json!({"file_path": file, "instruction": "i", "old_string": "$1", "new_string": "$2 $&"});
    let rows: [(&str, Value, bool, &str); 8] = [
        ("write_file", json!({"file_path": "deep/er/n.txt", "content": "new"}), true, ""),
        ("replace", replace("a.txt"), true, ""),
        ("replace", replace("none.txt"), false, ""),
        ("list_directory", json!({"dir_path": "."}), true, "b.txt"),
        ("read_many_files", json!({"include": ["a.txt", "b.txt"]}), true, "beta"),
        ("glob", json!({"pattern": "*.txt"}), true, "b.txt"),
        ("grep_search", json!({"pattern": "bet."}), true, "beta"),
        ("read_file", json!({"file_path": "/etc/../etc/shadow"}), false, ""),
    ];
    for (name, args, works, shown) in rows {
        if name == "read_file" {
            // Beyond the workspace, where nobody can be asked.
            let run = stage.run(&[call(name, args), say("Done.")], &["-p", "x"]);
            assert_eq!((run.code, stage.calls().pop().unwrap().2), (Some(0), works), "{}", run.err);
            continue;
        }
        let (success, request) = told(&stage, name, args.clone());
        assert_eq!(success, works, "{name} {args}: {request}");
        assert!(request.contains(shown), "{name}: {request}");
    }
    assert_eq!(stage.place.read("deep/er/n.txt").as_deref(), Some("new"));
    assert_eq!(stage.place.read("a.txt").as_deref(), Some("one $2 $& two\n"));
    assert!(!work.join("none.txt").exists());
}

#[test]
fn commands_get_the_callers_variables() {
    let stage = Stage::plain();
    let place = stage
        .place
        .variable("GEMINI_CLI_TEST_VAR", "from-outside")
        .variable("GEMINI_PTY_INFO", "child_process");
    let stage = Stage { place };
    let (success, request) = told(
        &stage,
        "run_shell_command",
        json!({"command": "echo $GEMINI_CLI_TEST_VAR; exit 3", "description": "d", "is_background": false}),
    );
    assert!(success && request.contains("from-outside") && request.contains("Exit Code: 3"), "{request}");
}

#[test]
fn a_background_process_is_listed_and_read() {
    let stage = Stage::plain();
    let start = call(
        "run_shell_command",
        json!({"command": "echo started; sleep 60", "is_background": true, "delay_ms": 1000}),
    );
    let answers = [start, call("list_background_processes", json!({})), say("Done.")];
    let run = stage.run(&answers, &["--approval-mode=yolo", "-p", "x"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let request = stage.events("api_request").pop().unwrap()["request_text"].as_str().unwrap().to_owned();
    assert!(request.contains("started") && request.contains("sleep 60"), "{request}");
    assert!(stage.calls().iter().all(|(.., success)| *success));
    let (success, request) = told(&stage, "read_background_output", json!({"pid": 1}));
    assert!(!success, "{request}");
}

#[test]
fn calls_of_one_answer_run_together_and_answer_in_order() {
    let stage = Stage::plain().file("a.txt", "alpha").file("b.txt", "beta");
    let read = |file: &str| part("read_file", json!({"file_path": file}));
    let write = part("write_file", json!({"file_path": "c.txt", "content": "gamma"}));
    let answers =
        [streamed(&[read("a.txt"), read("b.txt"), write, read("c.txt"), read("a.txt")]), say("Done.")];
    let run = stage.run(&answers, &["--approval-mode=yolo", "-p", "x"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    let request = stage.events("api_request").pop().unwrap()["request_text"].as_str().unwrap().to_owned();
    let contents: Vec<Value> = serde_json::from_str(&request).unwrap();
    let parts = contents.last().unwrap()["parts"].as_array().unwrap();
    let names: Vec<&str> =
        parts.iter().map(|part| part["functionResponse"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read_file", "read_file", "write_file", "read_file", "read_file"]);
    assert!(parts[3].to_string().contains("gamma"), "what was written before is read: {}", parts[3]);
    // With nobody to ask, what would be asked about fails and the rest runs.
    let run = stage.run(&answers, &["--approval-mode=default", "-p", "x"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let calls = stage.calls();
    let last: Vec<bool> = calls.iter().rev().take(5).map(|(.., success)| *success).collect();
    assert_eq!(last.iter().filter(|success| !**success).count(), 1, "{calls:?}");
}

#[test]
fn the_eleventh_request_to_a_host_in_a_minute_is_refused() {
    let stage = Stage::plain();
    let fetch = part("web_fetch", json!({"prompt": "what is at http://nowhere.invalid/page ?"}));
    let answers = [streamed(&vec![fetch; 11]), say("Done.")];
    let run = stage.run(&answers, &["--approval-mode=yolo", "-p", "x"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    let calls = stage.events("tool_call");
    let limited = calls
        .iter()
        .filter(|call| call["error"].as_str().unwrap_or_default().contains("Rate limit exceeded"));
    assert_eq!((calls.len(), limited.count()), (11, 1), "{calls:?}");
}

#[test]
fn resources_of_servers_are_listed_and_read() {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/servers/server.py");
    let server = json!({"command": "python3", "args": [script, "plain"]});
    let stage = Stage::new(&json!({"mcpServers": {"s": server}}));
    for (name, args, shown) in [
        ("mcp_s_echo", json!({"text": "from afar"}), "from afar"),
        ("list_mcp_resources", json!({}), "note:one"),
        ("read_mcp_resource", json!({"uri": "note:one"}), "a note"),
    ] {
        let (success, request) = told(&stage, name, args.clone());
        assert!(success && request.contains(shown), "{name}: {request}");
        assert_eq!(stage.calls().pop().unwrap().1, args);
    }
}

#[test]
fn an_agent_that_is_not_here_is_a_failed_call_and_no_end() {
    let stage = Stage::new(&json!({"agents": {"overrides": {"browser_agent": {"enabled": true}}}}));
    let args = json!({"agent_name": "browser_agent", "prompt": "look at it"});
    let (success, _) = told(&stage, "invoke_agent", args.clone());
    assert_eq!((success, stage.calls().pop().unwrap().1), (false, args));
}
