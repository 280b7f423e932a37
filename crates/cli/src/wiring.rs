//! Where settings meet the libraries: network options, retry policy, and the stack of generators.

use std::sync::Arc;
use std::time::Duration;

use charla_core::CancellationToken;
use charla_core::compress::Compression;
use charla_proto::{ContentGenerator, GenerateRequest, Thinking};
use charla_providers::endpoint::Target;
use charla_providers::google::GoogleTokens;
use charla_providers::layers::{
    Layered, Link, LogSink, Logging, Redactor, Resilient, RetryPolicy, Rewrite, RewriteRequests, stack,
};
use charla_providers::{Client, Credential, Generator, NetworkOptions, Proxy};
use serde_json::Value;

use crate::choice::{Access, Choice};
use crate::environment::Environment;
use crate::exit::Failure;
use crate::local::EngineGenerator;
use crate::settings::{Layers, Settings, Source};

/// How often a model may be asked in one turn when nobody says: enough for long work, an end for a runaway.
const MAX_TURNS: u32 = 500;

/// How long a local server may read a prompt before it says anything: minutes, where it computes without a
/// graphics card.
const LOCAL_FIRST_BYTE: Duration = Duration::from_secs(600);

/// The values that hold when nobody sets them.
pub fn put_defaults(layers: &mut Layers) {
    let network = NetworkOptions::default();
    let retry = RetryPolicy::default();
    let compression = Compression::default();
    let values: [(&[&str], Value); 11] = [
        (&["network", "connectTimeoutSeconds"], network.connect_timeout.as_secs().into()),
        (&["network", "idleTimeoutSeconds"], network.idle_timeout.as_secs().into()),
        (&["retry", "maxAttempts"], retry.max_attempts.into()),
        (&["retry", "initialDelaySeconds"], retry.initial_delay.as_secs().into()),
        (&["retry", "maxDelaySeconds"], retry.max_delay.as_secs().into()),
        (&["output", "format"], "text".into()),
        (&["output", "thoughts"], false.into()),
        (&["limits", "maxTurns"], MAX_TURNS.into()),
        (&["compression", "automatic"], compression.automatic.into()),
        (&["compression", "threshold"], compression.threshold.into()),
        (&["compression", "keep"], compression.keep.into()),
    ];
    for (path, value) in values {
        layers.put_value(path, value, Source::BuiltIn);
    }
}

/// When a session compresses, as the settings say.
pub fn compression(settings: &Settings) -> Compression {
    let (settings, default) = (&settings.compression, Compression::default());
    Compression {
        automatic: settings.automatic.unwrap_or(default.automatic),
        threshold: settings.threshold.unwrap_or(default.threshold),
        keep: settings.keep.unwrap_or(default.keep),
    }
}

/// Connections for these settings. `encrypted` is false when every server is reached over plain HTTP:
/// then, unless a proxy may want them, certificates are not even read.
pub fn client(settings: &Settings, environment: &Environment, encrypted: bool) -> Result<Client, Failure> {
    let proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let proxied = settings.network.proxy.is_some() || environment.first(&proxies).is_some();
    let encrypted = encrypted || proxied;
    let options = network_options(settings, environment, encrypted)?;
    Client::new(options).map_err(|error| Failure::from(&error))
}

/// How to reach servers, as the settings say.
pub fn network_options(
    settings: &Settings,
    environment: &Environment,
    encrypted: bool,
) -> Result<NetworkOptions, Failure> {
    let network = &settings.network;
    let mut options = NetworkOptions::default();
    set_seconds(&mut options.connect_timeout, network.connect_timeout_seconds);
    set_patience(&mut options.first_byte_timeout, network.first_byte_timeout_seconds);
    set_patience(&mut options.idle_timeout, network.idle_timeout_seconds);
    options.proxy = match network.proxy.as_deref() {
        None => Proxy::System,
        Some("none") => Proxy::None,
        Some(url) => Proxy::Url(url.to_owned()),
    };
    if let Some((_, hosts)) = environment.first(&["NO_PROXY", "no_proxy"]) {
        options.no_proxy = hosts.split(',').map(|host| host.trim().to_owned()).collect();
    }
    if let Some(file) = network.ca_file.as_ref().filter(|_| encrypted) {
        let path = environment.expand(file, &environment.directory);
        let certificates = std::fs::read(&path).map_err(|error| {
            Failure::config(format!("cannot read the certificates in {}: {error}", path.display()))
                .with_hint("`charla settings show` tells who set `network.caFile`")
        })?;
        options.extra_certificates.push(certificates);
    }
    Ok(options)
}

