//! What was typed behind a command's name.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Mode;

/// What can be done with models.
#[derive(Clone, Debug, Subcommand)]
pub enum ModelsCommand {
    /// Ask a model how it calls tools and its server how large its window is.
    Probe {
        /// The model: provider/model. Without, the one that a run would ask.
        #[arg(short, long, value_name = "MODEL")]
        model: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// The built-in model.
    #[command(flatten)]
    Engine(EngineCommand),
}

/// What can be done with the built-in model.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum EngineCommand {
    /// Download the engine and the built-in model, or check what is there to the byte.
    Pull,
    /// List what is installed on this machine.
    List,
    /// Remove the engine and the built-in model.
    Rm,
}

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Read a key from standard input and keep it in a file only you can read.
    Set {
        /// The provider, such as openai.
        provider: String,
    },
    /// Log in to Google in the browser, for Vertex AI, with an OAuth client of your own (desktop app).
    ///
    /// The client comes from the variables `GOOGLE_OAUTH_CLIENT_ID` and `GOOGLE_OAUTH_CLIENT_SECRET`.
    Login,
    /// Forget a kept key.
    Remove {
        /// The provider.
        provider: String,
    },
}

/// What can be done with settings.
#[derive(Debug, Subcommand)]
pub enum SettingsCommand {
    /// Print every value that holds and where it comes from.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of the settings file.
    Schema,
    /// Print where the settings files are.
    Path,
}

/// Arguments of `charla policy`.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// Which.
    #[command(subcommand)]
    pub command: PolicyCommand,
    /// A file of rules beside the ones that are always read; may be given more than once
    #[arg(long = "policy", value_name = "FILE", global = true)]
    pub policies: Vec<PathBuf>,
    /// Tools that run without asking, such as `run_shell_command(git status)`
    #[arg(long, value_name = "TOOLS", value_delimiter = ',', global = true)]
    pub allowed_tools: Vec<String>,
}

/// What can be done with rules.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Show how a command line is read, which rule judges each part, and the verdict
    Explain {
        /// The command line, in quotes
        command: String,
        /// The approval mode
        #[arg(long, value_enum, default_value = "default")]
        mode: Mode,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Run the tests that rules carry
    Test {
        /// Files to test beside the ones that are always read
        files: Vec<PathBuf>,
    },
    /// List the rules in the order they are asked
    List,
}

/// Arguments of `charla undo` and `charla redo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The turn; the last one that can be undone (or redone) when left out.
    pub turn: Option<u64>,
    /// The session: `latest` of this folder, an id, or the beginning of one.
    #[arg(long, value_name = "ID", default_value = "latest", hide_default_value = true)]
    pub session: String,
    /// Only these files, or the files in these folders.
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub only: Vec<PathBuf>,
    /// Show what would be done and do nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// What `charla approvals` does beside listing.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// Answer a question, whether the session runs in another process or not.
    Answer {
        /// The question's id, as `charla approvals` lists it; its beginning is enough.
        id: String,
        /// The answer.
        #[arg(value_enum)]
        answer: AnswerWord,
        /// With `no`: why, for the model, which then goes on. With `edit`: the new arguments as JSON.
        /// With `say`: the words.
        words: Vec<String>,
    },
}

/// An answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AnswerWord {
    /// This once
    Yes,
    /// No; without a reason the turn ends
    No,
    /// This and its like, for this session
    Always,
    /// The same, and kept for every session
    Save,
    /// Everything of this tool, for this session
    Tool,
    /// Everything of this MCP server, for this session
    Server,
    /// This once, with other arguments
    Edit,
    /// What you say to the model's question
    Say,
}

/// Arguments of `charla rewind`.
#[derive(Debug, Args)]
pub struct RewindArgs {
    /// The message that becomes the last one; 0 takes all of them back.
    pub message: Option<u64>,
    /// The session: `latest` of this folder, an id, or the beginning of one.
    #[arg(long, value_name = "ID", default_value = "latest", hide_default_value = true)]
    pub session: String,
    /// Take the file changes made after it back, too.
    #[arg(long)]
    pub files: bool,
}

/// Arguments of `charla restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The session: `latest` of this folder, an id, or the beginning of one.
    #[arg(value_name = "SESSION", default_value = "latest", hide_default_value = true)]
    pub session: String,
}

/// Arguments of `charla trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Only show what would act, and its SHA-256.
    #[arg(long, conflicts_with_all = ["revoke", "yes"])]
    pub show: bool,
    /// Trust this workspace no longer.
    #[arg(long, conflicts_with = "yes")]
    pub revoke: bool,
    /// Trust without asking.
    #[arg(long, short)]
    pub yes: bool,
}
