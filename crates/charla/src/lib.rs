//! Charla as a library: a user's sessions, models and rules on one machine.
//!
//! [`Charla`] opens sessions. It reads settings and rules, finds keys, chooses and asks models, and puts tools
//! together. It knows no terminal: what it reads of the process is an [`Environment`] handed in, what it has to
//! say goes through [`Notices`], and a [`Failure`] is a kind, words and an action that each front end words for
//! its users. Nothing is global: several users, workspaces and sessions live in one process.

pub mod agents;
mod bounded;
mod card;
mod clock;
pub mod credentials;
pub mod custom_command;
mod dotenv;
mod embed;
pub mod engine;
mod environment;
pub mod extensions;
mod failure;
mod first_run;
mod front_matter;
mod function_tool;
mod helper;
mod hint;
pub mod hooks;
pub mod import;
pub mod json_rpc;
pub mod mcp;
pub mod mcp_server;
pub mod models;
mod network;
mod notices;
mod own_programs;
pub mod private_file;
pub mod question;
pub mod session;
pub mod settings;
pub mod skills;
mod stats;
pub mod trust;

use std::path::PathBuf;
use std::sync::Arc;

pub use card::Card;
pub use clock::{new_id, time_text, timestamp};
pub use dotenv::with_dotenv;
pub use environment::{Environment, Guest, NETWORK_VARIABLES};
pub use failure::{Failure, FailureKind};
pub use first_run::FirstRun;
pub use function_tool::FunctionTool;
pub use helper::{HelperVariables, editor_variables};
pub use hint::{EngineRemedy, Hint, KeyAdvice};
pub use network::network_options;
pub use notices::{Notice, Notices, Progress};
pub use session::{Begin, OpenRequest, OpenedSession, RunOptions, SessionSource};
pub use stats::Stats;

pub use charla_sandbox::{Wall, hide_process};

use charla_proto::{BoxFuture, Outcome, SessionStore};
use session::elsewhere::Elsewhere;
use session::{
    AnsweredApproval, PromptPreview, RestoredSession, RevertError, RevertRequest, Reverted, RewoundSession,
    SessionError, Sessions,
};
use settings::{Effective, Override, Settings};
use trust::TrustDemand;

/// One user's Charla.
#[derive(Clone)]
pub struct Charla {
    environment: Environment,
    /// Where sessions are kept; nowhere without a home.
    store: Option<Arc<dyn SessionStore>>,
}

impl Charla {
    /// The Charla of whoever these surroundings belong to. Sessions are files under the user's home.
    pub fn new(environment: Environment) -> Self {
        let store = session::home_store(&environment).map(|store| Arc::new(store) as Arc<dyn SessionStore>);
        Self { environment, store }
    }

    /// The same for a program that runs one session and ends: it starts no threads to wait for the disk.
    pub fn of_one_session(environment: Environment) -> Self {
        let store =
            session::home_store(&environment).map(|store| Arc::new(store.alone()) as Arc<dyn SessionStore>);
        Self { environment, store }
    }

