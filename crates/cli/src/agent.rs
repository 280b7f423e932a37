//! Puts a session together: its tools, its rules, its prompt.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_core::policy::{RuleBook, allowed_tools};
use charla_core::prompt::{PromptSetting, system_prompt};
use charla_core::session::{Limits, SessionSetup};
use charla_proto::tool::{Tool, Toolbox};
use charla_proto::{Content, ContentGenerator, GenerateRequest, ToolContext};
use charla_store::Blobs;
use charla_tools::command::{ListBackgroundProcesses, ReadBackgroundOutput, RunShellCommand};
use charla_tools::memory::{Memory, MemoryPlaces};
use charla_tools::process::{self, ProcessSettings, Processes, SpillFolder};
use charla_tools::{Registry, Selection, Source};

use crate::environment::Environment;
use crate::exit::Failure;
use crate::local::{self, Compact};
use crate::policy::{self, PolicyPlace};
use crate::sessions::{Open, Sessions, now};
use crate::settings::Settings;

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

/// Everything a session needs but its model.
pub struct Agent<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
    conduct: &'a Conduct,
    sessions: &'a Sessions,
    small: bool,
}

impl<'a> Agent<'a> {
    /// An agent in these surroundings.
    pub fn new(
        settings: &'a Settings,
        environment: &'a Environment,
        conduct: &'a Conduct,
        sessions: &'a Sessions,
    ) -> Self {
        Self { settings, environment, conduct, sessions, small: false }
    }

    /// For a model that understands little: a short prompt, and few tools with few parameters.
    pub fn for_small_model(self, small: bool) -> Self {
        Self { small, ..self }
    }

    /// The setup of a session, and what a person should know about it.
    pub fn setup(
        &self,
        open: Open,
        generator: Arc<dyn ContentGenerator>,
        template: GenerateRequest,
        price: Option<[f64; 3]>,
        schema: Option<&str>,
    ) -> Result<(SessionSetup, charla_proto::Conversation, Vec<String>), Failure> {
        let mut notices = open.notices;
        let roots = self.roots()?;
        let toolbox = self.toolbox(&open.id);
        let memory = self.memory(&roots);
        notices.extend(memory.notices.iter().cloned());
        let policy = self.rules(&roots)?;
        notices.extend(policy.notices().iter().cloned());
        let names = toolbox.declarations().iter().map(|declaration| declaration.name.clone()).collect();
        let prompt = self.prompt(&roots, names, memory.text, schema);
        let template =
            GenerateRequest { system_instruction: Some(Arc::new(Content::user(prompt))), ..template };
        let limits = Limits {
            steps: self.settings.limits.max_turns,
            tokens: self.settings.limits.max_tokens,
            cost: self.settings.limits.max_cost.zip(price),
        };
        let setup = SessionSetup {
            generator,
            toolbox,
            policy: Arc::new(policy),
            journal: Box::new(open.journal),
            tool_context: ToolContext {
                cwd: self.environment.directory.clone(),
                roots,
                home: self.environment.home.clone(),
            },
            template,
            limits,
            somebody_to_ask: false,
            isolation: "none: it runs with your own rights".to_owned(),
            clock: now,
        };
        Ok((setup, open.conversation, notices))
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

    fn toolbox(&self, session: &str) -> Arc<dyn Toolbox> {
        let tools = &self.settings.tools;
        if self.conduct.no_tools {
            return Arc::new(Registry::default());
        }
        let core = if self.small { Some(local::tools(self.settings)) } else { tools.core.clone() };
        let mut registry = Registry::new(Selection { core, excluded: tools.exclude.clone() });
        let blobs = Arc::new(Blobs::new(self.sessions.blobs()));
        let memory = self.environment.charla_home().map(|home| home.join("CHARLA.md"));
        registry.register_files(blobs, memory);
        let environment = process::Environment::new(self.environment.all(), process::is_secret_name);
        let spills = SpillFolder::new(self.sessions.outputs(session));
        let processes = Processes::new(ProcessSettings::new(environment, spills));
        let commands: [Arc<dyn Tool>; 3] = [
            Arc::new(RunShellCommand::new(processes.clone())),
            Arc::new(ListBackgroundProcesses::new(processes.clone())),
            Arc::new(ReadBackgroundOutput::new(processes)),
        ];
        for tool in commands {
            registry.register(Source::BuiltIn, tool);
        }
        if self.small { Arc::new(Compact::new(registry)) } else { Arc::new(registry) }
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

    fn prompt(&self, roots: &[PathBuf], tools: Vec<String>, memory: String, schema: Option<&str>) -> String {
        let today = jiff::Zoned::now().date().to_string();
        let mut prompt = system_prompt(&PromptSetting {
            cwd: self.environment.directory.clone(),
            roots: roots.to_vec(),
            system: std::env::consts::OS.to_owned(),
            date: today,
            git: self.environment.directory.join(".git").exists(),
            tools,
            memory,
            interactive: false,
            compact: self.small,
            replacement: None,
        });
        if let Some(schema) = schema {
            prompt.push_str(
                "\n\n# Form of the answer\n\nThe last answer is one JSON value and nothing else, no fence, no words \
                 around it, valid under this JSON Schema:\n\n",
            );
            prompt.push_str(schema);
        }
        prompt
    }
}
