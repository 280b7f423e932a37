//! Settings of other programs that mean the same here: which model answers, and what is done unasked.

use charla_providers::catalog;
use serde_json::Value;

use super::Finding;

/// The mode in which edits are not asked about.
const AUTO_EDIT: &str = "auto_edit";

/// The model, in our words: `provider/model`. What names no provider of ours, or another thing than a model, is left.
pub(super) fn model(key: &str, provider: &str, value: &Value) -> Finding {
    let provider = if provider == "google" { "gemini" } else { provider };
    let name = value.as_str().map(str::trim).filter(|name| !name.is_empty());
    let is_plain = |name: &&str| !name.contains(char::is_whitespace);
    match (name.filter(is_plain), catalog::provider(provider)) {
        (Some(name), Some(_)) => Finding::Setting {
            what: format!("setting {key} ({name})"),
            key: ["model", "name"],
            value: format!("{provider}/{name}").into(),
            provider: Some(provider.to_owned()),
        },
        _ => Finding::setting(key),
    }
}

/// The mode in which the program asked, where one of ours is the same. None is taken over in which nothing is asked at all.
pub(super) fn mode(key: &str, value: &Value) -> Finding {
    let ours = match value.as_str() {
        Some("default" | "untrusted") => "default",
        Some("acceptEdits" | "auto-edit" | "auto_edit" | "autoEdit") => AUTO_EDIT,
        Some("plan") => "plan",
        Some("yolo" | "bypassPermissions" | "never") => {
            let why = "what asks nobody is not taken over: say it here, with `tools.approvalMode`".to_owned();
            return Finding::Left { what: format!("setting {key}"), why };
        }
        _ => return Finding::setting(key),
    };
    Finding::Setting {
        what: format!("setting {key} ({ours})"),
        key: ["tools", "approvalMode"],
        value: ours.into(),
        provider: None,
    }
}

/// Rules that ask or forbid, or hooks, which may; one that holds nothing is a setting like others.
pub(super) fn guard(key: &str, value: &Value) -> Finding {
    let holds = match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    };
    let instead = match key {
        "hooks" => {
            "hooks are written in another form here: the setting `hooks`, with events such as BeforeTool"
        }
        _ => "rules are written in another form here: ~/.charla/policies/*.toml",
    };
    if holds { Finding::Guard { key: key.to_owned(), instead } } else { Finding::setting(key) }
}

/// Leaves a mode that asks less than ours: what bounded it there is not here.
pub(super) fn leave_looser_mode(finding: &mut Finding) {
    if let Finding::Setting { what, key: ["tools", "approvalMode"], value, .. } = finding
        && value.as_str() == Some(AUTO_EDIT)
    {
        let why = "it asks less, and what guarded it there is not taken over: set `tools.approvalMode` here \
                   once your own rules hold";
        *finding = Finding::Left { what: std::mem::take(what), why: why.to_owned() };
    }
}
