//! Which providers are ready, and why others are not.

use charla_local::WEIGHTS_NAME;
use charla_providers::catalog;
use serde_json::{Value, json};

use super::choice::{Access, Choice};
use super::directory::{Directory, Entry};
use super::probe::{Findings, Kept};
use super::servers;
use crate::clock::seconds;
use crate::credentials::Keys;
use crate::engine;
use crate::environment::Environment;
use crate::hint::Hint;
use crate::settings::{Settings, without_secrets};

/// What is known of one provider.
pub struct Row {
    /// The provider.
    pub entry: Entry,
    /// Where it is.
    pub address: String,
    /// Where the key was found, or which server answers; else why it cannot be used.
    pub state: Result<String, String>,
    /// Names of its models.
    pub models: Vec<String>,
    /// What earlier runs found out about these models.
    pub known: Vec<Kept>,
}

/// The rows for a program.
pub fn to_json(rows: &[Row]) -> Value {
    let rows = rows.iter().map(|row| {
        let (ready, state) = match &row.state {
            Ok(state) => (true, state),
            Err(reason) => (false, reason),
        };
        json!({
            "provider": row.entry.name,
            "title": row.entry.title(),
            "ready": ready,
            "state": state,
            "baseUrl": row.address,
            "defaultModel": row.entry.default_model(),
            "models": row.models,
            "known": row.known.iter().map(|known| json!({
                "model": known.model,
                "toolMode": known.tools.name(),
                "reason": known.reason,
                "thinking": known.thoughts,
            })).collect::<Vec<_>>(),
            "keyVariables": row.entry.key_variables(),
        })
    });
    json!({ "providers": rows.collect::<Vec<_>>() })
}

/// Looks at every provider: keys of hosted ones, servers of local ones. Asks no hosted provider.
pub async fn survey(settings: &Settings, environment: &Environment) -> Vec<Row> {
    let directory = Directory::new(settings);
    let keys = Keys::new(environment);
    let mut servers = servers::local_servers(&directory, &keys).await;
    let rows = directory.entries().into_iter();
    rows.map(|entry| match servers.iter().position(|server| server.entry.name == entry.name) {
        Some(position) => local_row(servers.swap_remove(position), environment),
        None if entry.name == engine::PROVIDER => engine_row(entry, settings, environment),
        None => hosted_row(entry, &keys, environment),
    })
    .collect()
}

fn local_row(server: servers::Server, environment: &Environment) -> Row {
    let address = address(&server.entry);
    let (state, models) = match server.state {
        Ok(models) if models.is_empty() => (Err("runs, but has no model".to_owned()), models),
        Ok(models) => (Ok("runs".to_owned()), models),
        Err(reason) => (Err(reason), Vec::new()),
    };
    let findings = Findings::of(environment);
    let choices = models.iter().map(|model| Choice::new(server.entry.clone(), model.clone(), Access::Open));
    let known = choices.filter_map(|choice| findings.find(&choice, seconds()).ok()?).collect();
    Row { entry: server.entry, address, state, models, known }
}

fn engine_row(entry: Entry, settings: &Settings, environment: &Environment) -> Row {
    let state = engine::state(settings, environment);
    Row {
        entry,
        address: "started when it is needed".to_owned(),
        state,
        models: vec![WEIGHTS_NAME.to_owned()],
        known: Vec::new(),
    }
}

fn hosted_row(entry: Entry, keys: &Keys, environment: &Environment) -> Row {
    let found = Access::find(&entry, keys, environment);
    let state = match (entry.endpoint(), found) {
        (Err(failure), _) => Err(match &failure.hint {
            Some(Hint::Text(hint)) => format!("{failure}: {hint}"),
            _ => failure.message.clone(),
        }),
        (_, Err(failure)) => Err(failure.message),
        (Ok(_), Ok(Some(Access::Key(found)))) => Ok(format!("key from {}", found.place)),
        (Ok(_), Ok(Some(Access::Google(_, path)))) => Ok(format!("credentials from {}", path.display())),
        (Ok(_), Ok(Some(Access::Open | Access::Engine(_)))) => Ok("needs no key".to_owned()),
        (Ok(_), Ok(None)) => {
            let variables = entry.key_variables().iter().map(|name| format!("${name}"));
            let looked = variables.chain(["kept keys".to_owned()]).collect::<Vec<_>>().join(", ");
            Err(format!("no key in {looked}"))
        }
    };
    let mut models: Vec<String> = catalog::models(&entry.name).map(str::to_owned).collect();
    models
        .extend(entry.settings.models.keys().filter(|id| !models.contains(id)).cloned().collect::<Vec<_>>());
    let address = address(&entry);
    Row { entry, address, state, models, known: Vec::new() }
}

fn address(entry: &Entry) -> String {
    entry.endpoint().map(|endpoint| without_secrets(&endpoint.base_url)).unwrap_or_default()
}
