//! What was typed. What it means is decided in [`crate::intent`].

mod commands;
mod extending;
mod gemini;

use std::path::PathBuf;

use charla::settings::Override;
use charla_proto::{ApprovalMode, ThinkingLevel};
use clap::{Args, Parser, Subcommand, ValueHint};

pub use commands::{
    AnswerWord, ApprovalsCommand, AttachArgs, AuditCommand, AuthCommand, EngineCommand, ExportForm,
    HooksCommand, ImportArgs, McpAddArgs, McpCommand, ModelsCommand, MoveArgs, PolicyArgs, PolicyCommand,
    PromptCommand, PruneArgs, RestoreArgs, RewindArgs, RoleWord, ScopeArgs, ServeArgs, SessionsArgs,
    SessionsCommand, SettingsCommand, TrustArgs, UndoArgs, UsersCommand,
};
pub use extending::{AgentsCommand, ExtensionsCommand, SkillsCommand};

pub use gemini::GeminiArgs;

const ABOUT: &str = "Ask any model, and let it work in this folder, from a terminal or a script";

/// What stands at the end of the help and of the manual page.
pub const EXAMPLES: &str = "\
The answer goes to standard output, everything else to standard error.

Examples:
  charla                             a conversation at the terminal
  charla -p \"Why is the sky blue?\"
  git diff | charla -p \"Write a commit message\"
  charla -m claude-sonnet-5 -o json -p \"List three primes\" | jq -r .response
  charla -m ollama/qwen3 \"Hello\"
  charla --approval-mode auto_edit -p \"Fix the typo in README.md\"
  charla --resume -p \"And now add a test\"
  charla undo                        take the last turn's file changes back
  charla --resume -p /compress       summarize the older part of a conversation
  charla -p \"What is wrong here? @shot.png @src/main.rs\"
  charla sessions                    earlier conversations; show, export, delete, prune
  charla models                      which providers are ready, and why others are not

Set up:
  export GEMINI_API_KEY=…            or OPENAI_API_KEY, ANTHROPIC_API_KEY, …
  charla auth set anthropic          keeps a key in a file only you can read
  ~/.charla/settings.json            see `charla settings schema`

Exit codes:
    0  answered                     42  the prompt or an argument cannot be used
    1  any other failure            52  a mistake in the settings or rules
   41  no key, or a wrong one       53  a limit ended the turn
   55  the workspace isn't trusted  56  answer does not fit schema
  130  cancelled                    141  nobody read the output to its end";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "charla",
    version,
    about = ABOUT,
    after_help = EXAMPLES,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Commands",
    override_usage = "charla [OPTIONS]\n       charla [OPTIONS] [-p] PROMPT\n       COMMAND | charla [OPTIONS] [PROMPT]\n       charla COMMAND"
)]
pub struct Typed {
    /// A prompt run.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Anything else.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What goes with all of it.
    #[command(flatten)]
    pub everywhere: Everywhere,
}

/// A prompt run alone: the commands are most of what it takes to build a parser.
#[derive(Debug, Parser)]
#[command(name = "charla", version)]
pub struct PromptRun {
    /// What it takes.
    #[command(flatten)]
    pub ask: AskArgs,
    /// What goes with all of it.
    #[command(flatten)]
    pub everywhere: Everywhere,
}

/// What stands before a command: a parser that knows prompts would take the command for one.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
pub struct Leading {
    /// What goes with all of it.
    #[command(flatten)]
    pub everywhere: Everywhere,
}

/// What may be given with anything.
#[derive(Debug, Args)]
pub struct Everywhere {
    /// Tell on standard error what happens inside.
    #[arg(short, long, global = true, help_heading = "Diagnostics")]
    pub debug: bool,
    /// Work in this folder instead.
    #[arg(short = 'C', long = "directory", value_name = "DIR", value_hint = ValueHint::DirPath, global = true)]
    pub directory: Option<PathBuf>,
    /// Never use colour (also: the variable `NO_COLOR`).
    #[arg(long, global = true, help_heading = "Diagnostics")]
    pub no_color: bool,
}

