//! What a workspace brings for Gemini CLI: it acts under the same trust as what it brings for us.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{COMMANDS, Standing, WorkspaceContent, command_files, rule_files};
use crate::bounded;
use crate::environment::Environment;

/// The folder, from `.charla` on.
const FOLDER: &str = "../.gemini";
const SETTINGS: &str = "../.gemini/settings.json";

/// A settings file of Gemini CLI.
#[derive(Clone, Debug)]
pub(crate) struct GeminiFile<'a> {
    /// The file.
    pub path: PathBuf,
    /// What stands in it.
    pub bytes: &'a [u8],
}

impl WorkspaceContent {
    /// The settings that the workspace brings for Gemini CLI.
    pub(crate) fn gemini_settings(&self) -> Option<GeminiFile<'_>> {
        let (_, bytes) = self.files.iter().find(|(name, _)| name == SETTINGS)?;
        Some(GeminiFile { path: self.place(SETTINGS), bytes })
    }

    /// The commands that it brings for Gemini CLI, as [`WorkspaceContent::commands`].
    pub(crate) fn gemini_commands(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().filter_map(|(name, bytes)| {
            let path = name.strip_prefix(FOLDER)?.strip_prefix('/')?.strip_prefix(COMMANDS)?;
            Some((path.strip_prefix('/')?, bytes.as_slice()))
        })
    }
}

/// The names of what a workspace brings for Gemini CLI; nothing where that is the user's own.
pub(super) fn files(environment: &Environment) -> Vec<String> {
    let brought = environment.directory.join(".gemini");
    let real = |path: &Path| path.canonicalize().ok();
    if real(&brought).is_none() || environment.gemini_home().and_then(|home| real(&home)) == real(&brought) {
        return Vec::new();
    }
    let names = std::iter::once("settings.json".to_owned()).chain(rule_files(&brought));
    names.chain(command_files(&brought)).map(|name| format!("{FOLDER}/{name}")).collect()
}

/// How what a workspace brings for Gemini CLI stands. A user who has told Gemini CLI to trust every folder is not asked again
/// about what is made for it.
pub(crate) fn gemini_standing(standing: Standing, environment: &Environment) -> Standing {
    if folder_trust(environment) == Some(false) { Standing::Trusted } else { standing }
}

/// Whether folders are asked about, where the user's own file says so. A workspace's word for itself counts for nothing.
pub(super) fn folder_trust(environment: &Environment) -> Option<bool> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Whole {
        security: Security,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Security {
        folder_trust: FolderTrust,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct FolderTrust {
        enabled: Option<bool>,
    }
    let path = environment.gemini_home()?.join("settings.json");
    let text = bounded::text(&path).unwrap_or_default();
    // What cannot be read trusts nobody.
    let whole: Whole =
        jsonc_parser::parse_to_serde_value(&text, &jsonc_parser::ParseOptions::default()).unwrap_or_default();
    whole.security.folder_trust.enabled
}
