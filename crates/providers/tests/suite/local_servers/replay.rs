//! A socket that answers with recorded bytes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::exchange::Exchange;

/// How the body goes out.
#[derive(Clone, Copy, PartialEq)]
pub enum Pieces {
    Whole,
    /// Each byte is a transfer chunk of its own.
    Bytes,
    /// Only so many bytes, and then a proper end.
    First(usize),
}

/// A server on loopback that gives the same answer to everything. Ends when dropped.
pub struct Replay {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
    task: JoinHandle<()>,
}

impl Replay {
    pub async fn start(exchange: &Exchange, pieces: Pieces) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (answer, seen) = (response(exchange, pieces), asked.clone());
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                if let Some(body) = request(&mut stream).await {
                    seen.lock().expect("a lock").push(body);
                    stream.write_all(&answer).await.ok();
                    stream.shutdown().await.ok();
                }
            }
        });
        Self { address, asked, task }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of the requests so far; null for those that had none.
    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().expect("a lock").clone()
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads one request and gives its body.
async fn request(stream: &mut TcpStream) -> Option<Value> {
    let mut read = Vec::new();
    loop {
        let head = read.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        if let Some(end) = head {
            let text = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |length| length.trim().parse().expect("a length"));
            if read.len() >= end + 4 + length {
                return Some(serde_json::from_slice(&read[end + 4..end + 4 + length]).unwrap_or_default());
            }
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

/// The recorded head and body. The recordings were made by a client that had already undone the transfer
/// coding, so the framing is made anew.
fn response(exchange: &Exchange, pieces: Pieces) -> Vec<u8> {
    let framing = ["content-length:", "transfer-encoding:", "connection:", "keep-alive:"];
    let is_framing = |line: &str| framing.iter().any(|name| line.to_ascii_lowercase().starts_with(name));
    let mut answer = Vec::new();
    for line in exchange.head.split("\r\n").filter(|line| !is_framing(line)) {
        answer.extend_from_slice(line.as_bytes());
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    let (size, end) = match pieces {
        Pieces::Whole => (usize::MAX, exchange.body.len()),
        Pieces::Bytes => (1, exchange.body.len()),
        Pieces::First(end) => (usize::MAX, end),
    };
    for piece in exchange.body[..end].chunks(size) {
        answer.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        answer.extend_from_slice(piece);
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}