/// What a prompt run takes.
#[derive(Debug, Default, Args)]
pub struct AskArgs {
    /// The prompt; `/compress` summarizes the conversation so far, `/uncompress` brings it back.
    #[arg(short, long = "prompt", value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "words")]
    pub prompt: Option<String>,

    /// The prompt, without -p. Standard input, if any, goes before it; alone it is the prompt.
    #[arg(value_name = "PROMPT")]
    pub words: Vec<String>,

    /// Open a conversation at the terminal that begins with this prompt.
    #[arg(short = 'i', long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "prompt")]
    pub prompt_interactive: Option<String>,

    /// Talk line by line, without a screen.
    #[arg(long)]
    pub screen_reader: bool,

    /// Begin the first conversation without the short set-up.
    #[arg(long)]
    pub no_setup: bool,

    /// The model: provider/model, or a name such as gemini-3.6-flash.
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    /// A file that goes with the prompt: text, an image, a PDF; may be given more than once. In the prompt: @FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub attach: Vec<PathBuf>,

    /// How the answer is printed: text, json or stream-json.
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
    pub output_format: Option<Format>,

    /// Show the model's thoughts on standard error.
    #[arg(long)]
    pub thoughts: bool,

    /// Go on with an earlier session: the latest of this folder, or by id.
    #[arg(short, long, visible_alias = "continue", short_alias = 'c', value_name = "ID", num_args = 0..=1, default_missing_value = "latest", help_heading = "Sessions")]
    pub resume: Option<String>,

    /// Go on in a copy of an earlier session; the session itself stays as it is.
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "latest", conflicts_with = "resume", help_heading = "Sessions")]
    pub fork: Option<String>,

    /// Go on from this message of the session, see `charla rewind`; later ones are left out of the copy.
    #[arg(
        long,
        value_name = "MESSAGE",
        value_parser = message_number,
        requires = "fork",
        conflicts_with = "resume",
        help_heading = "Sessions"
    )]
    pub at: Option<u64>,

    /// List the sessions, the latest first; those of this folder have a star.
    #[arg(long, help_heading = "Sessions")]
    pub list_sessions: bool,

    /// Delete a session for good.
    #[arg(long, value_name = "ID", help_heading = "Sessions")]
    pub delete_session: Option<String>,

    /// What runs without asking: default (reading), auto_edit (also edits here), plan (reading only), yolo (all).
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true, help_heading = "Tools")]
    pub approval_mode: Option<Mode>,

    /// Tools that run without asking, such as write_file or "run_shell_command(git status)".
    #[arg(long, value_name = "TOOLS", value_delimiter = ',', help_heading = "Tools")]
    pub allowed_tools: Vec<String>,

    /// A file of rules for this run, see `charla policy`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Tools")]
    pub policy: Vec<PathBuf>,

    /// Further folders the tools may work in.
    #[arg(long, value_name = "DIRS", value_delimiter = ',', value_hint = ValueHint::DirPath, help_heading = "Tools")]
    pub include_directories: Vec<PathBuf>,

    /// Offer no tools.
    #[arg(long, help_heading = "Tools")]
    pub no_tools: bool,

    /// Tools that are not offered, such as web_fetch.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',', help_heading = "Tools")]
    pub exclude_tools: Vec<String>,

    /// The only extensions to use; `none` for none.
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',', help_heading = "Tools")]
    pub extensions: Vec<String>,

    /// List the extensions that are installed.
    #[arg(long, help_heading = "Tools")]
    pub list_extensions: bool,

    /// How the model calls tools: native, text (for models without function calls), none or auto.
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true, help_heading = "Tools")]
    pub tool_mode: Option<ToolCalls>,

    /// Most times the model is asked in one turn.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Tools")]
    pub max_turns: Option<u32>,

    /// What the model is told, and how it answers.
    #[command(flatten)]
    pub manner: ModelArgs,

    /// What people know from Gemini CLI.
    #[command(flatten)]
    pub gemini: GeminiArgs,

    /// The answer must be JSON that fits the JSON Schema in FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output_schema: Option<PathBuf>,

    /// Trust the workspace's settings for this run if they are exactly these, see `charla trust --show`.
    #[arg(long, value_name = "SHA256", help_heading = "Trust")]
    pub trust_workspace: Option<String>,

    /// Do not run in a workspace that has settings of its own and is not trusted.
    #[arg(long, help_heading = "Trust")]
    pub require_trust: bool,

    /// Write every request and answer to FILE as JSON lines, keys blacked out.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Diagnostics")]
    pub log_file: Option<PathBuf>,
}

