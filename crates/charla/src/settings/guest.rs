//! What the settings of a guest may not say: what acts in the process of whoever lets them in, beyond the workspace they were given.

use super::load::Document;
use super::merge::leaves;
use super::source::KeyPath;
use super::workspace::{is_below, take_out};
use crate::environment::Environment;
use crate::notices::Notice;

/// Keys that start programs, or read or write files, as the program itself; `*` is any name.
const OURS: &[&str] = &[
    "providers.*.apiKey",
    "providers.*.auth",
    "network.caFile",
    "network.proxy",
    "logging.file",
    "telemetry.outfile",
    "telemetry.otlp",
    "prompt.replace",
    "prompt.append",
    "tools.discoveryCommand",
    "tools.callCommand",
    "tools.searchCommand",
    "tools.passVariables",
    "mcpServers.*.command",
    "mcpServers.*.args",
    "mcpServers.*.env",
    "mcpServers.*.cwd",
    "local.download",
    "local.contextWindow",
    "local.threads",
    "local.idleMinutes",
    "local.tools",
    "hooks",
    "hooksConfig",
];

/// Takes out of a guest's settings what only whoever lets them in may set; one notice for each. Others set what they like.
pub(super) fn tame(document: &mut Document, environment: &Environment) -> Vec<Notice> {
    match environment.guest {
        Some(_) => take_ours(document),
        None => Vec::new(),
    }
}

fn take_ours(document: &mut Document) -> Vec<Notice> {
    let all = leaves(&document.value).into_iter().map(|(path, _)| path);
    let ours = all.filter(|path| OURS.iter().any(|pattern| is_below(path, pattern)));
    let reason = "it acts for the whole server, and only the server's own settings may set it";
    let refused: Vec<(KeyPath, String)> = ours.map(|path| (path, reason.to_owned())).collect();
    take_out(document, &refused)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{all_keys, load};
    use super::*;

    /// A key that is new must be thought of.
    #[test]
    fn what_starts_programs_or_names_files_is_not_a_guests_to_set() {
        let telling = ["command", "file", "hooks", "env", "args", "cwd", "passvariables"];
        for (key, _) in all_keys() {
            let last = key.rsplit('.').next().unwrap_or_default().to_lowercase();
            let path = key.split('.').fold(KeyPath::default(), |path, step| path.key(step));
            let patterns: Vec<String> =
                OURS.iter().map(|pattern| pattern.replace("providers.*", "providers.<name>")).collect();
            let patterns =
                patterns.iter().map(|pattern| pattern.replace("mcpServers.*", "mcpServers.<name>"));
            let is_ours = patterns.into_iter().any(|pattern| is_below(&path, &pattern));
            if telling.iter().any(|word| last.ends_with(word)) || key.starts_with("hooks") {
                assert!(is_ours, "`{key}` needs a row");
            }
        }
    }

    #[test]
    fn such_keys_are_ignored_and_told_and_others_stay() {
        let text = br#"{
            "model": {"name": "openai/x"},
            "providers": {"openai": {"apiKey": {"command": "id > /tmp/owned"}, "baseUrl": "https://x"}},
            "logging": {"file": "/etc/x"},
            "mcpServers": {"m": {"command": "sh", "args": ["-c", "id"]}}
        }"#;
        let mut document = load::parse_bytes(Path::new("settings.json"), text).unwrap();
        let notices = take_ours(&mut document);
        assert_eq!(notices.len(), 4, "{notices:?}");
        assert!(notices.iter().all(|notice| notice.text.contains("is ignored")));
        let left: Vec<String> = leaves(&document.value).iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(left, ["model.name", "providers.openai.baseUrl"]);
    }
}
