//! Puts a session together: its tools, its rules, its prompt.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use charla_core::compress::Counter;
use charla_core::policy::{RuleBook, allowed_tools};
use charla_core::prompt::{PromptSetting, SystemPrompt, system_prompt};
use charla_core::session::{Limits, SessionSetup};
use charla_proto::tool::Toolbox;
use charla_proto::{
    ApprovalMode, Content, ContentGenerator, Conversation, GenerateRequest, Part, Role, ToolContext,
};
use charla_store::Blobs;
use charla_tools::ask_user::AskUser;
use charla_tools::command::{ListBackgroundProcesses, ReadBackgroundOutput, RunShellCommand};
use charla_tools::memory::{Memory, MemoryPlaces};
use charla_tools::process::{self, ProcessSettings, Processes, SpillFolder};
use charla_tools::web_fetch::WebFetch;
use charla_tools::{Registry, Selection, Source};

use crate::brief::Brief;
use crate::environment::Environment;
use crate::exit::Failure;
use crate::local;
use crate::policy::{self, PolicyPlace};
use crate::sessions::{Open, Sessions, now};
use crate::settings::Settings;
use crate::wiring;

/// How long the command that announces tools may take: nothing else happens until it is done.
const DISCOVERY: Duration = Duration::from_secs(30);

/// What a run says about its tools and limits beside the settings.
#[derive(Clone, Debug, Default)]
pub struct Conduct {
    /// Tools that run without asking.
    pub allowed_tools: Vec<String>,
    /// Rule files of this run.
    pub policies: Vec<PathBuf>,
    /// Further folders of the workspace.
    pub directories: Vec<PathBuf>,
    /// No tools at all.
    pub no_tools: bool,
    /// The file with the schema the answer must fit.
    pub schema: Option<PathBuf>,
}

/// The model of a session, and what is known of it.
pub struct Mind {
    /// Asks it.
    pub generator: Arc<dyn ContentGenerator>,
    /// What every request has beside the conversation.
    pub template: GenerateRequest,
    /// Dollars for a million input, output and cached tokens.
    pub price: Option<[f64; 3]>,
    /// Tokens it can read and write together.
    pub window: Option<u32>,
    /// Counts the tokens that a request takes of them.
    pub count: Counter,
    /// How much it is told.
    pub manner: Manner,
    /// It calls no tools: it is offered none.
    pub chat_only: bool,
    /// What differs from run to run is kept apart in its system instruction.
    pub steady: bool,
}

/// How much a model is told, from all to little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manner {
    /// Everything.
    Full,
    /// It reads slowly or has little room: a short prompt, and all tools in few words.
    Brief,
    /// It has very little room: a short prompt, and few tools with few parameters.
    Few,
    /// It understands hardly anything: who it is, and few tools.
    Least,
}

/// A session ready to start.
pub struct Assembled {
    /// What it is made of.
    pub setup: SessionSetup,
    /// What was said so far.
    pub conversation: Conversation,
    /// What a person should know about it.
    pub notices: Vec<String>,
    /// The processes of its tools; to be shut down when it ends.
    pub processes: Processes,
}

/// Everything a session needs but its model.
pub struct Agent<'a> {
    /// The settings that hold.
    pub settings: &'a Settings,
    /// The surroundings.
    pub environment: &'a Environment,
    /// What this run says.
    pub conduct: &'a Conduct,
    /// Where things are kept.
    pub sessions: &'a Sessions,
    /// How much is allowed without asking.
    pub mode: ApprovalMode,
    /// Somebody is there to answer questions.
    pub somebody_to_ask: bool,
}

