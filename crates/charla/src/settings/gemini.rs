//! Settings of Gemini CLI, read beside ours: `.gemini/settings.json` in our words.
//!
//! Only what this table names is taken. Everything else in such a file is another program's business, and no mistake.

use serde_json::{Map, Value, json};

use super::load::{self, Document};
use super::merge::{Layers, Source};
use super::model::Settings;
use super::source::{KeyPath, SourceLocation};
use crate::environment::Environment;
use crate::model_pairs;
use crate::notices::Notice;
use crate::trust::GeminiFile;

/// A key of Gemini CLI, the same in our words, and what becomes of its value.
type Row = (&'static str, &'static str, Convert);
/// The value in our words; nothing where it says nothing that we could do.
type Convert = fn(&Value) -> Option<Value>;

const KEYS: &[Row] = &[
    ("model.name", "model.name", model_name),
    ("model.maxSessionTurns", "limits.maxTurns", positive),
    ("model.compressionThreshold", "compression.threshold", share),
    ("general.defaultApprovalMode", "tools.approvalMode", approval_mode),
    ("general.plan.directory", "tools.planDirectory", same),
    ("general.plan.modelRouting", "model.plan", unrouted),
    ("general.maxAttempts", "retry.maxAttempts", positive),
    ("general.vimMode", "terminal.keys", writing_keys),
    ("ui.accessibility.screenReader", "terminal.screenReader", same),
    ("output.format", "output.format", same),
    ("tools.core", "tools.core", same),
    ("tools.allowed", "tools.allowed", same),
    ("tools.exclude", "tools.exclude", same),
    ("tools.discoveryCommand", "tools.discoveryCommand", same),
    ("tools.callCommand", "tools.callCommand", same),
    ("mcp.allowed", "mcp.allowed", same),
    ("mcp.excluded", "mcp.excluded", same),
    ("mcpServers", "mcpServers", servers),
    ("hooks", "hooks", hooks),
    ("hooksConfig.enabled", "hooksConfig.enabled", same),
    ("hooksConfig.disabled", "hooksConfig.disabled", same),
    ("telemetry.enabled", "telemetry.enabled", same),
    ("telemetry.outfile", "telemetry.outfile", same),
    ("telemetry.logPrompts", "telemetry.logPrompts", same),
    ("telemetry.traces", "telemetry.traces", same),
    ("security.auth.selectedType", "security.selectedAuth", words),
    ("security.auth.enforcedType", "security.enforcedAuth", words),
    // Names of older versions.
    ("coreTools", "tools.core", same),
    ("allowedTools", "tools.allowed", same),
    ("excludeTools", "tools.exclude", same),
    ("toolDiscoveryCommand", "tools.discoveryCommand", same),
    ("toolCallCommand", "tools.callCommand", same),
    ("maxSessionTurns", "limits.maxTurns", positive),
];

/// What of an MCP server is taken.
const SERVER_KEYS: [&str; 12] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "httpUrl",
    "type",
    "headers",
    "timeout",
    "trust",
    "includeTools",
    "excludeTools",
];

/// The file in our words. What cannot be used is left out and told.
pub(super) fn document(
    file: &GeminiFile<'_>,
    environment: &Environment,
    notices: &mut Vec<Notice>,
) -> Option<Document> {
    let foreign = std::str::from_utf8(file.bytes).map_err(|error| error.to_string());
    let foreign =
        foreign.and_then(|text| load::parse_foreign(&file.path, text).map_err(|failure| failure.message));
    let foreign = match foreign {
        Ok(foreign) => foreign,
        Err(why) => {
            notices.push(format!("{} is left out: {why}", file.path.display()).into());
            return None;
        }
    };
    let mut ours = Document { path: foreign.path.clone(), value: Map::new(), places: Vec::new() };
    for (theirs, key, convert) in KEYS {
        let theirs: KeyPath = theirs.split('.').collect();
        let Some(value) = at(&foreign.value, theirs.steps()).and_then(convert) else { continue };
        if *key == "model.name" && !has_gemini_key(environment) {
            continue;
        }
        let place = foreign.places.iter().find(|(known, _)| *known == theirs).map(|(_, place)| place);
        match fits(key, &value) {
            Ok(()) => put(&mut ours, key, value, place),
            Err(why) => {
                let path = file.path.display();
                notices.push(format!("{path}: `{theirs}` is left out: {why}").into());
            }
        }
    }
    Some(ours)
}

