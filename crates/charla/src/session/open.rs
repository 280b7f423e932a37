//! Opens a session: from settings and options to a running conversation.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use charla_core::CancellationToken;
use charla_core::hooks::StartSource;
use charla_core::prompt::OwnPrompt;
use charla_core::session::{Clients, SessionHandle};
use charla_proto::tool::Tool;
use charla_proto::{
    ApprovalMode, BoxFuture, CancelTarget, Command, Conversation, FileJudge, Outcome, Owned, Refusal,
    SessionStore,
};
use charla_providers::layers::LogSink;

use super::agent_bounds::AgentBounds;
use super::agent_calls::{AgentCalls, ChildRequest, OpenChild};
use super::agent_work::Child;
use super::assemble::{ServersOf, SessionBuilder};
use super::error::SessionError;
use super::host::ready;
use super::instruction::own_prompt;
use super::log_file::LogFile;
use super::opened::{Here, OpenedSession};
use super::options::RunOptions;
use super::output_schema::OutputSchema;
use super::plan_mode::{self, ModeChanges};
use super::posted::take_requests;
use super::rules::{judge_of_files, plans};
use super::store::{Begin, Opened, Sessions};
use super::telemetry::{Caller as TracedCaller, LogSinks, Subject, Telemetry};
use crate::agents::{Agent, Agents};
use crate::clock::new_id;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::mcp::with_declared;
use crate::models::planning::planning;
use crate::models::{BoundModel, PromptSize};
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
    /// The model of an earlier session does not count: the settings' one answers.
    pub other_model: bool,
    /// Why a new session begins: what its hooks are told.
    pub start: StartSource,
    /// The id that a new session gets; one is made when left out.
    pub new_id: Option<String>,
    /// A new session that cannot be kept is none: nobody could find it again.
    pub must_be_kept: bool,
    /// Tools, rules and the answer's form.
    pub options: RunOptions,
    /// Tools of the front end's own.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Who can be asked; with nobody attached the answer is no.
    pub clients: Clients,
    /// Stops the opening, and later the turn that runs.
    pub cancel: CancellationToken,
}

/// Where front ends get sessions from: this machine, or a server.
pub trait SessionSource: Send + Sync {
    /// Opens a session under these settings. What there is to say goes to `notices`, then and as long as the session is open.
    fn open<'a>(
        &'a self,
        settings: &'a Settings,
        request: OpenRequest,
        notices: Box<dyn Notices>,
    ) -> BoxFuture<'a, Result<OpenedSession, Failure>>;

    /// Where sessions run, if not here.
    fn server(&self) -> Option<&str> {
        None
    }
}

/// Opens a session under these settings.
pub(crate) async fn open(
    request: OpenRequest,
    settings: &Settings,
    environment: &Environment,
    store: Option<Arc<dyn SessionStore>>,
    notices: &mut dyn Notices,
) -> Result<OpenedSession, Failure> {
    let cancel = request.cancel.clone();
    let opening = Opening { store, ..Opening::new(settings, environment) };
    let opened = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::cancelled()),
        opened = opening.open(request, notices) => opened,
    };
    if opened.is_err() {
        opening.forget().await;
    }
    opened
}

pub(super) struct Opening<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
    store: Option<Arc<dyn SessionStore>>,
    /// The session that was made for this run: in vain, if it does not come to be.
    made: OnceLock<(Arc<Sessions>, String)>,
    /// The call that the session works for.
    child: Option<&'a ChildRequest>,
    /// What is told of the session that calls.
    caller: Option<TracedCaller>,
}

/// The settings that the tools of a run are put together by: what it leaves out is left out under all its names.
pub(super) fn with_excluded(settings: &Settings, options: &RunOptions) -> Settings {
    let mut settings = settings.clone();
    settings.tools.exclude.extend(options.excluded_tools.iter().cloned());
    settings.tools.exclude = with_declared(&settings.tools.exclude, &settings);
    settings
}

impl<'a> Opening<'a> {
    /// A session that is nobody's child and kept nowhere.
    pub(super) fn new(settings: &'a Settings, environment: &'a Environment) -> Self {
        Self { settings, environment, store: None, made: OnceLock::new(), child: None, caller: None }
    }
}

