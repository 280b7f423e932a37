//! Which model answers: the one that was named, else the first provider there is a key for, else a server
//! that runs here, else the built-in model.

use std::path::PathBuf;

use charla_local::{Engine, Model, ServerFacts, ServerKind, WEIGHTS_NAME, ask_server};
use charla_providers::endpoint::ModelRow;
use charla_providers::generator::list_models;
use charla_providers::google::Credentials;
use charla_providers::layers::{StackOptions, ToolMode};
use secrecy::{ExposeSecret, SecretString};

use super::directory::{Directory, Entry};
use super::servers;
use crate::credentials::{Found, Keys, google};
use crate::engine;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::{Hint, KeyAdvice};
use crate::network;
use crate::notices::{Notice, Notices};
use crate::settings::{PromptLength, Settings, without_secrets};

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
    /// It understands hardly anything: who it is, and few tools.
    Minimal,
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

/// The models of a run.
#[derive(Debug)]
pub struct Chain {
    /// The model asked for.
    pub first: Choice,
    /// Those that take over, in this order.
    pub fallbacks: Vec<Choice>,
    /// What a person should know: fallbacks that cannot be used.
    pub left_out: Vec<String>,
    /// Which model was chosen when nobody named one, where that needs telling.
    pub note: Option<Notice>,
}

impl Chain {
    /// All its models, the one asked for first.
    pub fn models(&self) -> impl Iterator<Item = &Choice> {
        std::iter::once(&self.first).chain(&self.fallbacks)
    }
}

/// How a provider is persuaded to answer.
#[derive(Clone, Debug)]
pub enum Access {
    /// It asks for nothing.
    Open,
    /// A key.
    Key(Found),
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
    pub fn prompt_size(&self, settings: &Settings) -> PromptSize {
        let is_small = |window: Option<u32>| window.is_some_and(|window| window <= SMALL_WINDOW);
        if self.is_built_in() {
            return PromptSize::Minimal;
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
        layers.steady_system = self.has_stable_prefix();
        Ok(layers)
    }

    /// How it is set to call tools: for this run, else for the model.
    pub fn tool_mode(&self, settings: &Settings) -> ToolMode {
        let own = self.entry.settings.models.get(&self.model).and_then(|facts| facts.tools);
        settings.model.tool_mode.or(own).unwrap_or_default()
    }

    /// True when its requests are to begin with the same bytes in every run, because its server keeps what it
    /// has read.
    pub fn has_stable_prefix(&self) -> bool {
        self.engine().is_none() && self.entry.is_local()
    }

    /// True when it is reached over TLS.
    pub fn is_encrypted(&self) -> bool {
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

    /// `provider/model`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.entry.name, self.model)
    }
}

/// Chooses models for a run.
pub struct Chooser<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
    keys: Keys<'a>,
}

impl<'a> Chooser<'a> {
    /// A chooser for these settings and surroundings.
    pub fn new(settings: &'a Settings, environment: &'a Environment) -> Self {
        Self { settings, environment, keys: Keys::new(environment) }
    }

    /// The chain: the model asked for and its fallbacks. A fallback that cannot be used is left out: it must
    /// not stop a run that does not need it.
    pub async fn chain(&self) -> Result<Chain, Failure> {
        let (first, note) = match &self.settings.model.name {
            Some(reference) => (self.named(reference).await?, None),
            None => self.unnamed().await?,
        };
        let mut chain = Chain { first, fallbacks: Vec::new(), left_out: Vec::new(), note };
        for reference in &self.settings.model.fallback {
            match self.named(reference).await {
                Ok(choice) => chain.fallbacks.push(choice),
                Err(failure) => {
                    chain.left_out.push(format!("fallback {reference} is left out: {failure}"));
                }
            }
        }
        Ok(chain)
    }

    async fn named(&self, reference: &str) -> Result<Choice, Failure> {
        let (entry, model) = Directory::new(self.settings).resolve(reference)?;
        if entry.name == engine::PROVIDER {
            return Choice::of_engine(entry, model, self.settings, self.environment);
        }
        let access = self.access(&entry)?;
        let model = match model.or_else(|| entry.default_model()) {
            Some(model) => model,
            None => self.loaded_model(&entry, access.key()).await?,
        };
        Ok(self.asked(Choice::new(entry, model, access)).await)
    }

