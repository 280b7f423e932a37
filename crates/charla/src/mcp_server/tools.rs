//! What can be asked of Charla: a prompt, the sessions there are, one of them to read.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use charla_core::CancellationToken;
use charla_core::session::Follower;
use charla_proto::text::{middle, one_line};
use charla_proto::{CancelTarget, Command, Reply, TurnEvent};
use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};

use super::ask::ask;
use super::sessions::OpenSessions;
use crate::Charla;
use crate::failure::{Failure, FailureKind};
use crate::json_rpc::Connection;
use crate::models::Prices;
use crate::session::OpenedSession;
use crate::settings::Override;
use crate::trust::TrustDemand;

/// So many sessions are listed where nothing else is said, and at most.
const LISTED: u64 = 50;
const MOST_LISTED: u64 = 1000;
/// So many characters of a session are told.
const MOST_READ: usize = 200_000;

/// The tools.
pub(super) const PROMPT: &str = "prompt";
const LIST: &str = "list_sessions";
const READ: &str = "read_session";

/// How much of an unknown tool's name is told.
const LONGEST_NAME: usize = 80;

/// What calls work with.
pub(super) struct Work {
    pub(super) charla: Charla,
    pub(super) overrides: Vec<Override>,
    pub(super) sessions: OpenSessions,
    pub(super) connection: Arc<Connection>,
    /// The client puts questions to its user.
    pub(super) asks: AtomicBool,
    /// The client has said who it is.
    pub(super) greeted: AtomicBool,
}

/// The tools, as the client lists them.
pub(super) fn list() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    json!([
        {
            "name": PROMPT,
            "description": "Has an agent do something in a folder and gives its answer, and the session's id. What needs approval is put to the user; where that is not possible, it is not done.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "text": text("What to do."),
                    "session": text("Goes on with this session, by its id; a new one begins where it is left out."),
                    "cwd": text("The folder to work in, an absolute path; for new sessions."),
                },
                "required": ["text"],
            },
        },
        {
            "name": LIST,
            "description": "Lists sessions, the latest first.",
            "inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED}}},
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": READ,
            "description": "What was said and done in a session, as Markdown.",
            "inputSchema": {
                "type": "object",
                "properties": {"session": text("Its id, or `latest`.")},
                "required": ["session"],
            },
            "annotations": {"readOnlyHint": true},
        },
    ])
}

/// What is wrong with the parameters of a call, before it is one: there is no such tool, or its arguments are no object.
pub(super) fn problem(params: &Value) -> Option<String> {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    if ![PROMPT, LIST, READ].contains(&name) {
        return Some(format!(
            "there is no tool `{}`",
            middle(&one_line(name), LONGEST_NAME).unwrap_or(one_line(name))
        ));
    }
    let is_object = params.get("arguments").is_none_or(|args| args.is_object() || args.is_null());
    (!is_object).then(|| format!("the arguments of `{name}` are no object"))
}

/// One call of a tool.
pub(super) struct Call<'a> {
    work: &'a Arc<Work>,
    /// Who prompts, in the journal.
    by: String,
    name: String,
    args: Value,
    progress: Option<Value>,
    steps: AtomicU64,
    cancel: CancellationToken,
}

impl<'a> Call<'a> {
    pub(super) fn new(work: &'a Arc<Work>, id: &Value, params: Value, cancel: CancellationToken) -> Self {
        let id: String = id.to_string().chars().take(40).collect();
        Self {
            work,
            by: format!("mcp client {}", one_line(&id)),
            name: params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            args: params.get("arguments").cloned().unwrap_or_default(),
            progress: params.pointer("/_meta/progressToken").cloned(),
            steps: AtomicU64::new(0),
            cancel,
        }
    }