impl Opening<'_> {
    async fn open(&self, request: OpenRequest, notices: &mut dyn Notices) -> Result<OpenedSession, Failure> {
        let options = &request.options;
        let settings = with_excluded(self.settings, options);
        let own_prompt = match self.child {
            Some(child) => Some(OwnPrompt::Instead(child.agent.prompt.clone())),
            None => own_prompt(&settings, self.environment, options.added_prompt.as_deref())?,
        };
        let schema = options.output_schema.as_ref().map(|path| self.environment.directory.join(path));
        let schema = schema.map(|path| OutputSchema::read(&path)).transpose()?;
        let new_id = request.new_id.clone().unwrap_or_else(new_id);
        let agent = self.child.map(|child| &child.link);
        let subject = Subject { id: &new_id, agent, caller: self.caller.clone() };
        let telemetry = Telemetry::of(&settings, self.environment, subject, notices)?;
        let log = self.log(&new_id, telemetry.as_ref())?;
        let (model, sessions, opened) = self.begin(&request, &new_id, log.clone(), notices).await?;
        let Opened { id, owned, notices: about } = opened;
        about.iter().for_each(|notice| notices.warning(&notice.as_str().into()));
        let Owned { journal, conversation, mailbox, .. } = owned;
        let (reference, clients) = (model.reference.clone(), request.clients.clone());
        let is_open = conversation.turn.is_some() || !conversation.queue.is_empty();
        let caller = telemetry.as_ref().and_then(Telemetry::caller);
        let agents = self.agent_calls(&id, &request, caller, notices);
        let (own_tools, mode_changes) = self.own_tools(request.tools, &model);
        let builder = SessionBuilder {
            settings: &settings,
            environment: self.environment,
            options,
            own_prompt,
            own_tools,
            sessions: sessions.clone(),
            clients: request.clients,
            schema,
            log,
            servers: self
                .child
                .map_or(ServersOf::Own, |child| ServersOf::Caller(child.situation.servers.clone())),
            agents: agents.clone(),
            start: request.start,
        };
        let (setup, processes, servers) = builder.build(&id, journal, model, notices).await?;
        let known = self.answered_by_caller(&sessions, &conversation).await?;
        let handle = SessionHandle::start(setup, conversation);
        for (approval, outcome, by) in known {
            // Refused where it is answered by now, which is as good.
            let _ = handle.answer(&approval, outcome, &by).await;
        }
        let telemetry = telemetry.map(|telemetry| tokio::spawn(telemetry.follow(&handle)));
        if let Some(agents) = &agents {
            tokio::spawn(agents.clone().follow(handle.subscribe()));
        }
        let mode = self.settings.tools.approval_mode.unwrap_or_default();
        handle.send(Command::SetMode { mode }, OPENER).await;
        let here = Here {
            is_new: self.made.get().is_some(),
            cancelling: tokio::spawn(cancel_turns(request.cancel, handle.clone())),
            changing: tokio::spawn(mode_changes.follow(handle.clone())),
            listening: tokio::spawn(take_requests(mailbox, clients, handle.clone())),
            processes,
            is_handed_over: false,
            servers,
            agents,
            telemetry: Mutex::new(telemetry),
            sessions,
        };
        Ok(OpenedSession { handle, id, model: reference, is_open, here: Some(here) })
    }

    /// The answers that the caller of an agent has to what the agent's session still asks, where that is opened on its own.
    async fn answered_by_caller(
        &self,
        sessions: &Sessions,
        conversation: &Conversation,
    ) -> Result<Vec<(String, Outcome, String)>, Failure> {
        let mut known = Vec::new();
        let is_agents = conversation.started.as_ref().is_some_and(|started| started.agent.is_some());
        for open in conversation.open_approvals().filter(|_| is_agents && self.child.is_none()) {
            let approval = &open.asked.approval;
            if let Err(Refusal::Late { outcome, by }) = sessions.to_answer(approval).await? {
                known.push((approval.clone(), outcome, by));
            }
        }
        Ok(known)
    }

    /// The agents that the session can call; one that works for a call can call none.
    pub(super) fn agent_calls(
        &self,
        id: &str,
        request: &OpenRequest,
        caller: Option<TracedCaller>,
        notices: &mut dyn Notices,
    ) -> Option<Arc<AgentCalls>> {
        if self.child.is_some() || request.options.no_tools {
            return None;
        }
        let find = |files, notices: &mut dyn Notices| {
            Agents::find(&self.settings.brought.sources(self.environment, files), notices)
        };
        // Rules are read for them where there is something that a rule could close.
        let mut told: Vec<Notice> = Vec::new();
        if find(FileJudge::default(), &mut told).is_empty() && told.is_empty() {
            return None;
        }
        let agents = find(judge_of_files(self.environment, &request.options.rule_files), notices);
        let bounds = AgentBounds::new(self.settings);
        let calls = |agents| AgentCalls::new(agents, id, self.opener(request, caller), bounds);
        (!agents.is_empty()).then(|| Arc::new(calls(agents)))
    }

    /// What opens the sessions of agents: under the same settings and rules, with the same people.
    fn opener(&self, request: &OpenRequest, caller: Option<TracedCaller>) -> OpenChild {
        let parent = Arc::new(Parent {
            settings: self.settings.clone(),
            environment: self.environment.clone(),
            store: self.store.clone(),
            options: RunOptions { output_schema: None, ..request.options.clone() },
            clients: request.clients.clone(),
            caller,
        });
        Arc::new(move |child| {
            let parent = parent.clone();
            Box::pin(async move { parent.open(child).await })
        })
    }

    /// The tools of the front end, and those that change the mode.
    pub(super) fn own_tools(
        &self,
        mut tools: Vec<Arc<dyn Tool>>,
        model: &BoundModel,
    ) -> (Vec<Arc<dyn Tool>>, ModeChanges) {
        let mode = self.settings.tools.approval_mode.unwrap_or_default();
        let (planning, changes) = plan_mode::tools(mode, plans(self.environment, self.settings));
        let core = self.settings.tools.core.as_ref();
        let is_wanted = |tool: &Arc<dyn Tool>| {
            core.is_none_or(|names| names.contains(&tool.declaration().name))
                && model.prompt_size <= PromptSize::Compact
        };
        // Whoever works for a call keeps to its caller's mode.
        tools.extend(planning.into_iter().filter(is_wanted).filter(|_| self.child.is_none()));
        (tools, changes)
    }

    /// The session to go on with, and its model: the one it had, unless another is asked for.
    async fn begin(
        &self,
        request: &OpenRequest,
        id: &str,
        log: Option<Arc<dyn LogSink>>,
        notices: &mut dyn Notices,
    ) -> Result<(BoundModel, Arc<Sessions>, Opened), Failure> {
        let tools = !request.options.no_tools;
        let kept = Sessions::new(self.store.clone(), self.environment)
            .map(|sessions| sessions.working_for(self.child.map(|child| child.link.clone())));
        let (sessions, opened) = match &request.begin {
            Begin::New => {
                let settings = as_it_begins(self.settings);
                let model = ready(&settings, self.environment, tools, log, notices).await?;
                let (sessions, opened) = match request.must_be_kept {
                    true => {
                        let sessions = kept?;
                        let opened = sessions.create(id, &model.reference).await?;
                        (sessions, opened)
                    }
                    false => self.new_session(kept, id, &model.reference).await,
                };
                return Ok((model, self.made(sessions, &opened), opened));
            }
            Begin::Resume(which) => {
                let sessions = kept?;
                let opened = sessions.resume(which).await?;
                (Arc::new(sessions), opened)
            }
            Begin::Fork { session, at } => {
                let sessions = kept?;
                let opened = sessions.fork(session, *at, id).await?;
                (self.made(sessions, &opened), opened)
            }
        };
        let last = opened.owned.conversation.model.clone();
        let model = match request.other_model || last.is_empty() {
            true => ready(self.settings, self.environment, tools, log, notices).await?,
            false => self.same_model(&last, tools, log, notices).await?,
        };
        Ok((model, sessions, opened))
    }

    fn made(&self, sessions: Sessions, opened: &Opened) -> Arc<Sessions> {
        let sessions = Arc::new(sessions);
        // Set once: a run makes one session at most.
        let _ = self.made.set((sessions.clone(), opened.id.clone()));
        sessions
    }

    /// A run that failed before anything was asked leaves no session: nobody would know what it is for.
    async fn forget(&self) {
        if let Some((sessions, id)) = self.made.get() {
            // Left behind, it is nobody's latest.
            let _ = sessions.removed(std::slice::from_ref(id)).await;
        }
    }

    /// The model a session had; another, and a word about it, when it cannot be had.
    async fn same_model(
        &self,
        last: &str,
        tools: bool,
        log: Option<Arc<dyn LogSink>>,
        notices: &mut dyn Notices,
    ) -> Result<BoundModel, Failure> {
        let mut settings = self.settings.clone();
        settings.model.name = Some(last.to_owned());
        match ready(&settings, self.environment, tools, log.clone(), notices).await {
            Ok(model) => Ok(model),
            Err(failure) if self.settings.model.name.as_deref() == Some(last) => Err(failure),
            Err(failure) => {
                let model = ready(self.settings, self.environment, tools, log, notices).await?;
                let text = format!(
                    "the session's model {last} cannot be had ({failure}); {} goes on",
                    model.reference
                );
                notices.warning(&text.into());
                Ok(model)
            }
        }
    }

    /// A new session that cannot be kept is better than no answer.
    async fn new_session(
        &self,
        kept: Result<Sessions, SessionError>,
        id: &str,
        model: &str,
    ) -> (Sessions, Opened) {
        let why = match kept {
            Ok(sessions) => match sessions.create(id, model).await {
                Ok(opened) => return (sessions, opened),
                Err(error) => error,
            },
            Err(error) => error,
        };
        Sessions::temporary(self.environment, id, model, &why)
    }

    fn log(&self, session: &str, telemetry: Option<&Telemetry>) -> Result<Option<Arc<dyn LogSink>>, Failure> {
        let mut sinks: Vec<Arc<dyn LogSink>> = Vec::new();
        if let Some(file) = &self.settings.logging.file {
            let path = self.environment.expand(file, &self.environment.directory);
            sinks.push(Arc::new(LogFile::open(&path, session)?));
        }
        sinks.extend(telemetry.map(Telemetry::sinks).unwrap_or_default());
        Ok(LogSinks::of(sinks))
    }
}

