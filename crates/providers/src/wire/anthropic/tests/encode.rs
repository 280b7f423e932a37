use charla_proto::{
    FunctionCallingConfig, FunctionCallingMode, FunctionResponse, NativeTool, Thinking, ThinkingLevel,
    ToolConfig,
};

use super::*;

fn response(id: &str, output: &str) -> Part {
    Part::function_response(FunctionResponse::output(id, "tool", output))
}

fn ephemeral(value: &Value) -> bool {
    value["cache_control"] == json!({"type": "ephemeral"})
}

#[test]
fn the_path_the_version_and_the_limit_are_always_there() {
    let encoded = Anthropic
        .encode(&request(vec![Content::user("hi")]), &target(), Mode::Unary, &mut Fragments::default())
        .unwrap();
    assert_eq!(encoded.path, "/messages");
    assert_eq!(encoded.headers, [("anthropic-version", "2023-06-01".to_owned())]);
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("claude"), &json!(8192)));
    assert_eq!(body.get("stream"), None);
    let known = target_with(Quirks::default(), ModelRow { max_output: Some(64_000), ..ModelRow::default() });
    assert_eq!(encode(&request(vec![Content::user("hi")]), &known)["max_tokens"], 32_000);
}

#[test]
fn results_come_first_in_one_user_message_in_order() {
    let target = plain();
    let contents = vec![
        Content::user("go"),
        by(&target, vec![Part::text("ok"), call("a", "ls"), call("b", "cat")]),
        Content::new(Role::User, vec![Part::text("and?"), response("a", "x"), response("b", "y")]),
    ];
    let body = encode(&request(contents), &target);
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "ok"},
            {"type": "tool_use", "id": "a", "name": "ls", "input": {}},
            {"type": "tool_use", "id": "b", "name": "cat", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "x"},
            {"type": "tool_result", "tool_use_id": "b", "content": "y"},
            {"type": "text", "text": "and?"},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn roles_alternate_even_when_contents_do_not() {
    let target = plain();
    let contents = vec![
        Content::user("one"),
        Content::user("  "),
        by_another(vec![Part::thought("foreign")]),
        Content::user("two"),
        by(&target, vec![Part::text("a")]),
        by_another(vec![Part::text("b")]),
        Content::user("three"),
    ];
    let body = encode(&request(contents), &target);
    let shape: Vec<(&str, usize)> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| (message["role"].as_str().unwrap(), message["content"].as_array().unwrap().len()))
        .collect();
    assert_eq!(shape, [("user", 2), ("assistant", 2), ("user", 1)]);
}

#[test]
fn breakpoints_sit_on_tools_system_and_the_last_two_user_messages() {
    let target = target();
    let contents = vec![
        Content::user("one"),
        by(&target, vec![Part::text("a")]),
        Content::user("two"),
        by(&target, vec![Part::text("b")]),
        Content::user("three"),
    ];
    let mut request = request(contents);
    request.system_instruction = Some(Arc::new(Content::user("be brief")));
    request.tools = tools(&["ls", "cat"]);
    let body = encode(&request, &target);
    let tools: Vec<bool> = body["tools"].as_array().unwrap().iter().map(ephemeral).collect();
    assert_eq!(tools, [false, true]);
    assert!(ephemeral(&body["system"][0]));
    let messages = body["messages"].as_array().unwrap();
    let marks: Vec<bool> = messages.iter().map(|message| ephemeral(&message["content"][0])).collect();
    assert_eq!(marks, [false, false, true, false, true]);
    let none = encode(&request, &plain()).to_string();
    assert!(!none.contains("cache_control"));
    request.extra.insert("cache_control", json!({"type": "ephemeral"}));
    assert_eq!(encode(&request, &target).to_string().matches("cache_control").count(), 1);
}

