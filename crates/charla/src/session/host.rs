//! What a session gets from this library: models by name, tools and instructions for the moment, files put
//! back, rules kept.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charla_core::policy::RuleBook;
use charla_core::prompt::OwnPrompt;
use charla_core::session::{self, Equipment, Host, RevertProblem, RevertStep, Reverted, Situation};
use charla_proto::tool::{Tool, Toolbox};
use charla_proto::{ApprovalMode, BoxFuture};
use charla_providers::layers::LogSink;
use charla_tools::process::Processes;
use charla_tools::{Registry, Source};

use super::agent_calls::{AgentCalls, Caller, InvokeAgent};
use super::compact_toolbox::CompactToolbox;
use super::instruction::Instruction;
use super::memory;
use super::mode::tell_mode;
use super::only_tools::OnlyTools;
use super::options::RunOptions;
use super::plan_mode;
use super::revert::revert;
use super::rules::judge_for_prompts;
use super::saved_rules::SavedRules;
use super::servers::{ServerToolbox, SessionServers, by_server, may_run, offer};
use super::store::Sessions;
use super::toolset::Toolset;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::models::planning::planning;
use crate::models::{BoundModel, Chain, Chooser, PromptSize, check_auth_type, keep_loaded, own, probe};
use crate::notices::{Notice, Notices};
use crate::settings::Settings;
use crate::skills::Skills;

/// The host of one session.
pub(super) struct SessionHost {
    pub settings: Settings,
    pub environment: Environment,
    pub options: RunOptions,
    /// What the user puts into the system prompt.
    pub own_prompt: Option<OwnPrompt>,
    /// Tools of the program that opens the session.
    pub own_tools: Vec<Arc<dyn Tool>>,
    /// Where things are kept.
    pub sessions: Arc<Sessions>,
    pub places: Places,
    pub servers: SessionServers,
    pub rules: Arc<RuleBook>,
    /// The schema that the answer must fit.
    pub schema: Option<String>,
    pub log: Option<Arc<dyn LogSink>>,
    pub found: Mutex<Found>,
}

/// Where a session works.
pub(super) struct Places {
    pub roots: Vec<PathBuf>,
    pub processes: Processes,
    /// The skills that can be asked for here.
    pub skills: Arc<Skills>,
    /// The agents that can be called here.
    pub agents: Option<Arc<AgentCalls>>,
}

/// What was found out so far, and may be found out anew.
#[derive(Default)]
pub(super) struct Found {
    /// How each model that was bound is spoken to.
    models: HashMap<String, PromptStyle>,
    /// Tools of the discovery command.
    discovered: Vec<Arc<dyn Tool>>,
    /// What the memory files say.
    memory: String,
    /// The model that answered before another one planned.
    usual: Option<String>,
}

/// How a model is spoken to.
#[derive(Clone, Copy)]
struct PromptStyle {
    size: PromptSize,
    chat_only: bool,
    stable_prefix: bool,
    window: Option<u32>,
}

impl PromptStyle {
    /// Tools of MCP servers are for models that can be told of any tool.
    fn takes_servers(self) -> bool {
        !self.chat_only && self.size != PromptSize::Trained
    }
}

impl Found {
    /// How a model is spoken to.
    fn style(&self, model: &str) -> PromptStyle {
        let full =
            PromptStyle { size: PromptSize::Full, chat_only: false, stable_prefix: false, window: None };
        self.models.get(model).copied().unwrap_or(full)
    }
}

impl SessionHost {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out what tools and instructions are made from.
    pub async fn look(&self, model: &BoundModel, notices: &mut dyn Notices) {
        let toolset = self.toolset();
        let mut discovered = Vec::new();
        if !self.options.no_tools && !model.chat_only {
            discovered = toolset.discover(&self.places.processes, notices).await;
            toolset.tell_unknown(&self.places.processes, &discovered, model.prompt_size, notices);
            toolset.tell_unknown_allowed(&self.places.processes, &discovered, &self.options, notices);
        }
        self.found().discovered = discovered;
        self.read_memory(notices);
    }

    fn read_memory(&self, notices: &mut dyn Notices) {
        let files = judge_for_prompts(self.rules.clone(), &self.environment);
        let memory = memory::read(&self.environment, files, &self.settings.brought, notices);
        self.found().memory = memory;
    }