/// The settings as they choose the model of a new session: one that begins with planning begins with the model that plans.
pub(super) fn as_it_begins(settings: &Settings) -> Cow<'_, Settings> {
    let mut settings = Cow::Borrowed(settings);
    if settings.tools.approval_mode == Some(ApprovalMode::Plan)
        && let Some(plans) = planning(&settings)
    {
        settings.to_mut().model.name = Some(plans);
    }
    settings
}

/// What an agent's session has of the session that calls it.
struct Parent {
    settings: Settings,
    environment: Environment,
    store: Option<Arc<dyn SessionStore>>,
    options: RunOptions,
    clients: Clients,
    /// What is told of it.
    caller: Option<TracedCaller>,
}

impl Parent {
    async fn open(&self, child: ChildRequest) -> Result<Box<dyn Child>, Failure> {
        let mut settings = self.settings.clone();
        let agent = &child.agent;
        settings.tools.approval_mode = Some(child.situation.mode);
        settings.model.name = Some(agent.model.clone().unwrap_or_else(|| child.situation.model.clone()));
        settings.limits.max_turns =
            Some(settings.limits.max_turns.map_or(agent.steps, |most| most.min(agent.steps)));
        let tools = agent.tools.as_deref().map(|named| with_declared(named, &settings));
        settings.brought.agent = Some(Arc::new(Agent { tools, ..Agent::clone(agent) }));
        let opening = Opening {
            settings: &settings,
            environment: &self.environment,
            store: self.store.clone(),
            made: OnceLock::new(),
            child: Some(&child),
            caller: self.caller.clone(),
        };
        let begin = if child.again { Begin::Resume(child.id.clone()) } else { Begin::New };
        let request = OpenRequest {
            begin,
            new_id: Some(child.id.clone()),
            options: self.options.clone(),
            clients: self.clients.clone(),
            ..OpenRequest::default()
        };
        let mut unheard: Vec<Notice> = Vec::new();
        let opened = opening.open(request, &mut unheard).await;
        if opened.is_err() {
            opening.forget().await;
        }
        Ok(Box::new(opened?))
    }
}

/// Who cancels a turn when the program is told to stop.
pub const SIGNAL: &str = "signal";

/// Who sets a session up.
const OPENER: &str = "settings";

async fn cancel_turns(cancel: CancellationToken, session: SessionHandle) {
    cancel.cancelled().await;
    session.send(Command::Cancel { target: CancelTarget::Turn }, SIGNAL).await;
}
