//! What Claude Code leaves: `~/.claude.json` and `~/.claude`.

use std::path::Path;

use serde_json::Value;

use super::{Finding, command, file, server, setting};
use crate::hint::Hint;
use crate::notices::Notice;

pub(super) fn find(home: &Path, keys: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(own) = file::json(&home.join(".claude.json"), &mut findings) {
        server::servers(own.get("mcpServers"), keys, &mut findings);
        let projects = own.get("projects").and_then(Value::as_object);
        for (folder, project) in projects.into_iter().flatten() {
            let servers = project.get("mcpServers").and_then(Value::as_object);
            for name in servers.into_iter().flatten().map(|(name, _)| name) {
                let what = format!("MCP server {name}");
                let why = Notice::with_hint(format!("it is for {folder} alone"), Hint::AddServerThere);
                findings.push(Finding::Advised { what, why });
            }
        }
        if let Some(key) = own.get("primaryApiKey").and_then(Value::as_str) {
            findings.push(Finding::Key { provider: "anthropic".to_owned(), key: key.to_owned() });
        }
    }
    let folder = home.join(".claude");
    if folder.join("CLAUDE.md").is_file() {
        findings.push(Finding::Instructions { reference: "~/.claude/CLAUDE.md".to_owned() });
    }
    if let Some(settings) = file::json(&folder.join("settings.json"), &mut findings) {
        for (key, value) in settings.as_object().into_iter().flatten() {
            self::setting(key, value, &mut findings);
        }
    }
    command::markdown(&folder.join("commands"), &mut findings);
    findings
}

fn setting(key: &str, value: &Value, findings: &mut Vec<Finding>) {
    match (key, value) {
        // Its short names mean another model from time to time.
        ("model", Value::String(name)) if name.starts_with("claude-") => {
            findings.push(setting::model(key, "anthropic", value));
        }
        ("permissions", Value::Object(permissions)) => {
            for (name, value) in permissions {
                let key = format!("permissions.{name}");
                findings.push(match name.as_str() {
                    "defaultMode" => setting::mode(&key, value),
                    "deny" | "ask" => setting::guard(&key, value),
                    _ => Finding::setting(&key),
                });
            }
        }
        ("hooks", hooks) => findings.push(setting::guard(key, hooks)),
        _ => findings.push(Finding::setting(key)),
    }
}
