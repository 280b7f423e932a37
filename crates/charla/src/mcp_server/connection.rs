//! Messages as lines, in both directions, and the answers to what we ask the client.

use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// So many messages wait in each direction; who sends more has to wait.
const WAITING: usize = 64;
/// The longest line that is taken.
const LONGEST: usize = 16 * 1024 * 1024;

/// Something that came.
pub(super) enum Line {
    /// JSON.
    Message(Value),
    /// Anything else.
    Nonsense,
}

/// The way to the client.
pub(super) struct Connection {
    outgoing: mpsc::Sender<Value>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    next: AtomicU64,
    /// The client puts questions to its user.
    asks: AtomicBool,
}

impl Connection {
    /// Begins to read and to write, on threads of their own: both may block.
    pub(super) fn start(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> (Arc<Self>, mpsc::Receiver<Line>) {
        let (outgoing, to_send) = mpsc::channel(WAITING);
        let (heard, lines) = mpsc::channel(WAITING);
        std::thread::spawn(move || read_lines(input, &heard));
        std::thread::spawn(move || write_lines(output, to_send));
        let connection =
            Self { outgoing, asked: Mutex::default(), next: AtomicU64::new(1), asks: AtomicBool::new(false) };
        (Arc::new(connection), lines)
    }

    /// Sends a message. A client that is gone gets none.
    pub(super) async fn send(&self, message: Value) {
        let _ = self.outgoing.send(message).await;
    }

    /// Answers a request of the client.
    pub(super) async fn answer(&self, id: &Value, result: &Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    /// Tells the client something that may be lost.
    pub(super) fn mention(&self, method: &str, params: &Value) {
        let _ = self.outgoing.try_send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Whether the client puts questions to its user.
    pub(super) fn can_ask(&self, asks: bool) {
        self.asks.store(asks, Ordering::Release);
    }

    /// True when questions can be put to the client's user.
    pub(super) fn asks(&self) -> bool {
        self.asks.load(Ordering::Acquire)
    }

    /// Asks the client; nothing where it refuses or is gone. Dropping the future tells it that nobody waits any more.
    pub(super) async fn request(&self, method: &str, params: &Value) -> Option<Value> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.asked().insert(id, answer);
        let waiting = Waiting { connection: self, id };
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let mut message = answered.await.ok()?;
        drop(waiting);
        message.get_mut("result").map(Value::take)
    }

    /// The client has answered what we asked.
    pub(super) fn answered(&self, id: &Value, message: Value) {
        if let Some(asked) = id.as_u64().and_then(|id| self.asked().remove(&id)) {
            let _ = asked.send(message);
        }
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Value>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of ours whose answer is waited for.
struct Waiting<'a> {
    connection: &'a Connection,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.connection.asked().remove(&self.id).is_some() {
            let params = json!({"requestId": self.id, "reason": "it is answered"});
            self.connection.mention("notifications/cancelled", &params);
        }
    }
}

fn read_lines(mut input: impl BufRead, heard: &mpsc::Sender<Line>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut input).take(LONGEST as u64 + 1).read_until(b'\n', &mut line);
        let Ok(1..) = read else { return };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let is_long = line.len() > LONGEST;
        let message = serde_json::from_slice(&line).ok().filter(|_| !is_long);
        if heard.blocking_send(message.map_or(Line::Nonsense, Line::Message)).is_err() || is_long {
            return;
        }
    }
}

fn write_lines(mut output: impl Write, mut to_send: mpsc::Receiver<Value>) {
    while let Some(message) = to_send.blocking_recv() {
        if writeln!(output, "{message}").is_err() || output.flush().is_err() {
            return;
        }
    }
}
