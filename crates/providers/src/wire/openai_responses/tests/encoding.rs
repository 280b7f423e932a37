use super::*;

fn encode_for(target: &Target, request: &GenerateRequest) -> Value {
    let encoded =
        OpenaiResponses.encode(request, target, Mode::Stream, &mut Fragments::default()).expect("encodes");
    assert_eq!(encoded.path, "/responses");
    serde_json::from_slice(&encoded.body).expect("valid JSON")
}

fn encode(request: &GenerateRequest) -> Value {
    encode_for(&target(), request)
}

fn request(contents: Vec<Content>) -> GenerateRequest {
    GenerateRequest::new("gpt", contents.into_iter().map(Arc::new).collect())
}

/// A model content that the target made.
fn own(parts: Vec<Part>) -> Content {
    Content { origin: Some(target().origin), ..Content::new(Role::Model, parts) }
}

fn call(id: &str, item_id: &str) -> Part {
    let mut call = FunctionCall::new(id, "read", serde_json::Map::new());
    call.extra.insert("itemId", json!(item_id));
    Part::function_call(call)
}

fn reasoning() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "secret"})
}

fn types(body: &Value) -> Vec<&str> {
    body["input"].as_array().expect("input").iter().filter_map(|item| item["type"].as_str()).collect()
}

#[test]
fn a_plain_request_is_stateless_and_asks_for_encrypted_reasoning() {
    let mut request = request(vec![Content::user("hi")]);
    request.system_instruction =
        Some(Arc::new(Content::new(Role::User, vec![Part::text("Be kind."), Part::text("Be short.")])));
    request.temperature = Some(0.5);
    request.max_output_tokens = Some(1);
    let expected = json!({
        "model": "gpt", "store": false, "stream": true, "include": ["reasoning.encrypted_content"],
        "instructions": "Be kind.\n\nBe short.", "max_output_tokens": 16, "temperature": 0.5,
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
    });
    assert_eq!(encode(&request), expected);
    let plain = target_with(|_, model| {
        model.thinking = ModelThinking::None;
        model.no_sampling = true;
    });
    let body = encode_for(&plain, &request);
    assert_eq!((&body["include"], &body["temperature"]), (&Value::Null, &Value::Null));
}

#[test]
fn extra_fields_win_and_objects_merge() {
    let mut request = request(vec![Content::user("hi")]);
    request.response_mime_type = Some("application/json".to_owned());
    request.extra.insert("text", json!({"verbosity": "low"}));
    request.extra.insert("store", json!(true));
    let body = encode(&request);
    assert_eq!(body["text"], json!({"format": {"type": "json_object"}, "verbosity": "low"}));
    assert_eq!(body["store"], true);
}

#[test]
fn thinking_becomes_an_effort() {
    let effort = |level, budget| {
        let mut request = request(vec![Content::user("hi")]);
        request.thinking = Some(Thinking {
            thinking_level: level,
            thinking_budget: budget,
            include_thoughts: (budget == Some(9000)).then_some(true),
        });
        encode(&request)["reasoning"].clone()
    };
    assert_eq!(effort(Some(ThinkingLevel::High), None), json!({"effort": "high"}));
    assert_eq!(effort(None, Some(0)), json!({"effort": "minimal"}));
    assert_eq!(effort(None, Some(9000)), json!({"effort": "medium", "summary": "auto"}));
    assert_eq!(effort(None, Some(-1)), Value::Null);
}