#[test]
fn fragments_are_reused_and_give_the_same_bytes() {
    let target = target();
    let mut request = request(vec![Content::user("one"), by(&target, vec![Part::text("a")])]);
    request.tools = tools(&["ls"]);
    let mut fragments = Fragments::default();
    for text in ["two", "three", "four"] {
        request.contents.push(Arc::new(Content::user(text)));
        let kept = Anthropic.encode(&request, &target, Mode::Stream, &mut fragments).unwrap();
        let fresh = Anthropic.encode(&request, &target, Mode::Stream, &mut Fragments::default()).unwrap();
        assert_eq!(kept.body, fresh.body);
        request.contents.push(Arc::new(by(&target, vec![Part::text("more")])));
    }
}

#[test]
fn own_thinking_goes_back_in_place_and_foreign_thinking_does_not() {
    let target = plain();
    let redacted = json!({"type": "redacted_thinking", "data": "xyz"});
    let parts = vec![
        Part::thought("hm").with_signature("sig"),
        Part::opaque(redacted.clone()),
        Part::thought("").with_signature("only"),
        Part::thought("cut off"),
        Part::thought("unsigned server").with_signature(""),
        Part::text("ok"),
    ];
    let ask = |content| encode(&request(vec![Content::user("q"), content, Content::user("r")]), &target);
    let body = ask(by(&target, parts.clone()));
    let expected = json!([
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        redacted,
        {"type": "thinking", "thinking": "", "signature": "only"},
        {"type": "thinking", "thinking": "unsigned server"},
        {"type": "text", "text": "ok"},
    ]);
    assert_eq!(body["messages"][1]["content"], expected);
    let body = ask(by_another(parts));
    assert_eq!(body["messages"][1]["content"], json!([{"type": "text", "text": "ok"}]));
}

#[test]
fn an_assistant_message_never_ends_in_thinking() {
    let target = plain();
    let cut = by(&target, vec![Part::text("so"), Part::thought("hm").with_signature("sig")]);
    let only = by(&target, vec![Part::thought("hm").with_signature("sig")]);
    let contents = vec![Content::user("a"), cut, Content::user("b"), only, Content::user("c")];
    let body = encode(&request(contents), &target);
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
    assert!(!body.to_string().contains("thinking"));
}

#[test]
fn a_server_call_without_result_is_left_out_unless_the_turn_goes_on() {
    let target = plain();
    let used = |id: &str| Part::opaque(json!({"type": "server_tool_use", "id": id, "input": {}}));
    let result = Part::opaque(json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}));
    let searched = by(&target, vec![used("s1"), result, Part::text("x"), used("s2")]);
    let paused = encode(&request(vec![Content::user("q"), searched.clone()]), &target);
    assert_eq!(paused["messages"][1]["content"].as_array().unwrap().len(), 4);
    let broken = encode(&request(vec![Content::user("q"), searched, Content::user("r")]), &target);
    assert_eq!(broken["messages"][1]["content"].as_array().unwrap().len(), 3);
}

