//! Answers without an end, on every wire: each is stopped with an error that says so, and is not asked for again.

use std::sync::Arc;

use charla_proto::{Content, GenerateRequest, LlmError, LlmErrorKind, WireKind};
use charla_providers::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks, Target};
use charla_providers::layers::{Link, Resilient, RetryPolicy};
use charla_providers::{Client, Credential, Generator, NetworkOptions, Proxy};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::conversation::streamed;
use crate::endings::read_request;

/// More than an answer may have, and than the sockets hold on top.
const MOST_SENT: usize = 48 * 1024 * 1024;

/// What never ends.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Thoughts,
    Arguments,
}

/// The event that comes again and again, and one before it where the wire announces what comes.
fn events(wire: WireKind, kind: Kind) -> (Option<Value>, Value) {
    let piece = "x".repeat(64 * 1024);
    match wire {
        WireKind::OpenaiChat => {
            let delta = match kind {
                Kind::Text => json!({"content": piece}),
                Kind::Thoughts => json!({"reasoning_content": piece}),
                Kind::Arguments => {
                    json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": piece}}]})
                }
            };
            (None, json!({"choices": [{"index": 0, "delta": delta}]}))
        }
        WireKind::Gemini => {
            let event =
                |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
            match kind {
                Kind::Text => (None, event(json!({"text": piece}))),
                Kind::Thoughts => (None, event(json!({"text": piece, "thought": true}))),
                Kind::Arguments => {
                    let begin = json!({"functionCall": {"name": "f", "willContinue": true}});
                    let more = json!({"jsonPath": "$.text", "stringValue": piece, "willContinue": true});
                    let more = json!({"functionCall": {"partialArgs": [more], "willContinue": true}});
                    (Some(event(begin)), event(more))
                }
            }
        }
        WireKind::Anthropic => {
            let (block, delta) = match kind {
                Kind::Text => (json!({"type": "text"}), json!({"type": "text_delta", "text": piece})),
                Kind::Thoughts => {
                    (json!({"type": "thinking"}), json!({"type": "thinking_delta", "thinking": piece}))
                }
                Kind::Arguments => (
                    json!({"type": "tool_use", "id": "c", "name": "f", "input": {}}),
                    json!({"type": "input_json_delta", "partial_json": piece}),
                ),
            };
            (
                Some(json!({"type": "content_block_start", "index": 0, "content_block": block})),
                json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            )
        }
        WireKind::OpenaiResponses => {
            let (item, delta) = match kind {
                Kind::Text => ("message", "response.output_text.delta"),
                Kind::Thoughts => ("reasoning", "response.reasoning_text.delta"),
                Kind::Arguments => ("function_call", "response.function_call_arguments.delta"),
            };
            let item = json!({"type": item, "call_id": "c", "name": "f"});
            (
                Some(json!({"type": "response.output_item.added", "output_index": 0, "item": item})),
                json!({"type": delta, "output_index": 0, "delta": piece}),
            )
        }
    }
}

/// Sends the event until nobody listens any more, or more has come than anybody should have taken; how many bytes
/// that took.
async fn send_on_and_on(listener: &TcpListener, wire: WireKind, kind: Kind) -> usize {
    let (mut socket, _) = listener.accept().await.unwrap();
    read_request(&mut socket).await;
    let (first, again) = events(wire, kind);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let first = first.map(|first| format!("data: {first}\n\n")).unwrap_or_default();
    let again = format!("data: {again}\n\n");
    socket.write_all(format!("{head}{first}").as_bytes()).await.unwrap();
    let mut sent = 0;
    while sent < MOST_SENT && socket.write_all(again.as_bytes()).await.is_ok() {
        sent += again.len();
    }
    sent
}

/// The error of an answer that never ends, from a model that would be asked again, and the bytes that were sent.
async fn stopped(wire: WireKind, kind: Kind) -> (LlmError, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (name, auth) = ("endless".to_owned(), AuthStyle::None);
    let endpoint = Endpoint { name, wire, base_url, auth, headers: Vec::new(), quirks: Quirks::default() };
    let model = ModelRow { id: "m".to_owned(), ..ModelRow::default() };
    let client = Client::new(NetworkOptions { proxy: Proxy::None, ..NetworkOptions::default() }).unwrap();
    let generator = Generator::new(Target::new(Arc::new(endpoint), model), Credential::None, client);
    let (reference, model) = ("endless/m".to_owned(), "m".to_owned());
    let link = Link { reference, model, generator: Arc::new(generator) };
    let resilient = Resilient::new(vec![link], RetryPolicy::default());
    let request = GenerateRequest::new("m", vec![Arc::new(Content::user("hi"))]);
    let (answer, sent) = tokio::join!(streamed(&resilient, &request), send_on_and_on(&listener, wire, kind));
    (answer.unwrap_err(), sent)
}

#[tokio::test]
async fn an_answer_without_an_end_is_stopped_and_not_asked_for_again() {
    for wire in WireKind::ALL {
        for kind in [Kind::Text, Kind::Thoughts, Kind::Arguments] {
            let (error, sent) = stopped(wire, kind).await;
            assert_eq!(error.kind, LlmErrorKind::InvalidStream, "{wire:?} {kind:?}: {error}");
            assert_eq!(error.detail.code.as_deref(), Some("ANSWER_TOO_LONG"), "{wire:?} {kind:?}: {error}");
            assert!(error.message.contains("stopped after 16 MiB"), "{wire:?} {kind:?}: {error}");
            assert_eq!(error.detail.attempts, 1, "{wire:?} {kind:?}: {error}");
            assert!(sent < MOST_SENT, "{wire:?} {kind:?}: {sent} bytes were sent");
        }
    }
}