impl Agent<'_> {
    /// Puts the session together.
    pub async fn assemble(&self, open: Open, mind: Mind, schema: Option<&str>) -> Result<Assembled, Failure> {
        let mut notices = open.notices;
        let roots = self.roots()?;
        let policy = self.rules(&roots)?;
        notices.extend(policy.notices().iter().cloned());
        let processes = self.processes(&open.id);
        let offers_tools = !self.conduct.no_tools && !mind.chat_only;
        let mut registry = Registry::default();
        if offers_tools {
            registry = self.registry(&processes, mind.manner >= Manner::Few);
            self.discover(&mut registry, &processes, &mut notices).await;
            notices.extend(self.unknown_tools(&registry, mind.manner >= Manner::Few));
        }
        let withheld = registry.withhold(|tool| !policy.offers(tool, self.mode, self.somebody_to_ask));
        let memory = self.memory(&roots);
        notices.extend(memory.notices.iter().cloned());
        let tools = registry.declarations().iter().map(|declaration| declaration.name.clone()).collect();
        let toolbox: Arc<dyn Toolbox> = match mind.manner {
            Manner::Full => Arc::new(registry),
            Manner::Brief => Arc::new(Brief::new(registry)),
            Manner::Few | Manner::Least => Arc::new(Brief::least(registry)),
        };
        let mut prompt = self.prompt(&roots, tools, memory.text, mind.manner);
        prompt.passing.push_str(&about_withheld(&withheld));
        prompt.passing.push_str(&about_schema(schema));
        let setup = SessionSetup {
            generator: mind.generator,
            toolbox,
            policy: Arc::new(policy),
            journal: open.journal,
            tool_context: ToolContext {
                cwd: self.environment.directory.clone(),
                roots,
                home: self.environment.home.clone(),
            },
            template: GenerateRequest {
                system_instruction: Some(Arc::new(instruction(prompt, mind.steady))),
                ..mind.template
            },
            limits: Limits {
                steps: self.settings.limits.max_turns,
                tokens: self.settings.limits.max_tokens,
                cost: self.settings.limits.max_cost.zip(mind.price),
            },
            somebody_to_ask: self.somebody_to_ask,
            isolation: "none: it runs with your own rights".to_owned(),
            window: mind.window.map(|window| (window, mind.count)),
            compression: wiring::compression(self.settings),
            clock: now,
        };
        Ok(Assembled { setup, conversation: open.conversation, notices, processes })
    }

    fn roots(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut roots = vec![self.environment.directory.clone()];
        for folder in &self.conduct.directories {
            let folder = self.environment.directory.join(folder);
            let real = folder.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(|| {
                Failure::input(format!("{} is not a folder (--include-directories)", folder.display()))
            })?;
            roots.push(real);
        }
        Ok(roots)
    }

    fn processes(&self, session: &str) -> Processes {
        let environment = process::Environment::new(self.environment.all(), process::is_secret_name);
        let spills = SpillFolder::new(self.sessions.outputs(session));
        Processes::new(ProcessSettings::new(environment, spills))
    }

    fn registry(&self, processes: &Processes, few: bool) -> Registry {
        let tools = &self.settings.tools;
        let core = if few { Some(local::tools(self.settings)) } else { tools.core.clone() };
        let mut registry = Registry::new(Selection { core, excluded: tools.exclude.clone() });
        let blobs = Arc::new(Blobs::new(self.sessions.blobs()));
        let memory = self.environment.charla_home().map(|home| home.join("CHARLA.md"));
        registry.register_files(blobs, memory);
        registry.add(RunShellCommand::new(processes.clone()));
        registry.add(ListBackgroundProcesses::new(processes.clone()));
        registry.add(ReadBackgroundOutput::new(processes.clone()));
        registry.add(self.web_fetch());
        if self.somebody_to_ask {
            registry.add(AskUser);
        }
        registry
    }

    /// Tools that the settings ask for by a name that nothing has.
    fn unknown_tools(&self, registry: &Registry, few: bool) -> Vec<String> {
        let tools = &self.settings.tools;
        let (key, wanted) = match few {
            true => ("local.tools", self.settings.local.tools.as_ref()),
            false => ("tools.core", tools.core.as_ref()),
        };
        // Offered only when somebody is there to be asked.
        let absent: Vec<&str> = tools.exclude.iter().map(String::as_str).chain(["ask_user"]).collect();
        let is_unknown = |name: &&str| registry.get(name).is_none() && !absent.contains(name);
        let names = wanted.into_iter().flatten().filter_map(|entry| entry.split('(').next().map(str::trim));
        let unknown = names.filter(is_unknown);
        unknown.map(|name| format!("`{key}` names `{name}`, and there is no such tool")).collect()
    }

    fn web_fetch(&self) -> WebFetch {
        let (settings, environment) = (self.settings.clone(), self.environment.clone());
        WebFetch::new(move || {
            let options =
                wiring::network_options(&settings, &environment, true).map_err(|error| error.message)?;
            charla_providers::net::client_builder(&options).map_err(|error| error.to_string())
        })
    }

    /// Adds the tools that the user's discovery command announces. Without them the session goes on.
    async fn discover(&self, registry: &mut Registry, processes: &Processes, notices: &mut Vec<String>) {
        let tools = &self.settings.tools;
        let (Some(discovery), Some(call)) = (&tools.discovery_command, &tools.call_command) else {
            if tools.discovery_command.is_some() {
                notices
                    .push("`tools.discoveryCommand` is not run: `tools.callCommand` is not set".to_owned());
            }
            return;
        };
        let runner = Arc::new(processes.clone());
        let cwd = self.environment.directory.clone();
        let found = charla_tools::discover(runner, discovery, call, cwd);
        match tokio::time::timeout(DISCOVERY, found).await {
            Ok(Ok(found)) => {
                notices
                    .extend(found.skipped.iter().map(|why| format!("a discovered tool is left out: {why}")));
                for tool in found.tools {
                    let replaced = registry.register(Source::Discovered, tool);
                    notices.extend(replaced.map(|replaced| replaced.to_string()));
                }
            }
            Ok(Err(error)) => notices.push(error.to_string()),
            Err(_) => notices.push(format!(
                "the tool discovery command took longer than {} s: its tools are left out",
                DISCOVERY.as_secs()
            )),
        }
    }

    fn memory(&self, roots: &[PathBuf]) -> Memory {
        let directory = &self.environment.directory;
        let project = directory.ancestors().find(|folder| folder.join(".git").exists());
        charla_tools::memory::load(&MemoryPlaces {
            user_folder: self.environment.charla_home(),
            project_root: project.unwrap_or(directory).to_owned(),
            cwd: directory.clone(),
            roots: roots.to_vec(),
            home: self.environment.home.clone(),
        })
    }

    /// The rules that hold: built-in, the workspace's, the user's, the administrator's, this run's.
    fn rules(&self, roots: &[PathBuf]) -> Result<RuleBook, Failure> {
        let place = PolicyPlace::of(self.environment);
        let extra: Vec<PathBuf> =
            self.conduct.policies.iter().map(|path| self.environment.directory.join(path)).collect();
        let extra: Vec<&Path> = extra.iter().map(PathBuf::as_path).collect();
        let book = policy::rule_book_with(&place, roots, &extra)
            .map_err(|error| Failure::config(error.to_string()))?;
        let allowed = self.settings.tools.allowed.iter().chain(&self.conduct.allowed_tools);
        let rules = allowed_tools(allowed.map(String::as_str)).map_err(|error| {
            Failure::input(error.to_string()).with_hint(
                "--allowed-tools takes names such as write_file or \"run_shell_command(git status)\"",
            )
        })?;
        Ok(book.with(rules))
    }

    fn prompt(&self, roots: &[PathBuf], tools: Vec<String>, memory: String, manner: Manner) -> SystemPrompt {
        system_prompt(&PromptSetting {
            cwd: self.environment.directory.clone(),
            roots: roots.to_vec(),
            system: std::env::consts::OS.to_owned(),
            date: jiff::Zoned::now().date().to_string(),
            git: self.environment.directory.join(".git").exists(),
            tools,
            memory,
            interactive: self.somebody_to_ask,
            compact: manner >= Manner::Brief,
            least: manner == Manner::Least,
            replacement: None,
        })
    }
}

/// The prompt as an instruction: in two parts for models whose requests begin with the same bytes in every run.
fn instruction(prompt: SystemPrompt, steady: bool) -> Content {
    match steady {
        true => Content::new(Role::User, vec![Part::text(prompt.steady), Part::text(prompt.passing)]),
        false => Content::user(prompt.whole()),
    }
}

/// A model that is not told what it lacks would say that it cannot, and not why.
fn about_withheld(tools: &[String]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    format!(
        "\n\n# Not allowed in this run\n\n{}. If the task needs one of these, say so, and that the user can allow \
         it with --approval-mode auto_edit (edits) or --allowed-tools NAME.",
        tools.join(", ")
    )
}

fn about_schema(schema: Option<&str>) -> String {
    let Some(schema) = schema else { return String::new() };
    format!(
        "\n\n# Form of the answer\n\nThe last answer is one JSON value and nothing else, no fence, no words \
         around it, valid under this JSON Schema:\n\n{schema}"
    )
}
