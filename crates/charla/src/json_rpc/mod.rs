//! JSON-RPC as lines in both directions: what comes, what is answered, and the answers to what is asked of the client.

mod requests;

use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charla_core::CancellationToken;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

pub use requests::{Incoming, Requests};

/// So many messages wait in each direction; who sends more has to wait.
const WAITING: usize = 64;
/// The longest line that is taken.
const LONGEST: usize = 16 * 1024 * 1024;

/// The line is no JSON.
const PARSE_ERROR: i64 = -32700;
/// The message is no request, or none that can be made now.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The method does not take these parameters.
pub const INVALID_PARAMS: i64 = -32602;
/// It cannot be done.
pub const INTERNAL_ERROR: i64 = -32603;

/// Something that came.
#[derive(Debug)]
enum Line {
    /// JSON.
    Message(Value),
    /// More than is taken: of its fields those that stand before what is too long, see [`beginning`].
    TooLong(Value),
    /// Anything else.
    Nonsense,
}

/// What the writing thread is given.
enum Outgoing {
    Message(Value),
    /// Whoever waits for this knows that everything before it was written.
    Mark(oneshot::Sender<()>),
}

/// Why a request of ours has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// The client answered with an error.
    #[error("{0}")]
    Refused(String),
    /// The client is gone.
    #[error("the client is gone")]
    Gone,
}

/// The way to the client.
pub struct Connection {
    outgoing: mpsc::Sender<Outgoing>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    next: AtomicU64,
    /// Nothing more comes from the client.
    gone: CancellationToken,
    /// The notification that tells the client that nobody waits for an answer any more.
    cancelled: &'static str,
}

impl Connection {
    /// Begins to read and to write, on threads of their own: both may block. `cancelled` is the notification by which the
    /// protocol takes a request back; at most `most` requests are worked on at once.
    pub fn start(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
        cancelled: &'static str,
        most: usize,
    ) -> (Arc<Self>, Requests) {
        let (outgoing, to_send) = mpsc::channel(WAITING);
        let (heard, lines) = mpsc::channel(WAITING);
        std::thread::spawn(move || read_lines(input, &heard));
        std::thread::spawn(move || write_lines(output, to_send));
        let connection = Arc::new(Self {
            outgoing,
            asked: Mutex::default(),
            next: AtomicU64::new(1),
            gone: CancellationToken::new(),
            cancelled,
        });
        (connection.clone(), Requests::new(connection, lines, most))
    }

    /// Sends a message. A client that is gone gets none.
    async fn send(&self, message: Value) {
        let _ = self.outgoing.send(Outgoing::Message(message)).await;
    }

    /// Answers a request of the client.
    pub async fn answer(&self, id: &Value, result: &Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    /// Answers a request of the client with an error.
    pub async fn refuse(&self, id: &Value, code: i64, message: &str) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})).await;
    }

    /// Tells the client something.
    pub async fn notify(&self, method: &str, params: &Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Tells the client something that may be lost.
    pub(crate) fn mention(&self, method: &str, params: &Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let _ = self.outgoing.try_send(Outgoing::Message(message));
    }

    /// Asks the client. Dropping the future tells it that nobody waits any more.
    pub async fn request(&self, method: &str, params: &Value) -> Result<Value, NoAnswer> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.asked().insert(id, answer);
        let waiting = Waiting { connection: self, id };
        if self.is_gone() {
            return Err(NoAnswer::Gone);
        }
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let mut message = answered.await.map_err(|_| NoAnswer::Gone)?;
        drop(waiting);
        message.get_mut("result").map(Value::take).ok_or_else(|| {
            let why = message.pointer("/error/message").and_then(Value::as_str);
            NoAnswer::Refused(why.unwrap_or("it gave neither a result nor a reason").to_owned())
        })
    }

    /// The client has answered what we asked.
    fn answered(&self, id: &Value, message: Value) {
        if let Some(asked) = id.as_u64().and_then(|id| self.asked().remove(&id)) {
            let _ = asked.send(message);
        }
    }

    /// The client is gone: whoever waits for an answer of its waits no longer.
    pub fn close(&self) {
        self.gone.cancel();
        self.asked().clear();
    }

    /// True once nothing more comes from the client. It may still read what it asked for.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    /// Waits until nothing more comes from the client.
    pub async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Waits until everything that was sent is written, at most so long: a client may be slow to read, or never read.
    pub async fn flush(&self, patience: Duration) {
        let (written, is_written) = oneshot::channel();
        let flushed = async {
            if self.outgoing.send(Outgoing::Mark(written)).await.is_ok() {
                // Dropped where nobody reads any more.
                let _ = is_written.await;
            }
        };
        let _ = tokio::time::timeout(patience, flushed).await;
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Value>>> {
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
            self.connection.mention(self.connection.cancelled, &params);
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
        let message = match is_long {
            true => Line::TooLong(beginning(&line)),
            false => serde_json::from_slice(&line).map_or(Line::Nonsense, Line::Message),
        };
        if heard.blocking_send(message).is_err()
            || (is_long && !line.ends_with(b"\n") && input.skip_until(b'\n').is_err())
        {
            return;
        }
    }
}

/// The fields of a message that was cut, with the values of `id` and `method` alone: whoever waits for an answer to it gets one.
fn beginning(line: &[u8]) -> Value {
    struct Fields<'a>(&'a mut Map<String, Value>);
    impl<'de> Visitor<'de> for Fields<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a message")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(name) = map.next_key::<String>()? {
                let is_told = matches!(name.as_str(), "id" | "method");
                // What is too long may be the value itself.
                let value = self.0.entry(name).or_insert(Value::Null);
                match is_told {
                    true => *value = map.next_value()?,
                    false => map.next_value::<IgnoredAny>().map(drop)?,
                }
            }
            Ok(())
        }
    }
    let mut fields = Map::new();
    // It ends in the middle: that this fails says nothing.
    let _ = serde_json::Deserializer::from_slice(line).deserialize_map(Fields(&mut fields));
    Value::from(fields)
}

fn write_lines(mut output: impl Write, mut to_send: mpsc::Receiver<Outgoing>) {
    while let Some(outgoing) = to_send.blocking_recv() {
        match outgoing {
            Outgoing::Message(message) => {
                if writeln!(output, "{message}").is_err() || output.flush().is_err() {
                    return;
                }
            }
            Outgoing::Mark(written) => {
                // Whoever wanted to know may have given up.
                let _ = written.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
