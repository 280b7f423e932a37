use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{GenerateRequest, GenerateResponse};

/// Reads and writes `value` as `T`; the result must be the same JSON.
fn survives<T: Serialize + for<'de> Deserialize<'de>>(value: Value) {
    let typed: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap(), value);
}

#[test]
fn the_json_form_is_the_seeds_form_and_unknown_fields_survive() {
    survives::<Content>(json!({
        "role": "model",
        "parts": [
            {"text": "hm", "thought": true, "thoughtSignature": "c2ln"},
            {"text": "", "thoughtSignature": "on an empty text"},
            {"inlineData": {"mimeType": "image/png", "data": "AAAA", "displayName": "a.png"}},
            {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/c.pdf"}},
            {"functionCall": {"id": "1", "name": "f", "args": {"z": 1, "a": [1.5, null]}, "new": true},
             "thoughtSignature": "on a call"},
            {"functionResponse": {"id": "1", "name": "f", "response": {"output": "ok"},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "BBBB"}}]}},
            {"executableCode": {"language": "PYTHON", "code": "1"}, "videoMetadata": {"fps": 1}},
            {"opaque": {"type": "redacted_thinking", "data": "xyz"}},
            {"text": "one", "functionCall": {"name": "two kinds at once"}}
        ],
        "origin": {"provider": "gemini", "wire": "gemini", "model": "gemini-3.6-flash"},
        "annotations": {"kept": true}
    }));
    survives::<GenerateRequest>(json!({
        "model": "m",
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "be brief"}]},
        "tools": [
            {"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": {"type": "object"}}]},
            {"native": {"wire": "gemini", "value": {"googleSearch": {}}}}
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "temperature": 0.1, "topP": 0.95, "topK": 40, "maxOutputTokens": 100, "stopSequences": ["END"],
        "thinking": {"includeThoughts": true, "thinkingBudget": -1, "thinkingLevel": "high"},
        "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"},
        "serviceTier": "flex"
    }));
    survives::<GenerateResponse>(json!({
        "candidates": [{
            "index": 1,
            "content": {"role": "model", "parts": [{"text": "hi"}]},
            "finishReason": "SOME_NEW_REASON", "nativeFinishReason": "new", "finishMessage": "why",
            "citations": [{"title": "t", "uri": "https://example.com", "start": 3}],
            "avgLogprobs": -0.25
        }],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "thoughtsTokenCount": 3,
            "cachedContentTokenCount": 0, "totalTokenCount": 6},
        "modelVersion": "m-1", "responseId": "r", "promptFeedback": {"blockReason": "SAFETY"},
        "createTime": "2026-01-01T00:00:00Z"
    }));
}

#[test]
fn loose_forms_are_understood() {
    let part = |value| serde_json::from_value::<Part>(value).unwrap();
    let bare = part(json!({"functionResponse": {"name": "f", "response": "words"}}));
    assert_eq!(bare.as_function_response().unwrap().response["output"], "words");
    assert_eq!(part(json!({"functionCall": {"name": "f"}})).as_function_call().unwrap().args.len(), 0);
    assert_eq!(
        part(json!({"text": null, "functionCall": {"name": "f"}})).as_function_call().unwrap().name,
        "f"
    );
    let role = |name| serde_json::from_value::<Role>(json!(name)).unwrap();
    assert_eq!([role("assistant"), role("tool"), role("function")], [Role::Model, Role::User, Role::User]);
    assert_eq!(serde_json::from_value::<Content>(json!({})).unwrap(), Content::default());
}

#[test]
fn cut_or_malformed_arguments_make_a_call_invalid() {
    let read = |text: &str| {
        let mut call = FunctionCall::default();
        call.set_args_text(text);
        call
    };
    assert_eq!(read(r#"{"a": 1}"#).args["a"], 1);
    assert!(read("").invalid.is_none() && read(" null ").invalid.is_none());
    let whole = r#"{"path": "a\"b", "content": "x"}"#;
    for end in 1..whole.len() {
        let text = whole.get(..end).unwrap();
        let cut = read(text);
        assert!(cut.invalid.is_some() && cut.args.is_empty(), "{end}");
        assert_eq!(cut.invalid.unwrap().raw, text);
    }
    assert!(read("[1]").invalid.unwrap().reason.contains("not a JSON object"));
    assert!(read("{'a': 1}").invalid.unwrap().reason.contains("not valid JSON"));
}

#[test]
fn a_result_becomes_text_as_the_tool_said_it() {
    assert_eq!(FunctionResponse::output("1", "f", "plain").to_text(), "plain");
    assert!(FunctionResponse::error("1", "f", "no").is_error());
    let mut both = FunctionResponse::output("1", "f", "plain");
    both.response.insert("exitCode".to_owned(), json!(1));
    assert_eq!(both.to_text(), r#"{"output":"plain","exitCode":1}"#);
    assert!(!both.is_error());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map("[a-z]{1,6}", any_json(), 0..4).prop_map(|map| map.into_iter().collect())
}

fn any_part() -> impl Strategy<Value = Part> {
    let kind = prop_oneof![
        "\\PC{0,12}".prop_map(PartKind::Text),
        ("[a-z]{1,6}", any_object()).prop_map(|(name, args)| {
            PartKind::FunctionCall(Box::new(FunctionCall::new("id", name, args)))
        }),
        ("[a-z]{1,6}", any_object()).prop_map(|(name, response)| {
            PartKind::FunctionResponse(Box::new(FunctionResponse {
                name,
                response,
                ..FunctionResponse::default()
            }))
        }),
        any_json().prop_map(|value| PartKind::Opaque(Box::new(value))),
        Just(PartKind::Other),
    ];
    let extra = prop::collection::btree_map("x[a-z]{1,4}", any_json(), 0..3);
    (kind, any::<bool>(), prop::option::of("\\PC{0,8}"), extra).prop_map(
        |(kind, thought, thought_signature, extra)| Part {
            kind,
            thought,
            thought_signature,
            extra: extra.into_iter().collect(),
        },
    )
}

proptest! {
    #[test]
    fn any_content_survives_a_round_trip(parts in prop::collection::vec(any_part(), 0..5)) {
        let content = Content::new(Role::Model, parts);
        let text = serde_json::to_string(&content).unwrap();
        prop_assert_eq!(serde_json::from_str::<Content>(&text).unwrap(), content);
    }

    #[test]
    fn reading_any_json_as_a_content_never_panics(value in any_json()) {
        let _ = serde_json::from_value::<Content>(value.clone());
        let _ = crate::to_contents(value);
    }
}

#[test]
fn data_is_base64_or_it_is_not() {
    let is_encoded = |data: &str| Part::inline_data("image/png", data).as_inline_data().unwrap().is_encoded();
    for data in ["AAAA", "iVBORw0KGgo=", "AA==", "+/+/"] {
        assert!(is_encoded(data), "{data}");
    }
    for data in
        ["", "=", "====", "A", "AAA", "A===", "A=AA", "AA=A", "AA A", "AAAA\n", "AA-_", "!!!notbase64", "ÄÄ"]
    {
        assert!(!is_encoded(data), "{data}");
    }
}
