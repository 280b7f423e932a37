//! What Anthropic refuses and takes.

use super::*;
use crate::client::{exchange, path};

fn messages(messages: Value) -> Value {
    with(WireKind::Anthropic, json!({"messages": messages}))
}

fn uses(ids: &[&str]) -> Value {
    let blocks: Vec<Value> =
        ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}})).collect();
    json!({"role": "assistant", "content": blocks})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "x"})
}

fn user(blocks: Value) -> Value {
    json!({"role": "user", "content": blocks})
}

#[test]
fn what_the_service_refuses_is_refused_in_its_words() {
    let wire = WireKind::Anthropic;
    let hi = user(json!("hi"));
    let said = json!({"role": "assistant", "content": "x"});
    let image = |kind: &str, data: &str| {
        let source = json!({"type": "base64", "media_type": kind, "data": data});
        messages(json!([user(json!([{"type": "image", "source": source}]))]))
    };
    let tool = |schema: Value| with(wire, json!({"tools": [{"name": "f", "input_schema": schema}]}));
    let mut unlimited = prompt(wire, "hi", false);
    unlimited.as_object_mut().unwrap().remove("max_tokens");
    let marked = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
    all_refused(
        wire,
        vec![
            ("no limit", unlimited, "max_tokens: Field required"),
            ("no messages", messages(json!([])), "at least one message"),
            ("unknown field", with(wire, json!({"contents": []})), "contents: Extra inputs"),
            (
                "system as role",
                messages(json!([{"role": "system", "content": "x"}])),
                "Input should be 'user'",
            ),
            ("assistant first", messages(json!([said, hi])), "first message"),
            ("two users", messages(json!([hi, hi])), "roles must alternate"),
            ("two assistants", messages(json!([hi, said, said])), "roles must alternate"),
            ("empty content", messages(json!([user(json!([]))])), "non-empty content"),
            (
                "empty text",
                messages(json!([user(json!([{"type": "text", "text": ""}]))])),
                "must be non-empty",
            ),
            (
                "blank text",
                messages(json!([user(json!([{"type": "text", "text": " \n"}]))])),
                "non-whitespace",
            ),
            (
                "unanswered",
                messages(json!([hi, uses(&["a", "b"]), user(json!([result("a")]))])),
                "immediately after: b",
            ),
            (
                "answered late",
                messages(json!([hi, uses(&["a"]), hi, said, user(json!([result("a")]))])),
                "immediately after",
            ),
            (
                "answered twice",
                messages(json!([hi, uses(&["a"]), user(json!([result("a"), result("a")]))])),
                "single result",
            ),
            ("orphan", messages(json!([user(json!([result("a")]))])), "unexpected `tool_use_id`"),
            ("open call at the end", messages(json!([hi, uses(&["a"])])), "without `tool_result`"),
            (
                "text before the result",
                messages(json!([
                    hi,
                    uses(&["a"]),
                    user(json!([{"type": "text", "text": "x"}, result("a")]))
                ])),
                "come first",
            ),
            ("id used twice", messages(json!([hi, uses(&["a", "a"])])), "unique"),
            (
                "id with a dot",
                messages(json!([hi, uses(&["a.b"]), user(json!([result("a.b")]))])),
                "tool_use.id",
            ),
            (
                "call of the user",
                messages(json!([user(json!([{"type": "tool_use", "id": "a", "name": "f", "input": {}}]))])),
                "does not match",
            ),
            (
                "foreign thought",
                messages(
                    json!([hi, {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "eA=="}, {"type": "text", "text": "x"}]}, hi]),
                ),
                "Invalid `signature`",
            ),
            ("bmp", image("image/bmp", "aGk="), "media_type"),
            ("broken base64", image("image/png", "?"), "base64"),
            ("anyOf on top", tool(json!({"type": "object", "anyOf": []})), "top level"),
            ("no type", tool(json!({})), "Input should be 'object'"),
            ("no schema", with(wire, json!({"tools": [{"name": "f"}]})), "Field required"),
            (
                "bad tool name",
                with(wire, json!({"tools": [{"name": "a.b", "input_schema": {"type": "object"}}]})),
                "pattern",
            ),
            (
                "small budget",
                with(wire, json!({"thinking": {"type": "enabled", "budget_tokens": 10}})),
                "1024",
            ),
            (
                "budget over limit",
                with(wire, json!({"thinking": {"type": "enabled", "budget_tokens": 5000}})),
                "must be greater",
            ),
            (
                "cool thinking",
                with(wire, json!({"temperature": 0, "thinking": {"type": "enabled", "budget_tokens": 1024}})),
                "temperature",
            ),
            (
                "five breakpoints",
                messages(json!([user(json!([marked, marked, marked, marked, marked]))])),
                "maximum of 4",
            ),
            (
                "choice without tools",
                with(wire, json!({"tool_choice": {"type": "auto"}})),
                "while providing tools",
            ),
        ],
    );
}

#[test]
fn the_version_header_is_wanted() {
    let server = Server::start(Script::always("fine")).unwrap();
    let body = prompt(WireKind::Anthropic, "hi", false).to_string();
    let head = format!(
        "POST {} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        path(WireKind::Anthropic, false),
        body.len()
    );
    let answer = exchange(&server, (head + &body).as_bytes());
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("anthropic-version"));
}

#[test]
fn good_conversations_are_taken() {
    let hi = json!({"role": "user", "content": "hi"});
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "aGk="}});
    all_taken(
        WireKind::Anthropic,
        vec![
            messages(json!([
                user(json!([image, {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}])),
                uses(&["a", "b"]),
                user(json!([result("b"), {"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": [image]}, {"type": "text", "text": "and?"}])),
                {"role": "assistant", "content": [{"type": "text", "text": "so"}]}, hi,
            ])),
            with(
                WireKind::Anthropic,
                json!({"system": [{"type": "text", "text": "be brief"}], "tools": [{"name": "f", "input_schema": schema()}]}),
            ),
        ],
    );
}
