//! Charla as a library: a user's sessions, models and rules on one machine.
//!
//! [`Charla`] opens sessions. It reads settings and rules, finds keys, chooses and asks models, and puts tools
//! together. It knows no terminal: what it reads of the process is an [`Environment`] handed in, what it has to
//! say goes through [`Notices`], and a [`Failure`] is a kind, words and an action that each front end words for
//! its users. Nothing is global: several users, workspaces and sessions live in one process.
//!
//! # An agent
//!
//! A session is opened under the user's settings, with what a request adds to them. [`OpenedSession::ask`] says
//! something and waits for the last word; whatever no rule allows is put to the callback, and what that does not
//! allow does not run.
//!
//! ```
//! use charla::{Charla, Environment, Notice, OpenRequest, Outcome};
//! # use charla_testkit::{Script, Server};
//! # fn main() -> Result<(), charla::Failure> {
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let server = Server::start(Script::new(["It is empty."])).unwrap();
//! # let folder = tempfile::tempdir().unwrap();
//! # let url = server.base_url(charla::proto::WireKind::OpenaiChat);
//! # let (work, home) = (folder.path().join("work"), folder.path().to_str().unwrap());
//! # std::fs::create_dir(&work).unwrap();
//! # let variables = [
//! #     ("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", url.as_str()), ("CHARLA_MODEL", "openai/m"), ("HOME", home), ("TMPDIR", home),
//! # ];
//! // In a program the variables are `std::env::vars_os()`; home and temporary folder come from them.
//! let environment = Environment::of(variables).in_workspace(work);
//!
//! let mut notices: Vec<Notice> = Vec::new();
//! let session = Charla::new(environment).open(OpenRequest::default(), &mut notices).await?;
//! let answer = session
//!     .ask("What is in this folder?", async |question| match question.tool.as_str() {
//!         "web_fetch" => Outcome::ProceedOnce,
//!         _ => Outcome::Cancel { reason: Some("not here".to_owned()) },
//!     })
//!     .await?;
//! assert_eq!(answer, "It is empty.");
//! session.close().await;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # What happens, as it happens
//!
//! [`OpenedSession::turn`] gives the events of one turn, the same that `charla -o stream-json` prints. A question is
//! the event [`TurnEvent::ToolCallConfirmation`]: any client may answer it ([`SessionHandle::answer`]), the first
//! answer counts, and it waits only as long as somebody is attached ([`OpenedSession::attach`]).
//!
//! ```
//! # use charla::{Charla, Environment, Notice, OpenRequest, OwnModel, TurnEvent};
//! # async fn show(session: &charla::OpenedSession) -> Result<(), charla::Failure> {
//! let mut turn = session.turn("Hello.").await?;
//! while let Some(event) = turn.next().await {
//!     match event {
//!         TurnEvent::Content { content, .. } => eprint!("{content}"),
//!         TurnEvent::Retry(_) => eprint!("\n(again)\n"),
//!         event => {
//!             if let Some(failure) = charla::Failure::of_turn(&event) {
//!                 return Err(failure);
//!             }
//!         }
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What a program brings
//!
//! | | |
//! |---|---|
//! | tools | [`OpenRequest::tools`]: a [`FunctionTool`] from an async function, or your own [`proto::tool::Tool`], which says in its plan what a call would do |
//! | rules | [`OpenRequest::overrides`] for any setting, [`RunOptions`] for tools that run unasked, that are not offered, and files of rules |
//! | a model | [`Charla::with_model`]: an [`OwnModel`] is anything that implements [`proto::ContentGenerator`] |
//! | a store | [`Charla::with_store`]: an implementation of [`proto::SessionStore`] instead of files under the user's home |
//!
//! ```
//! use charla::{FunctionTool, OpenRequest};
//! use serde_json::json;
//!
//! let schema = json!({"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]});
//! let stock = FunctionTool::new("count_stock", "Counts an item in stock.", schema, async |args| {
//!     match args.get("item").and_then(|item| item.as_str()) {
//!         Some("lamps") => Ok("17".to_owned()),
//!         _ => Err("there is no such item".to_owned()),
//!     }
//! });
//! let request = OpenRequest { tools: vec![std::sync::Arc::new(stock)], ..OpenRequest::default() };
//! # drop(request);
//! ```
//!
//! The folder `examples` has whole programs: a tool of one's own, two agents with different rules, a model of one's own, a
//! store of one's own, a chat service on axum.
//!
//! # When something fails
//!
//! A [`Failure`] has a kind to decide by, and words: what happened, why and what to do. [`Failure::explained`] puts them together
//! with the variables and settings that every program has; a front end with buttons or flags words a [`Hint`] itself.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use charla::{Begin, Charla, Environment, FailureKind, Notice, OpenRequest};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let charla = Charla::new(Environment::of([("HOME", folder.path())]).in_workspace(folder.path()));
//! let request = OpenRequest { begin: Begin::Resume("last-week".to_owned()), ..OpenRequest::default() };
//! let failure = charla.open(request, &mut Vec::<Notice>::new()).await.err().unwrap();
//! assert_eq!(failure.kind, FailureKind::Input);
//! assert!(failure.explained().ends_with("; look at the list of all sessions"));
//! # });
//! ```
//!
//! # One dependency
//!
//! [`proto`] is the tongue that everything is said in and the ports to be implemented; [`providers`] asks models without
//! any session. The names that most programs need are here at the top.
//!
//! # Confinement
//!
//! Processes that tools start are held in by the kernel as they are under the binary: what is set up lies between
//! fork and exec, and no program beside yours is needed for it. [`Wall`] tells what holds on this machine. A program whose
//! variables hold keys may call [`hide_process`], so that other processes of its user cannot look into it.

