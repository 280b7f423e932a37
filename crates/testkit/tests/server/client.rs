//! A client that sees every byte.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use charla_proto::WireKind;
use charla_testkit::Server;
use serde_json::{Value, json};

/// How the server's bytes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Closed,
    Reset,
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    /// The body without transfer coding.
    pub body: Vec<u8>,
    /// The last chunk, or all promised bytes, came.
    pub whole: bool,
    pub end: End,
    /// The payload of each transfer chunk.
    pub chunks: Vec<Vec<u8>>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The JSON of every event; `[DONE]` and broken ones are left out.
    pub fn events(&self) -> Vec<Value> {
        let text = self.text().replace("\r\n", "\n").replace('\r', "\n");
        let data = text.lines().filter_map(|line| line.trim_start_matches('\u{feff}').strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }
}

pub fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends these bytes and reads until the server closes.
pub fn exchange(server: &Server, request: &[u8]) -> Answer {
    let mut stream = connect(server);
    stream.write_all(request).unwrap();
    let mut bytes = Vec::new();
    let end = match stream.read_to_end(&mut bytes) {
        Ok(_) => End::Closed,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => End::Reset,
        Err(error) => panic!("{error}"),
    };
    parse(&bytes, end)
}

fn parse(bytes: &[u8], end: End) -> Answer {
    let Some(split) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Answer { status: 0, head: String::new(), body: vec![], whole: false, end, chunks: vec![] };
    };
    let head = String::from_utf8(bytes[..split].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let rest = &bytes[split + 4..];
    if !head.contains("transfer-encoding: chunked") {
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let whole = length.parse::<usize>().unwrap() == rest.len();
        return Answer { status, head, body: rest.to_vec(), whole, end, chunks: vec![] };
    }
    let (chunks, whole) = dechunk(rest);
    Answer { status, head, body: chunks.concat(), whole, end, chunks }
}

fn dechunk(mut rest: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let mut chunks = Vec::new();
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return (chunks, true);
        }
        let start = line + 2;
        if rest.len() < start + size + 2 {
            chunks.push(rest[start..].to_vec());
            return (chunks, false);
        }
        chunks.push(rest[start..start + size].to_vec());
        rest = &rest[start + size + 2..];
    }
    (chunks, false)
}

pub fn model(wire: WireKind) -> &'static str {
    match wire {
        WireKind::Gemini => "gemini-3-test",
        WireKind::OpenaiChat | WireKind::OpenaiResponses => "gpt-test",
        WireKind::Anthropic => "claude-test",
    }
}

pub fn path(wire: WireKind, streaming: bool) -> String {
    match (wire, streaming) {
        (WireKind::Gemini, true) => {
            format!("/v1beta/models/{}:streamGenerateContent?alt=sse", model(wire))
        }
        (WireKind::Gemini, false) => format!("/v1beta/models/{}:generateContent", model(wire)),
        (WireKind::OpenaiChat, _) => "/v1/chat/completions".to_owned(),
        (WireKind::OpenaiResponses, _) => "/v1/responses".to_owned(),
        (WireKind::Anthropic, _) => "/v1/messages".to_owned(),
    }
}

/// The smallest good request.
pub fn prompt(wire: WireKind, text: &str, streaming: bool) -> Value {
    let mut body = match wire {
        WireKind::Gemini => return json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
        WireKind::OpenaiChat => {
            json!({"model": model(wire), "messages": [{"role": "user", "content": text}]})
        }
        WireKind::OpenaiResponses => json!({"model": model(wire), "input": text}),
        WireKind::Anthropic => json!({
            "model": model(wire),
            "max_tokens": 4096,
            "messages": [{"role": "user", "content": text}],
        }),
    };
    if streaming {
        body["stream"] = json!(true);
    }
    body
}

pub fn request(path: &str, headers: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\nanthropic-version: 2023-06-01\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub fn post(server: &Server, path: &str, body: &Value) -> Answer {
    exchange(server, &request(path, "", body))
}

/// Asks for an answer to `body`.
pub fn ask(server: &Server, wire: WireKind, body: &Value) -> Answer {
    post(server, &path(wire, body["stream"] == true), body)
}

/// Asks for a stream.
pub fn stream(server: &Server, wire: WireKind) -> Answer {
    post(server, &path(wire, true), &prompt(wire, "hi", true))
}
