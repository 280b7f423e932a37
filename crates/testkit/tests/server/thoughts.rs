//! Proofs of thinking come back to their origin, unchanged, and to nobody else.

use charla_proto::WireKind;
use charla_testkit::{ChatThoughts, Reply, Script, Server, Step};
use serde_json::{Value, json};

use crate::client::{ask, post, prompt};

fn server() -> Server {
    let reply = Reply::new().thought("hm").call("look", json!({"at": 1})).call("look", json!({"at": 2}));
    Server::start(Script::always(reply)).unwrap()
}

fn results(ids: [&Value; 2]) -> Value {
    json!([
        {"type": "tool_result", "tool_use_id": ids[0], "content": "a"},
        {"type": "tool_result", "tool_use_id": ids[1], "content": "b"},
    ])
}

/// A Gemini conversation after the two calls of [`server`].
fn gemini(server: &Server) -> Value {
    let mut body = prompt(WireKind::Gemini, "hi", false);
    let content = ask(server, WireKind::Gemini, &body).json()["candidates"][0]["content"].clone();
    let contents = body["contents"].as_array_mut().unwrap();
    contents.push(content);
    let response = json!({"functionResponse": {"name": "look", "response": {"output": "x"}}});
    contents.push(json!({"role": "user", "parts": [response, response]}));
    body
}

fn anthropic(server: &Server) -> Value {
    let mut body = prompt(WireKind::Anthropic, "hi", false);
    body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    let content = ask(server, WireKind::Anthropic, &body).json()["content"].clone();
    let messages = body["messages"].as_array_mut().unwrap();
    let results = results([&content[1]["id"], &content[2]["id"]]);
    messages.push(json!({"role": "assistant", "content": content}));
    messages.push(json!({"role": "user", "content": results}));
    body
}

fn responses(server: &Server) -> Value {
    let mut body = prompt(WireKind::OpenaiResponses, "hi", false);
    body["include"] = json!(["reasoning.encrypted_content"]);
    body["store"] = json!(false);
    let output = ask(server, WireKind::OpenaiResponses, &body).json()["output"].clone();
    let mut items = vec![json!({"role": "user", "content": "hi"})];
    items.extend(output.as_array().unwrap().iter().cloned());
    for at in [1, 2] {
        items.push(json!({"type": "function_call_output", "call_id": output[at]["call_id"], "output": "x"}));
    }
    body["input"] = json!(items);
    body
}

fn refused(server: &Server, wire: WireKind, body: &Value, words: &str) {
    let answer = ask(server, wire, body);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains(words), "{}", answer.text());
}

