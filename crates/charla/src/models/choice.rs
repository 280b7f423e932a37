//! A model that was chosen: at which provider, opened by which key, and what is known of it.

use std::path::PathBuf;

use charla_local::{Engine, Model, ServerFacts, ServerKind, WEIGHTS_NAME};
use charla_proto::{Thinking, WireKind};
use charla_providers::endpoint::{ModelRow, ModelThinking, ThinkingStyle};
use charla_providers::google::Credentials;
use charla_providers::layers::{StackOptions, ThinkSwitch, ToolMode};
use secrecy::SecretString;

use super::directory::Entry;
use crate::credentials::{FoundKey, Keys, google};
use crate::engine::{self, SmallModel};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::notices::{Notice, Notices};
use crate::settings::{PromptLength, Settings};

/// Up to here the full system prompt and all tools in full would leave too little room for the work.
const SMALL_WINDOW: u32 = 16_384;
/// Models whose window is smaller are told of tools in one line each, when they are told in words. Others do
/// better with more words.
const TINY_WINDOW: u32 = 4_000;

const BUILT_IN_ANSWERS: &str = "no key and no model server was found: the built-in SmolLM2-135M answers, a very small \
                                model for trying things out";

/// How much a model is told, from all to little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PromptSize {
    /// Everything.
    Full,
    /// It reads slowly or has little room: a short prompt, and all tools in few words.
    Compact,
    /// It has very little room: a short prompt, and few tools with few parameters.
    FewTools,
    /// It is the built-in one: what it was trained on.
    Trained,
}

/// A model, its provider and the key to it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The provider.
    pub entry: Entry,
    /// The model's name there.
    pub model: String,
    /// What opens the door.
    pub access: Access,
    /// The window that the server itself told, where it was asked.
    pub window: Option<u32>,
    /// What else it told of itself.
    pub server: ServerFacts,
    /// How the model was found to call tools.
    pub probed: Option<ToolMode>,
}

/// How a provider is persuaded to answer.
#[derive(Clone, Debug)]
pub enum Access {
    /// It asks for nothing.
    Open,
    /// A key.
    Key(FoundKey),
    /// Google credentials, from which short-lived tokens are made, and their file.
    Google(Credentials, PathBuf),
    /// The engine, which makes its own key when it starts.
    Engine(Engine),
}

impl Access {
    /// The key, when it is one.
    pub fn key(&self) -> Option<&SecretString> {
        match self {
            Access::Key(found) => Some(&found.key),
            Access::Open | Access::Google(..) | Access::Engine(_) => None,
        }
    }

    /// Looks for what opens this provider; `None` when something is needed and nothing is there.
    pub fn find(entry: &Entry, keys: &Keys, environment: &Environment) -> Result<Option<Self>, Failure> {
        let source = entry.settings.api_key.as_ref();
        if let Some(found) = keys.find(&entry.name, source, entry.key_variables())? {
            return Ok(Some(Access::Key(found)));
        }
        if entry.takes_google_credentials()
            && let Some((credentials, path)) = google::default_credentials(environment)?
        {
            return Ok(Some(Access::Google(credentials, path)));
        }
        Ok(entry.needs_no_key().then_some(Access::Open))
    }
}

impl Choice {
    /// A model of which nothing was asked yet.
    pub fn new(entry: Entry, model: String, access: Access) -> Self {
        Self { entry, model, access, window: None, server: ServerFacts::default(), probed: None }
    }

    /// A model of the engine, the built-in one when none is named. Nothing is started yet.
    pub fn of_engine(
        entry: Entry,
        model: Option<String>,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let engine = engine::engine(model.as_deref(), settings, environment)?;
        let file = engine::identity(&engine.options().model);
        let server = ServerFacts { kind: Some(ServerKind::LlamaCpp), window: None, file };
        let model = model.unwrap_or_else(|| WEIGHTS_NAME.to_owned());
        Ok(Self { server, ..Self::new(entry, model, Access::Engine(engine)) })
    }

    /// How much it is told. The engine's models are judged when it has started: only then is their window known.
    pub(crate) fn prompt_size(&self, settings: &Settings) -> PromptSize {
        let is_small = |window: Option<u32>| window.is_some_and(|window| window <= SMALL_WINDOW);
        if self.is_built_in() {
            return PromptSize::Trained;
        }
        if self.engine().is_some() && is_small(self.window) {
            return PromptSize::FewTools;
        }
        let compact = match settings.model.prompt {
            Some(length) => length == PromptLength::Compact,
            // Where it runs here, reading costs time.
            None => (self.engine().is_none() && self.entry.is_local()) || is_small(self.row().context_window),
        };
        if compact { PromptSize::Compact } else { PromptSize::Full }
    }