/// The longest time a setting can name. Clocks cannot add much more than that to the present.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

fn set_seconds(duration: &mut Duration, seconds: Option<f64>) {
    if let Some(seconds) = seconds {
        *duration = Duration::try_from_secs_f64(seconds).unwrap_or(A_YEAR).min(A_YEAR);
    }
}

/// A limit on silence, where 0 means none.
fn set_patience(duration: &mut Duration, seconds: Option<f64>) {
    set_seconds(duration, seconds);
    if duration.is_zero() {
        *duration = Duration::MAX;
    }
}

/// How patiently to try again.
pub fn retry_policy(settings: &Settings) -> RetryPolicy {
    let retry = &settings.retry;
    let mut policy = RetryPolicy::default();
    policy.max_attempts = retry.max_attempts.unwrap_or(policy.max_attempts);
    set_seconds(&mut policy.initial_delay, retry.initial_delay_seconds);
    set_seconds(&mut policy.max_delay, retry.max_delay_seconds);
    policy
}

/// The generators of a chain of models as one: logging over retry and fallback over the wires.
pub fn generator(
    chain: Vec<Choice>,
    settings: &Settings,
    client: &Client,
    log: Option<Arc<dyn LogSink>>,
) -> Result<Arc<dyn ContentGenerator>, Failure> {
    let reference = chain.first().map(Choice::reference).unwrap_or_default();
    let secrets = chain.iter().filter_map(|choice| choice.access.key().cloned());
    let redactor = Arc::new(Redactor::new(secrets));
    let links = chain.into_iter().map(|choice| link(choice, settings, client)).collect::<Result<_, _>>()?;
    let resilient = Arc::new(Resilient::new(links, retry_policy(settings)));
    Ok(Logging::over(resilient, &reference, log, redactor))
}

fn link(choice: Choice, settings: &Settings, client: &Client) -> Result<Link, Failure> {
    let generator = stack(bare(&choice, settings, client)?, choice.layers(settings)?);
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
    if let Some(engine) = choice.engine() {
        let generator = EngineGenerator::new(engine.clone(), endpoint, choice.row(), client);
        return Ok(with_fields(Arc::new(generator), choice));
    }
    if choice.entry.is_local() && !choice.is_encrypted() {
        // Local servers close connections at moments of their own; a new one costs nothing here.
        endpoint.headers.push(("connection".to_owned(), "close".to_owned()));
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

/// Cancels when the user presses Ctrl-C or the system asks us to end. The second time ends at once.
pub fn cancel_on_signals() -> CancellationToken {
    let cancel = CancellationToken::new();
    let asked = cancel.clone();
    tokio::spawn(async move {
        while signalled().await {
            if asked.is_cancelled() {
                std::process::exit(charla_proto::exit::CANCELLED);
            }
            asked.cancel();
        }
    });
    cancel
}

#[cfg(unix)]
async fn signalled() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return false };
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.is_ok(),
        asked = terminate.recv() => asked.is_some(),
    }
}

#[cfg(not(unix))]
async fn signalled() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::directory::Directory;

    #[test]
    fn a_local_server_is_waited_for_longer_unless_somebody_says_how_long() {
        let waits = |name: &str, network: Value| {
            let own = json!({"near": {"baseUrl": "http://10.0.0.9/v1"}, "far": {"baseUrl": "https://x.example/v1"}});
            let settings = json!({"providers": own, "network": network});
            let settings: Settings = serde_json::from_value(settings).unwrap();
            let entry = Directory::new(&settings).find(name).unwrap();
            let choice = Choice::new(entry, "m".to_owned(), Access::Open);
            let client = client(&settings, &Environment::default(), false).unwrap();
            client_for(&choice, &settings, &client).options().first_byte_timeout.as_secs()
        };
        assert_eq!((waits("near", json!({})), waits("ollama", json!({}))), (600, 600));
        assert_eq!((waits("far", json!({})), waits("gemini", json!({}))), (300, 300));
        let set = json!({"firstByteTimeoutSeconds": 7});
        assert_eq!((waits("near", set.clone()), waits("far", set)), (7, 7));
    }
}
