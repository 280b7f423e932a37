//! Opens a session: from settings and options to a running conversation.

use std::path::PathBuf;
use std::sync::Arc;

use charla_core::CancellationToken;
use charla_core::session::{Command, SessionHandle};
use charla_proto::tool::Tool;
use charla_proto::{ApprovalMode, Content};
use charla_providers::layers::LogSink;
use charla_tools::process::Processes;
use tokio::task::JoinHandle;

use super::assemble::{RunOptions, SessionBuilder};
use super::error::SessionError;
use super::log_file::LogFile;
use super::output_schema::OutputSchema;
use super::store::{Begin, Opened, Sessions};
use crate::engine;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::models::probe;
use crate::models::{BoundModel, Chain, Choice, Chooser, keep_loaded};
use crate::notices::{Notice, Notices};
use crate::settings::{Override, Settings};
use crate::trust::TrustDemand;

/// What a front end wants to open.
#[derive(Default)]
pub struct OpenRequest {
    /// The folder to work in; that of the environment when left out.
    pub workspace: Option<PathBuf>,
    /// Settings that hold for this session only.
    pub overrides: Vec<Override>,
    /// What is said about trust in the workspace.
    pub trust: TrustDemand,
    /// A new session, or which to go on with.
    pub begin: Begin,
    /// The id that a new session gets; one is made when left out.
    pub new_id: Option<String>,
    /// Tools, rules and the answer's form.
    pub options: RunOptions,
    /// Tools of the front end's own.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Somebody is there to answer questions; with nobody there the answer is no.
    pub somebody_to_ask: bool,
    /// Stops the opening, and later the turn that runs.
    pub cancel: CancellationToken,
}

/// A running session.
pub struct OpenedSession {
    /// Sends commands and subscribes to events.
    pub handle: SessionHandle,
    /// Its id.
    pub id: String,
    /// The model that answers: `provider/model`.
    pub model: String,
    /// How much is allowed without asking.
    pub mode: ApprovalMode,
    /// The form that the answer must have.
    pub output_schema: Option<OutputSchema>,
    processes: Processes,
    cancelling: JoinHandle<()>,
    /// Whatever the session puts aside lives as long as this.
    _sessions: Sessions,
}

impl OpenedSession {
    /// Says something to the session: a prompt, or one of the words that stand for a command (`/compress`,
    /// `/uncompress`). False when the session has ended.
    pub async fn prompt(&self, text: &str) -> bool {
        let command = match text.trim() {
            "/compress" => Command::Compress,
            "/uncompress" => Command::Restore,
            _ => Command::Prompt(Content::user(text)),
        };
        self.handle.send(command).await
    }

    /// Ends what its tools left running.
    pub async fn close(self) {
        self.processes.shutdown().await;
    }
}

impl Drop for OpenedSession {
    fn drop(&mut self) {
        self.cancelling.abort();
    }
}

/// Opens a session under these settings.
pub(crate) async fn open(
    request: OpenRequest,
    settings: &Settings,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<OpenedSession, Failure> {
    let cancel = request.cancel.clone();
    let opening = Opening { settings, environment };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::cancelled()),
        opened = opening.open(request, notices) => opened,
    }
}

struct Opening<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
}

