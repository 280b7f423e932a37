//! HTTP/1.1 by hand: a test server must be able to break the protocol at any byte.

use std::io;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HEAD_LIMIT: usize = 64 * 1024;
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// Header fields; names are lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The first value of this field; `name` in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// All fields, in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: Headers,
    pub body: Vec<u8>,
    pub keep_alive: bool,
}

/// Why no request could be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The client closed the connection between two requests, or the connection broke.
    Gone,
    /// What came is no HTTP request; answered with this status.
    Bad(u16, &'static str),
}

impl From<io::Error> for ReadError {
    fn from(_: io::Error) -> Self {
        ReadError::Gone
    }
}

/// One client's connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: BytesMut,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        // Each write must leave at once, or pieces sent apart would arrive together.
        stream.set_nodelay(true).ok();
        Self { stream, buffer: BytesMut::new() }
    }

    /// Reads the next request, body included.
    pub(crate) async fn request(&mut self) -> Result<Request, ReadError> {
        let head = self.head().await?;
        let mut lines = head.split("\r\n");
        let start = lines.next().unwrap_or_default();
        let mut words = start.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(ReadError::Bad(400, "malformed request line"));
        };
        if !version.starts_with("HTTP/1.") {
            return Err(ReadError::Bad(505, "only HTTP/1.1 is spoken here"));
        }
        let mut fields = Vec::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let Some((name, value)) = line.split_once(':') else {
                return Err(ReadError::Bad(400, "malformed header line"));
            };
            fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let headers = Headers(fields);
        if headers.get("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let body = self.body(&headers).await?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let close = headers.get("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        Ok(Request {
            method: method.to_owned(),
            path: percent_decode_str(path).decode_utf8_lossy().into_owned(),
            query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            keep_alive: !close && version == "HTTP/1.1",
            headers,
            body,
        })
    }

    async fn head(&mut self) -> Result<String, ReadError> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let head = self.buffer.split_to(end + 4);
                return String::from_utf8(head.to_vec())
                    .map_err(|_| ReadError::Bad(400, "headers are not UTF-8"));
            }
            if self.buffer.len() > HEAD_LIMIT {
                return Err(ReadError::Bad(431, "headers are too large"));
            }
            // A TLS handshake, say: waiting for the end of its headers would be waiting for ever.
            if self.buffer.first().is_some_and(|byte| !byte.is_ascii_alphabetic() && *byte != b'\r') {
                return Err(ReadError::Bad(400, "this is no HTTP request"));
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), ReadError> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 { Err(ReadError::Gone) } else { Ok(()) }
    }

    async fn body(&mut self, headers: &Headers) -> Result<Vec<u8>, ReadError> {
        if let Some(coding) = headers.get("transfer-encoding") {
            if !coding.eq_ignore_ascii_case("chunked") {
                return Err(ReadError::Bad(501, "unknown transfer coding"));
            }
            return self.chunked_body().await;
        }
        let Some(length) = headers.get("content-length") else { return Ok(Vec::new()) };
        let Ok(length) = length.parse::<usize>() else {
            return Err(ReadError::Bad(400, "malformed content-length"));
        };
        if length > BODY_LIMIT {
            return Err(ReadError::Bad(413, "body is too large"));
        }
        self.take(length).await
    }

    async fn chunked_body(&mut self) -> Result<Vec<u8>, ReadError> {
        let mut body = Vec::new();
        loop {
            let line = self.line().await?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let Ok(size) = usize::from_str_radix(digits, 16) else {
                return Err(ReadError::Bad(400, "malformed chunk size"));
            };
            if body.len().saturating_add(size) > BODY_LIMIT {
                return Err(ReadError::Bad(413, "body is too large"));
            }
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(body);
            }
            body.extend(self.take(size).await?);
            if !self.line().await?.is_empty() {
                return Err(ReadError::Bad(400, "chunk is longer than its size"));
            }
        }
    }

    async fn line(&mut self) -> Result<String, ReadError> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let line = self.buffer.split_to(end);
                self.buffer.advance(2);
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if self.buffer.len() > HEAD_LIMIT {
                return Err(ReadError::Bad(400, "line is too long"));
            }
            self.fill().await?;
        }
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, ReadError> {
        while self.buffer.len() < length {
            self.fill().await?;
        }
        Ok(self.buffer.split_to(length).to_vec())
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Waits until the client closes the connection. What it sends meanwhile is kept for later.
    pub(crate) async fn gone(&mut self) {
        while matches!(self.stream.read_buf(&mut self.buffer).await, Ok(read) if read > 0) {
            if self.buffer.len() > BODY_LIMIT {
                return;
            }
        }
    }

    /// Waits, but no longer than the client does. False when it is gone.
    pub(crate) async fn pause(&mut self, wait: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(wait) => true,
            () = self.gone() => false,
        }
    }

    /// Closes with a reset instead of an orderly end.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().ok();
    }

    /// Closes the sending side and lets the client read what was sent, so that unread input of the client
    /// does not turn the close into a reset.
    pub(crate) async fn close(mut self) {
        self.stream.shutdown().await.ok();
        let drained = async {
            let mut scratch = [0_u8; 8192];
            while matches!(self.stream.read(&mut scratch).await, Ok(read) if read > 0) {}
        };
        tokio::time::timeout(Duration::from_secs(2), drained).await.ok();
    }
}

/// The reason phrase of a status; clients do not read it, people do.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 | 302 | 303 | 307 | 308 => "Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Status",
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
