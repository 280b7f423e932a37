//! A running session: spoken to, and ended with what its tools left running.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use charla_core::hooks::EndReason;
use charla_core::session::{Attached, SessionHandle};
use charla_mcp::Servers;
use charla_proto::{BoxFuture, Command, Content, Part, Refusal, Reply, Request, Spent};
use charla_tools::process::Processes;
use tokio::task::JoinHandle;

use super::agent_calls::AgentCalls;
use super::agent_work::Child;
use super::attachments::attach_resources;
use super::posted;
use super::servers::SessionServers;
use super::store::Sessions;
use crate::notices::{Notice, Notices};

/// A running session.
pub struct OpenedSession {
    /// Sends requests and subscribes to events.
    pub handle: SessionHandle,
    /// Its id.
    pub id: String,
    /// The model that answers: `provider/model`.
    pub model: String,
    /// An earlier process left a turn, or prompts that wait.
    pub is_open: bool,
    /// What it has in this process; nothing where it runs elsewhere.
    pub(super) here: Option<Here>,
}

/// What a session's tools left running in the background. It ends when nobody holds this any more.
#[derive(Clone, Debug)]
pub struct BackgroundProcesses(Processes);

/// What a session has in the process that runs it.
pub(super) struct Here {
    /// It began in this run.
    pub(super) is_new: bool,
    pub(super) processes: Processes,
    /// They end with somebody else.
    pub(super) is_handed_over: bool,
    pub(super) servers: SessionServers,
    pub(super) agents: Option<Arc<AgentCalls>>,
    /// Writes what happens; ends with the session.
    pub(super) telemetry: Mutex<Option<JoinHandle<()>>>,
    pub(super) cancelling: JoinHandle<()>,
    pub(super) changing: JoinHandle<()>,
    pub(super) listening: JoinHandle<()>,
    /// Whatever the session puts aside lives as long as this.
    pub(super) sessions: Arc<Sessions>,
}

/// How long the resources that a prompt names may take.
const RESOURCES: Duration = Duration::from_secs(30);

impl OpenedSession {
    /// A session that runs elsewhere, behind a handle of it. Closed, it goes on there.
    pub fn elsewhere(handle: SessionHandle, id: String, model: String, is_open: bool) -> Self {
        Self { handle, id, model, is_open, here: None }
    }

    /// True when it runs in this process, and ends with it.
    pub fn runs_here(&self) -> bool {
        self.here.is_some()
    }

    /// Says something to the session; the prompt's id.
    pub async fn prompt(&self, text: &str, by: &str) -> Result<String, Refusal> {
        self.say(Content::user(text), by).await
    }

    /// Says something with more than words in it; the prompt's id.
    pub async fn say(&self, content: Content, by: &str) -> Result<String, Refusal> {
        self.handle.prompt(content, by).await
    }

    /// Asks something on behalf of `by`.
    pub async fn send(&self, command: Command, by: &str) -> Reply {
        self.handle.send(command, by).await
    }

    /// Asks as somebody does who is elsewhere: what must wait for the end of a turn is refused while one runs.
    pub async fn request_from_elsewhere(&self, request: Request) -> Reply {
        posted::ask(request, &self.handle).await
    }

    /// One more client that can be asked, until what is given back is dropped.
    pub fn attach(&self) -> Attached {
        self.handle.attach()
    }

    /// Puts the resources of MCP servers that are named in these words (`@server:uri`) behind the content.
    pub async fn attach_resources(&self, words: &str, content: &mut Content, notices: &mut dyn Notices) {
        attach_resources(self.servers(), words, content, notices).await;
    }

    /// The command, a prompt with the resources of MCP servers that it names (`@server:uri`): for programs, which hear no
    /// notices. What cannot be had is told in the prompt.
    pub async fn with_resources(&self, command: Command) -> Command {
        let Command::Prompt { mut content, delivery } = command else { return command };
        let words = content.text();
        let mut unread: Vec<Notice> = Vec::new();
        let attached = self.attach_resources(&words, &mut content, &mut unread);
        if tokio::time::timeout(RESOURCES, attached).await.is_err() {
            unread.push("resources that are named take too long to read".into());
        }
        content.parts.extend(unread.into_iter().map(|notice| Part::text(format!("[{}]", notice.text))));
        Command::Prompt { content, delivery }
    }

    /// Its MCP servers, for who shows how they are, fills in a prompt of theirs or reads a resource; none where the session
    /// has none or runs elsewhere.
    pub fn servers(&self) -> Option<&Servers> {
        self.here.as_ref()?.servers.started()
    }

    /// Ends the session after its turn, and what its tools left running. One that runs elsewhere is let go of.
    pub async fn close(&self) {
        self.close_for(EndReason::Exit).await;
    }

    /// As [`Self::close`], but one that was [never used](Self::remove_unused) is not kept. True where it is.
    pub async fn close_if_said(&self) -> bool {
        self.close().await;
        !self.remove_unused().await
    }

    /// Removes the session, which is closed, if it began in this run and nobody ever said or did anything in it; true where that is
    /// so. An earlier one stays whatever it holds: one that was rewound to its beginning has a past in its journal.
    pub async fn remove_unused(&self) -> bool {
        let Some(here) = self.here.as_ref().filter(|here| here.is_new) else { return false };
        if here.sessions.is_used(&self.id).await {
            return false;
        }
        // One that cannot be removed is passed over by whoever looks for the latest.
        let _ = here.sessions.delete(&self.id).await;
        true
    }

    /// Gives away what runs in the background: the end of the session is none of its from now on. It goes on with whoever
    /// [takes it over](Self::take_over), or ends with what is given back. Nothing where the session runs elsewhere.
    pub fn hand_over(&mut self) -> Option<BackgroundProcesses> {
        let here = self.here.as_mut()?;
        here.is_handed_over = true;
        Some(BackgroundProcesses(here.processes.clone()))
    }

    /// The processes that the session had in the background, before it was closed and opened again, are its own again.
    pub fn take_over(&self, background: BackgroundProcesses) {
        if let Some(here) = &self.here {
            here.processes.adopt(background.0);
        }
    }

    /// As [`Self::close`], with what its hooks are told.
    pub async fn close_for(&self, reason: EndReason) {
        self.handle.close_for(reason).await;
        let Some(here) = &self.here else { return };
        if let Some(agents) = &here.agents {
            agents.settled().await;
        }
        if let Some(servers) = here.servers.started() {
            servers.shutdown().await;
        }
        if !here.is_handed_over {
            here.processes.shutdown().await;
        }
        let telemetry = here.telemetry.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(telemetry) = telemetry {
            // What happened last is written before the program ends.
            let _ = telemetry.await;
        }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.cancelling.abort();
        self.changing.abort();
        self.listening.abort();
    }
}

impl Child for OpenedSession {
    fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(OpenedSession::close(self))
    }

    fn spent(&self) -> BoxFuture<'_, Vec<Spent>> {
        Box::pin(async move {
            match &self.here {
                Some(here) => here.sessions.spent(&self.id).await,
                None => Vec::new(),
            }
        })
    }
}