    /// Starts the engine when it is that which answers, and notes its real window. `by_default` is true when nobody
    /// named the model.
    pub async fn start(&mut self, by_default: bool, notices: &mut dyn Notices) -> Result<(), Failure> {
        let Some(engine) = self.engine().cloned() else { return Ok(()) };
        if by_default {
            notices.note(&Notice::with_hint(BUILT_IN_ANSWERS, Hint::UseLargerModel));
        }
        self.window = Some(engine::start(&engine, notices).await?.window);
        Ok(())
    }

    /// What it needs over its wire.
    pub fn layers(&self, settings: &Settings) -> Result<StackOptions, Failure> {
        let quirks = self.entry.endpoint()?.quirks;
        let tiny = self.row().context_window.is_some_and(|window| window < TINY_WINDOW);
        let mut layers = self.entry.layers(&self.model, tiny);
        layers.tools = self.tool_mode(settings).decide(&quirks, self.probed);
        layers.stable_prefix = self.has_stable_prefix();
        Ok(layers)
    }

    /// How it is set to call tools: for this run, else for the model.
    pub fn tool_mode(&self, settings: &Settings) -> ToolMode {
        let own = self.entry.settings.models.get(&self.model).and_then(|facts| facts.tools);
        settings.model.tool_mode.or(own).unwrap_or_default()
    }

    /// True when its server can hold an answer to a schema and the model can still call tools. Many servers force the
    /// schema on everything the model writes, calls included.
    pub(crate) fn takes_schema(&self, settings: &Settings) -> bool {
        let Ok(endpoint) = self.entry.endpoint() else { return false };
        let native = self.layers(settings).is_ok_and(|layers| layers.tools != ToolMode::Text);
        let both = match endpoint.wire {
            WireKind::OpenaiResponses | WireKind::Anthropic => true,
            WireKind::Gemini => self.row().thinking == ModelThinking::Levels,
            WireKind::OpenaiChat => self.entry.name == "openai",
        };
        native && both && !endpoint.quirks.no_answer_schema
    }

    /// True when there is a way to tell it how much to think.
    pub(crate) fn hears_thinking(&self, settings: &Settings) -> bool {
        let Ok(endpoint) = self.entry.endpoint() else { return true };
        let in_words = self.layers(settings).is_ok_and(|layers| layers.think.switch != ThinkSwitch::Wire);
        let by_wire = match endpoint.wire {
            WireKind::OpenaiChat => endpoint.quirks.thinking_style != ThinkingStyle::None,
            _ => self.row().thinking != ModelThinking::None,
        };
        let wish = &settings.model.thinking;
        let wish =
            Thinking { thinking_budget: wish.budget, thinking_level: wish.level, ..Thinking::default() };
        by_wire || (in_words && wish.is_off())
    }

    /// True when its requests are to begin with the same bytes in every run, because its server keeps what it
    /// has read.
    pub(crate) fn has_stable_prefix(&self) -> bool {
        self.engine().is_none() && self.entry.is_local()
    }

    /// True when it is reached over TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.entry.endpoint().is_ok_and(|endpoint| endpoint.base_url.starts_with("https:"))
    }

    /// What is known of the model, with what its server told.
    pub fn row(&self) -> ModelRow {
        let mut row = self.entry.model(&self.model);
        row.context_window = self.set_window().or(self.window).or(row.context_window);
        row
    }

    /// The window that the settings name.
    pub fn set_window(&self) -> Option<u32> {
        self.entry.settings.models.get(&self.model)?.context_window
    }

    /// The engine, when it is that which answers.
    pub fn engine(&self) -> Option<&Engine> {
        match &self.access {
            Access::Engine(engine) => Some(engine),
            _ => None,
        }
    }

    /// True when it is the small model that comes with the engine.
    pub fn is_built_in(&self) -> bool {
        self.engine().is_some_and(|engine| engine.options().model == Model::BuiltIn)
    }

    /// How it is spoken to when it is the small model that comes with the engine.
    pub(crate) fn small_model(&self, environment: &Environment) -> Option<SmallModel> {
        self.is_built_in().then(|| SmallModel::new(environment.directory.clone()))
    }

    /// `provider/model`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.entry.name, self.model)
    }
}
