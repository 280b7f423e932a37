//! How servers of the local network are spoken to: in few words, and in words that stay the same.

use std::sync::Arc;

use charla_proto::{Content, FunctionDeclaration, GenerateRequest, Tool, WireKind};
use charla_providers::tokens;
use charla_testkit::{Reply, Script, Server, When};
use serde_json::{Value, json};

use crate::place::{Place, server};

/// What is promised for a session's beginning: everything that is sent before the user's words.
const MOST_TOKENS: u64 = 2_500;

fn place(server: &Server, more: &Value) -> Place {
    let mut own =
        json!({"baseUrl": server.base_url(WireKind::OpenaiChat), "models": {"m": {"tools": "native"}}});
    own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Place::new().settings(&json!({"providers": {"own": own}}).to_string())
}

fn bodies(server: &Server) -> Vec<Value> {
    assert!(server.problems().is_empty(), "{:?}", server.problems());
    let requests = server.requests().into_iter();
    requests.filter(|request| request.path == "/v1/chat/completions").map(|request| request.body).collect()
}

/// The tokens of a request's system message and tools, and of all but the user's own words in its first message.
fn standing_tokens(body: &Value, words: &str) -> u64 {
    let text = |at: usize| body["messages"][at]["content"].as_str().unwrap().to_owned();
    let declarations = body["tools"].as_array().into_iter().flatten();
    let declarations = declarations.map(|tool| {
        Arc::new(serde_json::from_value::<FunctionDeclaration>(tool["function"].clone()).unwrap())
    });
    let first = text(1);
    let opening = first.strip_suffix(words).unwrap();
    let request = GenerateRequest {
        system_instruction: Some(Arc::new(Content::user(text(0)))),
        tools: vec![Tool::functions(declarations.collect())],
        ..GenerateRequest::new("m", vec![Arc::new(Content::user(opening))])
    };
    tokens::estimate(&request)
}

#[test]
fn prompt_and_tools_take_less_than_the_promised_tokens_in_either_mode() {
    for mode in ["native", "text"] {
        let server = server(Script::always("hi"));
        let place = place(&server, &json!({"models": {"m": {"tools": mode}}}));
        let run = place.run(&["-m", "own/m", "--approval-mode", "yolo", "-p", "say hi"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        let body = &bodies(&server)[0];
        let tokens = standing_tokens(body, "say hi");
        assert!(tokens < MOST_TOKENS, "{mode}: {tokens}");
        let offered = body.to_string();
        for tool in ["read_file", "replace", "run_shell_command", "web_fetch", "write_todos"] {
            assert!(offered.contains(tool), "{mode}: {tool} is not offered");
        }
    }
}

#[test]
fn a_setting_brings_the_full_prompt_back() {
    let server = server(Script::always("hi"));
    let settings = json!({
        "providers": {"own": {"baseUrl": server.base_url(WireKind::OpenaiChat)}},
        "model": {"prompt": "full", "toolMode": "native"},
    });
    let place = Place::new().settings(&settings.to_string());
    assert_eq!(place.run(&["-m", "own/m", "--approval-mode", "yolo", "-p", "say hi"]).code, Some(0));
    let body = &bodies(&server)[0];
    assert!(body["messages"][0]["content"].as_str().unwrap().contains("# Truth and safety"));
    let read = body["tools"].as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "read_file");
    assert!(read.unwrap()["function"]["description"].as_str().unwrap().matches(". ").count() > 0);
}

#[test]
fn two_runs_in_two_folders_begin_with_the_same_bytes() {
    for mode in ["native", "text"] {
        let server = server(Script::always("hi"));
        for memory in ["Use tabs.", "Use spaces."] {
            let place = place(&server, &json!({"models": {"m": {"tools": mode}}})).file("CHARLA.md", memory);
            if memory == "Use tabs." {
                std::fs::create_dir(place.work().join(".git")).unwrap();
            }
            let run = place.run(&["-m", "own/m", "-p", "say hi"]);
            assert_eq!((run.code, run.err.lines().count()), (Some(0), 1), "{}", run.err);
        }
        let bodies = bodies(&server);
        let [one, other] = bodies.as_slice() else { panic!("{} requests", bodies.len()) };
        assert_eq!(one["tools"].to_string(), other["tools"].to_string());
        // Natively the template puts the tools behind the system message; in text they are part of it.
        let split = |body: &Value| {
            let both =
                ["/messages/0/content", "/messages/1/content"].map(|at| body.pointer(at).unwrap().clone());
            let both = both.map(|text| text.as_str().unwrap().to_owned()).concat();
            let (before, after) = both.split_once("# Environment").unwrap();
            (before.to_owned(), after.to_owned())
        };
        let ((before, one), (same, other)) = (split(one), split(other));
        assert_eq!(before, same);
        assert_eq!(before.contains("## read_file"), mode == "text", "{before}");
        assert!(one.contains("Use tabs.") && other.contains("Use spaces."), "{one}\n{other}");
        for opening in [&one, &other] {
            assert!(
                opening.contains("The session began on"),
                "what a day changes stands elsewhere: {opening}"
            );
        }
    }
}

#[test]
fn each_request_begins_with_all_of_the_one_before() {
    for mode in ["native", "text"] {
        let called = match mode {
            "native" => Reply::new().call("list_directory", json!({"dir_path": "."})),
            _ => Reply::from(
                "```json\n{\"tool_call\": {\"name\": \"list_directory\", \"arguments\": {\"dir_path\": \".\"}}}\n```",
            ),
        };
        let script = Script::always("done").rule(When::text("look around"), called);
        let mut script = script;
        script.rules[0].times = Some(1);
        let server = server(script);
        let place = place(&server, &json!({"models": {"m": {"tools": mode}}})).file("a.txt", "a");
        let run = place.run(&["-m", "own/m", "-p", "look around"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "done\n"), "{}", run.err);
        let run = place.run(&["-m", "own/m", "--resume", "-p", "and now?"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        let bodies = bodies(&server);
        assert_eq!(bodies.len(), 3, "{mode}");
        for pair in bodies.windows(2) {
            let text = |body: &Value| body["messages"].to_string();
            let (before, after) = (text(&pair[0]), text(&pair[1]));
            assert!(after.starts_with(before.trim_end_matches(']')), "{mode}\n{before}\n{after}");
            assert_eq!(pair[0]["tools"], pair[1]["tools"]);
        }
    }
}
