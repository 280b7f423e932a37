//! Puts a session together: its rules, its tools, its host.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use charla_core::compress::Compression;
use charla_core::hooks::StartSource;
use charla_core::policy::{PolicyError, RuleBook, allowed_tools, trusted_servers};
use charla_core::prompt::OwnPrompt;
use charla_core::session::{CallIds, Clients, Limits, SessionOptions, SessionSetup};
use charla_proto::tool::Tool;
use charla_proto::{FileJudge, Journal, ToolContext};
use charla_providers::layers::LogSink;
use charla_sandbox::Sandbox;
use charla_tools::process::{self, ProcessSettings, Processes, SpillFolder};

use super::agent_calls::AgentCalls;
use super::attachments::withhold;
use super::confinement::{self, sandbox};
use super::guest_journal::GuestJournal;
use super::host::{Found, Places, SessionHost};
use super::options::RunOptions;
use super::output_schema::OutputSchema;
use super::rules::{RulePlaces, judge_for_prompts, rule_book};
use super::servers::SessionServers;
use super::store::Sessions;
use crate::clock::now;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::helper;
use crate::hint::Hint;
use crate::hooks::{HookRunner, HookSet};
use crate::mcp::{Health, ServerPlans, trusted_names, unusable};
use crate::models::BoundModel;
use crate::notices::Notices;
use crate::settings::Settings;
use crate::skills::Skills;

/// Everything a session needs but its model and its conversation.
pub(super) struct SessionBuilder<'a> {
    pub settings: &'a Settings,
    pub environment: &'a Environment,
    pub options: &'a RunOptions,
    /// What the user puts into the system prompt.
    pub own_prompt: Option<OwnPrompt>,
    /// Tools of the program that opens the session.
    pub own_tools: Vec<Arc<dyn Tool>>,
    /// Where things are kept.
    pub sessions: Arc<Sessions>,
    /// Who can be asked.
    pub clients: Clients,
    /// What the answer must fit.
    pub schema: Option<OutputSchema>,
    pub log: Option<Arc<dyn LogSink>>,
    /// Why a session without turns begins.
    pub start: StartSource,
    /// Whose MCP servers it has.
    pub servers: ServersOf,
    /// The agents that it can call.
    pub agents: Option<Arc<AgentCalls>>,
}

/// Whose MCP servers a session has.
pub(super) enum ServersOf {
    /// Its own.
    Own,
    /// Its own by what is remembered of them: nobody will call them, and none is started.
    Remembered,
    /// Those of the session that it works for.
    Caller(SessionServers),
}

