//! Settings: from files, environment and flags to one checked value.
//!
//! Order of precedence: override of the run, environment, workspace file, user file, built in. Beside each file, below it,
//! stands what is set there for Gemini CLI. Files are JSON with
//! comments; a key nobody knows is a mistake, except keys that begin with `$`, which are for editors and
//! people (`$schema`, `$comment`). A workspace that is not trusted ([`crate::trust`]) may only set what
//! cannot send data elsewhere or run anything.

mod address;
mod defaults;
mod edit;
mod extended;
mod gemini;
mod guest;
mod hooks;
mod load;
mod merge;
mod mistake;
mod model;
mod names;
mod quirks;
mod schema;
mod shown;
mod source;
mod typed;
mod workspace;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use charla_proto::text::{nearest, one_line};
use charla_providers::catalog;

pub(crate) use address::{is_local_network, without_secrets};
pub(crate) use edit::SettingsFile;
pub use edit::keep;
pub use hooks::{HookCommand, HookGroup, HookGroups, HookKind, HooksConfig};
pub use merge::{Layers, Source};
pub use model::{
    Brought, KeySource, McpForm, McpServerSettings, ModelFacts, OutputFormat, PromptLength, ProviderSettings,
    ServerOrigin, Settings, TelemetrySettings, TerminalSettings, ThinkingSwitch, WritingKeys,
};
pub use schema::settings_schema;
#[cfg(test)]
use schema::{all_keys, derived_schema};
pub use shown::ShownSetting;

use typed::{Misfit, typed};

use crate::bounded;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::notices::Notice;
use crate::trust::{GeminiFile, Standing, TrustDemand, WorkspaceContent, gemini_standing};

/// Settings as they hold for this run.
#[derive(Clone, Debug, Default)]
pub struct Effective {
    /// The values.
    pub settings: Settings,
    /// The layers they come from.
    pub layers: Layers,
    /// What a person should be told: files and keys of the workspace that are ignored.
    pub notices: Vec<Notice>,
}

/// A value that holds for one run, over everything else.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// Its key.
    pub key: &'static [&'static str],
    /// The value.
    pub value: serde_json::Value,
    /// Who says so, such as the name of a flag.
    pub source: &'static str,
}

/// Reads both files and the environment, and puts the overrides on top.
pub fn load(environment: &Environment, overrides: Vec<Override>) -> Result<Effective, Failure> {
    load_trusting(environment, overrides, &TrustDemand::default())
}

/// The same for a run that says something about trust itself.
pub(crate) fn load_trusting(
    environment: &Environment,
    overrides: Vec<Override>,
    demand: &TrustDemand,
) -> Result<Effective, Failure> {
    let mut layers = Layers::default();
    let mut notices: Vec<Notice> = Vec::new();
    defaults::put(&mut layers);
    if let Some(guest) = &environment.guest
        && let Some(document) = load::read(&guest.settings)?
    {
        layers.put_document(document);
    }
    put_users_gemini(&mut layers, environment, &mut notices);
    if let Some(path) = environment.user_settings()
        && let Some(mut document) = load::read(&path)?
    {
        notices.extend(guest::tame(&mut document, environment));
        layers.put_document(document);
    }
    let workspace = WorkspaceContent::read(environment);
    notices.extend(workspace.left_out().iter().map(Notice::from));
    let standing = workspace.standing(environment, demand)?;
    let mut servers = BTreeMap::new();
    if let Some(file) = workspace.gemini_settings()
        && let Some(mut document) = gemini::document(&file, environment, &mut notices)
    {
        layers.leave_out_known(&mut document);
        notices.extend(workspace::tame(&mut document, gemini_standing(standing, environment)));
        notices.extend(guest::tame(&mut document, environment));
        servers.extend(of_workspace(&document));
        layers.put_document(document);
    }
    if let Some(mut document) = of_the_workspace(&workspace, standing, &mut notices)? {
        notices.extend(workspace::tame(&mut document, standing));
        notices.extend(guest::tame(&mut document, environment));
        servers.extend(of_workspace(&document));
        layers.put_document(document);
    }
    put_environment(&mut layers, environment)?;
    let allowed = overrides.iter().any(|given| given.key == ["mcp", "allowed"]);
    for Override { key, value, source } in overrides {
        layers.put_value(key, value, Source::Override(source));
    }
    let value = serde_json::Value::Object(layers.value().clone());
    let mut settings: Settings =
        typed(value).map_err(|Misfit { path, why }| Failure::config(format!("`{path}`: {why}")))?;
    settings.brought.trusted_workspace = standing.is_trusted();
    settings.brought.servers = servers;
    settings.brought.workspace = Arc::new(workspace);
    extended::extend(&mut settings, environment, &mut notices)?;
    // Settings may name servers of other workspaces; whoever says it for one run means this one.
    if allowed {
        notices.extend(about_unknown_servers(&settings));
    }
    Ok(Effective { settings, layers, notices })
}

