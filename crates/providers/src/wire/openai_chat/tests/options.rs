use charla_proto::{
    FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration, Thinking, ThinkingLevel, Tool,
    ToolConfig,
};
use serde_json::json;

use super::*;
use crate::endpoint::{MaxTokensField, ThinkingStyle};

fn asked() -> GenerateRequest {
    request([Content::user("hi")])
}

#[test]
fn sampling_and_limits_take_their_fields() {
    let mut request = asked();
    request.temperature = Some(0.5);
    request.top_p = Some(0.9);
    request.max_output_tokens = Some(100);
    request.candidate_count = Some(2);
    request.stop_sequences = vec!["END".to_owned()];
    let body = encode(&request, &plain());
    let expected = [
        ("temperature", json!(0.5)),
        ("top_p", json!(0.9)),
        ("max_tokens", json!(100)),
        ("n", json!(2)),
        ("stop", json!(["END"])),
    ];
    for (field, value) in expected {
        assert_eq!(body[field], value, "{field}");
    }
    let mut newer =
        target(Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..Quirks::default() });
    newer.model.no_sampling = true;
    let body = encode(&request, &newer);
    assert_eq!(body["max_completion_tokens"], 100);
    for field in ["temperature", "top_p", "max_tokens"] {
        assert_eq!(body.get(field), None, "{field}");
    }
}

#[test]
fn usage_is_asked_for_in_streams_unless_the_server_refuses() {
    let body = |quirks: Quirks| -> Value {
        let body =
            OpenaiChat.encode(&asked(), &target(quirks), Mode::Stream, &mut Fragments::default()).unwrap();
        assert_eq!(body.path, "/chat/completions");
        serde_json::from_slice(&body.body).unwrap()
    };
    assert_eq!(body(Quirks::default())["stream_options"], json!({"include_usage": true}));
    let refusing = body(Quirks { no_stream_usage: true, ..Quirks::default() });
    assert_eq!((refusing.get("stream_options"), &refusing["stream"]), (None, &json!(true)));
    assert_eq!(encode(&asked(), &plain()).get("stream"), None);
}

#[test]
fn thinking_is_asked_for_in_the_style_of_the_server() {
    let fields = |style: ThinkingStyle, thinking: Thinking| {
        let mut request = asked();
        request.thinking = Some(thinking);
        let mut body = encode(&request, &target(Quirks { thinking_style: style, ..Quirks::default() }));
        let fields = body.as_object_mut().unwrap();
        fields.remove("model");
        fields.remove("messages");
        body
    };
    let level = |level| Thinking { thinking_level: Some(level), ..Thinking::default() };
    let budget = |budget| Thinking { thinking_budget: Some(budget), ..Thinking::default() };
    use ThinkingStyle::*;
    for (style, thinking, expected) in [
        (None, level(ThinkingLevel::High), json!({})),
        (ReasoningEffort, level(ThinkingLevel::High), json!({"reasoning_effort": "high"})),
        (ReasoningEffort, budget(8000), json!({"reasoning_effort": "medium"})),
        (ReasoningEffort, budget(0), json!({"reasoning_effort": "low"})),
        (ReasoningEffort, budget(-1), json!({})),
        (ReasoningObject, budget(2000), json!({"reasoning": {"max_tokens": 2000}})),
        (ReasoningObject, level(ThinkingLevel::Low), json!({"reasoning": {"effort": "low"}})),
        (ReasoningObject, level(ThinkingLevel::Minimal), json!({"reasoning": {"enabled": false}})),
        (EnableThinking, budget(500), json!({"enable_thinking": true, "thinking_budget": 500})),
        (EnableThinking, budget(0), json!({"enable_thinking": false})),
        (ChatTemplateKwargs, budget(0), json!({"chat_template_kwargs": {"enable_thinking": false}})),
        (ThinkingType, level(ThinkingLevel::Medium), json!({"thinking": {"type": "enabled"}})),
        (ThinkingType, budget(0), json!({"thinking": {"type": "disabled"}})),
    ] {
        assert_eq!(fields(style, thinking.clone()), expected, "{style:?} {thinking:?}");
    }
}

#[test]
fn a_wish_is_told_to_every_model_of_a_server_that_can_hear_it() {
    use ThinkingStyle::*;
    for (style, field) in [
        (EnableThinking, "enable_thinking"),
        (ChatTemplateKwargs, "chat_template_kwargs"),
        (ReasoningEffort, "reasoning_effort"),
        (ReasoningObject, "reasoning"),
        (ThinkingType, "thinking"),
    ] {
        let mut target = target(Quirks { thinking_style: style, ..Quirks::default() });
        target.model.thinking = ModelThinking::None;
        let body = |thinking| encode(&GenerateRequest { thinking: Some(thinking), ..asked() }, &target);
        let level = Some(ThinkingLevel::Minimal);
        for wish in [
            Thinking { thinking_budget: Some(0), ..Thinking::default() },
            Thinking { thinking_level: level, ..Thinking::default() },
        ] {
            assert!(body(wish.clone()).get(field).is_some(), "{style:?} {wish:?}");
        }
        let shown = Thinking { include_thoughts: Some(true), ..Thinking::default() };
        assert_eq!(body(shown).get(field), Option::None, "{style:?}");
    }
}

