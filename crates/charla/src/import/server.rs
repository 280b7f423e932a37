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
    entry.retain(|_, value| !value.is_null());
    let (referring, secrets) = without_secrets(name, &entry);
    let (entry, before) = if keys { (entry, Some(referring.into())) } else { (referring, None) };
    findings.push(Finding::Server { name: name.to_owned(), entry: entry.into(), before });
    for (field, variable) in secrets.into_iter().filter(|_| !keys) {
        findings.push(Finding::Secret { server: name.to_owned(), field, variable });
    }
}

/// The same server with variables of the user's in the place of secrets; the fields, with their variables.
fn without_secrets(name: &str, entry: &Map<String, Value>) -> (Map<String, Value>, Vec<(String, String)>) {
    let (mut entry, mut secrets) = (entry.clone(), Vec::new());
    for place in ["env", "headers"] {
        let Some(fields) = entry.get_mut(place).and_then(Value::as_object_mut) else { continue };
        for (field, value) in fields {
            let text = value.as_str().unwrap_or_default();
            if !looks_secret(field) || text.contains('$') {
                continue;
            }
            let (variable, reference) = match place {
                "env" => (field.clone(), format!("${field}")),
                _ => {
                    let variable = variable_of(name, field);
                    let reference = format!("{}${{{variable}}}", scheme(text));
                    (variable, reference)
                }
            };
            *value = json!(reference);
            secrets.push((field.clone(), variable));
        }
    }
    (entry, secrets)
}

/// The variable for a header of a server: `DOCS_AUTHORIZATION`.
fn variable_of(server: &str, header: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = format!("{server}_{header}").chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// What stands before the secret in a header's value.
fn scheme(value: &str) -> &str {
    ["Bearer ", "Basic ", "Token "].into_iter().find(|scheme| value.starts_with(scheme)).unwrap_or_default()
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