impl Opening<'_> {
    async fn open(&self, request: OpenRequest, notices: &mut dyn Notices) -> Result<OpenedSession, Failure> {
        let options = &request.options;
        let schema = options.output_schema.as_ref().map(|path| self.environment.directory.join(path));
        let schema = schema.map(|path| OutputSchema::read(&path)).transpose()?;
        let new_id = request.new_id.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let (model, mode) = self.model(!options.no_tools, &new_id, notices).await?;
        let reference = model.reference.clone();
        let (sessions, opened) = self.session(&request.begin, &new_id, &reference)?;
        let id = opened.id.clone();
        let builder = SessionBuilder {
            settings: self.settings,
            environment: self.environment,
            options,
            own_tools: request.tools,
            sessions: &sessions,
            mode,
            somebody_to_ask: request.somebody_to_ask,
            schema: schema.as_ref().map(OutputSchema::text),
        };
        let assembled = builder.build(opened, model, notices).await?;
        let handle = SessionHandle::start(assembled.setup, assembled.conversation);
        handle.send(Command::SetMode(mode)).await;
        Ok(OpenedSession {
            cancelling: tokio::spawn(cancel_turns(request.cancel, handle.clone())),
            handle,
            id,
            model: reference,
            mode,
            output_schema: schema,
            processes: assembled.processes,
            _sessions: sessions,
        })
    }

    /// The model that answers, ready to be asked, and the mode that holds for it.
    async fn model(
        &self,
        offers_tools: bool,
        session: &str,
        notices: &mut dyn Notices,
    ) -> Result<(BoundModel, ApprovalMode), Failure> {
        let (settings, environment) = (self.settings, self.environment);
        let mut chain = Chooser::new(settings, environment).chain().await?;
        chain.left_out.iter().for_each(|reason| notices.warning(&reason.as_str().into()));
        chain.note.iter().for_each(|note| notices.note(note));
        let wanted = settings.tools.approval_mode.unwrap_or_default();
        let (mode, notice) = clamp_mode(wanted, &mut chain);
        notice.iter().for_each(|notice| notices.warning(notice));
        chain.first.start(settings.model.name.is_none(), notices).await?;
        let log = self.log(session)?;
        probe::first_use(&mut chain, offers_tools, settings, environment, log.clone(), notices).await;
        keep_loaded(&chain.first);
        Ok((BoundModel::new(chain, settings, environment, log)?, mode))
    }

    fn log(&self, session: &str) -> Result<Option<Arc<dyn LogSink>>, Failure> {
        let Some(file) = &self.settings.logging.file else { return Ok(None) };
        let path = self.environment.expand(file, &self.environment.directory);
        Ok(Some(Arc::new(LogFile::open(&path, session)?)))
    }

    /// The session to go on with. A new one that cannot be kept is better than no answer; an earlier one that
    /// cannot be read is an error.
    fn session(&self, begin: &Begin, id: &str, model: &str) -> Result<(Sessions, Opened), SessionError> {
        let kept = Sessions::new(self.environment).and_then(|sessions| {
            let opened = sessions.open(begin, id, model)?;
            Ok((sessions, opened))
        });
        match kept {
            Err(error) if *begin == Begin::New => {
                Ok(Sessions::temporary(self.environment, id, model, &error))
            }
            kept => kept,
        }
    }
}

async fn cancel_turns(cancel: CancellationToken, session: SessionHandle) {
    cancel.cancelled().await;
    session.send(Command::Cancel).await;
}

/// The mode that holds for this chain, and what to say about it. The built-in model calls a tool where a
/// greeting was meant, so no mode lets it change or run anything unasked: rules that name what they allow
/// still do. As a fallback it is left out of a session whose mode was meant for another model.
fn clamp_mode(mode: ApprovalMode, chain: &mut Chain) -> (ApprovalMode, Option<Notice>) {
    if !matches!(mode, ApprovalMode::AutoEdit | ApprovalMode::Yolo) {
        return (mode, None);
    }
    let name = if mode == ApprovalMode::Yolo { "yolo" } else { "auto_edit" };
    if chain.first.is_built_in() {
        let text = format!("the built-in model is too small for {name}: changes and commands still ask");
        return (ApprovalMode::Default, Some(Notice::with_hint(text, Hint::AllowTools)));
    }
    let before = chain.fallbacks.len();
    chain.fallbacks.retain(|choice: &Choice| !choice.is_built_in());
    let provider = engine::PROVIDER;
    let notice = format!("fallback {provider} is left out: the built-in model is too small for {name}");
    (mode, (chain.fallbacks.len() < before).then(|| notice.into()))
}
