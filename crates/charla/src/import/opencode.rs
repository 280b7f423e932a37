//! What OpenCode leaves: `~/.config/opencode` and its keys.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Finding, command, file, server, setting};
use crate::environment::Environment;

pub(super) fn find(home: &Path, environment: &Environment, keys: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let configured = |variable: &str, otherwise: &str| {
        let named = environment.variable(variable).map(Path::new).filter(|path| path.is_absolute());
        named.map_or_else(|| home.join(otherwise), Path::to_owned).join("opencode")
    };
    let folder = configured("XDG_CONFIG_HOME", ".config");
    for name in ["opencode.json", "opencode.jsonc"] {
        let Some(config) = file::json(&folder.join(name), &mut findings) else { continue };
        for (name, entry) in config.get("mcp").and_then(Value::as_object).into_iter().flatten() {
            match translate(entry) {
                Ok(entry) => server::push(name, entry, keys, &mut findings),
                Err(why) => {
                    let what = format!("MCP server {name}");
                    findings.push(Finding::Left { what, why: why.to_owned() });
                }
            }
        }
        let others = config.as_object().into_iter().flatten().map(|(key, _)| key);
        let others = others.filter(|key| !["mcp", "$schema"].contains(&key.as_str()));
        findings.extend(others.map(|key| match config.get(key).and_then(Value::as_str) {
            Some(name) if key == "model" => match name.split_once('/') {
                Some((provider, model)) => setting::model(key, provider, &json!(model)),
                None => Finding::setting(key),
            },
            _ => Finding::setting(key),
        }));
    }
    if let Ok(below) = folder.join("AGENTS.md").strip_prefix(home)
        && folder.join("AGENTS.md").is_file()
    {
        findings.push(Finding::Instructions { reference: format!("~/{}", below.display()) });
    }
    for name in ["command", "commands"] {
        command::markdown(&folder.join(name), &mut findings);
    }
    let auth = configured("XDG_DATA_HOME", ".local/share").join("auth.json");
    if let Some(auth) = file::json(&auth, &mut findings) {
        for (provider, login) in auth.as_object().into_iter().flatten() {
            let key = login.get("key").and_then(Value::as_str);
            let provider = if provider == "google" { "gemini" } else { provider };
            findings.push(match key {
                Some(key) => Finding::Key { provider: provider.to_owned(), key: key.to_owned() },
                None => Finding::Left {
                    what: format!("the login to {provider}"),
                    why: "it is good for OpenCode alone".to_owned(),
                },
            });
        }
    }
    findings
}

/// A server in our words.
fn translate(server: &Value) -> Result<Map<String, Value>, &'static str> {
    if server.get("enabled") == Some(&json!(false)) {
        return Err("it is switched off");
    }
    let mut entry = Map::new();
    match server.get("type").and_then(Value::as_str) {
        Some("remote") => {
            let url = server.get("url").filter(|url| url.is_string()).ok_or("it has no address")?;
            entry.insert("url".to_owned(), url.clone());
        }
        _ => {
            let words = server.get("command").and_then(Value::as_array).ok_or("it has no command")?;
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let words = words.ok_or("its command is no list of texts")?;
            let (program, arguments) = words.split_first().ok_or("its command is empty")?;
            entry.insert("command".to_owned(), json!(program));
            entry.insert("args".to_owned(), json!(arguments));
        }
    }
    for (theirs, ours) in [("environment", "env"), ("headers", "headers"), ("timeout", "timeout")] {
        if let Some(value) = server.get(theirs) {
            entry.insert(ours.to_owned(), value.clone());
        }
    }
    Ok(entry)
}
