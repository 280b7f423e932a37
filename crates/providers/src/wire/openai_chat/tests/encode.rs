use charla_proto::{
    FileData, FunctionCall, FunctionDeclaration, FunctionResponse, NativeTool, Part, PartKind, Role, Tool,
};
use serde_json::{Map, json};

use super::*;
use crate::endpoint::{DocumentStyle, ReasoningReplay, ToolIds};

fn call(id: &str, name: &str, args: Value) -> Part {
    Part::function_call(FunctionCall::new(id, name, args.as_object().cloned().unwrap_or_default()))
}

fn result(id: &str, name: &str, output: &str) -> Part {
    Part::function_response(FunctionResponse::output(id, name, output))
}

/// A question, a call, its result.
fn tool_loop(target: &Target) -> Vec<Content> {
    vec![
        Content::user("list src"),
        made_by(
            target,
            Content::new(Role::Model, vec![Part::thought("hm"), call("c1", "ls", json!({"path": "src"}))]),
        ),
        Content::new(Role::User, vec![result("c1", "ls", "main.rs")]),
    ]
}

#[test]
fn each_role_becomes_its_message() {
    let target = plain();
    let mut request = request(tool_loop(&target));
    request.system_instruction = Some(Arc::new(Content::user("be brief")));
    assert_eq!(
        encode(&request, &target)["messages"],
        json!([
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "list src"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{\"path\":\"src\"}"}},
            ]},
            {"role": "tool", "content": "main.rs", "tool_call_id": "c1"},
        ])
    );
}

#[test]
fn an_id_that_is_too_long_for_others_is_kept_for_the_server_that_made_it() {
    let id = "call__0_list_directory_cmpl-93c7eec0-8df3-494b-be36-9128e164eeb8";
    let target = plain();
    let pair = |origin: &Target| {
        let called = made_by(origin, Content::new(Role::Model, vec![call(id, "ls", json!({}))]));
        let answered = Content::new(Role::User, vec![result(id, "ls", "main.rs")]);
        let body = encode(&request([called, answered]), &target);
        let sent = |value: &Value| value.as_str().unwrap().to_owned();
        let call = sent(&body["messages"][0]["tool_calls"][0]["id"]);
        assert_eq!(call, sent(&body["messages"][1]["tool_call_id"]));
        call
    };
    assert_eq!(pair(&target), id);
    let other =
        Target::new(target.endpoint.clone(), ModelRow { id: "other".to_owned(), ..ModelRow::default() });
    let short = pair(&other);
    assert!(short.starts_with("call_") && short.len() <= 40, "{short}");
    assert_eq!(short, pair(&other));
}

