//! What Codex leaves in `~/.codex`.

use std::path::Path;

use charla_providers::catalog;
use serde_json::{Map, Value, json};

use super::{Finding, command, file, server, setting};

pub(super) fn find(home: &Path, keys: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let folder = home.join(".codex");
    let path = folder.join("config.toml");
    if let Some(text) = file::text(&path, &mut findings) {
        match toml::from_str::<Map<String, Value>>(&text) {
            Ok(config) => settings(&config, keys, &mut findings),
            // The parser's own words could quote a secret.
            Err(_) => findings
                .push(Finding::Left { what: path.display().to_string(), why: "it is no TOML".to_owned() }),
        }
    }
    if folder.join("AGENTS.md").is_file() {
        findings.push(Finding::Instructions { reference: "~/.codex/AGENTS.md".to_owned() });
    }
    command::markdown(&folder.join("prompts"), &mut findings);
    if let Some(auth) = file::json(&folder.join("auth.json"), &mut findings) {
        match auth.get("OPENAI_API_KEY").and_then(Value::as_str) {
            Some(key) => findings.push(Finding::Key { provider: "openai".to_owned(), key: key.to_owned() }),
            None => findings.push(Finding::Left {
                what: "the login to ChatGPT".to_owned(),
                why: "it is good for Codex alone".to_owned(),
            }),
        }
    }
    findings
}

fn settings(config: &Map<String, Value>, keys: bool, findings: &mut Vec<Finding>) {
    let mut config = config.clone();
    if let Some(Value::Object(servers)) = config.get_mut("mcp_servers") {
        servers.values_mut().for_each(translate);
    }
    server::servers(config.get("mcp_servers"), keys, findings);
    let provider = config.get("model_provider").map_or(Some("openai"), Value::as_str).unwrap_or_default();
    for (key, value) in config.iter().filter(|(key, _)| *key != "mcp_servers") {
        findings.push(match key.as_str() {
            "model" => setting::model(key, provider, value),
            // It says where the model is asked, and came along with it.
            "model_provider" if catalog::provider(provider).is_some() => continue,
            "approval_policy" => setting::mode(key, value),
            "hooks" => setting::guard(key, value),
            _ => Finding::setting(key),
        });
    }
}

/// A server in the words that others have for it.
fn translate(server: &mut Value) {
    let Some(server) = server.as_object_mut() else { return };
    if let Some(headers) = server.shift_remove("http_headers") {
        server.insert("headers".to_owned(), headers);
    }
    if let Some(name) =
        server.shift_remove("bearer_token_env_var").and_then(|name| name.as_str().map(str::to_owned))
    {
        server.insert("headers".to_owned(), json!({"Authorization": format!("Bearer ${{{name}}}")}));
    }
    if let Some(seconds) = server.shift_remove("tool_timeout_sec").and_then(|seconds| seconds.as_f64()) {
        server.insert("timeout".to_owned(), json!((seconds.clamp(0.001, 1e6) * 1000.0) as u64));
    }
    for (theirs, ours) in [("enabled_tools", "includeTools"), ("disabled_tools", "excludeTools")] {
        if let Some(tools) = server.shift_remove(theirs) {
            server.insert(ours.to_owned(), tools);
        }
    }
}
