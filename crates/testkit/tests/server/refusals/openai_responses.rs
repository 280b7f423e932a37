//! What OpenAI Responses refuses and takes.

use super::*;

fn items(items: Value) -> Value {
    with(WireKind::OpenaiResponses, json!({"input": items}))
}

fn item_call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
}

fn item_output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "x"})
}

#[test]
fn what_the_service_refuses_is_refused_in_its_words() {
    let user = json!({"role": "user", "content": "hi"});
    let mut odd_id = item_call("a");
    odd_id["id"] = json!("call_1");
    let mut cut = item_call("a");
    cut["arguments"] = json!("{");
    let tool = |schema: Value| {
        with(
            WireKind::OpenaiResponses,
            json!({"tools": [{"type": "function", "name": "f", "parameters": schema, "strict": true}]}),
        )
    };
    let wire = WireKind::OpenaiResponses;
    all_refused(
        wire,
        vec![
            ("no input", items(json!([])), "'input'"),
            ("unknown field", with(wire, json!({"messages": []})), "Unrecognized"),
            ("unknown item", items(json!([{"type": "tool_use"}])), "Invalid value: 'tool_use'"),
            ("unknown role", items(json!([{"role": "model", "content": "x"}])), "Invalid value: 'model'"),
            (
                "assistant says input",
                items(json!([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}])),
                "input_text",
            ),
            (
                "user says output",
                items(json!([{"role": "user", "content": [{"type": "output_text", "text": "x"}]}])),
                "output_text",
            ),
            ("unanswered", items(json!([user, item_call("a")])), "No tool output found"),
            ("orphan", items(json!([user, item_output("a")])), "No tool call found"),
            ("answered before", items(json!([user, item_output("a"), item_call("a")])), "No tool call found"),
            (
                "answered twice",
                items(json!([user, item_call("a"), item_output("a"), item_output("a")])),
                "No tool call found",
            ),
            ("same id twice", items(json!([user, item_call("a"), item_call("a")])), "Duplicate"),
            ("odd item id", items(json!([user, odd_id, item_output("a")])), "begins with 'fc'"),
            ("cut arguments", items(json!([user, cut, item_output("a")])), "not a JSON object"),
            (
                "foreign reasoning",
                items(
                    json!([user, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA=="}, item_call("a"), item_output("a")]),
                ),
                "could not be verified",
            ),
            (
                "unknown reasoning",
                items(
                    json!([user, {"type": "reasoning", "id": "rs_9", "summary": []}, item_call("a"), item_output("a")]),
                ),
                "not found",
            ),
            ("small limit", with(wire, json!({"max_output_tokens": 1})), ">= 16"),
            (
                "loose strict schema",
                tool(json!({"type": "object", "properties": {"a": {"type": "string"}}})),
                "strict",
            ),
            ("oneOf on top", tool(json!({"type": "object", "oneOf": []})), "top level"),
            ("unknown conversation", with(wire, json!({"previous_response_id": "resp_1"})), "not found"),
        ],
    );
}

#[test]
fn good_conversations_are_taken() {
    let hi = json!({"role": "user", "content": "hi"});
    let picture = "data:image/png;base64,aGk=";
    all_taken(
        WireKind::OpenaiResponses,
        vec![items(json!([
            {"role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": picture}]},
            item_call("a"), item_call("b"), item_output("a"),
            {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "x"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "so"}]}, hi,
        ]))],
    );
}
