//! How a stream ends, on every wire: what was complete is kept, what was not is not taken for an answer.

use std::sync::Arc;

use charla_proto::{Content, GenerateRequest, GenerateResponse, LlmError, LlmErrorKind, WireKind};
use charla_providers::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks, Target};
use charla_providers::{Client, Credential, Generator, NetworkOptions, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::conversation::streamed;

/// The events of one answer: its words, the reason it ended for, and the wire's own end.
pub struct Events {
    words: &'static str,
    finish: &'static str,
    end: &'static str,
}

impl Events {
    /// An answer as it should be.
    pub fn whole(&self) -> String {
        format!("{}{}{}", self.words, self.finish, self.end)
    }
}

pub fn events(wire: WireKind) -> Events {
    match wire {
        WireKind::OpenaiChat => Events {
            words: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n",
            finish: "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            end: "data: [DONE]\n\n",
        },
        WireKind::Gemini => Events {
            words: "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hello\"}]}}]}\n\n",
            finish: "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[]},\"finishReason\":\"STOP\"}]}\n\n",
            end: "",
        },
        WireKind::Anthropic => Events {
            words: concat!(
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n",
                "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            ),
            finish: "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
            end: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        },
        WireKind::OpenaiResponses => Events {
            words: concat!(
                "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
                "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n",
                "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"Hello\"}\n\n",
                "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello\",\"annotations\":[]}]}}\n\n",
            ),
            // The reason and the end are one event here.
            finish: "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello\",\"annotations\":[]}]}]}}\n\n",
            end: "",
        },
    }
}

/// How the body ends.
#[derive(Clone, Copy, Debug)]
enum Close {
    /// As HTTP wants it.
    Properly,
    /// The last chunk of the body never comes.
    Abruptly,
}

/// What comes of these events from a server of this wire.
async fn answer(wire: WireKind, body: String, close: Close) -> Result<(GenerateResponse, usize), LlmError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (name, auth) = ("ends".to_owned(), AuthStyle::None);
    let endpoint = Endpoint { name, wire, base_url, auth, headers: Vec::new(), quirks: Quirks::default() };
    let model = ModelRow { id: "m".to_owned(), ..ModelRow::default() };
    let client = Client::new(NetworkOptions { proxy: Proxy::None, ..NetworkOptions::default() }).unwrap();
    let generator = Generator::new(Target::new(Arc::new(endpoint), model), Credential::None, client);
    let request = GenerateRequest::new("m", vec![Arc::new(Content::user("hi"))]);
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let end = if matches!(close, Close::Properly) { "0\r\n\r\n" } else { "" };
        let reply = format!("{head}{:x}\r\n{body}\r\n{end}", body.len());
        socket.write_all(reply.as_bytes()).await.unwrap();
    };
    let (answer, ()) = tokio::join!(streamed(&generator, &request), server);
    answer
}

/// One request, all of it, so that closing is no reset that could overtake the answer.
pub async fn read_request(socket: &mut TcpStream) -> String {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while !is_whole(&seen) {
        let count = socket.read(&mut buffer).await.unwrap();
        seen.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&seen).into_owned()
}

/// Answers with a whole body.
pub async fn reply(socket: &mut TcpStream, status: &str, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    socket.write_all((head + body).as_bytes()).await.unwrap();
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

#[tokio::test]
async fn an_answer_that_was_complete_is_kept_whatever_the_connection_does() {
    let half = "data: {\"choices\":[{\"ind";
    for wire in WireKind::ALL {
        let Events { words, finish, end } = events(wire);
        let rows = [
            ("all of it", format!("{words}{finish}{end}"), Close::Properly),
            ("no end of its own", format!("{words}{finish}"), Close::Properly),
            ("cut after the reason", format!("{words}{finish}"), Close::Abruptly),
            ("cut after its own end", format!("{words}{finish}{end}"), Close::Abruptly),
            ("half an event after the reason", format!("{words}{finish}{half}"), Close::Abruptly),
            ("half an event and a proper end", format!("{words}{finish}{half}"), Close::Properly),
        ];
        for (what, body, close) in rows {
            let (answer, _) =
                answer(wire, body, close).await.unwrap_or_else(|e| panic!("{wire:?}, {what}: {e}"));
            assert_eq!(answer.text(), "Hello", "{wire:?}, {what}");
        }
    }
}

#[tokio::test]
async fn words_before_the_wires_own_end_are_an_answer_without_a_reason() {
    for wire in [WireKind::OpenaiChat, WireKind::Anthropic] {
        let Events { words, end, .. } = events(wire);
        let (answer, _) = answer(wire, format!("{words}{end}"), Close::Properly).await.unwrap();
        assert_eq!(answer.text(), "Hello", "{wire:?}");
        assert!(answer.finish_reason().is_some(), "{wire:?}");
    }
}

#[tokio::test]
async fn an_answer_that_was_not_complete_is_none() {
    for wire in WireKind::ALL {
        let Events { words, .. } = events(wire);
        for (close, kind) in
            [(Close::Properly, LlmErrorKind::InvalidStream), (Close::Abruptly, LlmErrorKind::Network)]
        {
            let error = answer(wire, words.to_owned(), close).await.unwrap_err();
            assert_eq!(error.kind, kind, "{wire:?}, {close:?}: {error}");
        }
    }
}
