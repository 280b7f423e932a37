//! Settings as they may be shown: every value that holds, and who set it. Secrets stay hidden.

use serde::Serialize;
use serde_json::{Value, json};

use super::Effective;
use super::address::without_secrets;
use super::source::KeyPath;

/// One value that holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownSetting {
    /// Its key.
    pub key: String,
    /// The value, without secrets.
    pub value: Value,
    /// Who set it.
    pub source: String,
}

impl Effective {
    /// Every value, in the order of keys.
    pub fn shown(&self) -> Vec<ShownSetting> {
        let rows = self.layers.leaves().into_iter();
        rows.map(|(path, value, source)| ShownSetting {
            key: path.to_string(),
            value: shown(&path, &value),
            source: source.to_string(),
        })
        .collect()
    }
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
