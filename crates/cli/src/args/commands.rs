//! What was typed behind a command's name.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{Format, Mode};

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
        /// The provider, such as openai; `server:URL` keeps the token of a server.
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
    /// The session: `latest` of this folder, its number there, an id, or the beginning of one.
    #[arg(long, value_name = "ID", default_value = "latest", hide_default_value = true)]
    pub session: String,
    /// Only these files, or the files in these folders.
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub only: Vec<PathBuf>,
    /// Show what would be done and do nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `charla attach`.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// The server, such as <https://charla.example.org>. Its token is in the variable `CHARLA_TOKEN`, or was kept with
    /// `charla auth set server:URL`.
    #[arg(value_name = "URL")]
    pub server: String,
    /// The session: `latest`, an id, or the beginning of one; a new one when left out.
    pub session: Option<String>,
    /// Talk line by line, without a screen.
    #[arg(long)]
    pub screen_reader: bool,
}

/// Arguments of `charla sessions push` and `charla sessions pull`.
#[derive(Debug, Args)]
pub struct MoveArgs {
    /// The server, such as <https://charla.example.org>.
    #[arg(value_name = "URL")]
    pub server: String,
    /// The session: `latest`, an id, or the beginning of one.
    pub session: String,
    /// Leave it where it was, too.
    #[arg(long)]
    pub keep: bool,
}

/// Arguments of `charla serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Where to listen; port 0 takes any free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4096")]
    pub listen: SocketAddr,
    /// A further address that browsers reach it at, such as <https://charla.example.org> behind a proxy; may be given
    /// more than once.
    #[arg(long = "origin", value_name = "URL")]
    pub origins: Vec<String>,
    /// Listen beyond this machine without encryption.
    #[arg(long)]
    pub plain_http: bool,
    /// A PostgreSQL database to keep sessions in, shared by several nodes: <postgres://USER:PASSWORD@HOST/NAME>. Better
    /// said by the variable: others may read a command line.
    #[arg(long, value_name = "ADDRESS", env = "CHARLA_DATABASE", hide_env_values = true)]
    pub database: Option<String>,
    /// How many seconds a node may be silent before others go on with its sessions.
    #[arg(long, value_name = "SECONDS", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub lease: u64,
    /// A file with the key that encrypts what users keep in the database (32 bytes in base64), the same for all nodes; one in the
    /// server's folder, made at the first start, when left out.
    #[arg(long, value_name = "FILE", requires = "database", value_hint = ValueHint::FilePath)]
    pub key_file: Option<PathBuf>,
    /// The server's certificate, and those above it, as PEM; read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_key", value_hint = ValueHint::FilePath)]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's private key, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    pub tls_key: Option<PathBuf>,
    /// A provider of identities (OpenID Connect) at which users sign in, such as <https://login.example.org>.
    #[arg(long, value_name = "URL", requires = "oidc_client")]
    pub oidc_issuer: Option<String>,
    /// What this server is known by there.
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    pub oidc_client: Option<String>,
    /// A file with what it shows there that it is.
    #[arg(long, value_name = "FILE", requires = "oidc_issuer", value_hint = ValueHint::FilePath)]
    pub oidc_secret: Option<PathBuf>,
    /// The header in which a proxy that has signed somebody in names the user.
    #[arg(long, value_name = "NAME", requires = "trusted_proxy")]
    pub forwarded_user: Option<String>,
    /// The address of a proxy in front: where requests come from, by its `X-Forwarded-For`, and that header are believed from there
    /// alone.
    #[arg(long, value_name = "IP")]
    pub trusted_proxy: Option<IpAddr>,
    /// A file with what the proxy shows in the header `X-Charla-Proxy-Secret`; without that it is not believed then.
    #[arg(long, value_name = "FILE", requires = "trusted_proxy", value_hint = ValueHint::FilePath)]
    pub proxy_secret: Option<PathBuf>,
    /// The folder whose folders every administrator may give to users; without it only this machine's own user gives any.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub workspaces: Option<PathBuf>,
}