#[test]
fn tools_are_flat_and_only_this_wires_native_tools_go_out() {
    let mut request = request(vec![Content::user("hi")]);
    let declaration = |name: &str| {
        Arc::new(FunctionDeclaration { name: name.to_owned(), ..FunctionDeclaration::default() })
    };
    let native = |wire| Tool {
        native: Some(NativeTool { wire, value: json!({"type": "web_search"}) }),
        ..Tool::default()
    };
    request.tools = vec![
        native(WireKind::Gemini),
        Tool::functions(vec![declaration("read"), declaration("write")]),
        native(WireKind::OpenaiResponses),
    ];
    request.tool_config = Some(ToolConfig {
        function_calling_config: FunctionCallingConfig {
            mode: FunctionCallingMode::Any,
            allowed_function_names: vec!["read".to_owned(), "write".to_owned()],
        },
    });
    let body = encode(&request);
    let none = json!({"type": "object", "properties": {}});
    let function = |name: &str| json!({"type": "function", "name": name, "description": "", "parameters": none, "strict": false});
    assert_eq!(body["tools"], json!([function("read"), function("write"), {"type": "web_search"}]));
    assert_eq!(body["tool_choice"]["type"], "allowed_tools");
    assert_eq!(body["tool_choice"]["tools"].as_array().map(Vec::len), Some(2));
    let toolless = target_with(|endpoint, _| endpoint.quirks.no_tools = true);
    let body = encode_for(&toolless, &request);
    assert_eq!((&body["tools"], &body["tool_choice"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_tool_that_cannot_be_sent_is_left_out_alone() {
    let mut request = request(vec![Content::user("hi")]);
    let declaration = |name: &str, schema: Value| {
        Arc::new(FunctionDeclaration {
            name: name.to_owned(),
            parameters_json_schema: schema,
            ..FunctionDeclaration::default()
        })
    };
    request.tools = vec![Tool::functions(vec![
        declaration("bad", json!({"type": "string"})),
        declaration("no blanks", Value::Null),
        declaration("good", Value::Null),
    ])];
    let body = encode(&request);
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(body["tools"][0]["name"], "good");
}

#[test]
fn reasoning_goes_back_with_its_call_and_only_to_its_origin() {
    let parts = || vec![Part::thought("hm"), Part::opaque(reasoning()), call("call_1", "fc_1")];
    let answer = Content::new(
        Role::User,
        vec![Part::function_response(FunctionResponse::output("call_1", "read", "x"))],
    );
    let body = encode(&request(vec![Content::user("hi"), own(parts()), answer.clone()]));
    assert_eq!(types(&body), ["message", "reasoning", "function_call", "function_call_output"]);
    assert_eq!(body["input"][1], reasoning());
    assert_eq!(
        body["input"][2],
        json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"})
    );
    let foreign = Content::new(Role::Model, parts());
    let body = encode(&request(vec![Content::user("hi"), foreign, answer]));
    assert_eq!(types(&body), ["message", "function_call", "function_call_output"]);
    assert_eq!(body["input"][1].get("id"), None);
    assert!(!body.to_string().contains("hm"));
}

#[test]
fn an_item_id_goes_out_only_while_its_reasoning_does() {
    let body = encode(&request(vec![own(vec![call("call_1", "fc_1")])]));
    assert_eq!(body["input"][0].get("id"), None);
}

#[test]
fn reasoning_that_is_only_a_reference_stays_here_and_the_next_is_asked_for_whole() {
    let unknown = target_with(|_, model| model.thinking = ModelThinking::None);
    let reference =
        json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]});
    let body = encode_for(&unknown, &request(vec![own(vec![Part::opaque(reference), call("c1", "fc_1")])]));
    assert_eq!(types(&body), ["function_call"]);
    assert_eq!(body["input"][0].get("id"), None, "the item would be looked for with its reasoning");
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    let open = json!({"type": "reasoning", "id": "rs_1", "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}]});
    let body = encode(&request(vec![own(vec![Part::opaque(open.clone()), call("c1", "fc_1")])]));
    assert_eq!(body["input"][0], open);
}

#[test]
fn reasoning_is_never_sent_without_what_follows_it() {
    let cut = own(vec![Part::text("so"), Part::opaque(reasoning())]);
    assert_eq!(types(&encode(&request(vec![cut]))), ["message"]);
    let alone = own(vec![Part::thought("hm"), Part::opaque(reasoning())]);
    assert!(types(&encode(&request(vec![alone]))).is_empty());
    // Where the server itself put nothing after it, it goes back in its place.
    let mut last = Part::opaque(reasoning());
    last.extra.insert("final", json!(true));
    assert_eq!(types(&encode(&request(vec![own(vec![Part::text("so"), last])]))), ["message", "reasoning"]);
}

#[test]
fn messages_keep_their_phases_apart() {
    let envelope = |id: &str, phase: &str| {
        Part::opaque(json!({"type": "message", "id": id, "status": "completed", "phase": phase}))
    };
    let content = own(vec![
        Part::opaque(reasoning()),
        Part::text("Looking."),
        envelope("msg_1", "commentary"),
        Part::text("Found."),
        envelope("msg_2", "final_answer"),
    ]);
    let body = encode(&request(vec![content.clone()]));
    assert_eq!(types(&body), ["reasoning", "message", "message"]);
    assert_eq!(body["input"][1]["phase"], "commentary");
    assert_eq!(body["input"][2]["id"], "msg_2");
    let elsewhere = Content { origin: None, ..content };
    let body = encode(&request(vec![elsewhere]));
    assert_eq!(types(&body), ["message"]);
    assert_eq!(body["input"][0].get("phase"), None);
}

#[test]
fn server_items_go_back_unchanged_in_their_place() {
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "odd": [1]});
    let content = own(vec![Part::opaque(reasoning()), Part::opaque(search.clone()), Part::text("Found.")]);
    let body = encode(&request(vec![content]));
    assert_eq!(types(&body), ["reasoning", "web_search_call", "message"]);
    assert_eq!(body["input"][1], search);
}

#[test]
fn a_call_with_cut_arguments_goes_back_as_valid_json() {
    let mut call = FunctionCall::new("call_1", "read", serde_json::Map::new());
    call.set_args_text("{\"path\": \"/et");
    assert!(call.invalid.is_some());
    let body = encode(&request(vec![own(vec![Part::function_call(call)])]));
    assert_eq!(body["input"][0]["arguments"], "{}");
}

#[test]
fn a_custom_call_and_its_output_keep_their_form_at_their_origin() {
    let mut custom = FunctionCall::new("call_1", "calc", serde_json::Map::new());
    custom.args.insert("input".to_owned(), json!("4 + 4"));
    custom.extra.insert("custom", json!(true));
    let parts = vec![Part::function_call(custom)];
    let response = FunctionResponse::output("call_1", "calc", "8");
    let answer = Content::new(Role::User, vec![Part::function_response(response)]);
    let body = encode(&request(vec![own(parts.clone()), answer.clone()]));
    assert_eq!(types(&body), ["custom_tool_call", "custom_tool_call_output"]);
    assert_eq!(body["input"][0]["input"], "4 + 4");
    let body = encode(&request(vec![Content::new(Role::Model, parts), answer]));
    assert_eq!(types(&body), ["function_call", "function_call_output"]);
    assert_eq!(body["input"][0]["arguments"], "{\"input\":\"4 + 4\"}");
}

#[test]
fn both_sides_of_a_pair_shorten_a_long_id_alike() {
    let long = "x".repeat(200);
    let response = FunctionResponse::output(long.clone(), "read", "ok");
    let contents = vec![
        own(vec![call(&long, "fc_1")]),
        Content::new(Role::User, vec![Part::function_response(response)]),
    ];
    let body = encode(&request(contents));
    let id = body["input"][0]["call_id"].as_str().unwrap_or_default();
    assert!(!id.is_empty() && id.len() <= 64);
    assert_eq!(body["input"][1]["call_id"], id);
}

#[test]
fn media_of_a_tool_stands_in_its_output_or_beside_it() {
    let mut response = FunctionResponse::output("call_1", "shot", "taken");
    response.parts.push(Part::inline_data("image/png", "AAAA"));
    let content = Content::new(Role::User, vec![Part::function_response(response)]);
    let inside = target_with(|_, model| model.media_in_function_response = true);
    let body = encode_for(&inside, &request(vec![content.clone()]));
    assert_eq!(
        body["input"][0]["output"],
        json!([
            {"type": "input_text", "text": "taken"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        ])
    );
    let body = encode(&request(vec![content.clone()]));
    assert_eq!(types(&body), ["function_call_output", "message"]);
    assert_eq!(body["input"][0]["output"], "taken");
    let blind = target_with(|_, model| model.images = false);
    let body = encode_for(&blind, &request(vec![content]));
    assert_eq!(body["input"][0]["output"], "taken\n[Image: image/png, 3 B]");
}

#[test]
fn media_that_cannot_be_read_becomes_a_note() {
    let content = Content::new(
        Role::User,
        vec![
            Part::inline_data("application/pdf", "AAAA"),
            Part::inline_data("audio/wav", "AAAA"),
            Part::new(PartKind::FileData(Box::new(charla_proto::FileData {
                mime_type: "image/png".to_owned(),
                file_uri: "gs://bucket/x.png".to_owned(),
                ..Default::default()
            }))),
        ],
    );
    let body = encode(&request(vec![content.clone()]));
    let pieces = &body["input"][0]["content"];
    assert_eq!(pieces[0]["filename"], "document.pdf");
    assert_eq!(pieces[0]["file_data"], "data:application/pdf;base64,AAAA");
    assert_eq!(pieces[1]["text"], "[Audio: audio/wav, 3 B]");
    assert_eq!(pieces[2]["text"], "[File: gs://bucket/x.png]");
    let wordless = target_with(|endpoint, _| endpoint.quirks.no_media = true);
    assert_eq!(
        encode_for(&wordless, &request(vec![content]))["input"][0]["content"][0]["type"],
        "input_text"
    );
}

#[test]
fn instructions_stand_in_front_where_there_is_no_system_role() {
    let target = target_with(|endpoint, _| endpoint.quirks.no_system = true);
    let mut request = request(vec![Content::user("hi")]);
    request.system_instruction = Some(Arc::new(Content::user("Be kind.")));
    let body = encode_for(&target, &request);
    assert_eq!(body.get("instructions"), None);
    assert_eq!(body["input"][0]["content"][0]["text"], "Be kind.");
    assert_eq!(body["input"][1]["content"][0]["text"], "hi");
}

#[test]
fn embeddings_come_back_in_order() {
    let wire = OpenaiResponses;
    let ask =
        EmbedRequest { model: "e".to_owned(), texts: vec!["a".to_owned()], output_dimensionality: Some(2) };
    let encoded = wire.encode_embed(&ask, &target()).expect("has embeddings").expect("encodes");
    assert_eq!(encoded.path, "/embeddings");
    let body = br#"{"data":[{"index":1,"embedding":[2.0]},{"index":0,"embedding":[1.0]}],"usage":{"prompt_tokens":4,"total_tokens":4}}"#;
    let answer = wire.decode_embed(body).expect("decodes");
    assert_eq!(answer.embeddings, [[1.0], [2.0]]);
    assert!(wire.decode_embed(b"<html>").is_err());
}
