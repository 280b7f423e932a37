//! Where telemetry goes and what of it, from the settings and the variables that OpenTelemetry knows.
//!
//! The settings here are the user's own: no workspace has a say in them (`settings/workspace.rs`), and its `.env` sets keys only.

use std::time::Duration;

use charla_proto::text::percent_decoded;
use serde_json::Value;

use super::encode::{Attributes, TraceParent};
use super::metrics::Temporality;
use crate::environment::Environment;
use crate::settings::{Settings, TelemetrySettings};

/// How long one request may take, unless a variable says so.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What is wanted, for one session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    /// The address for spans; none are sent without.
    pub traces: Option<String>,
    /// The address for figures; none are sent without.
    pub metrics: Option<String>,
    /// Headers of every request. They may hold secrets.
    pub headers: Vec<(String, String)>,
    /// Who tells.
    pub resource: Attributes,
    /// How figures are counted.
    pub temporality: Temporality,
    /// How long one request may take.
    pub timeout: Duration,
    /// What was said is told, too.
    pub content: bool,
    /// The span of who started the program.
    pub parent: Option<TraceParent>,
}

impl Config {
    /// What is wanted, if anything; `Err` tells why it cannot be had.
    pub(super) fn of(
        settings: &Settings,
        environment: &Environment,
        session: &str,
    ) -> Result<Option<Self>, String> {
        let wanted = &settings.telemetry;
        let disabled = is(environment, "OTEL_SDK_DISABLED", "true");
        if disabled || wanted.enabled == Some(false) {
            return Ok(None);
        }
        let traces = address(wanted, environment, "TRACES", "traces")?;
        let metrics = address(wanted, environment, "METRICS", "metrics")?;
        if traces.is_none() && metrics.is_none() {
            return Ok(None);
        }
        if is(environment, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc") {
            return Err("OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and only http/json is spoken".to_owned());
        }
        let temporality =
            match is(environment, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "cumulative") {
                true => Temporality::Cumulative,
                false => Temporality::Delta,
            };
        let milliseconds =
            environment.variable("OTEL_EXPORTER_OTLP_TIMEOUT").and_then(|text| text.parse().ok());
        Ok(Some(Self {
            traces,
            metrics,
            headers: headers(wanted, environment)?,
            resource: resource(wanted, environment, session, temporality),
            temporality,
            timeout: milliseconds.map_or(TIMEOUT, Duration::from_millis),
            content: wanted.otlp.capture_content.unwrap_or(false),
            parent: environment.variable("TRACEPARENT").and_then(TraceParent::read),
        }))
    }

    /// True when a connection needs certificates.
    pub(super) fn is_encrypted(&self) -> bool {
        let mut addresses = self.traces.iter().chain(&self.metrics);
        addresses.any(|address| !address.starts_with("http://"))
    }
}

fn is(environment: &Environment, name: &str, word: &str) -> bool {
    environment.variable(name).is_some_and(|value| value.eq_ignore_ascii_case(word))
}