#[test]
fn a_call_with_invalid_arguments_goes_back_as_an_empty_object() {
    let mut cut = FunctionCall::new("c1", "ls", Map::new());
    cut.set_args_text("{\"path\": \"sr");
    let body = encode(&request([Content::new(Role::Model, vec![Part::function_call(cut)])]), &plain());
    assert_eq!(body["messages"][0]["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn a_failed_tool_says_that_it_failed() {
    let failed = |text: &str| Part::function_response(FunctionResponse::error("c", "ls", text));
    let parts = vec![failed("no such folder"), failed("Error: denied")];
    let body = encode(&request([Content::new(Role::User, parts)]), &plain());
    assert_eq!(body["messages"][0]["content"], "Error: no such folder");
    assert_eq!(body["messages"][1]["content"], "Error: denied");
}

#[test]
fn media_of_results_follows_all_tool_messages_in_a_user_message() {
    let mut shot = FunctionResponse::output("c1", "screenshot", "done");
    shot.parts.push(Part::inline_data("image/png", "AAAA"));
    let parts = vec![Part::function_response(shot), result("c2", "ls", "a"), Part::text("and now?")];
    let body = encode(&request([Content::new(Role::User, parts)]), &plain());
    let roles: Vec<&Value> = body["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["tool", "tool", "user"]);
    assert_eq!(
        body["messages"][2]["content"],
        json!([
            {"type": "text", "text": "[Media returned by screenshot:]"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "text", "text": "and now?"},
        ])
    );
}

#[test]
fn user_media_takes_the_form_of_its_kind() {
    let file = |uri: &str| {
        Part::new(PartKind::FileData(Box::new(FileData { file_uri: uri.to_owned(), ..FileData::default() })))
    };
    let parts = vec![
        Part::inline_data("audio/mpeg", "AA"),
        Part::inline_data("application/pdf", "BB"),
        file("https://example.com/cat.png?size=1"),
        file("file-123"),
        file("https://example.com/talk.mp4"),
    ];
    let content = Content::new(Role::User, parts);
    let body = encode(&request([content.clone()]), &plain());
    let note = "[File: https://example.com/talk.mp4, not shown: this model takes no videos]";
    assert_eq!(
        body["messages"][0]["content"],
        json!([
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}},
            {"type": "file", "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,BB"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/cat.png?size=1"}},
            {"type": "file", "file": {"file_id": "file-123"}},
            {"type": "text", "text": note},
        ])
    );
    let fetching = target(Quirks { documents: DocumentStyle::FileUrl, ..Quirks::default() });
    let body = encode(&request([content]), &fetching);
    assert_eq!(body["messages"][0]["content"][4]["type"], "video_url");
}

#[test]
fn a_model_without_eyes_gets_a_note_instead_of_the_image() {
    let image = || [Content::new(Role::User, vec![Part::inline_data("image/png", "A".repeat(4096))])];
    let note = "[Image: image/png, 3 KB, not shown: this model takes no images]";
    let mut blind = plain();
    blind.model.images = false;
    assert_eq!(encode(&request(image()), &blind)["messages"][0]["content"], note);
    let refusing = target(Quirks { no_media: true, ..Quirks::default() });
    assert_eq!(encode(&request(image()), &refusing)["messages"][0]["content"], note);
}

#[test]
fn texts_of_one_content_stand_apart_in_one_string() {
    let content = Content::new(Role::User, vec![Part::text("one"), Part::text(""), Part::text("two")]);
    assert_eq!(encode(&request([content]), &plain())["messages"][0]["content"], "one\n\ntwo");
}

#[test]
fn instructions_lead_the_first_user_message_where_there_is_no_system_role() {
    let target = target(Quirks { no_system: true, ..Quirks::default() });
    let mut request = request([Content::user("hi"), Content::model("hello"), Content::user("bye")]);
    request.system_instruction = Some(Arc::new(Content::user("be brief")));
    let mut fragments = Fragments::default();
    let body = |request: &GenerateRequest, fragments: &mut Fragments| -> Value {
        serde_json::from_slice(&OpenaiChat.encode(request, &target, Mode::Unary, fragments).unwrap().body)
            .unwrap()
    };
    let first = body(&request, &mut fragments);
    assert_eq!(first["messages"][0], json!({"role": "user", "content": "be brief\n\nhi"}));
    assert_eq!(first["messages"].as_array().unwrap().len(), 3);
    request.system_instruction = Some(Arc::new(Content::user("be long")));
    let second = body(&request, &mut fragments);
    assert_eq!(second["messages"][0]["content"], "be long\n\nhi");
}

#[test]
fn a_server_without_tools_reads_calls_and_results_in_words() {
    let target = target(Quirks { no_tools: true, ..Quirks::default() });
    let mut request = request(tool_loop(&target));
    request.tools = vec![Tool::functions(vec![Arc::default()])];
    let body = encode(&request, &target);
    assert_eq!(body.get("tools"), None);
    assert_eq!(body["messages"][1]["content"], "\n[Called ls with {\"path\":\"src\"}]");
    assert_eq!(body["messages"][2], json!({"role": "user", "content": "[Result of ls: main.rs]"}));
}

#[test]
fn thoughts_go_back_only_to_their_origin_and_only_where_the_server_wants_them() {
    let thought = |replay: ReasoningReplay, foreign: bool, later: bool| {
        let target = target(Quirks { reasoning_replay: replay, ..Quirks::default() });
        let mut contents = tool_loop(&target);
        if foreign {
            contents[1].origin = None;
        }
        if later {
            contents.push(Content::user("thanks"));
        }
        encode(&request(contents), &target)["messages"][1]["reasoning_content"].clone()
    };
    assert_eq!(thought(ReasoningReplay::Never, false, false), Value::Null);
    assert_eq!(thought(ReasoningReplay::ToolLoop, false, false), "hm");
    assert_eq!(thought(ReasoningReplay::ToolLoop, false, true), Value::Null);
    assert_eq!(thought(ReasoningReplay::Always, false, true), "hm");
    assert_eq!(thought(ReasoningReplay::Always, true, false), Value::Null);
    assert_eq!(thought(ReasoningReplay::ToolCalls, false, true), "hm");
    assert_eq!(thought(ReasoningReplay::ToolCalls, true, false), "The next step is ls (c1).");
}

#[test]
fn only_messages_with_calls_have_thoughts_where_the_server_insists_on_them() {
    let target = target(Quirks { reasoning_replay: ReasoningReplay::ToolCalls, ..Quirks::default() });
    let said = Content::new(Role::Model, vec![Part::thought("hm"), Part::text("Done.")]);
    let contents = [tool_loop(&target), vec![made_by(&target, said)]].concat();
    let body = encode(&request(contents), &target);
    assert_eq!(body["messages"][1]["reasoning_content"], "hm");
    assert_eq!(body["messages"][3], json!({"role": "assistant", "content": "Done."}));
}

#[test]
fn leaving_the_tool_loop_changes_the_remembered_fragment() {
    let target = target(Quirks { reasoning_replay: ReasoningReplay::ToolLoop, ..Quirks::default() });
    let mut request = request(tool_loop(&target));
    let mut fragments = Fragments::default();
    let inside = OpenaiChat.encode(&request, &target, Mode::Unary, &mut fragments).unwrap().body;
    assert!(String::from_utf8_lossy(&inside).contains("reasoning_content"));
    request.contents.push(Arc::new(Content::user("thanks")));
    let outside = OpenaiChat.encode(&request, &target, Mode::Unary, &mut fragments).unwrap().body;
    assert!(!String::from_utf8_lossy(&outside).contains("reasoning_content"));
}

#[test]
fn opaque_data_goes_back_to_its_origin_unchanged_and_to_nobody_else() {
    let details = json!([{"type": "reasoning.encrypted", "data": "secret", "index": 0}]);
    let target = plain();
    let parts = vec![
        call("c1", "ls", json!({})).with_signature("sig"),
        Part::opaque(json!({"reasoning_details": details, "extra_content": {"google": {"x": 1}}})),
    ];
    let content = Content::new(Role::Model, parts);
    let own = encode(&request([made_by(&target, content.clone())]), &target);
    let message = &own["messages"][0];
    assert_eq!(message["reasoning_details"], details);
    assert_eq!(message["extra_content"], json!({"google": {"x": 1}}));
    assert_eq!(message["tool_calls"][0]["extra_content"], json!({"google": {"thought_signature": "sig"}}));
    let foreign = encode(&request([content]), &target).to_string();
    assert!(!foreign.contains("secret") && !foreign.contains("sig") && !foreign.contains("google"));
}

#[test]
fn a_content_that_says_nothing_leaves_no_message() {
    let thought = Content::new(Role::Model, vec![Part::thought("only thinking")]);
    let empty = Content::new(Role::User, Vec::new());
    let body = encode(&request([empty, Content::user("hi"), thought]), &plain());
    assert_eq!(body["messages"], json!([{"role": "user", "content": "hi"}]));
}

#[test]
fn nine_letter_ids_are_the_same_for_call_and_result() {
    let target = target(Quirks { tool_ids: ToolIds::Alnum9, ..Quirks::default() });
    let id = |id: &str| {
        let contents = [
            Content::new(Role::Model, vec![call(id, "ls", json!({}))]),
            Content::new(Role::User, vec![result(id, "ls", "a")]),
        ];
        let body = encode(&request(contents), &target);
        let id = body["messages"][0]["tool_calls"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(body["messages"][1]["tool_call_id"], id.as_str());
        id
    };
    assert_eq!(id("5mwsDGMph"), "5mwsDGMph");
    let long = id("toolu_01VmA9jmWpws4HgPqjhtGo6i");
    assert!(long.len() == 9 && long.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{long}");
    assert_ne!(long, id("toolu_01VmA9jmWpws4HgPqjhtGo6j"));
}

#[test]
fn calls_without_ids_pair_with_their_results_by_order() {
    let nameless =
        |name: &str| Part::function_call(FunctionCall { name: name.to_owned(), ..FunctionCall::default() });
    let answer = |name: &str| {
        Part::function_response(FunctionResponse { name: name.to_owned(), ..FunctionResponse::default() })
    };
    let contents = [
        Content::new(Role::Model, vec![nameless("a"), nameless("a"), nameless("b")]),
        Content::new(Role::User, vec![answer("a"), answer("a"), answer("b")]),
    ];
    let body = encode(&request(contents), &plain());
    let messages = body["messages"].as_array().unwrap();
    let calls: Vec<&Value> = messages[0]["tool_calls"].as_array().unwrap().iter().map(|c| &c["id"]).collect();
    let results: Vec<&Value> = messages[1..].iter().map(|m| &m["tool_call_id"]).collect();
    assert_eq!(calls, results);
    assert_ne!(calls[0], calls[1]);
}

#[test]
fn only_native_tools_of_this_wire_are_sent() {
    let mut request = request([Content::user("hi")]);
    let native = |wire, value: Value| Tool { native: Some(NativeTool { wire, value }), ..Tool::default() };
    let declared = FunctionDeclaration { name: "ls".to_owned(), ..FunctionDeclaration::default() };
    request.tools = vec![
        native(WireKind::Gemini, json!({"googleSearch": {}})),
        Tool::functions(vec![Arc::new(declared)]),
        native(WireKind::OpenaiChat, json!({"type": "custom", "custom": {"name": "x"}})),
    ];
    assert_eq!(
        encode(&request, &plain())["tools"],
        json!([
            {"type": "function", "function": {"name": "ls", "parameters": {"type": "object", "properties": {}}}},
            {"type": "custom", "custom": {"name": "x"}},
        ])
    );
}

#[test]
fn a_request_from_remembered_fragments_has_the_same_bytes() {
    let target = plain();
    let mut request = request(tool_loop(&target));
    request.tools = vec![Tool::functions(vec![Arc::new(FunctionDeclaration::default())])];
    let mut fragments = Fragments::default();
    let first = OpenaiChat.encode(&request, &target, Mode::Stream, &mut fragments).unwrap().body;
    let held = fragments.len();
    let second = OpenaiChat.encode(&request, &target, Mode::Stream, &mut fragments).unwrap().body;
    assert_eq!(first, second);
    assert_eq!((held, fragments.len()), (4, 4));
}