/// The number of a message.
fn message_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it is no number of a message; `charla rewind` lists them".to_owned())
}

/// An amount of money.
fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "it is an amount of US dollars, such as 0.50".to_owned())
}

/// A temperature that providers know.
fn temperature(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    if (0.0..=2.0).contains(&number) { Ok(number) } else { Err("it must be from 0 to 2".to_owned()) }
}

/// How the model answers, what it is told, and what that may cost.
#[derive(Debug, Default, Args)]
pub struct ModelArgs {
    /// Sampling temperature, 0 to 2.
    #[arg(long, value_name = "NUMBER", value_parser = temperature, help_heading = "Model")]
    pub temperature: Option<f64>,

    /// How much it thinks: minimal, low, medium, high, or a budget in tokens (0 is off).
    #[arg(long, value_name = "LEVEL|BUDGET", allow_hyphen_values = true, help_heading = "Model")]
    pub thinking: Option<Thinking>,

    /// Most tokens that one turn may use.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Model")]
    pub max_tokens: Option<u64>,

    /// Most US dollars that one turn may cost; a model whose price is not known is refused.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars, help_heading = "Model")]
    pub max_cost: Option<f64>,

    /// A file whose text stands in place of the built-in system prompt, see `charla prompt show`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Model")]
    pub system_prompt: Option<PathBuf>,

    /// Words behind the system prompt, or @FILE.
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Model")]
    pub append_system_prompt: Option<String>,
}

/// How much a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// As the level says.
    Level(ThinkingLevel),
    /// This many tokens.
    Budget(i64),
}

impl std::str::FromStr for Thinking {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(budget) = text.parse() {
            return Ok(Thinking::Budget(budget));
        }
        let level = match text {
            "minimal" => ThinkingLevel::Minimal,
            "low" => ThinkingLevel::Low,
            "medium" => ThinkingLevel::Medium,
            "high" => ThinkingLevel::High,
            _ => return Err("it is minimal, low, medium, high or a number of tokens".to_owned()),
        };
        Ok(Thinking::Level(level))
    }
}

/// The form of a headless answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// The answer and nothing else
    Text,
    /// One JSON document with answer and statistics
    Json,
    /// One JSON object a line, as things happen
    StreamJson,
}

impl Format {
    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::StreamJson => "stream-json",
        }
    }
}

/// How much is allowed without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Mode {
    /// Reading is free, everything else needs approval.
    Default,
    /// Edits in the workspace are free too.
    AutoEdit,
    /// Nothing may be changed or run.
    Plan,
    /// Everything is free but what a rule denies.
    Yolo,
}

impl From<Mode> for ApprovalMode {
    fn from(mode: Mode) -> ApprovalMode {
        match mode {
            Mode::Plan => ApprovalMode::Plan,
            Mode::Default => ApprovalMode::Default,
            Mode::AutoEdit => ApprovalMode::AutoEdit,
            Mode::Yolo => ApprovalMode::Yolo,
        }
    }
}

/// How the model calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ToolCalls {
    /// By its wire.
    Native,
    /// In its text.
    Text,
    /// Not at all.
    None,
    /// By what is known or found out.
    Auto,
}

impl ToolCalls {
    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            ToolCalls::Native => "native",
            ToolCalls::Text => "text",
            ToolCalls::None => "none",
            ToolCalls::Auto => "auto",
        }
    }
}

/// Commands other than asking.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "a process has one")]
pub enum Command {
    /// One that does its work and prints what came of it.
    #[command(flatten)]
    Work(Work),
    /// Open a session of a server at this terminal.
    Attach(AttachArgs),
}

