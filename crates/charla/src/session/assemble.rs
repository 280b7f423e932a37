//! Puts a session together: its model, its tools, its rules, its prompt.

use std::path::PathBuf;
use std::sync::Arc;

use charla_core::compress::Compression;
use charla_core::policy::{RuleBook, allowed_tools};
use charla_core::session::{Limits, SessionSetup};
use charla_proto::tool::{Tool, Toolbox};
use charla_proto::{ApprovalMode, Conversation, GenerateRequest, ToolContext};
use charla_tools::Registry;
use charla_tools::memory::{Memory, MemoryPlaces};
use charla_tools::process::{self, ProcessSettings, Processes, SpillFolder};

use super::compact_toolbox::CompactToolbox;
use super::instruction::Instruction;
use super::rules::{RulePlaces, rule_book};
use super::store::{Opened, Sessions};
use super::toolset::Toolset;
use crate::clock::now;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::models::{BoundModel, PromptSize};
use crate::notices::Notices;
use crate::settings::Settings;

/// What a run says about its tools and limits beside the settings.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Tools that run without asking.
    pub allowed_tools: Vec<String>,
    /// Rule files of this run.
    pub rule_files: Vec<PathBuf>,
    /// Further folders of the workspace.
    pub directories: Vec<PathBuf>,
    /// No tools at all.
    pub no_tools: bool,
    /// The file with the schema the answer must fit.
    pub output_schema: Option<PathBuf>,
    /// How the user allows what was not allowed ("with the switch above"), for the model to pass on.
    pub how_to_allow: Option<String>,
}

/// A session ready to start.
pub(super) struct Assembled {
    pub setup: SessionSetup,
    /// What was said so far.
    pub conversation: Conversation,
    /// The processes of its tools; to be shut down when it ends.
    pub processes: Processes,
}

/// Everything a session needs but its model and its conversation.
pub(super) struct SessionBuilder<'a> {
    pub settings: &'a Settings,
    pub environment: &'a Environment,
    pub options: &'a RunOptions,
    /// Tools of the program that opens the session.
    pub own_tools: Vec<Arc<dyn Tool>>,
    /// Where things are kept.
    pub sessions: &'a Sessions,
    /// How much is allowed without asking.
    pub mode: ApprovalMode,
    /// Somebody is there to answer questions.
    pub somebody_to_ask: bool,
    /// The schema that the answer must fit.
    pub schema: Option<&'a str>,
}

impl SessionBuilder<'_> {
    /// Puts the session together.
    pub async fn build(
        self,
        opened: Opened,
        model: BoundModel,
        notices: &mut dyn Notices,
    ) -> Result<Assembled, Failure> {
        opened.notices.iter().for_each(|notice| notices.warning(&notice.as_str().into()));
        let roots = self.roots()?;
        let rules = self.rules(&roots)?;
        rules.notices().iter().for_each(|notice| notices.warning(&notice.as_str().into()));
        let processes = self.processes(&opened.id);
        let mut registry = self.registry(&model, &processes, notices).await;
        let withheld = registry.withhold(|tool| !rules.offers(tool, self.mode, self.somebody_to_ask));
        let memory = self.memory(&roots);
        memory.notices.iter().for_each(|notice| notices.warning(&notice.as_str().into()));
        let instruction = Instruction {
            environment: self.environment,
            roots: &roots,
            tools: registry.declarations().iter().map(|declaration| declaration.name.clone()).collect(),
            withheld: &withheld,
            how_to_allow: self.options.how_to_allow.as_deref(),
            memory: memory.text,
            schema: self.schema,
            somebody_to_ask: self.somebody_to_ask,
            size: model.prompt_size,
        };
        let system_instruction = Some(Arc::new(instruction.content(model.stable_prefix)));
        let setup = SessionSetup {
            generator: model.generator,
            toolbox: toolbox(registry, model.prompt_size),
            policy: Arc::new(rules),
            journal: opened.journal,
            tool_context: ToolContext {
                cwd: self.environment.directory.clone(),
                roots,
                home: self.environment.home.clone(),
            },
            template: GenerateRequest { system_instruction, ..model.template },
            limits: self.limits(model.price),
            somebody_to_ask: self.somebody_to_ask,
            isolation: "none: it runs with your own rights".to_owned(),
            window: model.window.map(|window| (window, model.count)),
            compression: compression(self.settings),
            clock: now,
        };
        Ok(Assembled { setup, conversation: opened.conversation, processes })
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
        let book = rule_book(&RulePlaces::of(self.environment), roots, &extra)
            .map_err(|error| Failure::config(error.to_string()))?;
        let allowed = self.settings.tools.allowed.iter().chain(&self.options.allowed_tools);
        let rules = allowed_tools(allowed.map(String::as_str))
            .map_err(|error| Failure::input(error.to_string()).with_hint(Hint::NameTools))?;
        Ok(book.with(rules))
    }

    fn processes(&self, session: &str) -> Processes {
        let environment = process::Environment::new(self.environment.all(), process::is_secret_name);
        let spills = SpillFolder::new(self.sessions.outputs(session));
        Processes::new(ProcessSettings::new(environment, spills))
    }

    async fn registry(
        &self,
        model: &BoundModel,
        processes: &Processes,
        notices: &mut dyn Notices,
    ) -> Registry {
        if self.options.no_tools || model.chat_only {
            return Registry::default();
        }
        let toolset = Toolset {
            settings: self.settings,
            environment: self.environment,
            sessions: self.sessions,
            own: self.own_tools.clone(),
            somebody_to_ask: self.somebody_to_ask,
            few: model.prompt_size >= PromptSize::FewTools,
        };
        toolset.registry(processes, notices).await
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

    fn limits(&self, price: Option<[f64; 3]>) -> Limits {
        let limits = &self.settings.limits;
        Limits { steps: limits.max_turns, tokens: limits.max_tokens, cost: limits.max_cost.zip(price) }
    }
}

fn toolbox(registry: Registry, size: PromptSize) -> Arc<dyn Toolbox> {
    match size {
        PromptSize::Full => Arc::new(registry),
        PromptSize::Compact => Arc::new(CompactToolbox::new(registry)),
        PromptSize::FewTools | PromptSize::Minimal => Arc::new(CompactToolbox::minimal(registry)),
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
