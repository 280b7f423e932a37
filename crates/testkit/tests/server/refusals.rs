//! What the real services refuse is refused here, in their form; what they take is taken.

use charla_proto::WireKind;
use charla_testkit::{Script, Server};
use serde_json::{Value, json};

use crate::client::{ask, exchange, path, prompt};

type Row = (&'static str, Value, &'static str);

/// Every body must give 400 with these words, and leave a problem behind.
fn all_refused(wire: WireKind, rows: Vec<Row>) {
    let server = Server::start(Script::always("fine")).unwrap();
    for (at, (name, body, words)) in rows.iter().enumerate() {
        let answer = ask(&server, wire, body);
        assert_eq!(answer.status, 400, "{name}: {}", answer.text());
        let error = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(error.contains(words), "{name}: {error}");
        assert_eq!(server.problems().len(), at + 1, "{name}");
        assert_eq!(server.problems()[at].message, error, "{name}");
    }
    let lenient = Server::start(Script::always("fine").lenient()).unwrap();
    for (name, body, _) in rows {
        assert_eq!(ask(&lenient, wire, &body).status, 200, "{name} without strictness");
    }
}

fn all_taken(wire: WireKind, bodies: Vec<Value>) {
    let server = Server::start(Script::always("fine")).unwrap();
    for body in bodies {
        let answer = ask(&server, wire, &body);
        assert_eq!(answer.status, 200, "{}\n{body:#}", answer.text());
    }
    assert_eq!(server.problems(), []);
}

/// The smallest good request with these fields set.
fn with(wire: WireKind, fields: Value) -> Value {
    let mut body = prompt(wire, "hi", false);
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

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
fn gemini_refuses() {
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
fn openai_chat_refuses() {
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
fn openai_responses_refuses() {
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
fn anthropic_refuses() {
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
fn anthropic_wants_its_version_header() {
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
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}, "required": ["a"]});
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
            declared(schema.clone()),
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
            chat_tool("f", schema.clone()),
        ],
    );
    all_taken(
        WireKind::OpenaiResponses,
        vec![items(json!([
            {"role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": picture}]},
            item_call("a"), item_call("b"), item_output("a"),
            {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "x"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "so"}]}, hi,
        ]))],
    );
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
                json!({"system": [{"type": "text", "text": "be brief"}], "tools": [{"name": "f", "input_schema": schema}]}),
            ),
        ],
    );
}
