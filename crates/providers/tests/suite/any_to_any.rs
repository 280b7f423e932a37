//! A conversation moves from any wire to any other, in the middle of a tool loop.
//!
//! The server refuses, as the real services do, calls without exactly one response, roles out of order,
//! signatures it did not make and tool loops that lack their own. Each conversation has thoughts, two
//! parallel calls and an image; it begins on one wire, goes on at another after the calls, takes another
//! tool step there, and comes home.

use std::sync::Arc;

use charla_proto::{Content, FunctionDeclaration, GenerateRequest, Part, Role, Tool, WireKind};
use charla_providers::Generator;
use charla_providers::endpoint::{ModelRow, ModelThinking, Quirks, ReasoningReplay};
use charla_testkit::{ChatThoughts, Reply, Script, Server};
use serde_json::json;

use crate::conversation::{self, answer_calls, ask, streamed};

/// One red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// What the tool returns.
const OUTPUT: &str = "contents of the file";

fn model(wire: WireKind) -> ModelRow {
    let (id, thinking) = match wire {
        WireKind::Gemini => ("gemini-3-flash-preview", ModelThinking::Levels),
        WireKind::OpenaiChat => ("thinking-chat", ModelThinking::None),
        WireKind::OpenaiResponses => ("gpt-5", ModelThinking::Levels),
        WireKind::Anthropic => ("claude-sonnet-4-5", ModelThinking::Budget),
    };
    ModelRow {
        id: id.to_owned(),
        thinking,
        images: true,
        max_output: Some(8192),
        media_in_function_response: wire == WireKind::Gemini,
        ..ModelRow::default()
    }
}

fn generator(server: &Server, wire: WireKind, name: &str) -> Generator {
    let quirks = Quirks { reasoning_replay: ReasoningReplay::ToolLoop, ..Quirks::default() };
    conversation::generator(server, name, wire, quirks, model(wire))
}

fn request(history: &[Arc<Content>], wire: WireKind) -> GenerateRequest {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let declaration = FunctionDeclaration {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters_json_schema: schema,
        ..FunctionDeclaration::default()
    };
    GenerateRequest {
        system_instruction: Some(Arc::new(Content::user("Be brief."))),
        tools: vec![Tool::functions(vec![Arc::new(declaration)])],
        thinking: Some(conversation::thinking()),
        ..GenerateRequest::new(model(wire).id, history.to_vec())
    }
}

/// Answers every call of the last content, the first one with an image.
fn answer_with_image(history: &mut Vec<Arc<Content>>) {
    let mut responses = conversation::responses(history, OUTPUT);
    let first = responses.first_mut().expect("a response");
    let mut with_image = first.as_function_response().cloned().expect("a response");
    with_image.parts.push(Part::inline_data("image/png", PNG));
    *first = Part::function_response(with_image);
    history.push(Arc::new(Content::new(Role::User, responses)));
}

fn script() -> Script {
    let two_calls = Reply::new()
        .thought("I should look at both files.")
        .text("Looking.")
        .call("read_file", json!({"path": "a.txt"}))
        .call("read_file", json!({"path": "b.txt"}));
    let one_call = Reply::new().thought("One more.").call("read_file", json!({"path": "c.txt"}));
    let done = Reply::new().thought("Now I know.").text("Done.");
    let script = Script::new([two_calls, one_call, done, Reply::new().thought("Home.").text("Home again.")]);
    Script { extra_fields: vec!["reasoning_content".to_owned()], ..script }
}

async fn travel(from: WireKind, to: WireKind, thoughts: ChatThoughts) {
    let server = Server::start(Script { chat_thoughts: thoughts, ..script() }).expect("a server");
    let home = generator(&server, from, "home");
    let away = generator(&server, to, "away");
    let picture =
        Content::new(Role::User, vec![Part::text("What is this?"), Part::inline_data("image/png", PNG)]);
    let mut history = vec![Arc::new(picture)];

    let first = ask(&home, request(&history, from), &mut history).await;
    assert_eq!(first.function_calls().count(), 2, "{from:?}");
    answer_with_image(&mut history);
    // As after a restart: read back from the journal's form.
    let text = serde_json::to_string(&history).expect("contents can be written");
    let mut history: Vec<Arc<Content>> = serde_json::from_str(&text).expect("contents can be read");
    let second = ask(&away, request(&history, to), &mut history).await;
    assert_eq!(second.function_calls().count(), 1, "{from:?} to {to:?}");
    answer_calls(&mut history, OUTPUT);
    let third = ask(&away, request(&history, to), &mut history).await;
    assert_eq!(third.text(), "Done.");
    history.push(Arc::new(Content::user("Thanks. And now?")));
    let last = ask(&home, request(&history, from), &mut history).await;
    assert_eq!(last.text(), "Home again.");

    assert_eq!(server.problems(), [], "{from:?} to {to:?}");
    for content in history.iter().filter(|content| content.role == Role::Model) {
        assert!(!content.thoughts().is_empty(), "thoughts are kept for the person: {content:?}");
    }
}

#[tokio::test]
async fn a_tool_conversation_moves_across_all_sixteen_pairs_of_wires() {
    let mut pairs = 0;
    for from in WireKind::ALL {
        for to in WireKind::ALL {
            travel(from, to, ChatThoughts::ReasoningContent).await;
            pairs += 1;
        }
    }
    assert_eq!(pairs, 16);
}

#[tokio::test]
async fn signed_reasoning_details_of_a_chat_server_travel_no_further_than_their_origin() {
    for other in WireKind::ALL {
        travel(WireKind::OpenaiChat, other, ChatThoughts::ReasoningDetails).await;
        travel(other, WireKind::OpenaiChat, ChatThoughts::ReasoningDetails).await;
    }
}

/// The test above is only as good as the server's strictness.
#[tokio::test]
async fn the_server_refuses_a_conversation_whose_opaque_data_was_forged() {
    for wire in [WireKind::Gemini, WireKind::OpenaiResponses, WireKind::Anthropic] {
        let server = Server::start(script()).expect("a server");
        let generator = generator(&server, wire, "home");
        let mut history = vec![Arc::new(Content::user("Look."))];
        ask(&generator, request(&history, wire), &mut history).await;
        let mut said = (**history.last().expect("an answer")).clone();
        for part in &mut said.parts {
            if part.thought_signature.is_some() {
                part.thought_signature = Some("Zm9yZ2Vk".to_owned());
            }
            if let charla_proto::PartKind::Opaque(item) = &mut part.kind
                && item.get("encrypted_content").is_some()
            {
                item["encrypted_content"] = json!("Zm9yZ2Vk");
            }
        }
        *history.last_mut().expect("an answer") = Arc::new(said);
        answer_calls(&mut history, OUTPUT);
        let error = streamed(&generator, &request(&history, wire)).await.expect_err("a refusal");
        assert_eq!(error.detail.status, Some(400), "{wire:?}: {error}");
    }
}
