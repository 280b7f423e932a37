//! The stack of generators of a chain of models.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::{ContentGenerator, GenerateRequest, Thinking};
use charla_providers::endpoint::Target;
use charla_providers::google::GoogleTokens;
use charla_providers::layers::{
    EstimatedUsage, Layered, Link, LogSink, Logging, Redactor, Resilient, Rewrite, RewriteRequests, stack,
};
use charla_providers::{Client, Credential, Generator};

use super::choice::{Access, Choice};
use super::chooser::Chain;
use super::recordings;
use crate::engine::EngineGenerator;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::network::retry_policy;
use crate::settings::Settings;

/// How long a local server may read a prompt before it says anything: minutes, where it computes without a
/// graphics card.
const LOCAL_FIRST_BYTE: Duration = Duration::from_secs(600);

/// The generators of a chain of models as one: logging over retry and fallback over the wires.
pub fn generator(
    chain: Chain,
    settings: &Settings,
    environment: &Environment,
    client: &Client,
    log: Option<Arc<dyn LogSink>>,
) -> Result<Arc<dyn ContentGenerator>, Failure> {
    let reference = chain.first.reference();
    let secrets = chain.models().filter_map(|choice| choice.access.key().cloned());
    let redactor = Arc::new(Redactor::new(secrets));
    let models = std::iter::once(chain.first).chain(chain.fallbacks);
    let links = models.map(|choice| link(choice, settings, environment, client)).collect::<Result<_, _>>()?;
    let resilient = Arc::new(Resilient::new(links, retry_policy(settings)));
    Ok(Logging::over(resilient, &reference, log, redactor))
}

fn link(
    choice: Choice,
    settings: &Settings,
    environment: &Environment,
    client: &Client,
) -> Result<Link, Failure> {
    let responses = &settings.model.responses;
    let mut generator = match &responses.replay {
        Some(file) => recordings::replayed(&choice, file, settings, environment)?,
        None => bare(&choice, settings, client)?,
    };
    if let Some(file) = &responses.record {
        generator = recordings::recorded(generator, file, environment)?;
    }
    if let Some(small) = choice.small_model(environment) {
        generator = Arc::new(Layered::over(generator, small));
    }
    generator = stack(generator, choice.layers(settings)?);
    if settings.limits.max_tokens.is_some() || settings.limits.max_cost.is_some() {
        generator = Arc::new(Layered::over(generator, EstimatedUsage));
    }
    Ok(Link { reference: choice.reference(), model: choice.model, generator })
}

/// A model's own generator, with nothing over its wire.
pub fn bare(
    choice: &Choice,
    settings: &Settings,
    client: &Client,
) -> Result<Arc<dyn ContentGenerator>, Failure> {
    let mut endpoint = choice.entry.endpoint()?;
    let client = client_for(choice, settings, client);
    if choice.entry.is_local() && !choice.is_encrypted() {
        // Local servers close connections at moments of their own; a new one costs nothing here.
        endpoint.headers.push(("connection".to_owned(), "close".to_owned()));
    }
    if let Some(engine) = choice.engine() {
        let generator = EngineGenerator::new(engine.clone(), endpoint, choice.row(), client);
        return Ok(with_fields(Arc::new(generator), choice));
    }
    let target = Target::new(Arc::new(endpoint), choice.row());
    let credential = match &choice.access {
        Access::Open | Access::Engine(_) => Credential::None,
        Access::Key(found) => Credential::Key(found.key.clone()),
        Access::Google(credentials, _) => {
            Credential::Source(Arc::new(GoogleTokens::new(credentials.clone(), client.clone())))
        }
    };
    let generator: Arc<dyn ContentGenerator> = Arc::new(Generator::new(target, credential, client));
    Ok(with_fields(generator, choice))
}

/// With the provider's `extraBody`: in a chain each provider has other fields.
fn with_fields(generator: Arc<dyn ContentGenerator>, choice: &Choice) -> Arc<dyn ContentGenerator> {
    let fields = choice.entry.settings.extra_body.clone();
    match fields.is_empty() {
        true => generator,
        false => Arc::new(Layered::over(generator, RewriteRequests::new(Rewrite::WithFields(fields)))),
    }
}

/// A local server is waited for longer, unless somebody has set how long.
fn client_for(choice: &Choice, settings: &Settings, client: &Client) -> Client {
    match choice.entry.is_local() && settings.network.first_byte_timeout_seconds.is_none() {
        true => client.with_first_byte_timeout(LOCAL_FIRST_BYTE),
        false => client.clone(),
    }
}

/// What every request of a session has beside the conversation.
pub fn request(model: &str, settings: &Settings) -> GenerateRequest {
    let wanted = &settings.model.thinking;
    let thinking = Thinking {
        include_thoughts: settings.output.thoughts.filter(|wanted| *wanted),
        thinking_budget: wanted.budget,
        thinking_level: wanted.level,
    };
    GenerateRequest {
        temperature: settings.model.temperature,
        max_output_tokens: settings.model.max_output_tokens,
        thinking: (thinking != Thinking::default()).then_some(thinking),
        ..GenerateRequest::new(model, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::models::Directory;
    use crate::network;

    #[test]
    fn a_local_server_is_waited_for_longer_unless_somebody_says_how_long() {
        let waits = |name: &str, network: Value| {
            let own =
                json!({"own": {"baseUrl": "http://10.0.0.9/v1"}, "far": {"baseUrl": "https://x.example/v1"}});
            let settings = json!({"providers": own, "network": network});
            let settings: Settings = serde_json::from_value(settings).unwrap();
            let entry = Directory::new(&settings).find(name).unwrap();
            let choice = Choice::new(entry, "m".to_owned(), Access::Open);
            let client = network::client(&settings, &Environment::default(), false).unwrap();
            client_for(&choice, &settings, &client).options().first_byte_timeout.as_secs()
        };
        assert_eq!((waits("own", json!({})), waits("ollama", json!({}))), (600, 600));
        assert_eq!((waits("far", json!({})), waits("gemini", json!({}))), (300, 300));
        let set = json!({"firstByteTimeoutSeconds": 7});
        assert_eq!((waits("own", set.clone()), waits("far", set)), (7, 7));
    }
}
