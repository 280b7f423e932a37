use charla_proto::{
    EmbedRequest, FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration, FunctionResponse,
    InvalidArgs, NativeTool, Thinking, ThinkingLevel, Tool, ToolConfig,
};

use super::*;

fn levels() -> Target {
    target("gemini-3-pro", ModelThinking::Levels)
}

fn budget() -> Target {
    target("gemini-2.5-flash", ModelThinking::Budget)
}

fn parts_of(body: &Value, content: usize) -> &Value {
    &body["contents"][content]["parts"]
}

#[test]
fn a_whole_request_has_everything_in_its_place() {
    let mut request = request(vec![Content::user("hi")]);
    request.system_instruction = Some(Arc::new(Content::user("be brief")));
    let read = FunctionDeclaration {
        name: "read".to_owned(),
        description: "Reads a file".to_owned(),
        parameters_json_schema: json!({"type": "object", "properties": {"path": {"type": ["string", "null"]}}}),
        ..FunctionDeclaration::default()
    };
    let stop = FunctionDeclaration { name: "stop".to_owned(), ..FunctionDeclaration::default() };
    let native = |wire, value| Tool { native: Some(NativeTool { wire, value }), ..Tool::default() };
    request.tools = vec![
        Tool::functions(vec![Arc::new(read)]),
        native(WireKind::Gemini, json!({"googleSearch": {}})),
        native(WireKind::Anthropic, json!({"type": "web_search_20250305"})),
        Tool::functions(vec![Arc::new(stop)]),
    ];
    let allowed_function_names = vec!["read".to_owned(), "gone".to_owned()];
    let mode = FunctionCallingMode::Any;
    request.tool_config =
        Some(ToolConfig { function_calling_config: FunctionCallingConfig { mode, allowed_function_names } });
    request.temperature = Some(0.5);
    request.max_output_tokens = Some(100);
    request.stop_sequences = vec!["END".to_owned()];
    request.response_json_schema = Some(Arc::new(json!({"type": "array", "items": {"const": "x"}})));
    request.extra.insert("safetySettings", json!([]));
    request.extra.insert("generationConfig", json!({"seed": 7, "temperature": 1}));
    request.extra.insert("contents", json!("never"));
    insta::assert_json_snapshot!(body(&request, &budget()), @r#"
    {
      "contents": [
        {
          "role": "user",
          "parts": [
            {
              "text": "hi"
            }
          ]
        }
      ],
      "tools": [
        {
          "functionDeclarations": [
            {
              "name": "read",
              "description": "Reads a file",
              "parameters": {
                "type": "object",
                "properties": {
                  "path": {
                    "type": "string",
                    "nullable": true
                  }
                }
              }
            },
            {
              "name": "stop",
              "parameters": {
                "type": "object",
                "properties": {}
              }
            }
          ]
        },
        {
          "googleSearch": {}
        }
      ],
      "systemInstruction": {
        "parts": [
          {
            "text": "be brief"
          }
        ]
      },
      "toolConfig": {
        "functionCallingConfig": {
          "mode": "ANY",
          "allowedFunctionNames": [
            "read"
          ]
        }
      },
      "generationConfig": {
        "temperature": 1,
        "maxOutputTokens": 100,
        "stopSequences": [
          "END"
        ],
        "responseSchema": {
          "type": "array",
          "items": {
            "type": "string",
            "enum": [
              "x"
            ]
          }
        },
        "responseMimeType": "application/json",
        "seed": 7
      },
      "safetySettings": []
    }
    "#);
}

#[test]
fn paths_take_resource_names_and_escape_the_rest() {
    let path = |model: &str, mode| {
        let target = target(model, ModelThinking::None);
        Gemini.encode(&request(vec![]), &target, mode, &mut Fragments::default()).unwrap().path
    };
    assert_eq!(path("gemini-2.5-pro", Mode::Stream), "/models/gemini-2.5-pro:streamGenerateContent?alt=sse");
    assert_eq!(path("models/x", Mode::Unary), "/models/x:generateContent");
    assert_eq!(path("tunedModels/x", Mode::Unary), "/tunedModels/x:generateContent");
    assert_eq!(path("a b?c#d", Mode::Unary), "/models/a%20b%3Fc%23d:generateContent");
    assert_eq!(path("../../v1/x", Mode::Unary), "/models/..%2F..%2Fv1%2Fx:generateContent");
    assert_eq!(path("models/../x\n", Mode::Unary), "/models/..%2Fx%0A:generateContent");
}

#[test]
fn opaque_data_goes_back_to_its_origin_and_to_nobody_else() {
    let home = levels();
    let mut code = Part::default();
    code.extra.insert("executableCode", json!({"language": "PYTHON", "code": "1"}));
    let mut refused = Part::text("no");
    refused.extra.insert("refusal", json!(true));
    let mut reading = call("srv-1", "read");
    reading.extra.insert("caller", json!("x"));
    let parts = vec![
        Part::thought("hm").with_signature("s0"),
        code,
        refused,
        Part::function_call(reading).with_signature("s1"),
        Part::text("").with_signature("s2"),
        Part::opaque(json!({"toolCall": {"id": "t"}})),
    ];
    let conversation = || request(vec![made(&home, parts.clone()), Content::user("next")]);
    assert_eq!(
        *parts_of(&body(&conversation(), &home), 0),
        json!([
            {"text": "hm", "thought": true, "thoughtSignature": "s0"},
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"text": "no"},
            {"functionCall": {"id": "srv-1", "name": "read", "args": {"path": "a.txt"}, "caller": "x"}, "thoughtSignature": "s1"},
            {"text": "", "thoughtSignature": "s2"},
            {"toolCall": {"id": "t"}},
        ])
    );
    for stranger in [budget(), target("gemini-3-flash", ModelThinking::Levels)] {
        assert_eq!(
            *parts_of(&body(&conversation(), &stranger), 0),
            json!([
                {"text": "no"},
                {"functionCall": {"id": "srv-1", "name": "read", "args": {"path": "a.txt"}}},
            ])
        );
    }
}

