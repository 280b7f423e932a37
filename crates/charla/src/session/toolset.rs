//! Which tools a session has.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::WireKind;
use charla_proto::tool::{Tool, Toolbox};
use charla_tools::ask_user::AskUser;
use charla_tools::command::{ListBackgroundProcesses, ReadBackgroundOutput, RunShellCommand};
use charla_tools::process::Processes;
use charla_tools::web_fetch::WebFetch;
use charla_tools::web_search::{SearchBy, WebSearch};
use charla_tools::{Buffers, Registry, Selection, Source};

use super::agent_calls::INVOKE_AGENT;
use super::options::RunOptions;
use super::plan_mode;
use super::store::Sessions;
use crate::engine;
use crate::environment::Environment;
use crate::mcp;
use crate::models::{Directory, PromptSize};
use crate::network;
use crate::notices::Notices;
use crate::settings::Settings;
use crate::skills::{ActivateSkill, Skills};

/// Providers that search the web themselves, on a wire that says so, and where the question goes.
const SEARCHING: [(&str, WireKind, &str); 4] = [
    ("gemini", WireKind::Gemini, "google.com"),
    ("vertex", WireKind::Gemini, "google.com"),
    ("anthropic", WireKind::Anthropic, "api.anthropic.com"),
    ("openai", WireKind::OpenaiResponses, "api.openai.com"),
];
/// How long the command that announces tools may take: nothing else happens until it is done.
const DISCOVERY: Duration = Duration::from_secs(30);

/// What decides about the tools of a session.
#[derive(Clone, Copy)]
pub(super) struct Toolset<'a> {
    pub settings: &'a Settings,
    pub environment: &'a Environment,
    pub options: &'a RunOptions,
    pub sessions: &'a Sessions,
    /// Tools of the program that opens the session.
    pub own: &'a [Arc<dyn Tool>],
    /// The skills that can be asked for.
    pub skills: &'a Arc<Skills>,
}

