//! What was found out about models, kept for the next run.
//!
//! One file for each address and model, so that processes which find out about different models at the same
//! time never write the same file, and of two that find out about the same one the last wins whole. The
//! folder is in the cache: everything in it can be found out again.

use std::io::ErrorKind;
use std::path::PathBuf;

use charla_local::{Model, ServerKind};
use charla_providers::layers::ToolMode;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::environment::Environment;
use crate::models::Choice;
use crate::private_file;
use crate::settings::without_secrets;

/// Changes whenever the questions do: older findings are then not used any more.
const VERSION: u32 = 2;
/// Servers and models are updated; after this many days they are asked again.
const DAYS: u64 = 30;
/// A model that called nothing may have had a bad moment: this is kept for a shorter time.
const DAYS_WITHOUT_TOOLS: u64 = 1;

/// What was found out about one model at one address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kept {
    version: u32,
    /// The server's address, without secrets.
    pub address: String,
    /// The model's name there.
    pub model: String,
    /// How it calls tools.
    pub tools: ToolMode,
    /// By what that was seen.
    pub reason: String,
    /// It was seen thinking.
    pub thoughts: bool,
    /// The kind of server, where it was told.
    pub server: Option<String>,
    /// The window it had then; used only when the server does not tell it any more.
    pub window: Option<u32>,
    /// The file that answered; when another does, this finding says nothing about it.
    pub file: Option<String>,
    /// Seconds since 1970.
    pub probed_at: u64,
}

impl Kept {
    /// A finding of this moment.
    pub fn new(choice: &Choice, finding: &charla_providers::probe::Finding, now: u64) -> Self {
        Self {
            version: VERSION,
            address: address(choice),
            model: choice.model.clone(),
            tools: finding.tools,
            reason: finding.reason.clone(),
            thoughts: finding.thoughts,
            server: choice.server.kind.map(|kind: ServerKind| kind.name().to_owned()),
            window: choice.window,
            file: choice.server.file.clone(),
            probed_at: now,
        }
    }
}

/// Where the model is. The engine is at another address each time; its model is a file.
fn address(choice: &Choice) -> String {
    if let Some(Model::File(path)) = choice.engine().map(|engine| &engine.options().model) {
        return format!("file {}", path.display());
    }
    let endpoint = choice.entry.endpoint();
    endpoint
        .map(|endpoint| format!("{} {}", endpoint.wire.name(), without_secrets(&endpoint.base_url)))
        .unwrap_or_default()
}

/// The folder of all that is kept.
pub struct Findings {
    folder: Option<PathBuf>,
}

impl Findings {
    /// Those of this user; none can be kept where there is no cache.
    pub fn of(environment: &Environment) -> Self {
        Self { folder: environment.cache().map(|cache| cache.join("probes")) }
    }

    /// The file of a choice.
    pub fn path(&self, choice: &Choice) -> Option<PathBuf> {
        let digest = Sha256::digest(format!("{}\n{}", address(choice), choice.model));
        let name: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Some(self.folder.as_ref()?.join(format!("{name}.json")))
    }

    /// What is kept about a choice and still holds. A file that cannot be used is told in words: it is
    /// replaced by the next finding.
    pub fn find(&self, choice: &Choice, now: u64) -> Result<Option<Kept>, String> {
        let Some(path) = self.path(choice) else { return Ok(None) };
        let damaged = |reason: String| format!("{} cannot be used: {reason}", path.display());
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if value.get("version").and_then(serde_json::Value::as_u64) != Some(u64::from(VERSION)) {
            return Ok(None);
        }
        let kept: Kept = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        if kept.address != address(choice) || kept.model != choice.model || kept.tools == ToolMode::Auto {
            return Err(damaged("it is about something else".to_owned()));
        }
        let days = if kept.tools == ToolMode::None { DAYS_WITHOUT_TOOLS } else { DAYS };
        let fresh = now.saturating_sub(kept.probed_at) < days * 24 * 3600;
        let file = &choice.server.file;
        let same = file.is_none() || kept.file.is_none() || *file == kept.file;
        Ok((fresh && same).then_some(kept))
    }

    /// Keeps a finding, readable by its owner only; nobody reads half of it.
    pub fn keep(&self, choice: &Choice, kept: &Kept) -> std::io::Result<()> {
        let Some(path) = self.path(choice) else { return Ok(()) };
        let text = serde_json::to_string_pretty(kept)?;
        private_file::write(&path, &format!("{text}\n"))
    }
}

#[cfg(test)]
mod tests {
    use charla_local::{ServerFacts, ServerKind};
    use charla_providers::probe::Finding;

    use super::*;
    use crate::models::{Access, Directory};

    const NOW: u64 = 1_800_000_000;