/// Variables of Gemini CLI, and what they set.
pub(super) fn put_environment(layers: &mut Layers, environment: &Environment) {
    let truth = |text: &str| Some(json!(matches!(text, "true" | "1")));
    let text = |text: &str| Some(json!(text));
    let model = |text: &str| model_name(&json!(text));
    type Read<'a> = &'a dyn Fn(&str) -> Option<Value>;
    let rows: [(&str, &[&str], Read<'_>); 5] = [
        ("GEMINI_MODEL", &["model", "name"], &model),
        ("GEMINI_TELEMETRY_ENABLED", &["telemetry", "enabled"], &truth),
        ("GEMINI_TELEMETRY_OUTFILE", &["telemetry", "outfile"], &text),
        ("GEMINI_TELEMETRY_LOG_PROMPTS", &["telemetry", "logPrompts"], &truth),
        ("GEMINI_TELEMETRY_TRACES_ENABLED", &["telemetry", "traces"], &truth),
    ];
    for (name, key, read) in rows {
        let is_heard = name != "GEMINI_MODEL" || has_gemini_key(environment);
        if let Some(value) = environment.variable(name).filter(|_| is_heard).and_then(read) {
            layers.put_value(key, value, Source::Variable(name.to_owned()));
        }
    }
}

/// Whether our settings take this value for this key.
fn fits(key: &str, value: &Value) -> Result<(), String> {
    let nested = key.split('.').rev().fold(value.clone(), |inner, step| json!({ step: inner }));
    serde_json::from_value::<Settings>(nested).map(drop).map_err(|error| error.to_string())
}

fn at<'a>(map: &'a Map<String, Value>, steps: &[String]) -> Option<&'a Value> {
    let (first, rest) = steps.split_first()?;
    rest.iter().try_fold(map.get(first)?, |value, step| value.get(step))
}

fn put(document: &mut Document, key: &str, value: Value, place: Option<&SourceLocation>) {
    let path: KeyPath = key.split('.').collect();
    if let Some(place) = place {
        note_places(&mut document.places, &path, &value, place);
    }
    let Some((last, above)) = path.steps().split_last() else { return };
    let mut map = &mut document.value;
    for step in above {
        let below = map.entry(step.clone()).or_insert_with(|| json!({}));
        let Value::Object(below) = below else { return };
        map = below;
    }
    // A key's newer name stands before its older ones.
    map.entry(last.clone()).or_insert(value);
}

/// Everything in a value stands where the value stands.
fn note_places(
    places: &mut Vec<(KeyPath, SourceLocation)>,
    path: &KeyPath,
    value: &Value,
    place: &SourceLocation,
) {
    places.push((path.clone(), place.clone()));
    if let Value::Object(inner) = value {
        inner.iter().for_each(|(key, value)| note_places(places, &path.key(key), value, place));
    }
}

fn same(value: &Value) -> Option<Value> {
    Some(value.clone())
}

fn words(value: &Value) -> Option<Value> {
    value.as_str().filter(|text| !text.is_empty()).map(Value::from)
}

/// A model, or a name that stands for two; others like it leave the choice to the program.
fn model_name(value: &Value) -> Option<Value> {
    let is_choice = |name: &str| name.starts_with("auto") || ["pro", "flash", "flash-lite"].contains(&name);
    let is_model = |name: &&str| !is_choice(name) || model_pairs::working(name).is_some();
    value.as_str().filter(|name| !name.is_empty()).filter(is_model).map(Value::from)
}

/// Where nothing plans but the usual model, none is named for it.
fn unrouted(value: &Value) -> Option<Value> {
    (value == &Value::Bool(false)).then(|| "".into())
}

/// Who talks to Google's models by a login of Gemini CLI alone can talk to others here: a name that no key opens would
/// only stand in the way.
fn has_gemini_key(environment: &Environment) -> bool {
    let variables =
        charla_providers::catalog::provider("gemini").map_or(&[][..], |provider| provider.key_env);
    environment.first(variables).is_some()
}

fn positive(value: &Value) -> Option<Value> {
    value.as_u64().filter(|number| *number > 0).map(Value::from)
}

fn share(value: &Value) -> Option<Value> {
    value.as_f64().filter(|share| (0.1..=0.95).contains(share)).map(Value::from)
}

/// In a file of Gemini CLI nothing makes everything free.
fn approval_mode(value: &Value) -> Option<Value> {
    value.as_str().filter(|mode| ["default", "auto_edit", "plan"].contains(mode)).map(Value::from)
}

fn writing_keys(value: &Value) -> Option<Value> {
    value.as_bool().filter(|vi| *vi).map(|_| "vi".into())
}

fn servers(value: &Value) -> Option<Value> {
    let servers = value.as_object()?.iter();
    let servers = servers.filter_map(|(name, server)| Some((name.clone(), taken(server, &SERVER_KEYS)?)));
    Some(Value::Object(servers.collect()))
}

/// Hooks that are commands, by event; what else stands among them is not for us.
fn hooks(value: &Value) -> Option<Value> {
    let command = |hook: &Value| {
        let is_command = hook.get("type").is_none_or(|kind| kind == "command");
        is_command.then(|| taken(hook, &["type", "command", "name", "description", "timeout"])).flatten()
    };
    let group = |group: &Value| {
        let mut kept = taken(group, &["matcher", "sequential"])?;
        let hooks = group.get("hooks")?.as_array()?.iter().filter_map(command).collect();
        kept.as_object_mut()?.insert("hooks".to_owned(), Value::Array(hooks));
        Some(kept)
    };
    let events = value.as_object()?.iter().filter_map(|(event, groups)| {
        let groups: Vec<Value> = groups.as_array()?.iter().filter_map(group).collect();
        (!groups.is_empty()).then(|| (event.clone(), Value::Array(groups)))
    });
    Some(Value::Object(events.collect()))
}

/// The object with these keys alone.
fn taken(object: &Value, keys: &[&str]) -> Option<Value> {
    let kept = object.as_object()?.iter().filter(|(key, _)| keys.contains(&key.as_str()));
    Some(Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

#[cfg(test)]
mod tests;
