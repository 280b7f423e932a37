//! Flags that people know from Gemini CLI.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Flags that people know from Gemini CLI.
#[derive(Debug, Default, Args)]
pub struct GeminiArgs {
    /// The same as --approval-mode yolo: everything runs but what a rule denies.
    #[arg(short, long, conflicts_with = "approval_mode", help_heading = "Tools")]
    pub yolo: bool,

    /// Do not run where commands cannot be confined; where they can, they are in any case.
    #[arg(short, long, help_heading = "Tools")]
    pub sandbox: bool,

    /// The same as `charla acp`: work in an editor, over the Agent Client Protocol.
    #[arg(long, alias = "experimental-acp", conflicts_with_all = ["prompt", "words"])]
    pub acp: bool,

    /// The only MCP servers that are used.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Tools")]
    pub allowed_mcp_server_names: Vec<String>,

    /// Answer from a recording, line by line, instead of asking a model.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Diagnostics")]
    pub fake_responses: Option<PathBuf>,

    /// The same, with the recording's lines by what is asked.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "fake_responses", help_heading = "Diagnostics")]
    pub fake_responses_non_strict: Option<PathBuf>,

    /// Add every answer to a recording.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["fake_responses", "fake_responses_non_strict"], help_heading = "Diagnostics")]
    pub record_responses: Option<PathBuf>,
}