#[test]
fn odd_ids_and_names_are_made_acceptable_the_same_way_on_both_sides() {
    let target = plain();
    let answer = |id: &str| Part::function_response(FunctionResponse::output(id, "fs.read", "x"));
    let contents = vec![
        Content::user("go"),
        by_another(vec![call("fc|1", "fs.read"), call("fc.1", "fs.read")]),
        Content::new(Role::User, vec![answer("fc|1"), answer("fc.1")]),
    ];
    let body = encode(&request(contents), &target);
    let ids: Vec<&str> = (0..2).map(|n| body["messages"][1]["content"][n]["id"].as_str().unwrap()).collect();
    let answers: Vec<&str> =
        (0..2).map(|n| body["messages"][2]["content"][n]["tool_use_id"].as_str().unwrap()).collect();
    assert_eq!(ids, answers);
    assert_ne!(ids[0], ids[1]);
    assert!(ids.iter().all(|id| id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')));
    assert_eq!(body["messages"][1]["content"][0]["name"], "fs_read");
}

#[test]
fn failed_results_are_marked_and_their_media_stands_beside() {
    let target = plain();
    let mut failed = FunctionResponse::error("a", "shot", "no screen");
    failed.parts.push(Part::inline_data("image/png", "AAAA"));
    let mut fine = FunctionResponse::output("b", "shot", "here");
    fine.parts.push(Part::inline_data("image/png", "BBBB"));
    let results = vec![Part::function_response(failed), Part::function_response(fine)];
    let contents = vec![
        Content::user("go"),
        by(&target, vec![call("a", "shot"), call("b", "shot")]),
        Content::new(Role::User, results),
    ];
    let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let expected = json!([
        {"type": "tool_result", "tool_use_id": "a", "content": "no screen", "is_error": true},
        {"type": "tool_result", "tool_use_id": "b",
            "content": [{"type": "text", "text": "here"}, image("BBBB")]},
        image("AAAA"),
    ]);
    assert_eq!(encode(&request(contents), &target)["messages"][2]["content"], expected);
}

#[test]
fn media_that_cannot_be_seen_becomes_a_note() {
    let parts = || vec![Part::inline_data("image/png", "AAAA"), Part::inline_data("audio/wav", "AAAA")];
    let blind = target_with(Quirks::default(), ModelRow::default());
    let refusing = Quirks { no_media: true, ..Quirks::default() };
    let refusing = target_with(refusing, ModelRow { images: true, ..ModelRow::default() });
    let plain = "[Audio: audio/wav, 3 B]";
    let refused = "[Audio: audio/wav, 3 B, not shown: this model takes none]";
    for (target, kinds, note) in [
        (&target(), ["image", "text"], plain),
        (&blind, ["text"; 2], plain),
        (&refusing, ["text"; 2], refused),
    ] {
        let body = encode(&request(vec![Content::new(Role::User, parts())]), target);
        let content = body["messages"][0]["content"].as_array().unwrap();
        assert_eq!(content.iter().map(|block| block["type"].as_str().unwrap()).collect::<Vec<_>>(), kinds);
        assert_eq!(content[1]["text"], note);
    }
}

#[test]
fn a_model_with_a_budget_gets_one_with_room_for_the_answer() {
    let target = thinker(ModelThinking::Budget);
    let mut request = request(vec![Content::user("q")]);
    request.temperature = Some(0.5);
    request.max_output_tokens = Some(500);
    request.thinking = Some(Thinking { thinking_budget: Some(10), ..Thinking::default() });
    let body = encode(&request, &target);
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 1024}));
    assert_eq!(body["max_tokens"], 2048);
    assert_eq!(body.get("temperature"), None);
    request.thinking = Some(Thinking { thinking_budget: Some(0), ..Thinking::default() });
    let body = encode(&request, &target);
    assert_eq!((body.get("thinking"), &body["max_tokens"]), (None, &json!(500)));
    assert_eq!(body["temperature"], 0.5);
    let small = ModelRow { thinking: ModelThinking::Budget, max_output: Some(4096), ..ModelRow::default() };
    request.thinking = Some(Thinking { thinking_level: Some(ThinkingLevel::High), ..Thinking::default() });
    let body = encode(&request, &target_with(Quirks::default(), small));
    assert_eq!((&body["thinking"]["budget_tokens"], &body["max_tokens"]), (&json!(3072), &json!(4096)));
}

#[test]
fn an_adaptive_model_gets_an_effort() {
    let mut request = request(vec![Content::user("q")]);
    request.thinking = Some(Thinking { thinking_level: Some(ThinkingLevel::Medium), ..Thinking::default() });
    request.response_json_schema = Some(Arc::new(json!({"type": "object"})));
    let body = encode(&request, &thinker(ModelThinking::Adaptive));
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(body["output_config"]["effort"], "medium");
    assert_eq!(body["output_config"]["format"]["type"], "json_schema");
    assert_eq!(encode(&request, &target()).get("thinking"), None);
}