#[test]
fn a_forced_call_names_its_function_or_offers_only_the_allowed_ones() {
    let choice = |mode, allowed: &[&str]| {
        let mut request = asked();
        let declare = |name: &str| {
            Arc::new(FunctionDeclaration { name: name.to_owned(), ..FunctionDeclaration::default() })
        };
        request.tools = vec![Tool::functions(vec![declare("a"), declare("b"), declare("c")])];
        let allowed_function_names = allowed.iter().map(|name| (*name).to_owned()).collect();
        let function_calling_config = FunctionCallingConfig { mode, allowed_function_names };
        request.tool_config = Some(ToolConfig { function_calling_config });
        let body = encode(&request, &plain());
        (body["tool_choice"].clone(), body["tools"].as_array().unwrap().len())
    };
    assert_eq!(choice(FunctionCallingMode::Auto, &[]), (Value::Null, 3));
    assert_eq!(choice(FunctionCallingMode::None, &[]), (json!("none"), 3));
    assert_eq!(choice(FunctionCallingMode::Any, &[]), (json!("required"), 3));
    let only_b = json!({"type": "function", "function": {"name": "b"}});
    assert_eq!(choice(FunctionCallingMode::Any, &["b"]), (only_b, 3));
    assert_eq!(choice(FunctionCallingMode::Any, &["a", "c"]), (json!("required"), 2));
    assert_eq!(choice(FunctionCallingMode::Any, &["unknown"]), (json!("required"), 3));
}

#[test]
fn a_choice_without_tools_is_not_sent() {
    let mut request = asked();
    let function_calling_config =
        FunctionCallingConfig { mode: FunctionCallingMode::Any, ..FunctionCallingConfig::default() };
    request.tool_config = Some(ToolConfig { function_calling_config });
    assert_eq!(encode(&request, &plain()).get("tool_choice"), None);
}

#[test]
fn a_json_answer_is_asked_for_with_and_without_a_schema() {
    let mut request = asked();
    request.response_mime_type = Some("application/json".to_owned());
    assert_eq!(encode(&request, &plain())["response_format"], json!({"type": "json_object"}));
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    request.response_json_schema = Some(Arc::new(schema.clone()));
    let format = &encode(&request, &plain())["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(
        (&format["json_schema"]["schema"], &format["json_schema"]["strict"]),
        (&schema, &json!(false))
    );
}

#[test]
fn extra_fields_win_merge_and_take_out() {
    let mut request = asked();
    request.temperature = Some(0.5);
    request.max_output_tokens = Some(10);
    request.extra.insert("temperature", json!(0.1));
    request.extra.insert("max_tokens", Value::Null);
    request.extra.insert("chat_template_kwargs", json!({"custom": 1}));
    request.extra.insert("messages", json!([]));
    request.thinking = Some(Thinking { thinking_budget: Some(0), ..Thinking::default() });
    let style = ThinkingStyle::ChatTemplateKwargs;
    let body = encode(&request, &target(Quirks { thinking_style: style, ..Quirks::default() }));
    assert_eq!(body["temperature"], 0.1);
    assert_eq!(body.get("max_tokens"), None);
    assert_eq!(body["chat_template_kwargs"], json!({"enable_thinking": false, "custom": 1}));
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn vectors_come_back_in_the_order_of_the_texts() {
    let request = EmbedRequest {
        model: "embedder".to_owned(),
        texts: vec!["a".to_owned(), "b".to_owned()],
        output_dimensionality: Some(2),
    };
    let sent = OpenaiChat.encode_embed(&request, &plain()).unwrap().unwrap();
    assert_eq!(sent.path, "/embeddings");
    let body: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(body, json!({"model": "embedder", "input": ["a", "b"], "dimensions": 2}));
    let answer = json!({
        "data": [{"index": 1, "embedding": [3.0, 4.0]}, {"index": 0, "embedding": [1, 2]}],
        "usage": {"prompt_tokens": 2, "total_tokens": 2},
    });
    let vectors = OpenaiChat.decode_embed(answer.to_string().as_bytes()).unwrap();
    assert_eq!(vectors.embeddings, [[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(vectors.usage_metadata.unwrap().prompt_token_count, Some(2));
    let refused = OpenaiChat.decode_embed(br#"{"error": {"message": "no such model"}}"#).unwrap_err();
    assert_eq!(refused.message, "no such model");
    assert_eq!(OpenaiChat.decode_embed(b"{}").unwrap_err().kind, LlmErrorKind::Protocol);
}