    /// The choice with what its server tells of itself, when that is in the local network. A server of the user's own whose
    /// window is set has nothing to tell.
    async fn asked(&self, mut choice: Choice) -> Choice {
        let kind = ServerKind::of(&choice.entry.name);
        let Ok(endpoint) = choice.entry.endpoint() else { return choice };
        if kind.is_some() || (choice.entry.is_local() && choice.set_window().is_none()) {
            let key = choice.access.key().map(|key| key.expose_secret());
            choice.server = ask_server(&endpoint.base_url, kind, &choice.model, key).await;
            choice.window = choice.server.window.map(|window| window.tokens);
        }
        choice
    }

    fn access(&self, entry: &Entry) -> Result<Access, Failure> {
        Access::find(entry, &self.keys, self.environment)?.ok_or_else(|| no_key(entry))
    }

    /// A server that was named without a model: the one it has loaded, else its first.
    async fn loaded_model(&self, entry: &Entry, key: Option<&SecretString>) -> Result<String, Failure> {
        let client = network::client(self.settings, self.environment, true)?;
        let models = list_models(&client, &entry.endpoint()?, key).await;
        let models = models.map_err(|error| Failure::from(&error))?;
        servers::preferred_model(entry, &models, key).await.ok_or_else(|| {
            Failure::input(format!("{} runs but has no model that chats", entry.title()))
                .with_hint(Hint::LoadModel { provider: entry.name.clone() })
        })
    }

    async fn unnamed(&self) -> Result<(Choice, Option<Notice>), Failure> {
        let directory = Directory::new(self.settings);
        for entry in directory.entries() {
            if let Some(model) = entry.default_model().filter(|_| self.is_configured(&entry)) {
                let access = self.access(&entry)?;
                return Ok((self.asked(Choice::new(entry, model, access)).await, None));
            }
        }
        for server in servers::local_network_servers(&directory, &self.keys).await {
            if let Some(choice) = self.running(server).await {
                let choice = self.asked(choice).await;
                let note = about_running(&choice);
                return Ok((choice, Some(note)));
            }
        }
        if engine::is_available(self.settings, self.environment) {
            let entry = directory.find(engine::PROVIDER)?;
            return Ok((Choice::of_engine(entry, None, self.settings, self.environment)?, None));
        }
        let state = engine::state(self.settings, self.environment);
        Err(nothing_configured(state.unwrap_or_else(|why| why)))
    }

    /// A model of a server that was found, when it has one that chats.
    async fn running(&self, server: servers::Server) -> Option<Choice> {
        let models = server.state.ok()?;
        let access = Access::find(&server.entry, &self.keys, self.environment).ok()??;
        let model = match server.entry.default_model() {
            Some(model) => model,
            None => servers::preferred_model(&server.entry, &models, access.key()).await?,
        };
        Some(Choice::new(server.entry, model, access))
    }

    /// A hosted provider somebody has set up. Runs no key command.
    fn is_configured(&self, entry: &Entry) -> bool {
        let local = entry.row.is_some_and(|row| row.local);
        let source = entry.settings.api_key.as_ref();
        !local
            && entry.endpoint().is_ok()
            && (self.keys.is_configured(&entry.name, source, entry.key_variables())
                || (entry.takes_google_credentials()
                    && !matches!(google::default_credentials(self.environment), Ok(None))))
    }
}

/// No key for a provider that was asked for.
fn no_key(entry: &Entry) -> Failure {
    let advice = KeyAdvice {
        provider: entry.name.clone(),
        variable: entry.key_variables().first().copied(),
        google: entry.takes_google_credentials(),
        page: entry.row.map(|row| row.key_page),
    };
    Failure::auth(format!("there is no key for {}", entry.title())).with_hint(Hint::SetKey(advice))
}

/// Somebody who named nothing is told what answers.
fn about_running(choice: &Choice) -> Notice {
    let address = choice.entry.endpoint().map(|endpoint| without_secrets(&endpoint.base_url));
    let text = format!(
        "no key was found: {} answers, which runs at {}",
        choice.reference(),
        address.unwrap_or_default(),
    );
    Notice::with_hint(text, Hint::ChooseAnotherModel)
}

/// Neither a model nor a key nor a server, and the built-in model may not be downloaded.
fn nothing_configured(built_in: String) -> Failure {
    Failure::auth("no model is configured: there is no API key and no model was named")
        .with_hint(Hint::SetUpModel { built_in })
}
