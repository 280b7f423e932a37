//! Files and folders that a run uses.

use std::path::{Path, PathBuf};

use super::{Finding, Health};
use crate::environment::Environment;

/// The files that settings are read from, each with whether it is there.
pub(super) fn settings_files(environment: &Environment) -> Vec<String> {
    let gemini = environment.gemini_home().map(|home| home.join("settings.json"));
    let workspace = [environment.workspace_settings(), environment.directory.join(".gemini/settings.json")];
    let files = environment.user_settings().into_iter().chain(gemini).chain(workspace);
    let told = |file: PathBuf| {
        let state = if file.exists() { "is there" } else { "is not there" };
        format!("{} {state}", file.display())
    };
    let mut all: Vec<String> = files.map(told).collect();
    // At home the workspace's own are the user's.
    all.dedup();
    all
}

/// Whether sessions can be kept.
pub(super) fn sessions(environment: &Environment) -> Finding {
    let about = "sessions";
    let Some(home) = environment.charla_home() else {
        let text = "there is no home to keep them in: set CHARLA_HOME".to_owned();
        return Finding { about, health: Health::Wrong, text, hint: None };
    };
    let folder = home.join("sessions");
    let (health, text) = match writable(&folder) {
        Ok(()) => (Health::Ok, format!("kept in {}", folder.display())),
        Err(error) => (Health::Wrong, format!("cannot be kept in {}: {error}", folder.display())),
    };
    Finding { about, health, text, hint: None }
}

/// Tries to make a file there, or where the folder would be made.
fn writable(folder: &Path) -> std::io::Result<()> {
    let there = folder.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(folder);
    tempfile::Builder::new().prefix(".doctor-").tempfile_in(there).map(drop)
}
