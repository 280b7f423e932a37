//! A wire that carries our own types, and a server made of bare sockets.

use http::HeaderMap;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::wire::{ErrorBody, EventDecoder, classify};

/// Every event is a [`GenerateResponse`] as JSON; `[DONE]` ends the stream.
pub(super) struct FakeWire;

impl Wire for FakeWire {
    fn kind(&self) -> WireKind {
        WireKind::OpenaiChat
    }

    fn encode(
        &self,
        request: &GenerateRequest,
        _: &Target,
        mode: Mode,
        _: &mut Fragments,
    ) -> Result<WireRequest, LlmError> {
        let path = if mode == Mode::Stream { "/ask?alt=sse" } else { "/ask" };
        let body = serde_json::to_vec(&request.contents[0].text()).unwrap().into();
        Ok(WireRequest { path: path.into(), headers: vec![("x-wire", "fake".into())], body })
    }

    fn decoder(&self, _: &Target) -> Box<dyn EventDecoder> {
        Box::new(FakeDecoder { done: false })
    }

    fn error(&self, _: &Target, status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError {
        let message = String::from_utf8_lossy(body).into_owned();
        classify(status, Some(headers), ErrorBody { message, ..ErrorBody::default() })
    }

    fn encode_count(&self, _: &GenerateRequest, _: &Target) -> Option<Result<WireRequest, LlmError>> {
        Some(Ok(WireRequest { path: "/count".into(), headers: vec![], body: "{}".into() }))
    }

    fn decode_count(&self, body: &[u8]) -> Result<TokenCount, LlmError> {
        Ok(TokenCount { total_tokens: serde_json::from_slice(body).unwrap(), exact: true })
    }
}

struct FakeDecoder {
    done: bool,
}

impl EventDecoder for FakeDecoder {
    fn event(
        &mut self,
        _: Option<&str>,
        data: &str,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError> {
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk = serde_json::from_str(data);
        out.push(chunk.map_err(|error| LlmError::new(LlmErrorKind::Protocol, error.to_string()))?);
        Ok(())
    }

    fn document(&mut self, document: Value, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        out.push(serde_json::from_value(document).unwrap());
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        Ok(())
    }

    fn held(&self) -> usize {
        0
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

fn response(parts: Vec<Part>, finish_reason: Option<FinishReason>) -> GenerateResponse {
    let content = Some(Content::new(Role::Model, parts));
    let candidate = Candidate { content, finish_reason, ..Candidate::default() };
    GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() }
}

/// An event with text.
pub(super) fn text(words: &str) -> String {
    let response = response(vec![Part::text(words)], None);
    format!("data: {}\n\n", serde_json::to_string(&response).unwrap())
}

/// The event that ends an answer.
pub(super) fn finish() -> String {
    let response = response(vec![], Some(FinishReason::Stop));
    format!("data: {}\n\n", serde_json::to_string(&response).unwrap())
}

/// A whole answer as a document.
pub(super) fn answer_json(words: &str) -> String {
    serde_json::to_string(&response(vec![Part::text(words)], Some(FinishReason::Stop))).unwrap()
}

pub(super) fn ask() -> GenerateRequest {
    GenerateRequest::new("m", vec![Arc::new(Content::user("hi"))])
}

/// Options without the system's proxies.
pub(super) fn fast() -> NetworkOptions {
    NetworkOptions { proxy: Proxy::None, ..NetworkOptions::default() }
}

/// The chunks of a stream, or the error it ended with.
pub(super) async fn collect(generator: &Generator) -> Result<Vec<GenerateResponse>, LlmError> {
    let mut stream = generator.stream(&ask()).await?;
    let mut chunks = Vec::new();
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::Chunk(chunk) => chunks.push(chunk),
            other => panic!("a leaf only gives chunks: {other:?}"),
        }
    }
    Ok(chunks)
}

pub(super) fn target(base_url: String) -> Target {
    let endpoint = Endpoint {
        name: "fake".into(),
        wire: WireKind::OpenaiChat,
        base_url,
        auth: AuthStyle::Bearer,
        headers: vec![("x-team".into(), "blue".into())],
        quirks: Quirks::default(),
    };
    Target::new(Arc::new(endpoint), ModelRow { id: "m".into(), ..ModelRow::default() })
}

pub(super) fn generator(base_url: String, credential: Credential, options: NetworkOptions) -> Generator {
    let client = Client::new(options).unwrap();
    Generator::new(target(base_url), credential, client).with_wire(&FakeWire)
}

pub(super) struct Server {
    pub(super) listener: TcpListener,
}

impl Server {
    pub(super) async fn start() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub(super) fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    pub(super) fn target(&self) -> Target {
        target(format!("http://127.0.0.1:{}/v1", self.port()))
    }

    pub(super) fn generator(&self) -> Generator {
        self.generator_with(Credential::Key("sk-secret".into()), fast())
    }

    pub(super) fn generator_with(&self, credential: Credential, options: NetworkOptions) -> Generator {
        generator(self.target().endpoint.base_url.clone(), credential, options)
    }

    pub(super) async fn accept(&self) -> Connection<TcpStream> {
        Connection { socket: self.listener.accept().await.unwrap().0 }
    }

    /// Answers the next connection's request with a whole body, closes it and gives the request.
    pub(super) async fn answer(&self, status: &str, headers: &str, body: impl AsRef<[u8]>) -> String {
        let mut connection = self.accept().await;
        connection.answer(status, headers, body.as_ref()).await
    }
}

pub(super) struct Connection<S> {
    pub(super) socket: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// One request, head and body.
    pub(super) async fn request(&mut self) -> String {
        let mut seen = Vec::new();
        loop {
            let mut buffer = [0; 4096];
            let count = self.socket.read(&mut buffer).await.unwrap();
            assert!(count > 0, "the client closed in the middle of its request");
            seen.extend_from_slice(&buffer[..count]);
            let words = String::from_utf8_lossy(&seen).into_owned();
            let Some((head, body)) = words.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return words;
            }
        }
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
        self.socket.flush().await.unwrap();
    }

    /// The head of a chunked reply.
    pub(super) async fn head(&mut self, status: &str, headers: &str) {
        let headers = if headers.is_empty() { String::new() } else { format!("{headers}\r\n") };
        self.send(format!("HTTP/1.1 {status}\r\n{headers}transfer-encoding: chunked\r\n\r\n")).await;
    }

    pub(super) async fn chunk(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(bytes);
        framed.extend_from_slice(b"\r\n");
        self.send(framed).await;
    }

    pub(super) async fn end(&mut self) {
        self.send("0\r\n\r\n").await;
    }

    pub(super) async fn answer(&mut self, status: &str, headers: &str, body: &[u8]) -> String {
        let request = self.request().await;
        let headers = if headers.is_empty() { String::new() } else { format!("{headers}\r\n") };
        let length = body.len();
        self.send(format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
        ))
        .await;
        self.send(body).await;
        request
    }

    /// True when the client has closed the connection; waits until it does.
    pub(super) async fn is_closed(&mut self) -> bool {
        let mut buffer = [0; 64];
        matches!(self.socket.read(&mut buffer).await, Ok(0) | Err(_))
    }
}