    fn toolset(&self) -> Toolset<'_> {
        Toolset {
            settings: &self.settings,
            environment: &self.environment,
            options: &self.options,
            sessions: &self.sessions,
            own: &self.own_tools,
            skills: &self.places.skills,
        }
    }

    /// Takes a model in: the session may ask it from now on.
    pub fn take(&self, mut model: BoundModel) -> session::BoundModel {
        if let Some(schema) = self.schema.as_deref().filter(|_| model.takes_schema) {
            model.template.response_json_schema = serde_json::from_str(schema).ok().map(Arc::new);
        }
        let style = PromptStyle {
            size: model.prompt_size,
            chat_only: model.chat_only,
            stable_prefix: model.stable_prefix,
            window: model.window,
        };
        self.found().models.insert(model.reference.clone(), style);
        model.for_session()
    }

    /// Begins to start the MCP servers, if the model is offered their tools.
    pub fn warm_up(&self, model: &str) {
        if self.found().style(model).takes_servers() {
            self.servers.running();
        }
    }

    /// A model by name, ready to be asked.
    async fn model(&self, name: &str) -> Result<BoundModel, Failure> {
        let mut settings = self.settings.clone();
        settings.model.name = Some(name.to_owned());
        let mut unheard: Vec<Notice> = Vec::new();
        ready(&settings, &self.environment, !self.options.no_tools, self.log.clone(), &mut unheard).await
    }
}

/// The model that the settings name, ready to be asked.
pub(super) async fn ready(
    settings: &Settings,
    environment: &Environment,
    offers_tools: bool,
    log: Option<Arc<dyn LogSink>>,
    notices: &mut dyn Notices,
) -> Result<BoundModel, Failure> {
    if let Some(own) = own::chosen(settings) {
        return own::bind(own, settings, log);
    }
    check_auth_type(settings, environment)?;
    let mut chain = Chooser::new(settings, environment).chain().await?;
    chain.left_out.iter().for_each(|reason| notices.warning(&reason.as_str().into()));
    chain.note.iter().for_each(|note| notices.note(note));
    tell_mode(settings, &mut chain, notices);
    tell_thinking(settings, &chain, notices);
    chain.first.start(settings.model.name.is_none(), notices).await?;
    if settings.model.responses.replay.is_none() {
        probe::first_use(&mut chain, offers_tools, settings, environment, log.clone(), notices).await;
    }
    keep_loaded(&chain.first);
    BoundModel::new(chain, settings, environment, log)
}

/// Says where a wish about thinking goes unheard.
fn tell_thinking(settings: &Settings, chain: &Chain, notices: &mut dyn Notices) {
    let wish = &settings.model.thinking;
    if wish.budget.is_none() && wish.level.is_none() {
        return;
    }
    for choice in chain.models().filter(|choice| !choice.hears_thinking(settings)) {
        let (reference, provider) = (choice.reference(), &choice.entry.name);
        let text = format!(
            "`model.thinking` does nothing for {reference}: no way is known to tell it; if its server has one, name it in \
             `providers.{provider}.quirks.thinkingStyle` or `providers.{provider}.models.<id>.thinkSwitch`"
        );
        notices.warning(&text.into());
    }
}

impl Host for SessionHost {
    fn bind<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<session::BoundModel, String>> {
        Box::pin(async move {
            let bound = self.model(model).await.map_err(|failure| failure.message)?;
            Ok(self.take(bound))
        })
    }

    fn next_model(&self, model: &str) -> Option<String> {
        Chooser::new(&self.settings, &self.environment).next_ready(model)
    }

    fn model_for(&self, mode: ApprovalMode, current: &str) -> Option<String> {
        let plans = planning(&self.settings)?;
        match (mode == ApprovalMode::Plan, current == plans) {
            (true, false) => {
                self.found().usual = Some(current.to_owned());
                Some(plans)
            }
            // A session that began with planning had no other model yet.
            (false, true) => {
                let usual = self.found().usual.take().or_else(|| self.settings.model.name.clone());
                usual.or_else(|| Chooser::new(&self.settings, &self.environment).next_ready(""))
            }
            _ => None,
        }
    }

