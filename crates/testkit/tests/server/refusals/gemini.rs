//! What Gemini refuses and takes.

use super::*;

fn contents(contents: Value) -> Value {
    with(WireKind::Gemini, json!({"contents": contents}))
}

fn declared(schema: Value) -> Value {
    let declarations = json!([{"name": "f", "parameters": schema}]);
    with(WireKind::Gemini, json!({"tools": [{"functionDeclarations": declarations}]}))
}

fn gemini_call(name: &str) -> Value {
    json!({"functionCall": {"name": name, "args": {}}, "thoughtSignature": "skip_thought_signature_validator"})
}

fn gemini_response(name: &str) -> Value {
    json!({"functionResponse": {"name": name, "response": {"output": "x"}}})
}

#[test]
fn what_the_service_refuses_is_refused_in_its_words() {
    let user = json!({"role": "user", "parts": [{"text": "hi"}]});
    let call = json!({"role": "model", "parts": [gemini_call("f")]});
    let response = json!({"role": "user", "parts": [gemini_response("f")]});
    let two = json!({"role": "user", "parts": [gemini_response("f"), gemini_response("f")]});
    let wrong = json!({"role": "user", "parts": [gemini_response("g")]});
    let image = |mime: &str, data: &str| {
        contents(json!([{"role": "user", "parts": [{"inlineData": {"mimeType": mime, "data": data}}]}]))
    };
    all_refused(
        WireKind::Gemini,
        vec![
            ("no contents", contents(json!([])), "contents is not specified"),
            ("empty parts", contents(json!([{"role": "user", "parts": []}])), "must not be empty"),
            (
                "unknown role",
                contents(json!([{"role": "assistant", "parts": [{"text": "x"}]}])),
                "valid role",
            ),
            ("part without data", contents(json!([{"role": "user", "parts": [{"thought": true}]}])), "oneof"),
            (
                "part with two data",
                contents(json!([{"parts": [{"text": "x", "functionCall": {"name": "f"}}]}])),
                "oneof",
            ),
            (
                "unknown part field",
                contents(json!([{"role": "user", "parts": [{"text": "x", "extra": 1}]}])),
                "Unknown name",
            ),
            ("unknown field", with(WireKind::Gemini, json!({"messages": []})), "Unknown name \"messages\""),
            (
                "unknown config",
                with(WireKind::Gemini, json!({"generationConfig": {"max_tokens": 1}})),
                "Unknown name",
            ),
            ("call first", contents(json!([call, response])), "comes immediately after a user turn"),
            ("unanswered call", contents(json!([user, call, user])), "number of function response parts"),
            ("open call at the end", contents(json!([user, call])), "every function call is answered"),
            ("orphan response", contents(json!([user, response])), "immediately after a function call turn"),
            (
                "two answers to one call",
                contents(json!([user, call, two])),
                "number of function response parts",
            ),
            ("answer to another call", contents(json!([user, call, wrong])), "has no function call"),
            ("gif", image("image/gif", "aGk="), "Unsupported MIME type"),
            ("broken base64", image("image/png", "?"), "Base64"),
            ("$ref", declared(json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}})), "$ref"),
            ("no type", declared(json!({"properties": {"a": {}}})), "must be specified"),
            (
                "array without items",
                declared(json!({"type": "object", "properties": {"a": {"type": "array"}}})),
                "items",
            ),
            (
                "enum of numbers",
                declared(json!({"type": "object", "properties": {"a": {"type": "integer", "enum": [1]}}})),
                "enum",
            ),
            (
                "odd format",
                declared(json!({"type": "object", "properties": {"a": {"type": "string", "format": "uri"}}})),
                "format",
            ),
            (
                "undefined required",
                declared(
                    json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}),
                ),
                "not defined",
            ),
            (
                "bad name",
                with(WireKind::Gemini, json!({"tools": [{"functionDeclarations": [{"name": "1 a"}]}]})),
                "function name",
            ),
            (
                "same name twice",
                with(
                    WireKind::Gemini,
                    json!({"tools": [{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}]}),
                ),
                "Duplicate",
            ),
            (
                "cyclic reference",
                with(
                    WireKind::Gemini,
                    json!({"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {
                        "type": "object", "properties": {"a": {"$ref": "#"}}
                    }}]}]}),
                ),
                "cyclic",
            ),
            (
                "forced without tools",
                with(WireKind::Gemini, json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}})),
                "without function_declarations",
            ),
            (
                "picture as instruction",
                with(WireKind::Gemini, json!({"systemInstruction": {"parts": [{"fileData": {}}]}})),
                "system_instruction",
            ),
        ],
    );
}

#[test]
fn good_conversations_are_taken() {
    let text = json!({"role": "user", "parts": [{"text": "hi"}]});
    all_taken(
        WireKind::Gemini,
        vec![
            contents(json!([
                text,
                {"role": "model", "parts": [{"text": "hm", "thought": true}, gemini_call("f"), {"functionCall": {"name": "g"}}]},
                {"role": "user", "parts": [gemini_response("f"), gemini_response("g"), {"text": "and?"}]},
                {"role": "model", "parts": [{"text": "so"}]},
                text,
            ])),
            declared(schema()),
            with(
                WireKind::Gemini,
                json!({
                    "systemInstruction": {"parts": [{"text": "be brief"}]},
                    "generationConfig": {"temperature": 0.5, "thinkingConfig": {"includeThoughts": true}},
                    "tools": [{"googleSearch": {}}],
                }),
            ),
        ],
    );
}