    fn choice(address: &str, model: &str) -> Choice {
        let settings = serde_json::json!({"providers": {"own": {"baseUrl": address}}});
        let settings = serde_json::from_value(settings).unwrap();
        let entry = Directory::new(&settings).find("own").unwrap();
        Choice::new(entry, model.to_owned(), Access::Open)
    }

    fn finding() -> Finding {
        Finding { tools: ToolMode::Text, reason: "seen".to_owned(), thoughts: true, exchanges: 2 }
    }

    fn findings(folder: &tempfile::TempDir) -> Findings {
        Findings { folder: Some(folder.path().join("cache/probes")) }
    }

    #[test]
    fn a_finding_holds_for_its_address_and_model_for_a_month() {
        let folder = tempfile::tempdir().unwrap();
        let findings = findings(&folder);
        let choice_a = choice("http://me:secret@127.0.0.1:1/v1", "a");
        assert_eq!(findings.find(&choice_a, NOW), Ok(None));
        let kept = Kept::new(&choice_a, &finding(), NOW);
        findings.keep(&choice_a, &kept).unwrap();
        assert_eq!(findings.find(&choice_a, NOW + 29 * 24 * 3600), Ok(Some(kept)));
        assert_eq!(findings.find(&choice_a, NOW + 31 * 24 * 3600), Ok(None));
        assert_eq!(findings.find(&choice("http://127.0.0.1:2/v1", "a"), NOW), Ok(None));
        assert_eq!(findings.find(&choice("http://me:secret@127.0.0.1:1/v1", "b"), NOW), Ok(None));
        let text = std::fs::read_to_string(findings.path(&choice_a).unwrap()).unwrap();
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn a_model_that_called_nothing_is_asked_again_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let (findings, choice) = (findings(&folder), choice("http://127.0.0.1:1/v1", "a"));
        let kept = Kept::new(&choice, &Finding { tools: ToolMode::None, ..finding() }, NOW);
        findings.keep(&choice, &kept).unwrap();
        assert_eq!(findings.find(&choice, NOW + 23 * 3600), Ok(Some(kept)));
        assert_eq!(findings.find(&choice, NOW + 25 * 3600), Ok(None));
    }

    #[test]
    fn another_file_under_the_same_name_is_another_model() {
        let folder = tempfile::tempdir().unwrap();
        let findings = findings(&folder);
        let loaded = |file: &str| Choice {
            server: ServerFacts {
                kind: Some(ServerKind::LlamaCpp),
                window: None,
                file: Some(file.to_owned()),
            },
            ..choice("http://127.0.0.1:1/v1", "default")
        };
        findings.keep(&loaded("a.gguf"), &Kept::new(&loaded("a.gguf"), &finding(), NOW)).unwrap();
        assert!(findings.find(&loaded("a.gguf"), NOW).unwrap().is_some());
        assert_eq!(findings.find(&loaded("b.gguf"), NOW), Ok(None));
    }

    #[test]
    fn a_damaged_file_is_told_and_replaced_and_an_old_form_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let findings = findings(&folder);
        let choice = choice("http://127.0.0.1:1/v1", "a");
        let kept = Kept::new(&choice, &finding(), NOW);
        findings.keep(&choice, &kept).unwrap();
        let path = findings.path(&choice).unwrap();
        for damage in ["", "{", "[]x", "{\"version\": 2, \"tools\": \"text\"}", "{\"version\": 2, \"x\": 2}"]
        {
            std::fs::write(&path, damage).unwrap();
            assert!(findings.find(&choice, NOW).is_err(), "{damage}");
        }
        std::fs::write(&path, "{\"version\": 0}").unwrap();
        assert_eq!(findings.find(&choice, NOW), Ok(None));
        findings.keep(&choice, &kept).unwrap();
        assert_eq!(findings.find(&choice, NOW), Ok(Some(kept)));
    }

    #[test]
    fn processes_that_find_out_at_the_same_time_never_read_half_a_finding() {
        let folder = tempfile::tempdir().unwrap();
        let findings = findings(&folder);
        let choice = choice("http://127.0.0.1:1/v1", "a");
        findings.keep(&choice, &Kept::new(&choice, &finding(), NOW)).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (findings, choice) = (&findings, &choice);
                scope.spawn(move || {
                    let reason = "seen ".repeat(1 + writer * 5_000);
                    let kept = Kept::new(choice, &Finding { reason, ..finding() }, NOW);
                    for _ in 0..50 {
                        findings.keep(choice, &kept).unwrap();
                        assert!(matches!(findings.find(choice, NOW), Ok(Some(_))));
                    }
                });
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_it_and_nothing_is_left_beside_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let findings = findings(&folder);
        let choice = choice("http://127.0.0.1:1/v1", "a");
        findings.keep(&choice, &Kept::new(&choice, &finding(), NOW)).unwrap();
        let path = findings.path(&choice).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
