//! What a run says about its session beside the settings.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use charla_proto::Editor;

/// What a run says about its tools and limits beside the settings.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Tools that run without asking.
    pub allowed_tools: Vec<String>,
    /// Rule files of this run.
    pub rule_files: Vec<PathBuf>,
    /// Further folders of the workspace.
    pub directories: Vec<PathBuf>,
    /// Tools that are not offered, beside those of the settings.
    pub excluded_tools: Vec<String>,
    /// A text behind the system prompt, after that of the settings.
    pub added_prompt: Option<String>,
    /// No tools at all.
    pub no_tools: bool,
    /// The file with the schema the answer must fit.
    pub output_schema: Option<PathBuf>,
    /// How the user allows what was not allowed ("with the switch above"), for the model to pass on.
    pub how_to_allow: Option<String>,
    /// The editor that the session works in: its unsaved files are read, and it makes the changes.
    pub editor: Option<OwnEditor>,
}

/// The editor that a session works in.
#[derive(Clone)]
pub struct OwnEditor(pub Arc<dyn Editor>);

impl fmt::Debug for OwnEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnEditor")
    }
}
