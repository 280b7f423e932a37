//! `charla settings show`: every value that holds, and who set it. Secrets stay hidden.

use serde_json::{Value, json};

use super::Effective;
use super::address::without_secrets;
use super::source::KeyPath;

/// One line for each value.
pub fn show_text(effective: &Effective) -> String {
    let lines: Vec<(String, String)> = effective
        .layers
        .leaves()
        .into_iter()
        .map(|(path, value, source)| (format!("{path} = {}", shown(&path, &value)), source.to_string()))
        .collect();
    let width = lines.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0).min(60);
    lines.iter().map(|(left, source)| format!("{left:<width$}  # {source}\n")).collect()
}

/// An array of `{key, value, source}`.
pub fn show_json(effective: &Effective) -> Value {
    let rows = effective.layers.leaves().into_iter();
    rows.map(|(path, value, source)| {
        json!({ "key": path.to_string(), "value": shown(&path, &value), "source": source.to_string() })
    })
    .collect()
}

/// Header values may be keys, addresses may carry passwords, and a command may hold anything.
fn shown(path: &KeyPath, value: &Value) -> Value {
    let steps = path.steps();
    let last = steps.last().map(String::as_str).unwrap_or_default();
    match value {
        Value::String(_) if steps.iter().any(|step| step == "headers") => json!("(hidden)"),
        Value::String(url) if last == "baseUrl" || last == "proxy" => json!(without_secrets(url)),
        Value::Object(source) if last == "apiKey" => match source.get("command").and_then(Value::as_str) {
            Some(command) => {
                let program = command.split_whitespace().next().unwrap_or_default();
                json!({ "command": format!("{program} …") })
            }
            None => value.clone(),
        },
        other => other.clone(),
    }
}
