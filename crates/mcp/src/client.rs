//! A connection to a server: requests and their answers, in any order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::attendance::{Attendance, ServerRequests, Wish};
use crate::message::{self, Incoming, RequestId, RpcError};
use crate::transport::Transport;

/// So many requests may wait to be sent.
const WAITING: usize = 64;

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The server says so.
    #[error(transparent)]
    Refused(#[from] RpcError),
    /// The connection ended.
    #[error("{0}")]
    Gone(String),
    /// It took too long.
    #[error("it did not answer within {} s", .0.as_secs())]
    Late(Duration),
    /// The answer is none.
    #[error("its answer cannot be read: {0}")]
    Nonsense(String),
}

/// A connection. Dropping it ends the connection, and the server if it is a process.
pub(crate) struct Client {
    commands: mpsc::Sender<Command>,
    next: AtomicU64,
    end: Arc<End>,
    changed: Arc<Notify>,
    _driver: JoinSet<()>,
}

/// How the connection ended, once it has.
#[derive(Default)]
struct End {
    over: CancellationToken,
    why: OnceLock<String>,
}

enum Command {
    Request {
        id: RequestId,
        message: Value,
        attendance: Attendance,
        answer: oneshot::Sender<Result<Value, RpcError>>,
    },
    Notify(Value),
    /// Nobody waits for this any more.
    Cancel(RequestId),
}

struct Pending {
    answer: oneshot::Sender<Result<Value, RpcError>>,
    attendance: Attendance,
}

impl Client {
    /// Speaks through this transport with the server of this name. `roots` is what it is told when it asks where we work.
    pub(crate) fn new(transport: Transport, server: &str, roots: Value) -> Self {
        let (commands, waiting) = mpsc::channel(WAITING);
        let (end, changed) = (Arc::<End>::default(), Arc::<Notify>::default());
        let driver = Driver {
            transport,
            server: server.to_owned(),
            roots,
            pending: BTreeMap::new(),
            requests: ServerRequests::default(),
            changed: changed.clone(),
        };
        let ending = end.clone();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let why = driver.run(waiting).await;
            let _ = ending.why.set(why);
            ending.over.cancel();
        });
        Self { commands, next: AtomicU64::new(1), end, changed, _driver: task }
    }

    /// Asks for something. Dropping the future tells the server that nobody waits any more.
    pub(crate) async fn request(
        &self,
        method: &str,
        mut params: Value,
        attendance: Attendance,
    ) -> Result<Value, RequestError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if attendance.live.is_some()
            && let Some(params) = params.as_object_mut()
        {
            params.insert("_meta".to_owned(), json!({"progressToken": id}));
        }
        let (answer, answered) = oneshot::channel();
        let command =
            Command::Request { id, message: message::request(id, method, &params), attendance, answer };
        self.commands.send(command).await.map_err(|_| self.gone())?;
        let mut waiting = Waiting { commands: &self.commands, id, answered: false };
        let answer = answered.await;
        waiting.answered = true;
        Ok(answer.map_err(|_| self.gone())??)
    }

    /// Asks for something that has to come within this time. While the server waits for a person or the model, its time
    /// begins anew.
    pub(crate) async fn request_within(
        &self,
        limit: Duration,
        method: &str,
        params: Value,
        attendance: Attendance,
    ) -> Result<Value, RequestError> {
        let asking = attendance.asking.clone();
        let mut request = std::pin::pin!(self.request(method, params, attendance));
        loop {
            tokio::select! {
                answer = &mut request => return answer,
                () = tokio::time::sleep(limit) => {
                    if asking.load(Ordering::Acquire) == 0 {
                        return Err(RequestError::Late(limit));
                    }
                }
            }
        }
    }

    /// Tells the server something.
    pub(crate) async fn notify(&self, method: &str) {
        // Who is gone need not know.
        let _ = self.commands.send(Command::Notify(message::notification(method, &Value::Null))).await;
    }

    /// True when nothing comes any more.
    pub(crate) fn is_over(&self) -> bool {
        self.end.over.is_cancelled()
    }

    /// Waits until nothing comes any more, and says why.
    pub(crate) async fn over(&self) -> String {
        self.end.over.cancelled().await;
        self.why()
    }

    /// Waits until the server says that what it offers has changed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn why(&self) -> String {
        self.end.why.get().cloned().unwrap_or_else(|| "the connection ended".to_owned())
    }

    fn gone(&self) -> RequestError {
        RequestError::Gone(self.why())
    }
}

