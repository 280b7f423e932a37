//! Which model answers: the one that was named, else the first provider there is a key for.

use std::path::PathBuf;

use charla_local::{Engine, Model, ServerKind, probe_window};
use charla_providers::endpoint::ModelRow;
use charla_providers::generator::list_models;
use charla_providers::google::Credentials;
use secrecy::{ExposeSecret, SecretString};

use crate::directory::{Directory, Entry};
use crate::environment::Environment;
use crate::exit::Failure;
use crate::keys::{Found, Keys};
use crate::probe;
use crate::settings::Settings;
use crate::{google, local, wiring};

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
    /// True when it is reached over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.entry.endpoint().is_ok_and(|endpoint| endpoint.base_url.starts_with("https:"))
    }

    /// What is known of the model, with what its server told.
    pub fn row(&self) -> ModelRow {
        let mut row = self.entry.model(&self.model);
        row.context_window = row.context_window.or(self.window);
        row
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

    /// The chain: the model asked for and its fallbacks. A fallback that cannot be used is left out and
    /// named in the second list: it must not stop a run that does not need it.
    pub async fn chain(&self) -> Result<(Vec<Choice>, Vec<String>), Failure> {
        let first = match &self.settings.model.name {
            Some(reference) => self.named(reference).await?,
            None => self.first_with_key().await?,
        };
        let mut chain = vec![first];
        let mut left_out = Vec::new();
        for reference in &self.settings.model.fallback {
            match self.named(reference).await {
                Ok(choice) => chain.push(choice),
                Err(failure) => left_out.push(format!("fallback {reference} is left out: {failure}")),
            }
        }
        Ok((chain, left_out))
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
        let window = self.window(&entry, &model, access.key()).await;
        Ok(Choice { entry, model, access, window })
    }

    /// What a local server loaded the model with; nothing else tells.
    async fn window(&self, entry: &Entry, model: &str, key: Option<&SecretString>) -> Option<u32> {
        let kind = ServerKind::of(&entry.name)?;
        let endpoint = entry.endpoint().ok()?;
        let key = key.map(|key| key.expose_secret());
        Some(probe_window(&endpoint.base_url, kind, model, key).await?.tokens)
    }

    fn access(&self, entry: &Entry) -> Result<Access, Failure> {
        Access::find(entry, &self.keys, self.environment)?.ok_or_else(|| no_key(entry))
    }

    /// A server that was named without a model: the first one it has.
    async fn loaded_model(&self, entry: &Entry, key: Option<&SecretString>) -> Result<String, Failure> {
        let client = wiring::client(self.settings, self.environment, true)?;
        let models = list_models(&client, &entry.endpoint()?, key).await;
        let models = models.map_err(|error| Failure::from(&error))?;
        models.into_iter().next().ok_or_else(|| {
            Failure::input(format!("{} runs but has no model", entry.title()))
                .with_hint(format!("load one there, then name it: -m {}/MODEL", entry.name))
        })
    }

    async fn first_with_key(&self) -> Result<Choice, Failure> {
        let directory = Directory::new(self.settings);
        for entry in directory.entries() {
            if let Some(model) = entry.default_model().filter(|_| self.is_configured(&entry)) {
                let access = self.access(&entry)?;
                return Ok(Choice { entry, model, access, window: None });
            }
        }
        let servers = probe::local_servers(&directory, &self.keys).await;
        let runs = servers.iter().any(|server| server.state.as_ref().is_ok_and(|models| !models.is_empty()));
        if !runs && local::is_available(self.settings, self.environment) {
            let entry = directory.find(local::PROVIDER)?;
            return local::choice(entry, None, self.settings, self.environment);
        }
        Err(nothing_configured(&servers))
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

/// Neither a model nor a key, and the built-in model may not be downloaded: says exactly what to do.
fn nothing_configured(servers: &[probe::Server]) -> Failure {
    let running = servers.iter().find_map(|server| {
        let models = server.state.as_ref().ok()?;
        Some(format!("{}/{}", server.entry.name, models.first()?))
    });
    let local = match running {
        Some(reference) => format!("use the server that runs here: charla -m {reference} -p \"…\""),
        None => "run a model here, such as Ollama:  ollama run qwen3, then charla -m ollama -p \"…\"".into(),
    };
    let hint = [
        "one of these is enough:",
        "1. export a key:  GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, …",
        "   (a free one: https://aistudio.google.com/apikey), or keep it: charla auth set gemini",
        &format!("2. {local}"),
        "3. name a server in ~/.charla/settings.json:",
        "   {\"model\": {\"name\": \"own/MODEL\"}, \"providers\": {\"own\": {\"baseUrl\": \"http://HOST:PORT/v1\"}}}",
        "4. set the built-in small model up, where downloads are allowed: charla models pull",
        "`charla models` shows what was looked for and where",
    ];
    Failure::auth("no model is configured: there is no API key and no model was named")
        .with_hint(hint.join("\n"))
}