impl SessionBuilder<'_> {
    /// Puts the session together; also the processes of its tools and its MCP servers, to be shut down when it ends.
    pub async fn build(
        mut self,
        id: &str,
        journal: Box<dyn Journal>,
        model: BoundModel,
        notices: &mut dyn Notices,
    ) -> Result<(SessionSetup, Processes, SessionServers), Failure> {
        let (host, sandbox) = self.host(id, &model, notices).await?;
        let (rules, processes) = (host.rules.clone(), host.places.processes.clone());
        let servers = match &self.servers {
            // They are not ours to end.
            ServersOf::Caller(_) => SessionServers::default(),
            ServersOf::Own | ServersOf::Remembered => host.servers.clone(),
        };
        let options = self.session_options(host.places.roots.clone(), sandbox);
        let transcript = journal.reader().map(|reader| reader.place()).unwrap_or_default();
        let hooks = HookSet::of(self.settings, notices);
        let cwd = self.environment.directory.clone();
        let hooks = HookRunner::of(hooks, &processes, id, transcript, cwd);
        let model = host.take(model);
        host.warm_up(&model.reference);
        let journal: Box<dyn Journal> = match self.environment.guest {
            Some(_) => Box::new(GuestJournal::new(journal, id)),
            None => journal,
        };
        let setup = SessionSetup {
            host,
            model,
            policy: rules,
            journal,
            clients: self.clients,
            options: SessionOptions {
                answer_check: self.schema.map(OutputSchema::into_check),
                hooks,
                start: self.start,
                ..options
            },
            clock: now,
        };
        Ok((setup, processes, servers))
    }

    /// What the session gets its tools and its instruction from, for this model.
    pub async fn host(
        &mut self,
        id: &str,
        model: &BoundModel,
        notices: &mut dyn Notices,
    ) -> Result<(Arc<SessionHost>, Arc<Sandbox>), Failure> {
        let (places, rules, sandbox) = self.places(id, Self::skills, notices)?;
        let schema = self.schema.as_ref().map(|schema| schema.text().to_owned());
        let plans = |notices: &mut dyn Notices| self.server_plans(&places, &rules, notices);
        let servers = match &self.servers {
            _ if self.options.no_tools => SessionServers::default(),
            ServersOf::Remembered => SessionServers::new(plans(notices).map(ServerPlans::unstarted)),
            ServersOf::Caller(servers) => servers.clone(),
            ServersOf::Own => SessionServers::new(plans(notices).map(ServerPlans::attended)),
        };
        let host = Arc::new(SessionHost {
            settings: self.settings.clone(),
            environment: self.environment.clone(),
            options: self.options.clone(),
            own_prompt: self.own_prompt.take(),
            own_tools: std::mem::take(&mut self.own_tools),
            sessions: self.sessions.clone(),
            places,
            servers,
            rules,
            schema,
            log: self.log.clone(),
            found: Mutex::new(Found::default()),
        });
        host.look(model, notices).await;
        Ok((host, sandbox))
    }

    /// Starts the MCP servers for nobody, and says how they are.
    pub async fn check_servers(&self, id: &str, notices: &mut dyn Notices) -> Result<Vec<Health>, Failure> {
        let (places, rules, _) = self.places(id, |_, _, _| Skills::default(), notices)?;
        let mut health = unusable(self.settings, self.environment);
        if let Some(plans) = self.server_plans(&places, &rules, notices) {
            let servers = plans.start();
            servers.settled().await;
            health.extend(servers.health());
            servers.shutdown().await;
        }
        places.processes.shutdown().await;
        health.sort_by(|one, other| one.server.cmp(&other.server));
        Ok(health)
    }

    fn server_plans(
        &self,
        places: &Places,
        rules: &Arc<RuleBook>,
        notices: &mut dyn Notices,
    ) -> Option<ServerPlans> {
        let withhold = withhold(judge_for_prompts(rules.clone(), self.environment), self.environment);
        let (settings, environment) = (self.settings, self.environment);
        ServerPlans::of(settings, environment, &places.roots, &places.processes, withhold, notices)
    }

    /// The skills that the model can ask for under these rules.
    fn skills(&self, rules: &RuleBook, notices: &mut dyn Notices) -> Skills {
        let files = judge_for_prompts(Arc::new(rules.clone()), self.environment);
        match self.options.no_tools {
            true => Skills::default(),
            false => Skills::find(&self.settings.brought.sources(self.environment, files), notices),
        }
    }

    /// Where the session works, and under which rules. The folders of skills may be read wherever they are.
    fn places(
        &self,
        id: &str,
        skills: impl FnOnce(&Self, &RuleBook, &mut dyn Notices) -> Skills,
        notices: &mut dyn Notices,
    ) -> Result<(Places, Arc<RuleBook>, Arc<Sandbox>), Failure> {
        let roots = self.roots()?;
        let rules = self.rules(&roots)?;
        let skills = skills(self, &rules, notices);
        // What was too long to show is for the model to read.
        let outputs = self.sessions.outputs(id);
        let rules = Arc::new(rules.reading(skills.folders()).reading(vec![outputs.clone()]));
        rules.notices().for_each(|notice| notices.warning(&notice.into()));
        let mut readable = skills.folders();
        readable.push(outputs);
        // The programs of their servers lie there: they are read by commands and servers, not by file tools unasked.
        let brought = self.settings.brought.extensions.iter();
        let extensions: Vec<PathBuf> = brought.map(|extension| extension.folder.clone()).collect();
        readable.extend(extensions.iter().cloned());
        let of_commands = match extensions.is_empty() {
            true => rules.clone(),
            false => Arc::new(RuleBook::clone(&rules).reading(extensions)),
        };
        let sandbox = Arc::new(sandbox(self.environment, &roots, of_commands, readable));
        let processes = self.processes(id, sandbox.clone());
        let places = Places { roots, processes, skills: Arc::new(skills), agents: self.agents.clone() };
        Ok((places, rules, sandbox))
    }

    fn session_options(&self, roots: Vec<PathBuf>, sandbox: Arc<Sandbox>) -> SessionOptions {
        let limits = &self.settings.limits;
        let known = sandbox.clone();
        let names = move |path: &Path| known.first_name(path);
        SessionOptions {
            tool_context: Arc::new(ToolContext {
                files: FileJudge::default().knowing(Arc::new(names)),
                cwd: self.environment.directory.clone(),
                roots,
                home: self.environment.home.clone(),
            }),
            limits: Limits { steps: limits.max_turns, tokens: limits.max_tokens, cost: limits.max_cost },
            isolation: Some(confinement::words(sandbox, self.settings.mcp_servers.clone())),
            compression: compression(self.settings),
            answer_check: None,
            call_ids: CallIds::Own,
            hooks: None,
            start: StartSource::default(),
        }
    }

    fn roots(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut roots = vec![self.environment.directory.clone()];
        for folder in &self.options.directories {
            let folder = self.environment.directory.join(folder);
            let real = folder.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(|| {
                Failure::input(format!("{} is not a folder", folder.display())).with_hint(Hint::NameFolders)
            })?;
            roots.push(real);
        }
        Ok(roots)
    }

    /// The rules that hold: built-in, the workspace's, the user's, the administrator's, this run's.
    fn rules(&self, roots: &[PathBuf]) -> Result<RuleBook, Failure> {
        let extra: Vec<PathBuf> =
            self.options.rule_files.iter().map(|path| self.environment.directory.join(path)).collect();
        let places = RulePlaces::of(self.environment).planning(self.settings);
        let book = rule_book(&places, roots, &extra).map_err(|error| mistaken_rules(&error, &extra))?;
        let allowed = self.settings.tools.allowed.iter().chain(&self.options.allowed_tools);
        let rules = allowed_tools(allowed.map(String::as_str))
            .map_err(|error| Failure::input(error.to_string()).with_hint(Hint::NameTools))?;
        let trusted = trusted_servers(trusted_names(self.settings))
            .map_err(|error| Failure::config(error.to_string()))?;
        Ok(book.with(rules).with(trusted))
    }

    fn processes(&self, session: &str, sandbox: Arc<Sandbox>) -> Processes {
        let environment = process::Environment::new(self.environment.all(), &helper::withheld(self.settings));
        let spills = SpillFolder::new(self.sessions.outputs(session));
        Processes::new(ProcessSettings::new(environment, spills, sandbox))
    }
}

/// When a session compresses, as the settings say.
fn compression(settings: &Settings) -> Compression {
    let (settings, default) = (&settings.compression, Compression::default());
    Compression {
        automatic: settings.automatic.unwrap_or(default.automatic),
        threshold: settings.threshold.unwrap_or(default.threshold),
        keep: settings.keep.unwrap_or(default.keep),
    }
}

/// What is wrong with rules. A file that was named and is not there is a slip of whoever named it.
fn mistaken_rules(error: &PolicyError, named: &[PathBuf]) -> Failure {
    let failure = Failure::config(error.to_string());
    let is_missing = |path: &PathBuf| !path.is_file() && path.display().to_string() == error.file;
    if named.iter().any(is_missing) { failure.with_hint(Hint::NameRuleFiles) } else { failure }
}