#[test]
fn a_content_of_which_nothing_may_be_sent_is_left_out() {
    let thoughts = made(&levels(), vec![Part::thought("only this").with_signature("s")]);
    let conversation = request(vec![thoughts, Content::user("hi"), made(&levels(), vec![])]);
    assert_eq!(body(&conversation, &budget())["contents"].as_array().unwrap().len(), 1);
    assert_eq!(body(&conversation, &levels())["contents"].as_array().unwrap().len(), 2);
}

#[test]
fn calls_of_the_active_loop_always_carry_a_signature() {
    let home = levels();
    let foreign = |id: &str| Content::new(Role::Model, vec![Part::function_call(call(id, "read"))]);
    let answer = |id: &str| {
        let response = FunctionResponse::output(id, "read", "text");
        Content::new(Role::User, vec![Part::function_response(response)])
    };
    let own = vec![
        Part::text("I read"),
        Part::function_call(call("3", "read")).with_signature("own"),
        Part::function_call(call("4", "read")),
    ];
    let conversation = request(vec![
        Content::user("first"),
        foreign("1"),
        answer("1"),
        Content::user("second"),
        foreign("2"),
        answer("2"),
        made(&home, own),
        answer("3"),
    ]);
    let signatures = |target: &Target| {
        let body = body(&conversation, target);
        let calls: Vec<Value> = body["contents"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|content| content["parts"].as_array().unwrap().clone())
            .filter(|part| part.get("functionCall").is_some())
            .map(|part| part["thoughtSignature"].clone())
            .collect();
        Value::Array(calls)
    };
    let skip = "skip_thought_signature_validator";
    assert_eq!(signatures(&home), json!([null, skip, "own", null]));
    assert_eq!(signatures(&target("gemini-3-flash", ModelThinking::Levels)), json!([null, skip, skip, null]));
    assert_eq!(signatures(&budget()), json!([null, null, null, null]));
}