fn accepted(server: &Server, wire: WireKind, body: &Value) {
    let answer = ask(server, wire, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn gemini_wants_its_signature_on_the_first_call() {
    let server = server();
    let good = gemini(&server);
    accepted(&server, WireKind::Gemini, &good);
    assert_eq!(server.requests().last().unwrap().own_proofs, 1);

    let mut missing = good.clone();
    missing["contents"][1]["parts"][1].as_object_mut().unwrap().remove("thoughtSignature");
    refused(&server, WireKind::Gemini, &missing, "missing a thought_signature");

    let mut skipped = missing.clone();
    skipped["contents"][1]["parts"][1]["thoughtSignature"] = json!("skip_thought_signature_validator");
    accepted(&server, WireKind::Gemini, &skipped);

    let mut earlier = missing.clone();
    earlier["contents"].as_array_mut().unwrap().push(json!({"role": "model", "parts": [{"text": "done"}]}));
    earlier["contents"].as_array_mut().unwrap().push(json!({"role": "user", "parts": [{"text": "next"}]}));
    accepted(&server, WireKind::Gemini, &earlier);

    let mut foreign = good.clone();
    foreign["contents"][1]["parts"][1]["thoughtSignature"] =
        anthropic(&server)["messages"][1]["content"][0]["signature"].clone();
    refused(&server, WireKind::Gemini, &foreign, "signature is not valid");

    let other_model = post(&server, "/v1beta/models/gemini-2.5-other:generateContent", &good);
    assert_eq!(other_model.status, 400);
    let other_model = post(&server, "/v1beta/models/gemini-2.5-other:generateContent", &missing);
    assert_eq!(other_model.status, 200, "only newer models want signatures");
}

#[test]
fn anthropic_wants_the_thought_of_an_open_loop_unchanged() {
    let server = server();
    let good = anthropic(&server);
    accepted(&server, WireKind::Anthropic, &good);
    assert_eq!(server.requests().last().unwrap().own_proofs, 1);

    let mut changed = good.clone();
    changed["messages"][1]["content"][0]["thinking"] = json!("other words");
    refused(&server, WireKind::Anthropic, &changed, "Invalid `signature`");

    let mut missing = good.clone();
    missing["messages"][1]["content"].as_array_mut().unwrap().remove(0);
    refused(&server, WireKind::Anthropic, &missing, "must start with a thinking block");
    missing["thinking"] = json!({"type": "disabled"});
    accepted(&server, WireKind::Anthropic, &missing);

    let mut other_model = good.clone();
    other_model["model"] = json!("claude-other");
    refused(&server, WireKind::Anthropic, &other_model, "Invalid `signature`");
}

#[test]
fn responses_keeps_reasoning_and_calls_together() {
    let server = server();
    let good = responses(&server);
    accepted(&server, WireKind::OpenaiResponses, &good);
    assert_eq!(server.requests().last().unwrap().own_proofs, 1);

    let mut without = good.clone();
    without["input"].as_array_mut().unwrap().remove(1);
    refused(&server, WireKind::OpenaiResponses, &without, "without its required 'reasoning' item");
    for at in [1, 2] {
        without["input"][at].as_object_mut().unwrap().remove("id");
    }
    accepted(&server, WireKind::OpenaiResponses, &without);

    let mut alone = good.clone();
    alone["input"].as_array_mut().unwrap().truncate(2);
    refused(&server, WireKind::OpenaiResponses, &alone, "without its required following item");

    let mut other_model = good.clone();
    other_model["model"] = json!("gpt-other");
    refused(&server, WireKind::OpenaiResponses, &other_model, "could not be verified");

    let mut forgotten = good;
    forgotten["input"][1].as_object_mut().unwrap().remove("encrypted_content");
    refused(&server, WireKind::OpenaiResponses, &forgotten, "not found");
}

#[test]
fn chat_refuses_thoughts_of_others() {
    let mut script = Script::always(Reply::new().thought("a thought of its own").text("so"));
    script.chat_thoughts = ChatThoughts::ReasoningDetails;
    let server = Server::start(script).unwrap();
    let mut body = prompt(WireKind::OpenaiChat, "hi", false);
    let message = ask(&server, WireKind::OpenaiChat, &body).json()["choices"][0]["message"].clone();
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(message);
    messages.push(json!({"role": "user", "content": "more"}));
    accepted(&server, WireKind::OpenaiChat, &body);
    body["model"] = json!("gpt-other");
    refused(&server, WireKind::OpenaiChat, &body, "did not think that");
    body["messages"][1].as_object_mut().unwrap().remove("reasoning");
    refused(&server, WireKind::OpenaiChat, &body, "signature is not valid");
    assert_eq!(server.requests().last().unwrap().foreign_proofs, 1);
}

#[test]
fn redacted_thoughts_come_back_to_their_model() {
    let server = Server::start(Script::always(Reply::new().step(Step::RedactedThought).text("so"))).unwrap();
    let mut body = prompt(WireKind::Anthropic, "hi", false);
    let content = ask(&server, WireKind::Anthropic, &body).json()["content"].clone();
    assert_eq!(content[0]["type"], "redacted_thinking");
    body["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": content}));
    body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "more"}));
    accepted(&server, WireKind::Anthropic, &body);
    body["model"] = json!("claude-other");
    refused(&server, WireKind::Anthropic, &body, "Invalid `signature`");
}
