//! A small HTTP client: one request, one whole answer, no encryption.
//!
//! Enough for questions to a server on this machine or in its network; the models themselves are spoken to
//! elsewhere. Every answer is capped in time and size.

use std::io;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LIMIT: Duration = Duration::from_secs(3);
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// An answer with any status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The body as JSON, when the server agreed.
    pub(crate) fn json(&self) -> Option<Value> {
        if self.status == 200 { serde_json::from_slice(&self.body).ok() } else { None }
    }
}

/// Asks `http://HOST[:PORT]/…`; with a body it is a POST of JSON.
pub(crate) async fn ask(url: &str, key: Option<&str>, body: Option<&Value>) -> io::Result<Answer> {
    ask_patiently(url, key, body, LIMIT).await
}

/// The same for a question whose answer may take as long as `limit`.
pub(crate) async fn ask_patiently(
    url: &str,
    key: Option<&str>,
    body: Option<&Value>,
    limit: Duration,
) -> io::Result<Answer> {
    let (host, path) = split(url).ok_or_else(|| io::Error::other("not a plain http address"))?;
    let authorization = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    let (method, content) = match body {
        Some(body) => ("POST", body.to_string()),
        None => ("GET", String::new()),
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAccept: application/json\r\n{authorization}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{content}",
        content.len()
    );
    let exchange = async {
        let mut stream = TcpStream::connect(with_port(host)).await?;
        stream.write_all(request.as_bytes()).await?;
        read(stream).await
    };
    tokio::time::timeout(limit, exchange).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Reads until the answer is whole: some servers keep the connection open although asked not to.
async fn read(stream: TcpStream) -> io::Result<Answer> {
    let mut stream = stream.take(MOST_BYTES);
    let mut bytes = Vec::new();
    loop {
        let ended = stream.read_buf(&mut bytes).await? == 0;
        match parse(&bytes, ended) {
            Some(answer) => return Ok(answer),
            None if ended => return Err(io::Error::other("not a whole HTTP answer")),
            None => {}
        }
    }
}

fn split(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    let at = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(at)?;
    // Header lines are made of these: nothing may break out of its line.
    let clean = !host.is_empty() && !url.contains(|c: char| c.is_control() || c == ' ');
    clean.then_some((host, if path.is_empty() { "/" } else { path }))
}

fn with_port(host: &str) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { host.to_owned() } else { format!("{host}:80") }
}

/// `None` while something is missing. An answer that does not tell its length ends with the connection.
fn parse(bytes: &[u8], ended: bool) -> Option<Answer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(bytes.get(..end)?).ok()?.to_ascii_lowercase();
    let body = bytes.get(end + 4..)?;
    let status = head.split([' ', '\r']).nth(1)?.parse().ok()?;
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let body = if field("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        unchunk(body)?
    } else if let Some(length) = field("content-length").and_then(|value| value.trim().parse().ok()) {
        body.get(..length)?.to_vec()
    } else if ended {
        body.to_vec()
    } else {
        return None;
    };
    Some(Answer { status, body })
}

fn unchunk(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|window| window == b"\r\n")?;
        let head = std::str::from_utf8(bytes.get(..end)?).ok()?;
        let size = usize::from_str_radix(head.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        let start = end + 2;
        let stop = start.checked_add(size)?;
        body.extend_from_slice(bytes.get(start..stop)?);
        bytes = bytes.get(stop + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_chunked_answers_are_read_and_cut_ones_are_none() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(parse(whole, false).unwrap().json(), Some(serde_json::json!({})));
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1;x\r\n{\r\n1\r\n}\r\n0\r\n\r\n";
        assert_eq!(parse(chunked, false).unwrap().body, b"{}");
        for cut in 0..chunked.len() - 5 {
            assert!(parse(&chunked[..cut], true).is_none(), "{cut}");
        }
        assert!(
            parse(b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx", true).is_none()
        );
    }

    #[test]
    fn addresses_are_taken_apart_and_foreign_ones_refused() {
        assert_eq!(split("http://a:1/x?y"), Some(("a:1", "/x?y")));
        assert_eq!(split("http://a"), Some(("a", "/")));
        for bad in ["https://a/x", "http:///x", "http://a/\r\nX: y", "http://a b/"] {
            assert_eq!(split(bad), None, "{bad}");
        }
        assert_eq!((with_port("a").as_str(), with_port("[::1]:7").as_str()), ("a:80", "[::1]:7"));
    }
}