    fn equip(&self, situation: &Situation) -> Equipment {
        let found = self.found();
        let style = found.style(&situation.model);
        let mut registry = Registry::default();
        if !self.options.no_tools && !style.chat_only {
            let processes = &self.places.processes;
            registry = self.toolset().registry(processes, &found.discovered, style.size, situation.somebody);
            if let Some(search) = self.toolset().web_search(processes, &situation.model) {
                registry.add(search);
            }
        }
        if let Some(agents) = self.places.agents.as_ref().filter(|_| !style.chat_only) {
            let (model, mode, servers) = (situation.model.clone(), situation.mode, self.servers.clone());
            let tool = InvokeAgent::new(agents.clone(), Caller { model, mode, servers });
            registry.register(Source::BuiltIn, Arc::new(tool));
        }
        let servers = style.takes_servers().then(|| self.servers.running()).flatten();
        if let Some(servers) = servers {
            offer(servers, style.window, &mut registry);
        }
        let withheld = registry.withhold(|tool| {
            let of_server = servers.is_some_and(|servers| may_run(servers, tool, &self.rules, situation));
            !of_server && !self.rules.offers(tool, situation.mode, situation.somebody)
        });
        let mut withheld = servers.map_or(withheld.clone(), |servers| by_server(servers, withheld));
        // No task needs them.
        withheld.retain(|name| !plan_mode::NAMES.contains(&name.as_str()));
        let mut tools: Vec<String> =
            registry.declarations().iter().map(|declaration| declaration.name.clone()).collect();
        let agent = self.settings.brought.agent.as_ref();
        for names in [&mut tools, &mut withheld] {
            names.retain(|tool| agent.is_none_or(|agent| agent.has(tool)));
        }
        let instruction = Instruction {
            environment: &self.environment,
            roots: &self.places.roots,
            tools,
            withheld: &withheld,
            how_to_allow: self.options.how_to_allow.as_deref(),
            memory: found.memory.clone(),
            skills: &self.places.skills,
            schema: self.schema.as_deref(),
            somebody_to_ask: situation.somebody,
            size: style.size,
            own: self.own_prompt.clone(),
        };
        let instruction = Some(Arc::new(instruction.content(style.stable_prefix)));
        let toolbox = toolbox(registry, style.size);
        let toolbox = match servers {
            Some(servers) => {
                Arc::new(ServerToolbox::new(toolbox, servers.clone(), &self.settings.tools.exclude))
            }
            None => toolbox,
        };
        let toolbox = match agent {
            Some(agent) => Arc::new(OnlyTools::new(toolbox, agent.clone())),
            None => toolbox,
        };
        Equipment { toolbox, instruction }
    }

    fn equipment_version(&self) -> u64 {
        self.servers.version()
    }

    fn tools(&self) -> Arc<dyn Toolbox> {
        let found = self.found();
        Arc::new(self.toolset().registry(&self.places.processes, &found.discovered, PromptSize::Full, false))
    }

    fn refresh<'a>(&'a self) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut unheard: Vec<Notice> = Vec::new();
            let discovered = self.toolset().discover(&self.places.processes, &mut unheard).await;
            self.found().discovered = discovered;
            self.read_memory(&mut unheard);
        })
    }

    fn revert<'a>(
        &'a self,
        steps: Vec<RevertStep>,
    ) -> BoxFuture<'a, Result<Box<dyn Reverted>, RevertProblem>> {
        revert(&self.rules, self.sessions.snapshots(), steps)
    }

    fn save_rules<'a>(&'a self, rules: &'a str) -> BoxFuture<'a, Result<String, String>> {
        save_rules(&self.environment, rules)
    }
}

fn toolbox(registry: Registry, size: PromptSize) -> Arc<dyn Toolbox> {
    match size {
        PromptSize::Full => Arc::new(registry),
        PromptSize::Compact => Arc::new(CompactToolbox::new(registry)),
        PromptSize::FewTools | PromptSize::Trained => Arc::new(CompactToolbox::minimal(registry)),
    }
}

/// Keeps rules in the user's file, off the runtime's threads.
pub(super) fn save_rules(
    environment: &Environment,
    rules: &str,
) -> BoxFuture<'static, Result<String, String>> {
    let (saved, rules) = (SavedRules::of(environment), rules.to_owned());
    Box::pin(async move {
        let saved = saved.ok_or("there is no home directory to save the rule in")?;
        let place = saved.path().display().to_string();
        let work = tokio::task::spawn_blocking(move || saved.append(&rules));
        let done = work.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        done.map(|()| place.clone()).map_err(|error| format!("{place}: {error}"))
    })
}
