//! What Gemini CLI and its descendants leave in a folder of the home.

use std::path::Path;

use serde_json::Value;

use super::{Finding, command, file, server, setting};

/// What Gemini CLI left: Charla reads it where it is, but for the instructions.
pub(super) fn find(home: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in ["settings.json", "commands", "policies", ".env"] {
        if home.join(".gemini").join(name).exists() {
            let why = "Charla reads it where it is".to_owned();
            findings.push(Finding::Left { what: format!("~/.gemini/{name}"), why });
        }
    }
    instructions(home, "GEMINI.md", ".gemini", &mut findings);
    findings
}

/// What Qwen Code left.
pub(super) fn find_qwen(home: &Path, keys: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let folder = home.join(".qwen");
    if let Some(settings) = file::json(&folder.join("settings.json"), &mut findings) {
        server::servers(settings.get("mcpServers"), keys, &mut findings);
        let others = settings.as_object().into_iter().flatten().filter(|(key, _)| *key != "mcpServers");
        others.for_each(|(key, value)| qwen_setting(key, value, &mut findings));
    }
    instructions(home, "QWEN.md", ".qwen", &mut findings);
    command::toml(&folder.join("commands"), &mut findings);
    command::markdown(&folder.join("commands"), &mut findings);
    if let Some(text) = file::text(&folder.join(".env"), &mut findings) {
        findings.extend(qwen_keys(&text));
    }
    findings
}

/// A setting, each key of a section by itself where one of them is taken.
fn qwen_setting(key: &str, value: &Value, findings: &mut Vec<Finding>) {
    let taken = match key {
        "model" => "name",
        "tools" => "approvalMode",
        "hooks" => return findings.push(setting::guard(key, value)),
        "permissions" => "",
        _ => return findings.push(Finding::setting(key)),
    };
    let Some(section) = value.as_object() else { return findings.push(Finding::setting(key)) };
    for (name, value) in section {
        let whole = format!("{key}.{name}");
        findings.push(match (name == taken, key) {
            // Other models are behind an address that is kept elsewhere.
            (true, "model") if value.as_str().is_some_and(|model| model.starts_with("qwen")) => {
                setting::model(&whole, "qwen", value)
            }
            (true, "tools") => setting::mode(&whole, value),
            (_, "permissions") if matches!(name.as_str(), "deny" | "ask") => setting::guard(&whole, value),
            (_, "tools") if matches!(name.as_str(), "core" | "exclude") => setting::guard(&whole, value),
            _ => Finding::setting(&whole),
        });
    }
}

/// The keys in a file of variables. What `OPENAI_API_KEY` is for, the address beside it says.
fn qwen_keys(text: &str) -> Vec<Finding> {
    let key = |provider: &str, key| Finding::Key { provider: provider.to_owned(), key };
    let own = file::variable(text, "DASHSCOPE_API_KEY").map(|own| key("qwen", own));
    let other = file::variable(text, "OPENAI_API_KEY").map(|other| {
        let address = file::variable(text, "OPENAI_BASE_URL");
        match address.as_deref().map(host) {
            None | Some("api.openai.com") => key("openai", other),
            Some("dashscope.aliyuncs.com" | "dashscope-intl.aliyuncs.com") => key("qwen", other),
            Some(_) => Finding::Left {
                what: "OPENAI_API_KEY in ~/.qwen/.env".to_owned(),
                why: "it is for the server of OPENAI_BASE_URL: name that in the setting `providers`"
                    .to_owned(),
            },
        }
    });
    own.into_iter().chain(other).collect()
}

/// The host in an address.
fn host(address: &str) -> &str {
    let rest = address.strip_prefix("https://").unwrap_or_default();
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn instructions(home: &Path, name: &str, folder: &str, findings: &mut Vec<Finding>) {
    if home.join(folder).join(name).is_file() {
        findings.push(Finding::Instructions { reference: format!("~/{folder}/{name}") });
    }
}