/// A request whose answer is waited for.
struct Waiting<'a> {
    commands: &'a mpsc::Sender<Command>,
    id: RequestId,
    answered: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.answered {
            // With the queue full the server learns nothing, and its answer is dropped when it comes.
            let _ = self.commands.try_send(Command::Cancel(self.id));
        }
    }
}

/// The task that owns a connection.
struct Driver {
    transport: Transport,
    server: String,
    roots: Value,
    pending: BTreeMap<RequestId, Pending>,
    requests: ServerRequests,
    changed: Arc<Notify>,
}

impl Driver {
    /// Carries messages until there are no more; says why.
    async fn run(mut self, mut commands: mpsc::Receiver<Command>) -> String {
        let why = loop {
            let done = tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.command(command),
                    None => return "it is not needed any more".to_owned(),
                },
                message = self.transport.incoming.recv() => match message {
                    Some(Ok(message)) => self.message(message),
                    Some(Err(why)) => Err(why),
                    None => Err("it ended".to_owned()),
                },
                answer = self.requests.next() => self.send(answer),
            };
            if let Err(why) = done {
                break why;
            }
        };
        self.with_complaint(why).await
    }

    /// What the server said last on its standard error is most often the reason.
    async fn with_complaint(self, why: String) -> String {
        let complaint = match self.transport.complaints {
            Some(complaints) => complaints.last_lines().await,
            None => None,
        };
        complaint.map_or_else(|| why.clone(), |lines| format!("{why}: {lines}"))
    }

    fn command(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Request { id, message, attendance, answer } => {
                self.pending.insert(id, Pending { answer, attendance });
                self.send(message)
            }
            Command::Notify(message) => self.send(message),
            Command::Cancel(id) => match self.pending.remove(&id) {
                Some(_) => {
                    let params = json!({"requestId": id, "reason": "nobody waits for it any more"});
                    self.send(message::notification("notifications/cancelled", &params))
                }
                None => Ok(()),
            },
        }
    }

    fn message(&mut self, message: Value) -> Result<(), String> {
        match message::read(message) {
            Some(Incoming::Answer { id, result }) => {
                // An id that nobody waits for is a late answer, or a made-up one.
                if let Some(pending) = self.pending.remove(&id) {
                    let _ = pending.answer.send(result);
                }
                Ok(())
            }
            Some(Incoming::Request { id, method, params }) => self.request(&id, &method, params),
            Some(Incoming::Notification { method, params }) => {
                match method.as_str() {
                    "notifications/progress" => self.progress(&params),
                    "notifications/cancelled" => self.requests.cancel(&params),
                    method if method.ends_with("/list_changed") => self.changed.notify_one(),
                    _ => {}
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The server wants something. What it wants of people or the model belongs to a call of ours that it has not answered:
    /// the latest one.
    fn request(&mut self, id: &Value, method: &str, params: Value) -> Result<(), String> {
        let attended = || self.pending.values().rev().find_map(|pending| pending.attendance.way());
        let wish = match method {
            "ping" => return self.send(message::answer(id, &json!({}))),
            "roots/list" => return self.send(message::answer(id, &json!({"roots": self.roots}))),
            "elicitation/create" => Wish::Elicitation(params),
            "sampling/createMessage" => Wish::Sampling(params),
            _ => return self.send(message::unknown_method(id, method)),
        };
        match self.requests.begin(id, &self.server, wish, attended()) {
            Some(answer) => self.send(answer),
            None => Ok(()),
        }
    }

    fn progress(&self, params: &Value) {
        let pending =
            params.get("progressToken").and_then(Value::as_u64).and_then(|id| self.pending.get(&id));
        let Some(live) = pending.and_then(|pending| pending.attendance.live.as_ref()) else { return };
        let number = |key: &str| params.get(key).and_then(Value::as_f64);
        let mut line = match (number("progress"), number("total")) {
            (Some(done), Some(total)) => format!("{done} of {total}"),
            (Some(done), None) => done.to_string(),
            (None, _) => String::new(),
        };
        if let Some(words) = params.get("message").and_then(Value::as_str) {
            let words: String = words.chars().take(500).collect();
            line = format!("{line}: {words}");
        }
        live(&format!("{}\n", charla_proto::text::one_line(&line)));
    }

    fn send(&mut self, message: Value) -> Result<(), String> {
        match self.transport.outgoing.try_send(message) {
            // Its end is told by what comes, or does not come any more.
            Ok(()) | Err(TrySendError::Closed(_)) => Ok(()),
            Err(TrySendError::Full(_)) => Err("it does not read what it is sent".to_owned()),
        }
    }
}
