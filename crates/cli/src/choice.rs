//! Which model answers: the one that was named, else the first provider there is a key for, else a server
//! that runs here, else the built-in model.

use std::path::PathBuf;

use charla_local::{Engine, LocalServer, Model, ServerFacts, ServerKind};
use charla_providers::endpoint::ModelRow;
use charla_providers::generator::list_models;
use charla_providers::google::Credentials;
use charla_providers::layers::{StackOptions, ToolMode};
use secrecy::{ExposeSecret, SecretString};

use crate::directory::{Directory, Entry};
use crate::environment::Environment;
use crate::exit::Failure;
use crate::keys::{Found, Keys};
use crate::settings::{PromptLength, Settings, without_secrets};
use crate::{google, local, servers, wiring};

/// Models whose window is smaller get the short system prompt.
const SMALL_WINDOW: u32 = 16_000;
/// Models whose window is smaller are told of tools in one line each, when they are told in words. Others do
/// better with more words.
const TINY_WINDOW: u32 = 4_000;

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
    /// The model asked for and those that take over.
    pub models: Vec<Choice>,
    /// What a person should know: fallbacks that cannot be used.
    pub left_out: Vec<String>,
    /// Which model was chosen when nobody named one, where that needs telling.
    pub note: Option<String>,
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

    /// True when it is spoken to in few words: it runs near, where reading costs time, or its window is
    /// small. The engine's models are judged when it has started.
    pub fn is_compact(&self, settings: &Settings) -> bool {
        match settings.model.prompt {
            Some(length) => length == PromptLength::Compact,
            None => {
                (self.engine().is_none() && self.entry.is_local())
                    || self.row().context_window.is_some_and(|window| window < SMALL_WINDOW)
            }
        }
    }

    /// What it needs over its wire.
    pub fn layers(&self, settings: &Settings) -> Result<StackOptions, Failure> {
        let quirks = self.entry.endpoint()?.quirks;
        let tiny = self.row().context_window.is_some_and(|window| window < TINY_WINDOW);
        let mut layers = self.entry.layers(&self.model, tiny);
        layers.tools = self.tool_mode(settings).decide(&quirks, self.probed);
        layers.stable_prefix = self.is_steady();
        Ok(layers)
    }

    /// How it is set to call tools: for this run, else for the model.
    pub fn tool_mode(&self, settings: &Settings) -> ToolMode {
        let own = self.entry.settings.models.get(&self.model).and_then(|facts| facts.tools);
        settings.model.tool_mode.or(own).unwrap_or_default()
    }

    /// True when its requests are to begin with the same bytes in every run, because its server keeps what it
    /// has read.
    pub fn is_steady(&self) -> bool {
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
        let mut chain = Chain { models: vec![first], left_out: Vec::new(), note };
        for reference in &self.settings.model.fallback {
            match self.named(reference).await {
                Ok(choice) => chain.models.push(choice),
                Err(failure) => {
                    chain.left_out.push(format!("fallback {reference} is left out: {failure}"));
                }
            }
        }
        Ok(chain)
    }

    async fn named(&self, reference: &str) -> Result<Choice, Failure> {
        let (entry, model) = Directory::new(self.settings).resolve(reference)?;
        if entry.name == local::PROVIDER {
            return local::choice(entry, model, self.settings, self.environment);
        }
        let access = self.access(&entry)?;
        let model = match model.or_else(|| entry.default_model()) {
            Some(model) => model,
            None => self.loaded_model(&entry, access.key()).await?,
        };
        Ok(self.asked(Choice::new(entry, model, access)).await)
    }

    /// The choice with what its server tells of itself, when that is near. A server of the user's own whose
    /// window is set has nothing to tell.
    async fn asked(&self, mut choice: Choice) -> Choice {
        let kind = ServerKind::of(&choice.entry.name);
        let Ok(endpoint) = choice.entry.endpoint() else { return choice };
        let tells = kind.is_some() || (choice.entry.is_local() && choice.set_window().is_none());
        if tells && let Ok(http) = servers::direct() {
            let key = choice.access.key().map(|key| key.expose_secret());
            let server = LocalServer { http: &http, base_url: &endpoint.base_url, key };
            choice.server = server.facts(kind, &choice.model).await;
            choice.window = choice.server.window.map(|window| window.tokens);
        }
        choice
    }

    fn access(&self, entry: &Entry) -> Result<Access, Failure> {
        Access::find(entry, &self.keys, self.environment)?.ok_or_else(|| no_key(entry))
    }

    /// A server that was named without a model: the one it has loaded, else its first.
    async fn loaded_model(&self, entry: &Entry, key: Option<&SecretString>) -> Result<String, Failure> {
        let client = wiring::client(self.settings, self.environment, true)?;
        let models = list_models(&client, &entry.endpoint()?, key).await;
        let models = models.map_err(|error| Failure::from(&error))?;
        servers::preferred_model(entry, &models, key).await.ok_or_else(|| {
            Failure::input(format!("{} runs but has no model that chats", entry.title()))
                .with_hint(format!("load one there, then name it: -m {}/MODEL", entry.name))
        })
    }

    async fn unnamed(&self) -> Result<(Choice, Option<String>), Failure> {
        let directory = Directory::new(self.settings);
        for entry in directory.entries() {
            if let Some(model) = entry.default_model().filter(|_| self.is_configured(&entry)) {
                let access = self.access(&entry)?;
                return Ok((self.asked(Choice::new(entry, model, access)).await, None));
            }
        }
        for server in servers::near_servers(&directory, &self.keys).await {
            if let Some(choice) = self.running(server).await {
                let choice = self.asked(choice).await;
                let note = about_running(&choice);
                return Ok((choice, Some(note)));
            }
        }
        if local::is_available(self.settings, self.environment) {
            let entry = directory.find(local::PROVIDER)?;
            return Ok((local::choice(entry, None, self.settings, self.environment)?, None));
        }
        let state = local::state(self.settings, self.environment);
        Err(nothing_configured(&state.unwrap_or_else(|why| why)))
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
    let name = &entry.name;
    let mut ways = Vec::new();
    if let Some(variable) = entry.key_variables().first() {
        ways.push(format!("export {variable}=…"));
    }
    ways.push(format!("or keep it in a file only you can read: charla auth set {name}"));
    if entry.takes_google_credentials() {
        ways.push("or use Google credentials: gcloud auth application-default login".to_owned());
    }
    if let Some(row) = entry.row {
        ways.push(format!("a key comes from {}", row.key_page));
    }
    Failure::auth(format!("there is no key for {}", entry.title())).with_hint(ways.join("\n"))
}

