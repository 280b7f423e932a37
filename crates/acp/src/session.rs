//! A session of the editor's: what its user asks of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use charla::custom_command::{CustomCommand, Piece};
use charla::session::{Filler, fill};
use charla::settings::Settings;
use charla::{Environment, Notice, OpenedSession};
use charla_core::CancellationToken;
use charla_core::session::Attached;
use charla_proto::{CallStatus, CancelTarget, Command, Content, Refusal, Reply};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::call::{fenced, text};
use crate::commands::{self, Done};
use crate::feed::Updates;
use crate::hints;
use crate::options::{Options, mode};
use crate::permission::Asking;
use crate::prompt::Prompt;
use crate::refused::{self, Refused};
use crate::turns::{End, Turns};
use crate::{ME, Work};

/// An open session.
pub(crate) struct EditorSession {
    pub(crate) opened: OpenedSession,
    /// Commands that users wrote.
    pub(crate) custom: Vec<CustomCommand>,
    pub(crate) settings: Settings,
    pub(crate) environment: Environment,
    pub(crate) options: Arc<Options>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) updates: Updates,
    pub(crate) asking: Arc<Asking>,
    /// What there was to say when it was opened.
    pub(crate) notices: Mutex<Vec<Notice>>,
    /// A prompt is being answered.
    pub(crate) busy: AtomicBool,
    /// Told once the editor knows of the session: before, it would refuse questions.
    pub(crate) known: Mutex<Option<oneshot::Sender<()>>>,
    /// Its user can be asked.
    pub(crate) _attached: Attached,
}

/// A prompt is being answered until this is dropped.
struct Busy<'a>(&'a AtomicBool);

