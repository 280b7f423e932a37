//! Which model answers: the one that was named, else the first provider there is a key for, else a server
//! that runs here, else the built-in model.

use charla_local::{LocalServer, ServerKind};
use charla_providers::generator::list_models;
use secrecy::{ExposeSecret, SecretString};

use super::choice::{Access, Choice};
use super::directory::{Directory, Entry};
use super::servers;
use crate::credentials::{Keys, google};
use crate::engine;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::{Hint, KeyAdvice};
use crate::network;
use crate::notices::Notice;
use crate::settings::{Settings, without_secrets};

/// Whose model a recording stands in for where nobody names one.
const REPLAYED: &str = "gemini";

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
            name if self.settings.model.responses.replay.is_some() => (self.replayed(name.as_deref())?, None),
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

    /// The default model of the first provider somebody has set up, beside those that were asked already: the model's own and
    /// its fallbacks'. Asks no server and runs no key command.
    pub(crate) fn next_ready(&self, model: &str) -> Option<String> {
        let directory = Directory::new(self.settings);
        let asked = self.settings.model.fallback.iter().map(String::as_str).chain([model]);
        let asked: Vec<String> =
            asked.filter_map(|asked| Some(directory.resolve(asked).ok()?.0.name.clone())).collect();
        directory.entries().into_iter().find_map(|entry| {
            let is_ready = !asked.contains(&entry.name) && self.is_configured(&entry);
            let default = entry.default_model().filter(|_| is_ready)?;
            Some(format!("{}/{default}", entry.name))
        })
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

    /// The model that a recording stands in for. Whatever is called so, nobody asks it: it needs no key.
    fn replayed(&self, reference: Option<&str>) -> Result<Choice, Failure> {
        let directory = Directory::new(self.settings);
        let (entry, model) = match reference.map(|reference| directory.resolve(reference)) {
            Some(Ok(resolved)) => resolved,
            _ => (directory.find(REPLAYED)?, reference.map(str::to_owned)),
        };
        let model = model.or_else(|| entry.default_model()).unwrap_or_default();
        Ok(Choice::new(entry, model, Access::Open))
    }

    /// The choice with what its server tells of itself, when that is in the local network. A server of the user's own whose
    /// window is set has nothing to tell.
    async fn asked(&self, mut choice: Choice) -> Choice {
        let kind = ServerKind::of(&choice.entry.name);
        let Ok(endpoint) = choice.entry.endpoint() else { return choice };
        let tells = kind.is_some() || (choice.entry.is_local() && choice.set_window().is_none());
        if tells && let Ok(http) = network::direct() {
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
        engine::state(self.settings, self.environment).map_err(nothing_configured)?;
        let entry = directory.find(engine::PROVIDER)?;
        Ok((Choice::of_engine(entry, None, self.settings, self.environment)?, None))
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
