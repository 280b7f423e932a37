//! What a client wants: its requests, each worked on beside the others, until it is gone.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use charla_core::CancellationToken;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Connection, INVALID_REQUEST, LONGEST, Line, PARSE_ERROR};

/// What a client sent.
#[derive(Debug)]
pub struct Incoming {
    /// What it wants an answer by; a notification has none.
    pub id: Option<Value>,
    /// What it wants.
    pub method: String,
    /// With what.
    pub params: Value,
}

/// The requests of one client. Answers to our own go to whoever waits for them, and what the client takes back is
/// cancelled, while the next is waited for.
pub struct Requests {
    connection: Arc<Connection>,
    lines: mpsc::Receiver<Line>,
    /// Messages that came together with the last one.
    batch: VecDeque<Value>,
    /// The requests that are worked on, by their ids as they were written.
    running: HashMap<String, Running>,
    tasks: JoinSet<String>,
    most: usize,
}

/// A request that is worked on.
struct Running {
    cancel: CancellationToken,
    /// What it is about. Known before the work begins: a cancel may come right behind the request.
    about: Option<String>,
}

impl Requests {
    pub(super) fn new(connection: Arc<Connection>, lines: mpsc::Receiver<Line>, most: usize) -> Self {
        Self {
            connection,
            lines,
            batch: VecDeque::new(),
            running: HashMap::new(),
            tasks: JoinSet::new(),
            most,
        }
    }

    /// The next thing the client wants; nothing when it is gone. What is no message is refused.
    pub async fn next(&mut self) -> Option<Incoming> {
        loop {
            while let Some(message) = self.batch.pop_front() {
                if let Some(incoming) = self.take(message).await {
                    return Some(incoming);
                }
            }
            tokio::select! {
                line = self.lines.recv() => match line {
                    None => {
                        self.connection.gone.cancel();
                        return None;
                    }
                    Some(Line::Message(Value::Array(messages))) if !messages.is_empty() => {
                        self.batch.extend(messages);
                    }
                    Some(Line::Message(message)) => self.batch.push_back(message),
                    Some(Line::TooLong(beginning)) => self.refuse_long(&beginning).await,
                    Some(Line::Nonsense) => {
                        self.connection.refuse(&Value::Null, PARSE_ERROR, "that is no JSON").await;
                    }
                },
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    if let Ok(id) = done {
                        self.running.remove(&id);
                    }
                }
            }
        }
    }

    async fn take(&self, mut message: Value) -> Option<Incoming> {
        let id = message.get("id").filter(|id| is_id(id)).cloned();
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        match (method, id) {
            (Some(_), None) if message.get("id").is_some() => {
                let why = "the id of a request is a text or a number";
                self.connection.refuse(&Value::Null, INVALID_REQUEST, why).await;
            }
            (Some(method), None) if method == self.connection.cancelled => self.take_back(&message),
            (Some(method), id) => {
                let params = message.get_mut("params").map(Value::take).unwrap_or_default();
                return Some(Incoming { id, method, params });
            }
            (None, Some(id)) => self.connection.answered(&id, message),
            (None, None) => {
                self.connection.refuse(&Value::Null, INVALID_REQUEST, "that is no request").await;
            }
        }
        None
    }

    /// What is too long gets an answer, or is one to us: nobody waits for it without an end.
    async fn refuse_long(&self, beginning: &Value) {
        let why = format!("a message has at most {} MB", LONGEST / (1024 * 1024));
        let id = beginning.get("id").filter(|id| is_id(id)).unwrap_or(&Value::Null);
        match beginning.get("method") {
            None if !id.is_null() => self.connection.answered(id, json!({"error": {"message": why}})),
            _ => self.connection.refuse(id, INVALID_REQUEST, &why).await,
        }
    }

    fn take_back(&self, message: &Value) {
        let id = message.pointer("/params/requestId").map(Value::to_string);
        if let Some(running) = id.and_then(|id| self.running.get(&id)) {
            running.cancel.cancel();
        }
    }

    /// Works on the request with this id beside the others; refuses it where there are too many, or one of that id.
    pub async fn begin<W>(
        &mut self,
        id: &Value,
        about: Option<String>,
        work: impl FnOnce(CancellationToken) -> W,
    ) where
        W: Future<Output = ()> + Send + 'static,
    {
        let key = id.to_string();
        if self.tasks.len() >= self.most || self.running.contains_key(&key) {
            let why = format!("more than {} requests at once, or two with one id", self.most);
            return self.connection.refuse(id, INVALID_REQUEST, &why).await;
        }
        let cancel = CancellationToken::new();
        self.running.insert(key.clone(), Running { cancel: cancel.clone(), about });
        let work = work(cancel);
        self.tasks.spawn(async move {
            work.await;
            key
        });
    }

    /// Cancels the requests that are about this; how many there are.
    pub fn cancel(&self, about: &str) -> usize {
        let running = self.running.values().filter(|one| one.about.as_deref() == Some(about));
        running.map(|one| one.cancel.cancel()).count()
    }

    /// Waits so long until nothing runs but what is about something.
    pub async fn settle(&mut self, patience: Duration) {
        self.wait(patience, |one| one.about.is_none()).await;
    }

    /// Waits so long until nothing runs.
    pub async fn finish(&mut self, patience: Duration) {
        self.wait(patience, |_| true).await;
    }

    async fn wait(&mut self, patience: Duration, waited_for: impl Fn(&Running) -> bool) {
        let ended = async {
            while self.running.values().any(&waited_for) {
                match self.tasks.join_next().await {
                    Some(Ok(id)) => {
                        self.running.remove(&id);
                    }
                    Some(Err(_)) => {}
                    None => return,
                }
            }
        };
        let _ = tokio::time::timeout(patience, ended).await;
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_number()
}
