//! A connection to a server: requests and their answers, in any order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::message::{self, Incoming, RequestId, RpcError};
use crate::transport::Transport;

/// So many requests may wait to be sent.
const WAITING: usize = 64;

/// Takes what a server tells of a call's progress.
pub(crate) type Live = Box<dyn Fn(&str) + Send + Sync>;

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
        live: Option<Live>,
        answer: oneshot::Sender<Result<Value, RpcError>>,
    },
    Notify(Value),
    /// Nobody waits for this any more.
    Cancel(RequestId),
}

struct Pending {
    answer: oneshot::Sender<Result<Value, RpcError>>,
    live: Option<Live>,
}

impl Client {
    /// Speaks through this transport. `roots` is what a server is told that asks where we work.
    pub(crate) fn new(transport: Transport, roots: Value) -> Self {
        let (commands, waiting) = mpsc::channel(WAITING);
        let (end, changed) = (Arc::<End>::default(), Arc::<Notify>::default());
        let driver = Driver { transport, roots, pending: HashMap::new(), changed: changed.clone() };
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
        live: Option<Live>,
    ) -> Result<Value, RequestError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if live.is_some()
            && let Some(params) = params.as_object_mut()
        {
            params.insert("_meta".to_owned(), json!({"progressToken": id}));
        }
        let (answer, answered) = oneshot::channel();
        let command = Command::Request { id, message: message::request(id, method, &params), live, answer };
        self.commands.send(command).await.map_err(|_| self.gone())?;
        let mut waiting = Waiting { commands: &self.commands, id, answered: false };
        let answer = answered.await;
        waiting.answered = true;
        Ok(answer.map_err(|_| self.gone())??)
    }

    /// Asks for something that has to come within this time.
    pub(crate) async fn request_within(
        &self,
        limit: Duration,
        method: &str,
        params: Value,
        live: Option<Live>,
    ) -> Result<Value, RequestError> {
        let asked = tokio::time::timeout(limit, self.request(method, params, live));
        asked.await.unwrap_or(Err(RequestError::Late(limit)))
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
    roots: Value,
    pending: HashMap<RequestId, Pending>,
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
            Some(complaints) => complaints.last_line().await,
            None => None,
        };
        complaint.map_or_else(|| why.clone(), |line| format!("{why}: {line}"))
    }

    fn command(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Request { id, message, live, answer } => {
                self.pending.insert(id, Pending { answer, live });
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
            Some(Incoming::Request { id, method }) => self.send(match method.as_str() {
                "ping" => message::answer(&id, &json!({})),
                "roots/list" => message::answer(&id, &json!({"roots": self.roots})),
                _ => message::unknown_method(&id, &method),
            }),
            Some(Incoming::Notification { method, params }) => {
                match method.as_str() {
                    "notifications/progress" => self.progress(&params),
                    method if method.ends_with("/list_changed") => self.changed.notify_one(),
                    _ => {}
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn progress(&self, params: &Value) {
        let pending =
            params.get("progressToken").and_then(Value::as_u64).and_then(|id| self.pending.get(&id));
        let Some(live) = pending.and_then(|pending| pending.live.as_ref()) else { return };
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