/// Somebody who named nothing is told what answers.
fn about_running(choice: &Choice) -> String {
    let address = choice.entry.endpoint().map(|endpoint| without_secrets(&endpoint.base_url));
    format!(
        "no key was found: {} answers, which runs at {}; -m PROVIDER/MODEL chooses another, `charla models` lists them",
        choice.reference(),
        address.unwrap_or_default(),
    )
}

/// Neither a model nor a key nor a server, and the built-in model may not be downloaded: says exactly what to
/// do.
fn nothing_configured(built_in: &str) -> Failure {
    let hint = [
        "one of these is enough:",
        "1. export a key:  GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, …",
        "   (a free one: https://aistudio.google.com/apikey), or keep it: charla auth set gemini",
        "2. run a model here, such as Ollama:  ollama run qwen3, then charla -m ollama -p \"…\"",
        "3. name a server in ~/.charla/settings.json:",
        "   {\"model\": {\"name\": \"own/MODEL\"}, \"providers\": {\"own\": {\"baseUrl\": \"http://HOST:PORT/v1\"}}}",
        &format!("4. set the built-in small model up: charla models pull; now it is {built_in}"),
        "`charla models` shows what was looked for and where",
    ];
    Failure::auth("no model is configured: there is no API key and no model was named")
        .with_hint(hint.join("\n"))
}
