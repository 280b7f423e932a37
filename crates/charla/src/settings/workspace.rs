//! What the settings of a workspace may say: a repository brings them, not its user.
//!
//! Every key stands here, or the tests fail. What is not here is refused.

use charla_proto::text::one_line;
use serde_json::Value;

use super::load::Document;
use super::merge::{leaves, remove};
use super::source::KeyPath;
use crate::hint::Hint;
use crate::notices::Notice;
use crate::trust::Standing;

/// When a key of a workspace's settings holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceRight {
    /// Always: it is about how an answer is made and shown.
    Free,
    /// Once its user trusts the workspace: it decides where data goes, what runs, what is written or what is paid.
    Trusted,
    /// Never: it is about the user's own secrets.
    Never,
}

use WorkspaceRight::{Free, Never, Trusted};

/// All keys, with what stands below them; `*` is any name.
const RIGHTS: &[(&str, WorkspaceRight)] = &[
    ("model.name", Trusted),
    ("model.fallback", Trusted),
    ("model.plan", Trusted),
    ("model.temperature", Free),
    ("model.maxOutputTokens", Free),
    ("model.thinking.level", Free),
    ("model.thinking.budget", Free),
    ("model.toolMode", Free),
    ("model.prompt", Free),
    ("model.responses.replay", Never),
    ("model.responses.anyOrder", Never),
    ("model.responses.record", Never),
    ("providers.*.wire", Trusted),
    ("providers.*.baseUrl", Trusted),
    ("providers.*.apiKey", Trusted),
    ("providers.*.auth", Trusted),
    ("providers.*.headers", Trusted),
    ("providers.*.quirks", Trusted),
    ("providers.*.models.*.contextWindow", Trusted),
    ("providers.*.models.*.maxOutput", Trusted),
    ("providers.*.models.*.images", Trusted),
    ("providers.*.models.*.noSampling", Trusted),
    ("providers.*.models.*.thinking", Trusted),
    ("providers.*.models.*.tools", Trusted),
    ("providers.*.models.*.textTools", Trusted),
    ("providers.*.models.*.thinkStart", Trusted),
    ("providers.*.models.*.thinkSwitch", Trusted),
    ("providers.*.models.*.parameters", Trusted),
    ("providers.*.defaultModel", Trusted),
    ("providers.*.parameters", Trusted),
    ("providers.*.extraBody", Trusted),
    ("providers.*.keepAliveMinutes", Trusted),
    ("local.download", Trusted),
    ("local.contextWindow", Trusted),
    ("local.threads", Trusted),
    ("local.idleMinutes", Trusted),
    ("local.tools", Trusted),
    ("network.connectTimeoutSeconds", Free),
    ("network.firstByteTimeoutSeconds", Free),
    ("network.idleTimeoutSeconds", Free),
    ("network.proxy", Trusted),
    ("network.caFile", Trusted),
    ("retry.maxAttempts", Free),
    ("retry.initialDelaySeconds", Free),
    ("retry.maxDelaySeconds", Free),
    ("output.format", Free),
    ("output.thoughts", Free),
    ("terminal.theme", Never),
    ("terminal.keys", Never),
    ("terminal.screenReader", Never),
    ("terminal.setup", Never),
    ("logging.file", Trusted),
    ("telemetry.enabled", Trusted),
    ("telemetry.outfile", Trusted),
    ("telemetry.logPrompts", Trusted),
    ("telemetry.traces", Trusted),
    ("telemetry.otlp.endpoint", Never),
    ("telemetry.otlp.headers", Never),
    ("telemetry.otlp.serviceName", Never),
    ("telemetry.otlp.captureContent", Never),
    ("security.enforcedAuth", Never),
    ("security.selectedAuth", Never),
    ("tools.core", Trusted),
    ("tools.exclude", Trusted),
    ("tools.allowed", Trusted),
    ("tools.discoveryCommand", Trusted),
    ("tools.callCommand", Trusted),
    ("tools.searchCommand", Trusted),
    ("tools.approvalMode", Trusted),
    ("tools.planDirectory", Trusted),
    ("tools.passVariables", Never),
    ("mcpServers.*.command", Trusted),
    ("mcpServers.*.args", Trusted),
    ("mcpServers.*.env", Trusted),
    ("mcpServers.*.cwd", Trusted),
    ("mcpServers.*.url", Trusted),
    ("mcpServers.*.httpUrl", Trusted),
    ("mcpServers.*.type", Trusted),
    ("mcpServers.*.headers", Trusted),
    ("mcpServers.*.timeout", Trusted),
    ("mcpServers.*.trust", Trusted),
    ("mcpServers.*.includeTools", Trusted),
    ("mcpServers.*.excludeTools", Trusted),
    ("extensions.only", Never),
    ("mcp.allowed", Trusted),
    ("mcp.excluded", Trusted),
    ("hooks", Trusted),
    ("hooksConfig.enabled", Trusted),
    ("hooksConfig.disabled", Trusted),
    ("prompt.replace", Never),
    ("prompt.append", Never),
    ("limits.maxTurns", Trusted),
    ("limits.maxTokens", Trusted),
    ("limits.maxCost", Trusted),
    ("compression.automatic", Free),
    ("compression.threshold", Free),
    ("compression.keep", Free),
];