/// Commands that do their work and print what came of it.
#[derive(Debug, Subcommand)]
pub enum Work {
    /// List providers: which key or server was found, and why not.
    Models {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Look at one model, or after the built-in one, instead.
        #[command(subcommand)]
        command: Option<ModelsCommand>,
    },
    /// Keep or remove API keys.
    Auth {
        /// Which.
        #[command(subcommand)]
        command: AuthCommand,
    },
    /// Work in an editor, over the Agent Client Protocol; editors start it.
    Acp {
        /// Which model answers: provider/model, or a name.
        #[arg(long, short = 'm')]
        model: Option<String>,
        /// What flags of a prompt run say, with `--acp`.
        #[arg(skip)]
        flags: Vec<Override>,
    },
    /// List, add, remove and test MCP servers, which offer further tools.
    Mcp {
        /// Which.
        #[command(subcommand)]
        command: McpCommand,
    },
    /// List skills: instructions that a model loads when a task needs them.
    Skills {
        /// Which.
        #[command(subcommand)]
        command: SkillsCommand,
    },
    /// List agents: sessions that work for another one.
    Agents {
        /// Which.
        #[command(subcommand)]
        command: AgentsCommand,
    },
    /// Install, list, update and remove extensions: folders with servers, commands, hooks, skills and agents.
    Extensions {
        /// Which.
        #[command(subcommand)]
        command: ExtensionsCommand,
    },
    /// List hooks: commands that run at points of a session.
    Hooks {
        /// Which.
        #[command(subcommand)]
        command: HooksCommand,
    },
    /// Show the settings, their files or their schema.
    Settings {
        /// Which.
        #[command(subcommand)]
        command: SettingsCommand,
    },
    /// Show what the rules say to a command, test and list rules.
    Policy(PolicyArgs),
    /// List what waits for approval, in every session, and answer it.
    Approvals {
        /// Those of a server, such as <https://charla.example.org>.
        #[arg(long, value_name = "URL", global = true)]
        server: Option<String>,
        /// Answer instead.
        #[command(subcommand)]
        command: Option<ApprovalsCommand>,
    },
    /// List, read, export and delete sessions.
    Sessions(SessionsArgs),
    /// Show the system prompt and the tools that a run would send.
    Prompt {
        /// Which.
        #[command(subcommand)]
        command: PromptCommand,
    },
    /// Take back the file changes of a turn.
    Undo(UndoArgs),
    /// Take an undo back.
    Redo(UndoArgs),
    /// Make an earlier message the last one; without a message, show them with their numbers.
    Rewind(RewindArgs),
    /// Bring back the whole conversation of a session that was compressed.
    Restore(RestoreArgs),
    /// Take over what other agents left on this machine: MCP servers, instructions, commands, keys.
    Import(ImportArgs),
    /// Show what this workspace's own settings would do, and trust them.
    Trust(TrustArgs),
    /// Serve this user's sessions to browsers and programs.
    Serve(ServeArgs),
    /// Look after the accounts of `charla serve`.
    Users {
        /// Which.
        #[command(subcommand)]
        command: UsersCommand,
        /// The accounts in this database, which several nodes share.
        #[arg(long, value_name = "ADDRESS", env = "CHARLA_DATABASE", hide_env_values = true, global = true)]
        database: Option<String>,
    },
    /// Look after the audit log of `charla serve`.
    Audit {
        /// Which.
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Look at all that a run stands on: settings, model, keys, servers, extensions, sandbox.
    Doctor {
        /// The model to look at: provider/model.
        #[arg(short, long)]
        model: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run a recorded session again, offline, against its own answers; show the first difference.
    Replay {
        /// The session: `latest` of this folder, its number there, an id, or the beginning of one.
        #[arg(default_value = "latest", hide_default_value = true)]
        session: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man {
        /// Write the page of every command into this folder instead.
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        into: Option<PathBuf>,
    },
    /// Say whether there is a newer version. Nothing is ever installed, and nobody asked unless you do.
    Update {
        /// Only say so: there is no other way.
        #[arg(long, required = true)]
        check: bool,
        /// The address of a JSON document with `version`, `url` and `notes`; the one this program was built with when left out.
        #[arg(long, value_name = "URL", env = "CHARLA_UPDATE_SOURCE")]
        from: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
