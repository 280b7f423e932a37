//! `charla acp`: sessions in an editor, over the Agent Client Protocol.
//!
//! An editor starts the program and speaks JSON-RPC with it, a message a line. Every session of the editor is a session of
//! this user's: kept in a journal, under the same rules, there to be gone on with from a terminal. What the editor's user
//! sees is told by a `feed::Feed` for each session, which follows its records; what they ask for goes to the session as a
//! command. The messages are written by hand: the types of the official crate would make the program half a megabyte
//! larger. Tests hold them against those types, and against the official library of another language.

mod call;
mod client;
mod commands;
mod editor;
mod feed;
mod hints;
mod opening;
mod options;
mod permission;
mod prompt;
mod questions;
mod refused;
mod screen;
mod session;
mod turns;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use charla::Charla;
use charla::json_rpc::{Connection, INVALID_REQUEST, Incoming, METHOD_NOT_FOUND, Requests};
use charla::settings::Override;
use charla_core::CancellationToken;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use client::Client;
use refused::Refused;
use session::EditorSession;

/// Who speaks for the editor's user, in the journal.
pub(crate) const ME: &str = "editor";
/// The version of the protocol that is spoken.
const VERSION: u64 = 1;
/// Takes a request back.
const CANCELLED: &str = "$/cancel_request";
/// So many requests are worked on at once.
const MOST_REQUESTS: usize = 64;
/// How long sessions may take to end when the editor is gone.
const PARTING: Duration = Duration::from_secs(5);

/// Serves one editor until it is gone. Settings are read for each session, with `overrides` on top.
///
/// What it asked before is answered. A turn that runs then is cancelled; a question that waits for an answer goes on
/// waiting, for whoever opens the session next.
pub async fn serve(
    charla: &Charla,
    overrides: Vec<Override>,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) {
    let (connection, mut requests) = Connection::start(input, output, CANCELLED, MOST_REQUESTS);
    let work = Arc::new(Work {
        charla: charla.clone(),
        overrides,
        connection,
        client: OnceLock::new(),
        sessions: Mutex::default(),
    });
    while let Some(Incoming { id, method, params }) = requests.next().await {
        match id {
            Some(id) => work.request(&mut requests, id, method, params).await,
            None if method == "session/cancel" => work.cancel(&requests, &params).await,
            None => {}
        }
    }
    work.end(&mut requests).await;
}

/// What requests work with.
pub(crate) struct Work {
    pub(crate) charla: Charla,
    pub(crate) overrides: Vec<Override>,
    pub(crate) connection: Arc<Connection>,
    /// What the editor can do, once it has said so.
    pub(crate) client: OnceLock<Client>,
    sessions: Mutex<HashMap<String, Arc<EditorSession>>>,
}

impl Work {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<EditorSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open session that these parameters name.
    fn session(&self, params: &Value) -> Result<Arc<EditorSession>, Refused> {
        let id = refused::text(params, "sessionId")?;
        let found = self.sessions().get(id).cloned();
        found.ok_or_else(|| Refused::params(format!("no session `{}` is open here", refused::shown(id))))
    }

    /// Takes a session in, unless it is open already.
    pub(crate) fn keep(&self, session: Arc<EditorSession>) {
        self.sessions().insert(session.id().to_owned(), session);
    }

    /// True for a session that is open here.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.sessions().contains_key(id)
    }
}

impl Work {
    async fn request(self: &Arc<Self>, requests: &mut Requests, id: Value, method: String, params: Value) {
        if method == "initialize" {
            let greeting = self.greet(&params);
            return self.connection.answer(&id, &greeting).await;
        }
        if self.client.get().is_none() {
            return self.connection.refuse(&id, INVALID_REQUEST, "`initialize` comes first").await;
        }
        // A prompt has its session from the beginning: the editor may leave right behind it.
        let prompted = (method == "session/prompt").then(|| self.session(&params));
        let about = prompted.as_ref().and_then(|open| Some(open.as_ref().ok()?.id().to_owned()));
        let (work, answered) = (self.clone(), id.clone());
        let answer = async move |cancel: CancellationToken| {
            let result = match prompted {
                Some(Ok(session)) => session.prompt(&work, &params, cancel).await,
                Some(Err(refused)) => Err(refused),
                None => answer(&work, &method, &params, cancel).await,
            };
            match result {
                Ok(result) => {
                    work.connection.answer(&answered, &result).await;
                    tokio::select! {
                        () = work.introduce(&method, &params, &result) => {}
                        () = work.connection.gone() => {}
                    }
                }
                Err(refused) => work.connection.refuse(&answered, refused.code, &refused.message).await,
            }
        };
        requests.begin(&id, about, answer).await;
    }

    /// Hears what the editor can do, and says what we can.
    fn greet(&self, params: &Value) -> Value {
        // Who says it twice meant it the first time.
        let _ = self.client.set(Client::of(params));
        json!({
            "protocolVersion": VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": true},
                "sessionCapabilities": {
                    "list": {}, "delete": {}, "resume": {}, "close": {}, "additionalDirectories": {},
                },
            },
            "agentInfo": {"name": "charla", "title": "Charla", "version": env!("CARGO_PKG_VERSION")},
            "authMethods": [],
        })
    }

    /// Stops the prompts of a session, however far they are; where there are none, the turn that runs.
    async fn cancel(&self, requests: &Requests, params: &Value) {
        let Ok(session) = self.session(params) else { return };
        if requests.cancel(session.id()) == 0 {
            session.stop().await;
        }
    }

    /// The editor is gone: nobody waits for it, and its sessions are closed.
    async fn end(&self, requests: &mut Requests) {
        self.connection.close();
        requests.settle(PARTING).await;
        let sessions: Vec<_> = self.sessions().drain().map(|(_, session)| session).collect();
        let mut closing = JoinSet::new();
        for session in sessions {
            closing.spawn(async move { session.part().await });
        }
        let closed = async { while closing.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(PARTING, closed).await;
        requests.finish(PARTING).await;
        self.connection.flush(PARTING).await;
    }

    /// Tells of a session that was opened what the editor takes only once it knows of it.
    async fn introduce(&self, method: &str, params: &Value, result: &Value) {
        let opened = match method {
            "session/new" => self.session(result),
            "session/load" | "session/resume" => self.session(params),
            _ => return,
        };
        if let Ok(session) = opened {
            session.introduce(self).await;
        }
    }
}

async fn answer(
    work: &Arc<Work>,
    method: &str,
    params: &Value,
    cancel: CancellationToken,
) -> Result<Value, Refused> {
    match method {
        "authenticate" | "logout" => Ok(json!({})),
        "session/new" => opening::new(work, params, cancel).await,
        "session/load" => opening::load(work, params, cancel, true).await,
        "session/resume" => opening::load(work, params, cancel, false).await,
        "session/list" => opening::list(work, params).await,
        "session/delete" => opening::delete(work, params).await,
        "session/close" => {
            let session = work.session(params)?;
            work.sessions().remove(session.id());
            session.part().await;
            Ok(json!({}))
        }
        "session/set_mode" => {
            work.session(params)?.set_mode(refused::text(params, "modeId")?).await?;
            Ok(json!({}))
        }
        "session/set_config_option" => work.session(params)?.set_option(params).await,
        _ => Err(Refused {
            code: METHOD_NOT_FOUND,
            message: format!("there is no method `{}`", refused::shown(method)),
        }),
    }
}