#[test]
fn thinking_is_left_out_where_the_server_would_refuse_it() {
    let target = thinker(ModelThinking::Budget);
    let asks = |model: Content, force: bool| {
        let results = Content::new(Role::User, vec![response("a", "x")]);
        let mut request = request(vec![Content::user("q"), model, results]);
        request.thinking = Some(Thinking { thinking_budget: Some(2000), ..Thinking::default() });
        request.tools = tools(&["ls"]);
        if force {
            let mode = FunctionCallingMode::Any;
            let function_calling_config = FunctionCallingConfig { mode, ..Default::default() };
            request.tool_config = Some(ToolConfig { function_calling_config });
        }
        encode(&request, &target).get("thinking").is_some()
    };
    let thought = || Part::thought("hm").with_signature("s");
    assert!(asks(by(&target, vec![thought(), call("a", "ls")]), false));
    assert!(!asks(by(&target, vec![call("a", "ls")]), false));
    assert!(!asks(by_another(vec![thought(), call("a", "ls")]), false));
    assert!(!asks(by(&target, vec![thought(), call("a", "ls")]), true));
}

#[test]
fn tools_that_cannot_be_sent_are_left_out_alone() {
    let mut request = request(vec![Content::user("q")]);
    request.tools = tools(&["fine", "not fine", "fine"]);
    let native = |wire, value| Tool { native: Some(NativeTool { wire, value }), ..Tool::default() };
    request.tools.push(native(WireKind::Anthropic, json!({"type": "web_search_20250305", "name": "w"})));
    request.tools.push(native(WireKind::Gemini, json!({"googleSearch": {}})));
    let body = encode(&request, &plain());
    let names: Vec<&str> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fine", "w"]);
    request.tools = tools(&["not fine"]);
    request.tool_config = Some(ToolConfig::default());
    let body = encode(&request, &plain());
    assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
}

#[test]
fn extra_fields_are_merged_and_cannot_replace_the_conversation() {
    let mut request = request(vec![Content::user("q")]);
    request.thinking = Some(Thinking { thinking_level: Some(ThinkingLevel::Low), ..Thinking::default() });
    request.extra.insert("output_config", json!({"task_budget": 7}));
    request.extra.insert("messages", json!([]));
    request.extra.insert("metadata", json!({"user_id": "u"}));
    let body = encode(&request, &thinker(ModelThinking::Adaptive));
    assert_eq!(body["output_config"], json!({"effort": "low", "task_budget": 7}));
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert_eq!(body["metadata"]["user_id"], "u");
}

#[test]
fn a_server_without_system_messages_gets_them_from_the_user() {
    let mut request = request(vec![Content::user("q")]);
    request.system_instruction = Some(Arc::new(Content::user("be brief")));
    let quirks = Quirks { no_system: true, no_cache_control: true, ..Quirks::default() };
    let body = encode(&request, &target_with(quirks, ModelRow::default()));
    assert_eq!(body.get("system"), None);
    let texts = json!([{"type": "text", "text": "be brief"}, {"type": "text", "text": "q"}]);
    assert_eq!(body["messages"], json!([{"role": "user", "content": texts}]));
}

#[test]
fn counting_sends_only_what_is_counted() {
    let mut request = request(vec![Content::user("q")]);
    request.temperature = Some(0.3);
    request.tools = tools(&["ls"]);
    let encoded = Anthropic.encode_count(&request, &plain()).unwrap().unwrap();
    assert_eq!(encoded.path, "/messages/count_tokens");
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["model", "tools", "messages"]);
    let uncounted = Quirks { no_count_tokens: true, ..Quirks::default() };
    assert!(Anthropic.encode_count(&request, &target_with(uncounted, ModelRow::default())).is_none());
    assert_eq!(Anthropic.decode_count(br#"{"input_tokens": 7}"#).unwrap().total_tokens, 7);
    assert!(Anthropic.decode_count(b"<html>").is_err());
}

#[test]
fn nothing_to_send_is_refused_and_a_foreign_last_word_is_continued() {
    let nothing = request(vec![Content::user(" ")]);
    let error = Anthropic.encode(&nothing, &target(), Mode::Unary, &mut Fragments::default()).unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::InvalidRequest);
    let body = encode(&request(vec![Content::user("q"), by_another(vec![Part::text("half")])]), &plain());
    assert_eq!(body["messages"][2]["role"], "user");
}