/// What can be done with the accounts of a server.
#[derive(Debug, Subcommand)]
pub enum UsersCommand {
    /// Add an account; the password is read from standard input.
    Add {
        /// The name.
        name: String,
        /// The folder that is theirs. Nothing else can be reached from their sessions.
        #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        workspace: PathBuf,
        /// How much they may do.
        #[arg(long, value_enum, default_value = "member")]
        role: RoleWord,
        /// Who they are at the provider of identities: its subject, or a verified address.
        #[arg(long, value_name = "SUBJECT")]
        identity: Option<String>,
        /// Without a password: they sign in by a proxy or a provider of identities.
        #[arg(long)]
        no_password: bool,
        /// Commands that they agree to may use the network.
        #[arg(long)]
        network: bool,
        /// Tokens that they may spend in a day.
        #[arg(long, value_name = "N")]
        tokens_per_day: Option<u64>,
        /// US dollars that they may spend in a day.
        #[arg(long, value_name = "USD", value_parser = charla_server::accounts::dollars)]
        usd_per_day: Option<f64>,
    },
    /// List accounts, with what each has spent today.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove an account with its tokens and sign-ins; what it kept stays.
    Remove {
        /// The name.
        name: String,
    },
    /// Set another password, read from standard input; every browser is signed out.
    Passwd {
        /// The name.
        name: String,
    },
    /// Say how much somebody may do.
    Role {
        /// The name.
        name: String,
        /// How much.
        #[arg(value_enum)]
        role: RoleWord,
    },
}

/// How much a user of a server may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleWord {
    /// Look
    Viewer,
    /// Ask models, answer questions, change what is theirs
    Member,
    /// Look after accounts, too
    Admin,
}

/// What can be done with the audit log.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check that nothing in it was changed, taken out or put in.
    Verify {
        /// The log; the one of this user's servers when left out.
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// The log in this database.
        #[arg(
            long,
            value_name = "ADDRESS",
            env = "CHARLA_DATABASE",
            hide_env_values = true,
            conflicts_with = "file"
        )]
        database: Option<String>,
    },
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
    #[arg(value_parser = super::message_number)]
    pub message: Option<u64>,
    /// The session: `latest` of this folder, its number there, an id, or the beginning of one.
    #[arg(long, value_name = "ID", default_value = "latest", hide_default_value = true)]
    pub session: String,
    /// Take the file changes made after it back, too.
    #[arg(long)]
    pub files: bool,
}

/// Arguments of `charla restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The session: `latest` of this folder, its number there, an id, or the beginning of one.
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

/// Arguments of `charla sessions`.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// Which; lists them when left out.
    #[command(subcommand)]
    pub command: Option<SessionsCommand>,
    /// text or json.
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true, global = true)]
    pub output_format: Option<Format>,
}

impl SessionsArgs {
    /// Programs read what is printed.
    pub fn json(&self) -> bool {
        !matches!(self.output_format, None | Some(Format::Text))
    }
}

/// What can be done with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List them, the latest first; those of this folder have a star.
    List,
    /// Show a session: its turns and messages with their numbers, what it cost.
    Show {
        /// The session: `latest` of this folder, its number in the list, an id, or the beginning of one.
        #[arg(default_value = "latest", hide_default_value = true)]
        session: String,
    },
    /// Print a whole conversation, calls and results included.
    Export {
        /// The session: `latest` of this folder, its number there, an id, or the beginning of one.
        #[arg(default_value = "latest", hide_default_value = true)]
        session: String,
        /// How.
        #[arg(long, value_enum, default_value = "markdown")]
        format: ExportForm,
    },
    /// Delete sessions for good, with what only they keep.
    Delete {
        /// Ids, or their beginnings, or numbers in the list.
        #[arg(required = true)]
        sessions: Vec<String>,
    },
    /// Move a session to a server, whole or not at all.
    Push(MoveArgs),
    /// Move a session of a server here, whole or not at all.
    Pull(MoveArgs),
    /// Delete old sessions, and whatever belongs to no session any more.
    Prune(PruneArgs),
}

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportForm {
    /// To be read.
    Markdown,
    /// The journal's records in an array.
    Json,
    /// A page for a browser that needs nothing beside it.
    Html,
}