#[test]
fn media_of_a_response_is_inside_or_beside_as_the_model_can() {
    let mut response = FunctionResponse::output("charla_1", "shot", "done");
    response.parts = vec![Part::inline_data("image/png", "AAAA")];
    response.extra.insert("cache_control", json!({}));
    let conversation = request(vec![Content::new(Role::User, vec![Part::function_response(response)])]);
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let answer = json!({"name": "shot", "response": {"output": "done"}});
    let mut with_image = answer.clone();
    with_image["parts"] = json!([image]);
    assert_eq!(*parts_of(&body(&conversation, &levels()), 0), json!([{"functionResponse": with_image}]));
    assert_eq!(*parts_of(&body(&conversation, &budget()), 0), json!([{"functionResponse": answer}, image]));
    let blind = target_with("x", ModelThinking::None, Quirks { no_media: true, ..Quirks::default() });
    let words = json!({"text": "[Image: image/png, 3 B, not shown: this model takes none]"});
    assert_eq!(*parts_of(&body(&conversation, &blind), 0), json!([{"functionResponse": answer}, words]));
}

#[test]
fn a_malformed_call_goes_back_without_arguments() {
    let mut broken = call("charla_9", "read");
    broken.invalid = Some(Box::new(InvalidArgs { raw: "{".to_owned(), reason: "cut".to_owned() }));
    let conversation = request(vec![Content::new(Role::Model, vec![Part::function_call(broken)])]);
    let sent = json!([{"functionCall": {"name": "read", "args": {}}}]);
    assert_eq!(*parts_of(&body(&conversation, &budget()), 0), sent);
}

#[test]
fn a_bad_tool_is_left_out_alone() {
    let tool = |name: &str, schema: Value| {
        Arc::new(FunctionDeclaration {
            name: name.to_owned(),
            parameters_json_schema: schema,
            ..FunctionDeclaration::default()
        })
    };
    let mut asked = request(vec![Content::user("hi")]);
    asked.tools = vec![Tool::functions(vec![
        tool("has space", json!({})),
        tool("good", json!({})),
        tool("lost", json!({"properties": {"a": {"$ref": "#/nowhere"}}})),
    ])];
    let declared = &body(&asked, &budget())["tools"][0]["functionDeclarations"];
    assert_eq!(declared.as_array().unwrap().len(), 1);
    assert_eq!(declared[0]["name"], "good");
    asked.tools = vec![Tool::functions(vec![tool("", json!({}))])];
    asked.tool_config = Some(ToolConfig::default());
    let body = body(&asked, &budget());
    assert!(body.get("tools").is_none() && body.get("toolConfig").is_none());
}

#[test]
fn thinking_is_asked_for_in_the_words_of_the_model() {
    let config = |target: &Target, thinking: Thinking| {
        let mut asked = request(vec![Content::user("hi")]);
        asked.thinking = Some(thinking);
        body(&asked, target)["generationConfig"]["thinkingConfig"].clone()
    };
    let level = Thinking { thinking_level: Some(ThinkingLevel::Low), ..Thinking::default() };
    let off = Thinking { thinking_budget: Some(0), include_thoughts: Some(true), ..Thinking::default() };
    assert_eq!(config(&budget(), level.clone()), json!({"thinkingBudget": 1024}));
    assert_eq!(config(&budget(), off.clone()), json!({"thinkingBudget": 0, "includeThoughts": true}));
    assert_eq!(config(&levels(), level.clone()), json!({"thinkingLevel": "low"}));
    assert_eq!(config(&levels(), off), json!({"thinkingLevel": "low", "includeThoughts": true}));
    assert_eq!(config(&target("gemma", ModelThinking::None), level), Value::Null);
}

