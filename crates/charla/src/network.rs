//! How servers are reached, as the settings say.

use std::time::Duration;

use charla_providers::layers::RetryPolicy;
use charla_providers::{Client, NetworkOptions, Proxy};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::settings::Settings;

/// The longest time a setting can name. Clocks cannot add much more than that to the present.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Connections for these settings. `encrypted` is false when every server is reached over plain HTTP:
/// then, unless a proxy may want them, certificates are not even read.
pub fn client(settings: &Settings, environment: &Environment, encrypted: bool) -> Result<Client, Failure> {
    let proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let proxied = settings.network.proxy.is_some() || environment.first(&proxies).is_some();
    let encrypted = encrypted || proxied;
    let options = network_options(settings, environment, encrypted)?;
    environment.connections.client(options).map_err(|error| Failure::from(&error))
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
    set_silence(&mut options.first_byte_timeout, network.first_byte_timeout_seconds);
    set_silence(&mut options.idle_timeout, network.idle_timeout_seconds);
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
                .with_hint(Hint::WhoSet("network.caFile"))
        })?;
        options.extra_certificates.push(certificates);
    }
    Ok(options)
}

fn set_seconds(duration: &mut Duration, seconds: Option<f64>) {
    if let Some(seconds) = seconds {
        *duration = Duration::try_from_secs_f64(seconds).unwrap_or(A_YEAR).min(A_YEAR);
    }
}

/// A limit on silence, where 0 means none.
fn set_silence(duration: &mut Duration, seconds: Option<f64>) {
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
    if settings.model.responses.replay.is_some() {
        // A recording says the same whenever it is asked.
        (policy.initial_delay, policy.max_delay) = (Duration::ZERO, Duration::ZERO);
    }
    policy
}

/// Connections for questions to servers of the local network, which no proxy stands before.
pub fn direct() -> Result<Client, Failure> {
    let options = NetworkOptions { proxy: Proxy::None, ..NetworkOptions::default() };
    Client::new(options).map_err(|error| Failure::from(&error))
}