/// Arguments of `charla sessions prune`.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Those that nobody has written to for so long, such as 12h, 30d or 8w.
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = age)]
    pub older_than: Duration,
    /// Never the latest N ones.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub keep: usize,
    /// Show what would go and delete nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// A number and a unit.
fn age(text: &str) -> Result<Duration, String> {
    let refused = || "it is a number and h, d or w, such as 30d".to_owned();
    let unit = text.chars().last().ok_or_else(refused)?;
    let hours: u64 = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        _ => return Err(refused()),
    };
    let number = text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok()).ok_or_else(refused)?;
    Ok(Duration::from_secs(number.saturating_mul(hours).saturating_mul(3600)))
}

/// What can be done with the system prompt.
#[derive(Clone, Debug, Subcommand)]
pub enum PromptCommand {
    /// Print the system prompt and the tools that a run would send, with estimates of their tokens.
    Show {
        /// The model: provider/model. Without, the one that a run would ask.
        #[arg(short, long, value_name = "MODEL")]
        model: Option<String>,
        /// Print JSON, with the whole tool declarations.
        #[arg(long)]
        json: bool,
    },
}

/// What can be done with hooks.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum HooksCommand {
    /// Print each hook: when it runs, what it runs, where it is set, and whether it does.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What can be done with MCP servers.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Start every server and tell how it is.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Put a server into the settings.
    Add(Box<McpAddArgs>),
    /// Take a server out of the settings.
    Remove {
        /// Its name.
        name: String,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Start servers, list their tools and fail if one does not answer.
    Test {
        /// Its name; all when left out.
        server: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Be an MCP server: another program prompts sessions through standard input and output.
    Serve {
        /// The model that answers: provider/model.
        #[arg(short, long)]
        model: Option<String>,
    },
    /// Log in to a server at an address, in the browser.
    Login {
        /// Its name.
        name: String,
    },
    /// Forget the login to a server.
    Logout {
        /// Its name.
        name: String,
    },
}

/// Arguments of `charla import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Only from this program; from all when left out.
    #[arg(long, value_name = "PROGRAM", value_parser = ["gemini", "claude", "codex", "qwen", "opencode"])]
    pub from: Vec<String>,
    /// Take keys, too, and secrets that servers are given.
    #[arg(long)]
    pub keys: bool,
    /// Take old conversations of Gemini CLI and Claude Code in this folder, too, to go on with.
    #[arg(long)]
    pub sessions: bool,
    /// Say what would be taken, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Whose settings are meant.
#[derive(Debug, Args)]
pub struct ScopeArgs {
    /// The workspace's settings instead of yours.
    #[arg(long)]
    pub project: bool,
    /// The same in other words: user or project.
    #[arg(short, long, value_parser = ["user", "project"], hide_possible_values = true, conflicts_with = "project")]
    pub scope: Option<String>,
}

/// Arguments of `charla mcp add`.
#[derive(Debug, Args)]
pub struct McpAddArgs {
    /// Its name.
    pub name: String,
    /// The program to start, or the address of the server.
    #[arg(value_name = "COMMAND_OR_URL")]
    pub target: String,
    /// Arguments of the program.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<String>,
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// The folder that the program starts in; `.` is the workspace.
    #[arg(long, value_name = "FOLDER")]
    pub cwd: Option<String>,
    /// stdio, http or sse, where the target does not tell.
    #[arg(short, long, value_name = "FORM", value_parser = ["stdio", "http", "sse"], hide_possible_values = true)]
    pub transport: Option<String>,
    /// A variable for the program; may be given more than once.
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// A header of every request; may be given more than once.
    #[arg(short = 'H', long = "header", value_name = "NAME:VALUE")]
    pub headers: Vec<String>,
    /// Milliseconds that a call may take.
    #[arg(long, value_name = "MS")]
    pub timeout: Option<u64>,
    /// Run its tools without asking, and its program without confinement.
    #[arg(long)]
    pub trust: bool,
    /// The only tools taken from it.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub include_tools: Vec<String>,
    /// Tools that are not taken from it.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub exclude_tools: Vec<String>,
}