impl<'a> Busy<'a> {
    /// Nothing where another prompt is being answered.
    fn begin(busy: &'a AtomicBool) -> Option<Self> {
        let was_busy = busy.swap(true, Ordering::AcqRel);
        (!was_busy).then(|| Self(busy))
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl EditorSession {
    pub(crate) fn id(&self) -> &str {
        &self.opened.id
    }

    /// What the editor is told of a session when it is open.
    pub(crate) fn described(&self) -> Value {
        json!({"modes": self.options.modes(), "configOptions": self.options.all()})
    }

    /// Tells the editor what takes longer to find out, and goes on with what an earlier process left.
    pub(crate) async fn introduce(&self, work: &Work) {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The session may have ended meanwhile.
            let _ = known.send(());
        }
        self.tell_commands().await;
        if self.opened.is_open && work.has(self.id()) {
            // Refused where somebody else was quicker.
            self.opened.send(Command::Continue, ME).await;
        }
        tokio::join!(self.tell_models(), self.tell_prompts());
    }

    async fn tell_commands(&self) {
        let commands = commands::list(self);
        let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
        self.updates.send(update).await;
    }

    async fn tell_models(&self) {
        if self.options.find_models(&self.settings, &self.environment).await {
            let options = self.options.all();
            let update = json!({"sessionUpdate": "config_option_update", "configOptions": options});
            self.updates.send(update).await;
        }
    }

    /// The prompts of MCP servers are commands, too, once the servers have started.
    async fn tell_prompts(&self) {
        let Some(servers) = self.opened.servers() else { return };
        servers.settled().await;
        if !servers.prompts().is_empty() {
            self.tell_commands().await;
        }
    }

    pub(crate) async fn set_mode(&self, name: &str) -> Result<(), Refused> {
        let mode = mode(name)
            .ok_or_else(|| Refused::params(format!("there is no mode `{}`", refused::shown(name))))?;
        accepted(self.opened.send(Command::SetMode { mode }, ME).await)?;
        self.options.set_mode(mode);
        Ok(())
    }

    /// Chooses a mode or a model; everything that can be chosen, as it is then.
    pub(crate) async fn set_option(&self, params: &Value) -> Result<Value, Refused> {
        let value = refused::text(params, "value")?;
        match refused::text(params, "configId")? {
            "mode" => self.set_mode(value).await?,
            "model" => {
                let model = value.to_owned();
                accepted(self.opened.send(Command::SetModel { model }, ME).await)?;
                if let Some((snapshot, _)) = self.opened.handle.snapshot().await {
                    self.options.set_model(&snapshot.choices.model);
                }
            }
            other => {
                let why = format!("there is nothing `{}` to choose", refused::shown(other));
                return Err(Refused::params(why));
            }
        }
        Ok(json!({"configOptions": self.options.all()}))
    }

    /// Stops the turn that runs.
    pub(crate) async fn stop(&self) {
        self.opened.send(Command::Cancel { target: CancelTarget::Mine }, ME).await;
    }

    /// The editor is gone, or needs the session no longer. A question waits on, for whoever opens the session next; any other
    /// work is stopped.
    pub(crate) async fn part(&self) {
        let waits = match self.opened.handle.snapshot().await {
            Some((snapshot, _)) => {
                snapshot.calls.iter().any(|call| call.status == CallStatus::AwaitingApproval)
            }
            None => false,
        };
        if !waits {
            self.stop().await;
        }
        self.opened.close().await;
    }

    /// Says something, and waits until its turn is over.
    pub(crate) async fn prompt(
        &self,
        work: &Work,
        params: &Value,
        cancel: CancellationToken,
    ) -> Result<Value, Refused> {
        let Some(_busy) = Busy::begin(&self.busy) else {
            return Err(Refused::now("a prompt of this session is being answered; cancel it first"));
        };
        self.tell_notices().await;
        let prompt = Prompt::of(params.get("prompt").unwrap_or(&Value::Null))?;
        let command = match prompt.words() {
            Some(words) => commands::run(self, &words).await,
            None => None,
        };
        let content = match command {
            Some(Done::Told(words)) => {
                self.updates.say(&words).await;
                return Ok(stopped("end_turn"));
            }
            Some(Done::Prompt(pieces)) => match self.compose(&pieces, &cancel).await? {
                Some(content) => content,
                None => return Ok(stopped(if cancel.is_cancelled() { "cancelled" } else { "end_turn" })),
            },
            None => self.read(prompt).await?,
        };
        self.turn(work, content, cancel).await
    }

    async fn turn(&self, work: &Work, content: Content, cancel: CancellationToken) -> Result<Value, Refused> {
        let command = self.opened.with_resources(Command::prompt(content)).await;
        let prompt = match self.opened.send(command, ME).await {
            Reply::Prompted { prompt, .. } => prompt,
            // It was closed before the prompt came to it.
            Reply::Refused(Refusal::Ended) if !work.has(self.id()) => return Ok(stopped("cancelled")),
            // What was said cannot be.
            Reply::Refused(refusal @ Refusal::Nothing { .. }) => {
                return Err(Refused::params(refusal.to_string()));
            }
            Reply::Refused(refusal) => return Err(Refused::failed(refusal.to_string())),
            _ => return Err(Refused::failed("the session did not take the prompt")),
        };
        let ended = self.turns.end_of(&prompt);
        tokio::pin!(ended);
        let end = tokio::select! {
            end = &mut ended => end,
            () = cancel.cancelled(), if work.has(self.id()) => {
                self.stop().await;
                ended.await
            }
        };
        match end {
            End::Stopped(reason) => Ok(stopped(reason)),
            End::Failed(why) => Err(Refused::failed(why)),
        }
    }

    /// What was to be said when the session was opened: the editor had no place for it before.
    async fn tell_notices(&self) {
        let notices = std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        for notice in &notices {
            self.updates.note("warning", &hints::notice(notice)).await;
        }
    }

    async fn read(&self, prompt: Prompt) -> Result<Content, Refused> {
        let environment = self.environment.clone();
        let read = tokio::task::spawn_blocking(move || prompt.content(&environment)).await;
        read.map_err(|_| Refused::failed("the prompt's files could not be read"))
    }

    /// The prompt of a command that a user wrote; nothing where what it runs is not agreed to.
    async fn compose(
        &self,
        pieces: &[Piece],
        cancel: &CancellationToken,
    ) -> Result<Option<Content>, Refused> {
        let lines = commands::lines(pieces);
        if !lines.is_empty() && !self.asking.agrees(&lines).await {
            self.updates.say("Nothing was run, and nothing was said.").await;
            return Ok(None);
        }
        let filler = Filler { by: ME, unread: false, cancel };
        let filled = fill(pieces, &self.opened.handle, filler).await;
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let filled = filled.map_err(|refusal| Refused::failed(refusal.to_string()))?;
        self.read(Prompt::composed(filled)).await.map(Some)
    }
}

impl Asking {
    /// True when the user lets these command lines run, as if they had typed them.
    async fn agrees(&self, lines: &[&str]) -> bool {
        let shown = json!({
            "toolCallId": charla::new_id(),
            "title": "Run what this command is made of?",
            "kind": "execute",
            "status": "pending",
            "content": [text(&fenced(&lines.join("\n")))],
        });
        self.yes(shown).await
    }
}

fn stopped(reason: &str) -> Value {
    json!({"stopReason": reason})
}

fn accepted(reply: Reply) -> Result<(), Refused> {
    match reply {
        Reply::Refused(refusal) => Err(Refused::params(refusal.to_string())),
        _ => Ok(()),
    }
}