pub mod agents;
mod card;
mod clock;
pub mod collection;
mod connections;
pub mod credentials;
pub mod custom_command;
pub mod doctor;
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
mod model_pairs;
pub mod models;
mod network;
mod notices;
mod own_model;
mod own_programs;
pub mod private_file;
pub mod question;
mod replayed;
pub mod session;
pub mod settings;
pub mod skills;
mod stats;
pub mod trust;
pub mod update;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

pub use card::{Card, CardPart, CardRow};
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
pub use own_model::OwnModel;
pub use replayed::ReplayedLines;
pub use session::{Begin, OpenRequest, OpenedSession, RunOptions, SessionSource};
pub use stats::Stats;

pub use charla_core::CancellationToken;
pub use charla_core::session::{Attached, Clients, Follower, Price, SessionHandle, Subscription};
pub use charla_proto as proto;
pub use charla_proto::{ApprovalMode, Command, Confirmation, Content, Outcome, Part, TurnEvent};
pub use charla_providers as providers;
pub use charla_sandbox::{Wall, hide_process};

use charla_proto::{BoxFuture, SessionStore};
use charla_tools::bounded;
use session::elsewhere::Elsewhere;
use session::{
    AnsweredApproval, PreviewRequest, PromptPreview, RestoredSession, RevertError, RevertRequest, Reverted,
    RewoundSession, SessionError, Sessions,
};
use settings::{Effective, Override, Settings};
use trust::TrustDemand;

/// One user's Charla.
#[derive(Clone)]
pub struct Charla {
    environment: Environment,
    /// Where sessions are kept; nowhere without a home.
    store: Option<Arc<dyn SessionStore>>,
    /// Models of the program's own.
    models: Vec<OwnModel>,
}

impl Charla {
    /// The Charla of whoever these surroundings belong to. Sessions are files under the user's home.
    pub fn new(environment: Environment) -> Self {
        let store = session::home_store(&environment).map(|store| Arc::new(store) as Arc<dyn SessionStore>);
        Self { environment, store, models: Vec::new() }
    }

    /// The same for a program that runs one session and ends: it starts no threads to wait for the disk.
    pub fn of_one_session(environment: Environment) -> Self {
        let store =
            session::home_store(&environment).map(|store| Arc::new(store.alone()) as Arc<dyn SessionStore>);
        Self { environment, store, models: Vec::new() }
    }

    /// The same user, with sessions in this store instead.
    pub fn with_store(self, store: Arc<dyn SessionStore>) -> Self {
        Self { store: Some(store), ..self }
    }

    /// The same user, who can ask this model, too. Its sessions ask it where the settings, a request or a session name it;
    /// the first of several also where nobody names a model.
    pub fn with_model(mut self, model: OwnModel) -> Self {
        self.models.push(model);
        self
    }

    /// The same user in another workspace.
    pub fn in_workspace(&self, folder: impl Into<PathBuf>) -> Self {
        Self { environment: self.environment.in_workspace(folder), ..self.clone() }
    }

    /// The same with the variables of `.env` files, as [`with_dotenv`] reads them.
    pub fn with_dotenv(self) -> Self {
        Self { environment: with_dotenv(self.environment.clone()), ..self }
    }

    /// The same user, whose sessions share their connections to models: for a program with many of them. All must run in one runtime
    /// that goes on as long as any of them does, as connections belong to the runtime in which they were made.
    pub fn sharing_connections(mut self) -> Self {
        self.environment.connections = connections::Connections::shared();
        self
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
        let mut settings = Cow::Borrowed(settings);
        if !self.models.is_empty() {
            settings.to_mut().brought.models = self.models.clone();
        }
        session::open::open(request, &settings, &here.environment, here.store, notices).await
    }

    /// An error where a session that is kept could not be gone on with in this folder: it cannot be read, or no model can be had for it. Opens
    /// nothing, asks no model and starts none.
    pub async fn can_resume(&self, session: &str, workspace: Option<PathBuf>) -> Result<(), Failure> {
        let here = self.at(workspace);
        let last = here.sessions()?.folded(session).await?.model;
        let mut settings = here.settings(Vec::new(), &TrustDemand::default())?.settings;
        settings.brought.models.clone_from(&self.models);
        session::preview::can_be_had(&last, &settings, &here.environment).await
    }

    /// The system prompt and the tools that a run under these settings would send. Asks no model and starts nothing.
    pub async fn prompt_preview(
        &self,
        request: &PreviewRequest,
        settings: &Settings,
        notices: &mut dyn Notices,
    ) -> Result<PromptPreview, Failure> {
        session::preview::preview(request, settings, &self.environment, notices).await
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
    pub fn skills(&self, settings: &Settings, notices: &mut dyn Notices) -> skills::Skills {
        let files = session::judge_of_files(&self.environment, &[]);
        skills::Skills::find(&settings.brought.sources(&self.environment, files), notices)
    }

    /// The agents that a session under these settings could call.
    pub fn agents(&self, settings: &Settings, notices: &mut dyn Notices) -> agents::Agents {
        let files = session::judge_of_files(&self.environment, &[]);
        agents::Agents::find(&settings.brought.sources(&self.environment, files), notices)
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

/// What the handbook shows is compiled, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Handbook;