/// Where a signal goes: its own address as it stands, or the common one with the signal's path.
fn address(
    wanted: &TelemetrySettings,
    environment: &Environment,
    signal: &str,
    path: &str,
) -> Result<Option<String>, String> {
    if is(environment, &format!("OTEL_{signal}_EXPORTER"), "none") {
        return Ok(None);
    }
    let own = environment.variable(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")).map(str::to_owned);
    let common = wanted.otlp.endpoint.as_ref().filter(|endpoint| !endpoint.is_empty());
    let found = own.or_else(|| Some(format!("{}/v1/{path}", common?.trim().trim_end_matches('/'))));
    match found {
        Some(address) if !address.starts_with("http://") && !address.starts_with("https://") => {
            Err("its address begins with neither http:// nor https://".to_owned())
        }
        found => Ok(found),
    }
}

fn headers(wanted: &TelemetrySettings, environment: &Environment) -> Result<Vec<(String, String)>, String> {
    let mut headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    for (name, value) in &wanted.otlp.headers {
        let value = match value.strip_prefix('$') {
            Some(variable) => {
                environment.variable(variable).ok_or_else(|| format!("the variable {variable} is not set"))?
            }
            None => value,
        };
        headers.push((name.clone(), value.to_owned()));
    }
    headers.extend(pairs(environment.variable("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default()));
    Ok(headers)
}

/// `name=value` pairs between commas, their values percent-encoded, as the variables hold them.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(name, value)| (name.trim().to_owned(), percent_decoded(value.trim())));
    pairs.filter(|(name, _)| !name.is_empty()).collect()
}

fn resource(
    wanted: &TelemetrySettings,
    environment: &Environment,
    session: &str,
    temporality: Temporality,
) -> Attributes {
    let named = pairs(environment.variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
    let own = environment.variable("OTEL_SERVICE_NAME").map(str::to_owned);
    let own = own.or_else(|| wanted.otlp.service_name.clone());
    let mut resource = Attributes::default();
    resource.put("service.name", "charla");
    resource.put("service.version", env!("CARGO_PKG_VERSION"));
    resource.put("telemetry.sdk.name", "charla");
    resource.put("telemetry.sdk.language", "rust");
    if temporality == Temporality::Cumulative {
        // Sums of two sessions would be one series that jumps.
        resource.put("service.instance.id", session);
    }
    named.into_iter().for_each(|(name, value)| resource.put(name, value));
    if let Some(name) = own {
        resource.put("service.name", Value::from(name));
    }
    resource
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(settings: Value, variables: &[(&str, &str)]) -> Result<Option<Config>, String> {
        let mut settings: Settings = serde_json::from_value(settings).unwrap();
        let environment = Environment::of(variables.iter().copied());
        // As the layers of settings have it.
        if let Some(endpoint) = environment.variable("OTEL_EXPORTER_OTLP_ENDPOINT") {
            settings.telemetry.otlp.endpoint = Some(endpoint.to_owned());
        }
        Config::of(&settings, &environment, "s1")
    }

    #[test]
    fn nothing_is_told_unless_an_address_is_given() {
        assert_eq!(config(json!({}), &[]), Ok(None));
        assert_eq!(config(json!({"telemetry": {"enabled": true, "outfile": "x"}}), &[]), Ok(None));
        let there = json!({"telemetry": {"otlp": {"endpoint": "http://c:4318/"}}});
        let found = config(there.clone(), &[]).unwrap().unwrap();
        assert_eq!(found.traces.as_deref(), Some("http://c:4318/v1/traces"));
        assert_eq!(found.metrics.as_deref(), Some("http://c:4318/v1/metrics"));
        assert!(!found.content && !found.is_encrypted());
        assert_eq!(config(there.clone(), &[("OTEL_SDK_DISABLED", "TRUE")]), Ok(None));
        let off = json!({"telemetry": {"enabled": false, "otlp": {"endpoint": "http://c:4318/"}}});
        assert_eq!(config(off, &[]), Ok(None));
    }

    #[test]
    fn the_standard_variables_are_heard() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c.example/base"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t.example/x"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a=b+c, x-org = 7"),
            ("OTEL_SERVICE_NAME", "mine"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=a%2Cb"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ];
        let found = config(json!({}), &variables).unwrap().unwrap();
        assert_eq!(found.traces.as_deref(), Some("https://t.example/x"));
        assert_eq!(found.metrics.as_deref(), Some("https://c.example/base/v1/metrics"));
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.headers[1..], [pair("authorization", "Bearer a=b+c"), pair("x-org", "7")]);
        assert_eq!(found.resource.get("service.name"), Some(&json!("mine")));
        assert_eq!(found.resource.get("team"), Some(&json!("a,b")));
        assert_eq!(found.timeout, Duration::from_millis(250));
        assert!(found.parent.is_some() && found.is_encrypted());
        let none = [variables[0], ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")];
        assert_eq!(config(json!({}), &none), Ok(None));
    }

    #[test]
    fn what_cannot_be_had_is_told() {
        let grpc =
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
        assert!(config(json!({}), &grpc).unwrap_err().contains("http/json"));
        assert!(config(json!({}), &[("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318")]).is_err());
    }
}
