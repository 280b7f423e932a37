//! MCP servers as other programs write them, in our form.

use serde_json::{Map, Value, json};

use super::Finding;

/// Keys that mean the same here.
const SAME: [&str; 9] =
    ["command", "args", "cwd", "url", "httpUrl", "timeout", "includeTools", "excludeTools", "description"];

/// The servers in a map of them. Secrets in it are taken with `keys`; else they become variables of the user's.
pub(super) fn servers(servers: Option<&Value>, keys: bool, findings: &mut Vec<Finding>) {
    let Some(servers) = servers.and_then(Value::as_object) else { return };
    for (name, server) in servers {
        match entry(server) {
            Ok(entry) => push(name, entry, keys, findings),
            Err(why) => {
                findings.push(Finding::Left { what: format!("MCP server {name}"), why: why.to_owned() });
            }
        }
    }
}

/// A server, with what of it may be taken.
pub(super) fn push(name: &str, mut entry: Map<String, Value>, keys: bool, findings: &mut Vec<Finding>) {
    let mut without = Vec::new();
    for place in ["env", "headers"] {
        let Some(fields) = entry.get_mut(place).and_then(Value::as_object_mut) else { continue };
        let secret = |field: &String, value: &Value| {
            looks_secret(field) && !value.as_str().is_some_and(|value| value.contains('$'))
        };
        let names: Vec<String> = fields
            .iter()
            .filter(|(field, value)| !keys && secret(field, value))
            .map(|(field, _)| field.clone())
            .collect();
        for field in names {
            if place == "env" {
                fields.insert(field.clone(), json!(format!("${field}")));
            } else {
                fields.shift_remove(&field);
            }
            without.push(field);
        }
    }
    entry.retain(|_, value| !value.is_null());
    findings.push(Finding::Server { name: name.to_owned(), entry: entry.into() });
    for field in without {
        let what = format!("the value of {field} for the MCP server {name}");
        let why = "it looks like a secret: set the variable, or use --keys".to_owned();
        findings.push(Finding::Left { what, why });
    }
}

fn entry(server: &Value) -> Result<Map<String, Value>, &'static str> {
    let server = server.as_object().ok_or("it is no object")?;
    if server.get("disabled") == Some(&json!(true)) || server.get("enabled") == Some(&json!(false)) {
        return Err("it is switched off");
    }
    let mut entry: Map<String, Value> =
        SAME.into_iter().filter_map(|key| Some((key.to_owned(), server.get(key)?.clone()))).collect();
    entry.shift_remove("description");
    for place in ["env", "headers"] {
        let fields = server.get(place).and_then(Value::as_object).filter(|fields| !fields.is_empty());
        if let Some(fields) = fields {
            let texts = fields.iter().filter(|(_, value)| value.is_string());
            let texts: Map<String, Value> =
                texts.map(|(name, value)| (name.clone(), value.clone())).collect();
            entry.insert(place.to_owned(), texts.into());
        }
    }
    match server.get("type").and_then(Value::as_str) {
        Some("sse") => drop(entry.insert("type".to_owned(), json!("sse"))),
        Some("http" | "streamable-http" | "streamableHttp") => {
            if let Some(url) = entry.shift_remove("url") {
                entry.insert("httpUrl".to_owned(), url);
            }
        }
        _ => {}
    }
    match ["command", "url", "httpUrl"].iter().any(|place| entry.contains_key(*place)) {
        true => Ok(entry),
        false => Err("it has neither a command nor an address"),
    }
}

/// True for a name of what nobody else should know.
fn looks_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "COOKIE"].iter().any(|word| name.contains(word))
}