#[test]
fn a_server_without_system_or_tools_gets_neither() {
    let quirks = Quirks { no_system: true, no_tools: true, ..Quirks::default() };
    let mut asked = request(vec![Content::user("hi")]);
    asked.system_instruction = Some(Arc::new(Content::user("be brief")));
    asked.tools = vec![Tool::functions(vec![Arc::new(FunctionDeclaration {
        name: "read".to_owned(),
        ..FunctionDeclaration::default()
    })])];
    let body = body(&asked, &target_with("gemma", ModelThinking::None, quirks));
    assert_eq!(
        body,
        json!({"contents": [
            {"role": "user", "parts": [{"text": "be brief"}]},
            {"role": "user", "parts": [{"text": "hi"}]},
        ]})
    );
}

#[test]
fn unchanged_contents_are_not_encoded_again() {
    let home = levels();
    let mut fragments = Fragments::default();
    let mut asked = request(vec![Content::user("one"), made(&home, vec![Part::text("two")])]);
    let first = Gemini.encode(&asked, &home, Mode::Stream, &mut fragments).unwrap();
    assert_eq!(fragments.len(), 2);
    asked.contents.push(Arc::new(Content::new(
        Role::User,
        vec![Part::function_response(FunctionResponse::output("1", "f", "x"))],
    )));
    let second = Gemini.encode(&asked, &home, Mode::Stream, &mut fragments).unwrap();
    assert_eq!(fragments.len(), 3);
    let shared = first.body.len() - "]}".len();
    assert_eq!(first.body[..shared], second.body[..shared]);
    // A new question ends the loop, so the model's content is written in its other form, once.
    asked.contents.push(Arc::new(Content::user("three")));
    Gemini.encode(&asked, &home, Mode::Stream, &mut fragments).unwrap();
    assert_eq!(fragments.len(), 5);
}

#[test]
fn counting_takes_instructions_and_tools_along() {
    let mut asked = request(vec![Content::user("hi")]);
    asked.system_instruction = Some(Arc::new(Content::user("be brief")));
    asked.temperature = Some(1.0);
    let counted = |target: &Target| {
        let encoded = Gemini.encode_count(&asked, target).unwrap().unwrap();
        assert!(encoded.path.ends_with(":countTokens"), "{}", encoded.path);
        serde_json::from_slice::<Value>(&encoded.body).unwrap()
    };
    let whole = &counted(&budget())["generateContentRequest"];
    assert_eq!(whole["model"], "models/gemini-2.5-flash");
    assert_eq!(whole["systemInstruction"]["parts"][0]["text"], "be brief");
    let on_vertex = counted(&vertex());
    assert_eq!(on_vertex.as_object().unwrap().keys().collect::<Vec<_>>(), ["contents", "systemInstruction"]);
    let quirks = Quirks { no_count_tokens: true, ..Quirks::default() };
    assert!(Gemini.encode_count(&asked, &target_with("x", ModelThinking::None, quirks)).is_none());
}

#[test]
fn embedding_asks_for_all_texts_at_once() {
    let asked = EmbedRequest {
        model: "gemini-embedding-001".to_owned(),
        texts: vec!["a".to_owned(), "b".to_owned()],
        output_dimensionality: Some(8),
    };
    let encoded = Gemini.encode_embed(&asked, &budget()).unwrap().unwrap();
    assert_eq!(encoded.path, "/models/gemini-embedding-001:batchEmbedContents");
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    let second = json!({"model": "models/gemini-embedding-001", "content": {"parts": [{"text": "b"}]}, "outputDimensionality": 8});
    assert_eq!(body["requests"][1], second);
    let encoded = Gemini.encode_embed(&asked, &vertex()).unwrap().unwrap();
    assert_eq!(encoded.path, "/models/gemini-embedding-001:predict");
    let read = Gemini.decode_embed(br#"{"embeddings":[{"values":[0.5,1]},{"values":[2]}]}"#).unwrap();
    assert_eq!(read.embeddings, [vec![0.5, 1.0], vec![2.0]]);
    let read = Gemini
        .decode_embed(br#"{"predictions":[{"embeddings":{"values":[1],"statistics":{"token_count":3}}}]}"#)
        .unwrap();
    assert_eq!(read.usage_metadata.unwrap().prompt_token_count, Some(3));
}