    /// The same user, with sessions in this store instead.
    pub fn with_store(self, store: Arc<dyn SessionStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// The same user in another workspace.
    pub fn in_workspace(&self, folder: impl Into<PathBuf>) -> Self {
        Self { environment: self.environment.in_workspace(folder), store: self.store.clone() }
    }

    /// The user's surroundings.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The settings that hold, with these on top.
    pub fn settings(&self, overrides: Vec<Override>, trust: &TrustDemand) -> Result<Effective, Failure> {
        settings::load_trusting(&self.environment, overrides, trust)
    }

    /// Opens a session. Must be called in a tokio runtime.
    pub async fn open(
        &self,
        mut request: OpenRequest,
        notices: &mut dyn Notices,
    ) -> Result<OpenedSession, Failure> {
        let here = self.at(request.workspace.take());
        let effective = here.settings(std::mem::take(&mut request.overrides), &request.trust)?;
        effective.notices.iter().for_each(|notice| notices.warning(notice));
        here.open_with(&effective.settings, request, notices).await
    }

    /// Opens a session under settings that [`Charla::settings`] gave before, for front ends that need them first.
    pub async fn open_with(
        &self,
        settings: &Settings,
        mut request: OpenRequest,
        notices: &mut dyn Notices,
    ) -> Result<OpenedSession, Failure> {
        let here = self.at(request.workspace.take());
        session::open::open(request, settings, &here.environment, here.store, notices).await
    }

    /// The system prompt and the tools that a run under these settings would send. Asks no model.
    pub async fn prompt_preview(
        &self,
        settings: &Settings,
        notices: &mut dyn Notices,
    ) -> Result<PromptPreview, Failure> {
        session::preview::preview(settings, &self.environment, notices).await
    }

    /// Starts the MCP servers of these settings, says how they are and ends them.
    pub async fn check_servers(
        &self,
        settings: &Settings,
        notices: &mut dyn Notices,
    ) -> Result<Vec<mcp::Health>, Failure> {
        session::preview::check_servers(settings, &self.environment, notices).await
    }

    /// The skills that a session under these settings would be told of.
    pub fn skills(&self, settings: &Settings, notices: &mut dyn Notices) -> Result<skills::Skills, Failure> {
        let brought = &settings.brought;
        let extensions = brought.folders("skills");
        skills::Skills::find(&self.environment, brought.trusted_workspace, &extensions, notices)
    }

    /// The agents that a session under these settings could call.
    pub fn agents(&self, settings: &Settings, notices: &mut dyn Notices) -> Result<agents::Agents, Failure> {
        let brought = &settings.brought;
        let extensions = brought.folders("agents");
        agents::Agents::find(&self.environment, brought.trusted_workspace, &extensions, notices)
    }

    fn at(&self, workspace: Option<PathBuf>) -> Self {
        workspace.map_or_else(|| self.clone(), |folder| self.in_workspace(folder))
    }

    /// The user's sessions.
    pub fn sessions(&self) -> Result<Sessions, SessionError> {
        Sessions::new(self.store.clone(), &self.environment)
    }

    fn elsewhere<'a>(&'a self, notices: &'a mut dyn Notices) -> Result<Elsewhere<'a>, SessionError> {
        Ok(Elsewhere { sessions: self.sessions()?, environment: &self.environment, notices })
    }

    /// Takes a turn's file changes back, or brings them back.
    pub async fn revert(
        &self,
        request: &RevertRequest,
        notices: &mut dyn Notices,
    ) -> Result<Reverted, RevertError> {
        session::undo::revert(request, self.elsewhere(notices)?).await
    }

    /// Answers a question of a session, whether it runs in another process or not.
    pub async fn answer(
        &self,
        approval: &str,
        outcome: Outcome,
        by: &str,
        notices: &mut dyn Notices,
    ) -> Result<AnsweredApproval, Failure> {
        self.elsewhere(notices)?.answer(approval, outcome, by).await
    }

    /// Makes an earlier message of a session the last one; with `files`, later file changes are taken back.
    pub async fn rewind(
        &self,
        which: &str,
        to: u64,
        files: bool,
        notices: &mut dyn Notices,
    ) -> Result<RewoundSession, Failure> {
        self.elsewhere(notices)?.rewind(which, to, files).await
    }

    /// Brings back the whole conversation of a session that was compressed.
    pub async fn restore(&self, which: &str, notices: &mut dyn Notices) -> Result<RestoredSession, Failure> {
        session::restore::restore(which, self.elsewhere(notices)?).await
    }
}

impl SessionSource for Charla {
    fn open<'a>(
        &'a self,
        settings: &'a Settings,
        request: OpenRequest,
        mut notices: Box<dyn Notices>,
    ) -> BoxFuture<'a, Result<OpenedSession, Failure>> {
        Box::pin(async move { self.open_with(settings, request, &mut *notices).await })
    }
}