impl Toolset<'_> {
    /// All tools there are for a model that is told so much.
    pub fn registry(
        &self,
        processes: &Processes,
        discovered: &[Arc<dyn Tool>],
        size: PromptSize,
        somebody: bool,
    ) -> Registry {
        let mut registry = self.built_in(processes, size, somebody);
        for tool in self.own {
            registry.register(Source::BuiltIn, tool.clone());
        }
        for tool in discovered {
            registry.register(Source::Discovered, tool.clone());
        }
        registry
    }

    fn built_in(&self, processes: &Processes, size: PromptSize, somebody: bool) -> Registry {
        let tools = &self.settings.tools;
        let mut core = match size {
            PromptSize::Full | PromptSize::Compact => tools.core.clone(),
            PromptSize::FewTools => Some(engine::tools(self.settings)),
            PromptSize::Trained => Some(engine::trained_tools(self.settings)),
        };
        if let Some(core) = &mut core {
            core.extend(self.own.iter().map(|tool| tool.declaration().name.clone()));
        }
        let mut registry = Registry::new(Selection { core, excluded: tools.exclude.clone() });
        let memory = self.environment.charla_home().map(|home| home.join("CHARLA.md"));
        let editor = self.options.editor.as_ref().map(|editor| editor.0.clone());
        registry.register_files(self.sessions.snapshots(), memory, &Buffers::of(editor));
        registry.add(RunShellCommand::new(processes.clone()));
        registry.add(ListBackgroundProcesses::new(processes.clone()));
        registry.add(ReadBackgroundOutput::new(processes.clone()));
        registry.add(self.web_fetch());
        if !self.skills.is_empty() {
            registry.register(Source::BuiltIn, Arc::new(ActivateSkill::new(self.skills.clone())));
        }
        if somebody {
            registry.add(AskUser);
        }
        registry
    }

    /// Tools that the settings ask for by a name that nothing has.
    pub fn tell_unknown(
        &self,
        processes: &Processes,
        discovered: &[Arc<dyn Tool>],
        size: PromptSize,
        notices: &mut dyn Notices,
    ) {
        let tools = &self.settings.tools;
        // The built-in model is left some of the tools that other small ones are; all of them have to be there.
        let size = size.min(PromptSize::FewTools);
        let (key, wanted) = match size == PromptSize::FewTools {
            true => ("local.tools", self.settings.local.tools.as_ref()),
            false => ("tools.core", tools.core.as_ref()),
        };
        let Some(wanted) = wanted else { return };
        let registry = self.registry(processes, discovered, size, true);
        let is_unknown = |name: &&str| {
            registry.get(name).is_none()
                && !sometimes_there(name)
                && !tools.exclude.iter().any(|excluded| excluded == name)
        };
        let names = wanted.iter().filter_map(|entry| entry.split('(').next().map(str::trim));
        for name in names.filter(is_unknown) {
            notices.warning(&format!("`{key}` names `{name}`, and there is no such tool").into());
        }
    }

    /// Tools that shall run without asking, or not be offered, by a name that nothing has.
    pub fn tell_unknown_allowed(
        &self,
        processes: &Processes,
        discovered: &[Arc<dyn Tool>],
        options: &RunOptions,
        notices: &mut dyn Notices,
    ) {
        let tools = &self.settings.tools;
        let allowed = tools.allowed.iter().chain(&options.allowed_tools).map(|name| ("allowed", name));
        let excluded = tools.exclude.iter().map(|name| ("excluded", name));
        let mut registry: Option<Registry> = None;
        for (what, entry) in allowed.chain(excluded) {
            let name = entry.split('(').next().unwrap_or_default().trim();
            let registry = registry.get_or_insert_with(|| self.every(processes, discovered));
            let is_known = registry.get(name).is_some() || sometimes_there(name);
            if name.contains('*') || is_known || mcp::may_be_tool(name, self.settings) {
                continue;
            }
            let meant = registry.nearest(name).map(|meant| format!("; did you mean `{meant}`?"));
            let text = format!("`{name}` is {what}, but there is no such tool{}", meant.unwrap_or_default());
            notices.warning(&text.into());
        }
    }

    /// Every tool there could be, whatever is left out.
    fn every(&self, processes: &Processes, discovered: &[Arc<dyn Tool>]) -> Registry {
        let mut settings = self.settings.clone();
        settings.tools.core = None;
        settings.tools.exclude.clear();
        let all = Toolset { settings: &settings, ..*self };
        let mut registry = all.registry(processes, discovered, PromptSize::Full, true);
        registry.add(WebSearch::new(SearchBy::Model { host: SEARCHING[0].2 }));
        registry
    }

    /// A search of the web, where the user has a command for it or the model's provider searches.
    pub fn web_search(&self, processes: &Processes, model: &str) -> Option<WebSearch> {
        let command = &self.settings.tools.search_command;
        let by = match command.is_empty() {
            false => SearchBy::Command { processes: processes.clone(), command: command.clone() },
            true => SearchBy::Model { host: self.searching_host(model)? },
        };
        Some(WebSearch::new(by))
    }

    /// Where the model's provider searches, if it does. At another address the same wire may be spoken by somebody who does not.
    fn searching_host(&self, model: &str) -> Option<&'static str> {
        let provider = model.split('/').next().unwrap_or_default();
        let (_, wire, host) = SEARCHING.iter().find(|(name, ..)| *name == provider)?;
        let directory = Directory::new(self.settings);
        let endpoint = directory.resolve(model).ok()?.0.endpoint().ok()?;
        (endpoint.wire == *wire).then_some(*host)
    }

    fn web_fetch(&self) -> WebFetch {
        let (settings, environment) = (self.settings.clone(), self.environment.clone());
        WebFetch::new(move || {
            let options =
                network::network_options(&settings, &environment, true).map_err(|error| error.message)?;
            charla_providers::net::client_builder(&options).map_err(|error| error.to_string())
        })
    }

    /// The tools that the user's discovery command announces. Without them the session goes on.
    pub async fn discover(&self, processes: &Processes, notices: &mut dyn Notices) -> Vec<Arc<dyn Tool>> {
        let tools = &self.settings.tools;
        let (Some(discovery), Some(call)) = (&tools.discovery_command, &tools.call_command) else {
            if tools.discovery_command.is_some() {
                let text = "`tools.discoveryCommand` is not run: `tools.callCommand` is not set";
                notices.warning(&text.into());
            }
            return Vec::new();
        };
        let runner = Arc::new(processes.clone());
        let cwd = self.environment.directory.clone();
        let found = charla_tools::discover(runner, discovery, call, cwd);
        match tokio::time::timeout(DISCOVERY, found).await {
            Ok(Ok(found)) => {
                for why in &found.skipped {
                    notices.warning(&format!("a discovered tool is left out: {why}").into());
                }
                let mut all = self.built_in(processes, PromptSize::Full, true);
                for tool in &found.tools {
                    if let Some(replaced) = all.register(Source::Discovered, tool.clone()) {
                        notices.warning(&replaced.to_string().into());
                    }
                }
                return found.tools;
            }
            Ok(Err(error)) => notices.warning(&error.to_string().into()),
            Err(_) => {
                let limit = DISCOVERY.as_secs();
                let text =
                    format!("the tool discovery command took longer than {limit} s: its tools are left out");
                notices.warning(&text.into());
            }
        }
        Vec::new()
    }
}

/// True for tools that are offered only when somebody is there to be asked, when there are skills or agents, or when there
/// is something to plan.
fn sometimes_there(name: &str) -> bool {
    ["ask_user", ActivateSkill::NAME, INVOKE_AGENT].contains(&name) || plan_mode::NAMES.contains(&name)
}