/// Servers that are to be used and are not there.
fn about_unknown_servers(settings: &Settings) -> impl Iterator<Item = Notice> {
    let known = &settings.mcp_servers;
    let unknown = settings.mcp.allowed.iter().flatten().filter(|name| !known.contains_key(*name));
    unknown.map(|name| {
        let meant = nearest(name, known.keys().map(String::as_str));
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        format!("there is no MCP server `{}` that could be used{meant}", one_line(name)).into()
    })
}

/// The workspace's own file. A mistake in one that the user has not agreed to stops no run: it is left out whole.
fn of_the_workspace(
    workspace: &WorkspaceContent,
    standing: Standing,
    notices: &mut Vec<Notice>,
) -> Result<Option<load::Document>, Failure> {
    let Some((path, bytes)) = workspace.settings() else { return Ok(None) };
    match load::parse_bytes(&path, bytes) {
        Ok(document) => Ok(Some(document)),
        Err(mistake) if !standing.is_trusted() => {
            let why = mistake.message.lines().map(one_line).collect::<Vec<_>>().join("; ");
            let left_out = format!("the settings of this workspace are left out: {why}");
            notices.push(Notice::from(left_out));
            Ok(None)
        }
        Err(mistake) => Err(mistake),
    }
}

/// The MCP servers that a file of the workspace has a say in.
fn of_workspace(document: &load::Document) -> impl Iterator<Item = (String, ServerOrigin)> {
    let servers = document.value.get("mcpServers").and_then(serde_json::Value::as_object);
    servers.into_iter().flatten().map(|(name, _)| (name.clone(), ServerOrigin::Workspace))
}

/// What the user has set for Gemini CLI, below what is set for us. On somebody else's machine there is no such file.
fn put_users_gemini(layers: &mut Layers, environment: &Environment, notices: &mut Vec<Notice>) {
    let Some(home) = environment.gemini_home().filter(|_| environment.guest.is_none()) else { return };
    let path = home.join("settings.json");
    let Ok(bytes) = bounded::read(&path) else { return };
    if let Some(document) = gemini::document(&GeminiFile { path, bytes: &bytes }, environment, notices) {
        layers.put_document(document);
    }
}

/// What a workspace's settings for Gemini CLI say that only a trusted one may, key by key.
pub(crate) fn gemini_keys_needing_trust(
    file: &GeminiFile<'_>,
    environment: &Environment,
) -> Vec<(String, serde_json::Value)> {
    let document = gemini::document(file, environment, &mut Vec::new());
    document.map(|document| needing_trust(&document)).unwrap_or_default()
}

fn needing_trust(document: &load::Document) -> Vec<(String, serde_json::Value)> {
    workspace::needing_trust(document).into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

/// What these settings of a workspace say that only a trusted one may, key by key.
pub(crate) fn keys_needing_trust(
    path: &Path,
    bytes: &[u8],
) -> Result<Vec<(String, serde_json::Value)>, Failure> {
    Ok(needing_trust(&load::parse_bytes(path, bytes)?))
}

/// Where telemetry goes, as every program knows it that speaks OpenTelemetry.
const OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

fn put_environment(layers: &mut Layers, environment: &Environment) -> Result<(), Failure> {
    gemini::put_environment(layers, environment);
    if let Some(model) = environment.variable("CHARLA_MODEL") {
        layers.put_value(&["model", "name"], model, Source::Variable("CHARLA_MODEL".into()));
    }
    if let Some(address) = environment.variable(OTLP_ENDPOINT) {
        layers.put_value(&["telemetry", "otlp", "endpoint"], address, Source::Variable(OTLP_ENDPOINT.into()));
    }
    for provider in catalog::providers() {
        if let Some((name, address)) = environment.first(provider.base_url_env) {
            let url = address::base_url(address, provider.base_url_suffix, provider.local)
                .map_err(|reason| Failure::config(format!("${name}: {reason}")))?;
            layers.put_value(&["providers", provider.name, "baseUrl"], url, Source::Variable(name.into()));
        }
    }
    put_vertex(layers, environment);
    // `SSL_CERT_FILE` replaces the system's authorities; the network layer reads it with them.
    if let Some(file) = environment.variable("NODE_EXTRA_CA_CERTS") {
        layers.put_value(&["network", "caFile"], file, Source::Variable("NODE_EXTRA_CA_CERTS".into()));
    }
    Ok(())
}

/// Vertex AI has no address of its own: project and location make it.
fn put_vertex(layers: &mut Layers, environment: &Environment) {
    let path = ["providers", "vertex", "baseUrl"];
    let Some(project) = environment.variable("GOOGLE_CLOUD_PROJECT").filter(|_| !layers.has(&path)) else {
        return;
    };
    let location = environment.first(&["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION"]);
    let url = catalog::vertex_base_url(project, location.map_or("global", |(_, location)| location));
    layers.put_value(&path, url, Source::Variable("GOOGLE_CLOUD_PROJECT".into()));
}

#[cfg(test)]
mod tests;