/// Whether a key is the pattern's, or stands below it; `*` is any name.
pub(super) fn is_below(path: &KeyPath, pattern: &str) -> bool {
    let mut steps = path.steps().iter();
    pattern.split('.').all(|wanted| steps.next().is_some_and(|step| wanted == "*" || step == wanted))
}

/// The row that is about this key.
fn row(path: &KeyPath) -> Option<&'static (&'static str, WorkspaceRight)> {
    RIGHTS.iter().find(|(pattern, _)| is_below(path, pattern))
}

/// When this key of a workspace holds.
pub fn right(path: &KeyPath) -> WorkspaceRight {
    row(path).map_or(Never, |(_, right)| *right)
}

/// What a workspace sets that only a trusted one may.
pub fn needing_trust(document: &Document) -> Vec<(KeyPath, Value)> {
    let all = leaves(&document.value).into_iter();
    all.filter(|(path, _)| right(path) == Trusted).map(|(path, value)| (path, value.clone())).collect()
}

/// Takes out of a workspace's settings what it may not set; returns one notice for each, with the reason.
pub fn tame(document: &mut Document, standing: Standing) -> Vec<Notice> {
    let refused = |right| match right {
        Free => None,
        Trusted if standing.is_trusted() => None,
        Trusted => Some(format!("this workspace {}", standing.in_words())),
        Never => Some("a workspace can never set it".to_owned()),
    };
    let all = leaves(&document.value).into_iter().map(|(path, _)| path);
    let refused: Vec<(KeyPath, String)> =
        all.filter_map(|path| refused(right(&path)).map(|reason| (path, reason))).collect();
    let mut notices = take_out(document, &refused);
    if refused.iter().any(|(path, _)| right(path) == Trusted) {
        notices.push(Notice::with_hint("", Hint::TrustWorkspace));
    }
    notices
}

/// Takes keys out of settings; one notice for each, with the reason.
pub(super) fn take_out(document: &mut Document, refused: &[(KeyPath, String)]) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (path, reason) in refused {
        remove(&mut document.value, path.steps());
        let place = document.places.iter().find(|(known, _)| known == path);
        let place = place.map_or_else(|| document.path.display().to_string(), |(_, place)| place.to_string());
        // A provider's name is the workspace's to choose, line breaks and all.
        let path = one_line(&path.to_string());
        notices.push(Notice::from(format!("{place}: `{path}` is ignored: {reason}")));
    }
    notices
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{all_keys, load};
    use super::*;

    /// Rows that speak for all keys below them.
    const GROUPS: [&str; 3] = ["providers.*.apiKey", "providers.*.quirks", "providers.*.models.*.textTools"];

    /// A key as the table writes it.
    fn pattern(key: &str) -> String {
        key.replace("<name>", "*").replace("<id>", "*")
    }

    #[test]
    fn every_key_has_a_row_of_its_own_and_every_row_a_key() {
        let keys: Vec<String> = all_keys().iter().map(|(key, _)| pattern(key)).collect();
        let below =
            |key: &str, group: &str| key.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'));
        for key in &keys {
            let own = RIGHTS.iter().filter(|(row, _)| row == key).count();
            let group = GROUPS.iter().filter(|group| below(key, group)).count();
            assert_eq!(own + group, 1, "`{key}` needs one row in the table of what a workspace may set");
        }
        for (row, _) in RIGHTS {
            assert!(keys.iter().any(|key| key == row || below(key, row)), "there is no key `{row}`");
        }
    }

    #[test]
    fn the_documentation_says_what_holds() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
        let page = std::fs::read_to_string(page).unwrap();
        let wrong: Vec<String> = all_keys()
            .iter()
            .filter_map(|(key, _)| {
                let line = page.lines().find(|line| line.starts_with(&format!("| `{key}` |")))?;
                // A choice of values is written with bars of its own.
                let line = line.replace("\\|", "");
                let said = line.split(" | ").nth(3)?.trim().to_owned();
                let name = match right(&pattern(key).split('.').collect()) {
                    Free => "yes",
                    Trusted => "trusted",
                    Never => "never",
                };
                (said != name).then(|| format!("{key}: `{said}` in docs/settings.md, but `{name}`"))
            })
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn what_may_be_set_depends_on_trust_and_some_never() {
        let text = r#"{"model": {"name": "ollama/x", "fallback": ["local"], "temperature": 1},
                       "providers": {"openai": {"apiKey": {"env": "X"}, "models": {"m": {"contextWindow": 9}}}},
                       "tools": {"passVariables": ["GITHUB_TOKEN"]}}"#;
        let left = |standing| {
            let mut document = load::parse(Path::new("settings.json"), text).unwrap();
            let notices = tame(&mut document, standing);
            (Value::Object(document.value).to_string(), notices)
        };
        let (value, notices) = left(Standing::Unknown);
        assert_eq!(value, r#"{"model":{"temperature":1}}"#);
        let said: Vec<&str> = notices.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(said.len(), 6, "{said:?}");
        assert!(said[0].ends_with("`model.name` is ignored: this workspace is not trusted"), "{said:?}");
        assert!(
            said[4].ends_with("`tools.passVariables` is ignored: a workspace can never set it"),
            "{said:?}"
        );
        let (value, notices) = left(Standing::Trusted);
        assert!(value.contains("ollama/x") && !value.contains("GITHUB_TOKEN"), "{value}");
        assert_eq!(notices.len(), 1, "{notices:?}");
    }
}
