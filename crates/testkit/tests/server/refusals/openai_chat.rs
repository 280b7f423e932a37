//! What OpenAI Chat refuses and takes.

use super::*;

fn chat(messages: Value) -> Value {
    with(WireKind::OpenaiChat, json!({"messages": messages}))
}

fn chat_tool(name: &str, schema: Value) -> Value {
    let tool = json!({"type": "function", "function": {"name": name, "parameters": schema}});
    with(WireKind::OpenaiChat, json!({"tools": [tool]}))
}

fn chat_calls(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}))
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn chat_result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "x"})
}

#[test]
fn what_the_service_refuses_is_refused_in_its_words() {
    let user = json!({"role": "user", "content": "hi"});
    let mut cut = chat_calls(&["a"]);
    cut["tool_calls"][0]["function"]["arguments"] = json!("{\"x\":");
    let image = |url: &str| {
        chat(json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]))
    };
    let wire = WireKind::OpenaiChat;
    all_refused(
        wire,
        vec![
            ("no messages", chat(json!([])), "empty array"),
            ("unknown role", chat(json!([{"role": "model", "content": "x"}])), "Invalid value: 'model'"),
            ("unknown field", with(wire, json!({"contents": []})), "Unrecognized request argument"),
            (
                "unknown message field",
                chat(json!([{"role": "user", "content": "x", "parts": []}])),
                "'parts' was unexpected",
            ),
            ("empty assistant", chat(json!([user, {"role": "assistant", "content": null}])), "got null"),
            ("no calls", chat(json!([user, {"role": "assistant", "tool_calls": []}])), "empty array"),
            (
                "unanswered",
                chat(json!([user, chat_calls(&["a", "b"]), chat_result("a")])),
                "did not have response messages: b",
            ),
            (
                "answered late",
                chat(json!([user, chat_calls(&["a"]), user, chat_result("a")])),
                "did not have response",
            ),
            (
                "answered twice",
                chat(json!([user, chat_calls(&["a"]), chat_result("a"), chat_result("a")])),
                "preceding message",
            ),
            ("orphan", chat(json!([user, chat_result("a")])), "preceding message"),
            (
                "id used again",
                chat(json!([
                    user,
                    chat_calls(&["a"]),
                    chat_result("a"),
                    chat_calls(&["a"]),
                    chat_result("a")
                ])),
                "Duplicate",
            ),
            ("cut arguments", chat(json!([user, cut, chat_result("a")])), "not a JSON object"),
            (
                "long id",
                chat(json!([user, chat_calls(&["a23456789012345678901234567890123456789012"])])),
                "1 to 40",
            ),
            (
                "image by a tool",
                chat(
                    json!([user, chat_calls(&["a"]), {"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url"}]}]),
                ),
                "image_url",
            ),
            ("bmp", image("data:image/bmp;base64,aGk="), "unsupported image"),
            ("broken base64", image("data:image/png;base64,?"), "base64"),
            ("anyOf on top", chat_tool("f", json!({"type": "object", "anyOf": []})), "top level"),
            ("no type", chat_tool("f", json!({})), "type: \"object\""),
            (
                "array without items",
                chat_tool("f", json!({"type": "object", "properties": {"a": {"type": "array"}}})),
                "missing items",
            ),
            ("bad tool name", chat_tool("a.b", json!({"type": "object"})), "pattern"),
            (
                "stream options alone",
                with(wire, json!({"stream_options": {"include_usage": true}})),
                "stream_options",
            ),
            (
                "choice without tools",
                with(wire, json!({"tool_choice": "required"})),
                "only allowed when 'tools'",
            ),
            ("empty tools", with(wire, json!({"tools": []})), "empty array"),
            (
                "old limit",
                with(wire, json!({"model": "gpt-5-mini", "max_tokens": 9})),
                "max_completion_tokens",
            ),
        ],
    );
}

#[test]
fn good_conversations_are_taken() {
    let hi = json!({"role": "user", "content": "hi"});
    let picture = "data:image/png;base64,aGk=";
    all_taken(
        WireKind::OpenaiChat,
        vec![
            chat(json!([
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": picture}}]},
                chat_calls(&["a", "b"]), chat_result("b"), chat_result("a"), hi,
            ])),
            chat_tool("f", schema()),
        ],
    );
}