    /// Runs it; a failure is a result, too.
    pub(super) async fn run(&self) -> Value {
        let done = match self.name.as_str() {
            PROMPT => self.prompt().await,
            LIST => self.list_sessions().await,
            READ => self.read_session().await,
            name => Err(Failure::input(format!("there is no tool `{}`", one_line(name)))),
        };
        done.unwrap_or_else(
            |failure| json!({"content": [{"type": "text", "text": failure.to_string()}], "isError": true}),
        )
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    fn needed(&self, name: &str) -> Result<&str, Failure> {
        self.text(name).ok_or_else(|| Failure::input(format!("`{name}` is missing, or no text")))
    }

    async fn list_sessions(&self) -> Result<Value, Failure> {
        let most = match self.args.get("limit") {
            None | Some(Value::Null) => LISTED,
            Some(limit) => {
                limit.as_u64().filter(|most| (1..=MOST_LISTED).contains(most)).ok_or_else(|| {
                    Failure::input(format!("`limit` is no whole number from 1 to {MOST_LISTED}"))
                })?
            }
        };
        let list = self.work.charla.sessions()?.list().await?;
        let used = list.sessions.iter().filter(|session| session.has_turns);
        let shown = used.take(usize::try_from(most).unwrap_or(usize::MAX)).map(|session| {
            json!({
                "session": session.session,
                "title": session.title,
                "cwd": session.started.cwd,
                "model": session.model,
            })
        });
        let sessions: Value = shown.collect();
        Ok(result(&format!("{sessions:#}"), json!({"sessions": sessions})))
    }

    async fn read_session(&self) -> Result<Value, Failure> {
        let which = self.needed("session")?;
        let settings = self.work.charla.settings(self.work.overrides.clone(), &TrustDemand::default())?;
        let story = self.work.charla.sessions()?.story(which, &Prices::new(&settings.settings)).await?;
        let text = story.to_markdown();
        let text = middle(&text, MOST_READ).unwrap_or(text);
        Ok(json!({"content": [{"type": "text", "text": text}]}))
    }

    async fn prompt(&self) -> Result<Value, Failure> {
        let text = self.needed("text")?;
        let session = self.session().await?;
        let answer = self.turn(&session, text).await;
        self.work.sessions.leave(&session).await;
        let answer = answer
            .map_err(|failure| Failure::new(failure.kind, format!("{failure} (session {})", session.id)))?;
        Ok(result(&answer, json!({"session": session.id, "answer": answer})))
    }

    /// The session to speak in.
    async fn session(&self) -> Result<Arc<OpenedSession>, Failure> {
        let (charla, overrides) = (&self.work.charla, self.work.overrides.clone());
        let cancel = self.cancel.clone();
        match (self.text("session"), self.text("cwd").map(PathBuf::from)) {
            (Some(_), Some(_)) => {
                Err(Failure::input("a session that goes on has its folder: leave `cwd` out"))
            }
            (Some(which), None) => self.work.sessions.resume(which, charla, overrides, cancel).await,
            (None, Some(folder)) if !folder.is_absolute() || !folder.is_dir() => {
                Err(Failure::input(format!("{} is no absolute path of a folder", folder.display())))
            }
            (None, folder) => self.work.sessions.begin(charla, overrides, folder, cancel).await,
        }
    }

    /// Says something and waits for the answer; the client's user is asked where it can be.
    async fn turn(&self, session: &Arc<OpenedSession>, text: &str) -> Result<String, Failure> {
        let _client = self.work.asks.load(Ordering::Acquire).then(|| session.attach());
        let events = Follower::new(session.handle.subscribe());
        let id =
            session.prompt(text, &self.by).await.map_err(|refusal| Failure::system(refusal.to_string()))?;
        let mut events = events.of_prompt(id.clone());
        let mut answer = String::new();
        let mut questions = Questions::default();
        let mut stopped = false;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = self.cancel.cancelled(), if !stopped => {
                    stopped = true;
                    self.withdraw(session, id.clone()).await;
                    continue;
                }
            };
            let Some(event) = event else { return Err(Failure::system("the session ended")) };
            self.tell(&event);
            match event {
                TurnEvent::Content { content, delta: true, .. } => answer.push_str(&content),
                TurnEvent::Content { content, .. } => answer = content,
                TurnEvent::StepEnded { .. } | TurnEvent::Retry(_) => answer.clear(),
                TurnEvent::ToolCallConfirmation { approval, confirmation, .. }
                    if self.work.asks.load(Ordering::Acquire) =>
                {
                    let (work, session, by) = (self.work.clone(), session.clone(), self.by.clone());
                    questions.put(approval.clone(), async move {
                        let outcome = ask(&work.connection, &confirmation).await;
                        // Somebody else may have been quicker: then theirs counts.
                        let _ = session.handle.answer(&approval, outcome, &by).await;
                    });
                }
                TurnEvent::ToolCallAnswered { approval, .. } => questions.close(&approval),
                TurnEvent::Finished { .. } => return Ok(answer),
                TurnEvent::UserCancelled => return Err(Failure::cancelled()),
                TurnEvent::Stopped { detail, .. } => return Err(Failure::new(FailureKind::Limit, detail)),
                TurnEvent::Error { error }
                | TurnEvent::InvalidStream { error }
                | TurnEvent::ContextOverflow { error } => return Err(Failure::from(&error)),
                _ => {}
            }
        }
    }

    /// Takes the prompt back: as long as it waits, what runs is the turn of another call.
    async fn withdraw(&self, session: &OpenedSession, prompt: String) {
        let waiting = Command::Cancel { target: CancelTarget::Prompt(prompt) };
        if let Reply::Refused(_) = session.send(waiting, &self.by).await {
            session.send(Command::Cancel { target: CancelTarget::Mine }, &self.by).await;
        }
    }

    /// Tells the client how far it is, where it wants to know.
    fn tell(&self, event: &TurnEvent) {
        let Some(token) = &self.progress else { return };
        let message = match event {
            TurnEvent::ToolCallRequest { name, .. } => format!("calls {}", one_line(name)),
            TurnEvent::ToolCallConfirmation { confirmation, .. } => {
                format!("asks: {}", one_line(&confirmation.title))
            }
            TurnEvent::StepEnded { .. } => "asks the model again".to_owned(),
            TurnEvent::Retry(_) => "asks the model once more: the answer did not come".to_owned(),
            _ => return,
        };
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let params = json!({"progressToken": token, "progress": step, "message": message});
        self.work.connection.mention("notifications/progress", &params);
    }
}

/// Questions that were put to the client. Dropped, nobody waits for their answers.
#[derive(Default)]
struct Questions {
    tasks: JoinSet<()>,
    open: HashMap<String, AbortHandle>,
}

impl Questions {
    fn put(&mut self, approval: String, work: impl Future<Output = ()> + Send + 'static) {
        self.open.insert(approval, self.tasks.spawn(work));
    }

    /// It has its answer.
    fn close(&mut self, approval: &str) {
        if let Some(task) = self.open.remove(approval) {
            task.abort();
        }
    }
}

fn result(text: &str, structured: Value) -> Value {
    json!({"content": [{"type": "text", "text": text}], "structuredContent": structured})
}
