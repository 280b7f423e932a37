//! The settings as types. Their doc comments are the published documentation: the JSON Schema and
//! `docs/settings.md` are made from them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use charla_proto::{ApprovalMode, FileJudge, ThinkingLevel, WireKind};
use charla_providers::endpoint::{AuthStyle, QuirkOverlay};
use charla_providers::layers::{GuidancePlace, GuidanceStyle, ThinkStart, ThinkSwitch, ToolMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::hooks::{HookGroups, HooksConfig};
use super::names;
use super::quirks::QuirkSettings;
use crate::agents::Agent;
use crate::collection::Sources;
use crate::environment::Environment;
use crate::extensions::Brings;
use crate::own_model::OwnModel;
use crate::replayed::ReplayedLines;
use crate::trust::WorkspaceContent;

/// Settings of Charla.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// Which model answers, and how.
    pub model: ModelSettings,
    /// Providers by name: changes to a built-in one, or a server of your own.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Connections.
    pub network: NetworkSettings,
    /// How often and how patiently a failed request is tried again.
    pub retry: RetrySettings,
    /// What headless runs print.
    pub output: OutputSettings,
    /// The interactive terminal.
    pub terminal: TerminalSettings,
    /// The request log.
    pub logging: LoggingSettings,
    /// What happened, in a file, as Gemini CLI writes it.
    pub telemetry: TelemetrySettings,
    /// What must hold for a run to begin.
    pub security: SecuritySettings,
    /// Which tools the model has, and which need no approval.
    pub tools: ToolSettings,
    /// MCP servers by name: programs and addresses that offer further tools.
    pub mcp_servers: BTreeMap<String, McpServerSettings>,
    /// Which of the MCP servers are used.
    pub mcp: McpSettings,
    /// What you put into the system prompt.
    pub prompt: PromptSettings,
    /// When a turn ends by itself.
    pub limits: LimitSettings,
    /// When the older part of a conversation is replaced by a summary.
    pub compression: CompressionSettings,
    /// The engine that runs models on this machine (`-m local`).
    pub local: LocalSettings,
    /// Commands that run at points of a session, by event: `SessionStart`, `SessionEnd`, `BeforeAgent`, `AfterAgent`, `BeforeModel`, `AfterModel`, `BeforeToolSelection`, `BeforeTool`, `AfterTool`, `PreCompress`, `Notification`. Those of all settings files run.
    pub hooks: HookGroups,
    /// Which hooks run.
    pub hooks_config: HooksConfig,
    /// Which extensions are used.
    pub extensions: ExtensionSettings,
    /// What holds beside them.
    #[serde(skip)]
    pub brought: Brought,
}

/// Which extensions are used.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtensionSettings {
    /// The only extensions that are used, of those that are enabled; `none` stands for none. Also `-e`.
    pub only: Option<Vec<String>>,
}

/// What comes with a workspace, with extensions and with the program beside settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Brought {
    /// What the workspace brings, as it was when the settings were read.
    pub workspace: Arc<WorkspaceContent>,
    /// The workspace's own skills and agents count: its user trusts it.
    pub trusted_workspace: bool,
    /// The extensions that are used.
    pub extensions: Vec<Brings>,
    /// Whose MCP servers are not the user's own, by name.
    pub servers: BTreeMap<String, ServerOrigin>,
    /// The agent that the session is, where it works for another one's call.
    pub agent: Option<Arc<Agent>>,
    /// Models that the embedding program brings.
    pub models: Vec<OwnModel>,
    /// What is left of the recording that answers in place of all of them.
    pub replayed: ReplayedLines,
}

/// Whose an MCP server is that is not the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerOrigin {
    /// The workspace's, which its user trusts.
    Workspace,
    /// That of an extension in this folder.
    Extension(PathBuf),
}

impl Brought {
    /// The name of the extension that brings this MCP server.
    pub fn extension_of(&self, server: &str) -> Option<&str> {
        let Some(ServerOrigin::Extension(folder)) = self.servers.get(server) else { return None };
        let extension = self.extensions.iter().find(|extension| extension.folder == *folder)?;
        Some(&extension.name)
    }

    /// Where skills and agents come from in these surroundings.
    pub fn sources<'a>(&'a self, environment: &'a Environment, files: FileJudge) -> Sources<'a> {
        let of = |extension: &'a Brings| (extension.name.as_str(), extension.folder.as_path());
        Sources {
            environment,
            workspace: &self.workspace,
            trusted: self.trusted_workspace,
            extensions: self.extensions.iter().map(of).collect(),
            files,
        }
    }
}

/// The engine that runs models on this machine (`-m local`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LocalSettings {
    /// The engine and the built-in model may be downloaded. `CHARLA_OFFLINE=1` forbids it, too.
    pub download: Option<bool>,
    /// Tokens the model reads and writes together; more needs more memory.
    #[schemars(range(min = 512))]
    pub context_window: Option<u32>,
    /// Threads to compute with. More than there are idle cores makes it slower.
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<u32>,
    /// Minutes without a request after which the engine ends.
    #[schemars(range(min = 0.1))]
    pub idle_minutes: Option<f64>,
    /// The tools its models are offered: few, because they understand few. The built-in model knows seven, and is offered
    /// those of them named here. `tools.exclude` still holds.
    pub tools: Option<Vec<String>>,
}

/// Which tools the model has, and which need no approval.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolSettings {
    /// The only built-in tools offered; unset offers all, an empty list none.
    pub core: Option<Vec<String>>,
    /// Tools that are not offered. Also `--exclude-tools`.
    pub exclude: Vec<String>,
    /// Tools that run without asking, such as `write_file` or `run_shell_command(git status)`. Also `--allowed-tools`.
    pub allowed: Vec<String>,
    /// A command that announces further tools: it prints function declarations as JSON.
    pub discovery_command: Option<String>,
    /// The command that runs an announced tool: it is given the tool's name, and the arguments as JSON on its input.
    pub call_command: Option<String>,
    /// The program, with its arguments, that `google_web_search` runs, such as `["ddgr", "--json"]`: the question comes as its last argument.
    pub search_command: Vec<String>,
    /// How much is allowed without asking: `default`, `auto_edit`, `plan` or `yolo`. Also `--approval-mode`.
    #[schemars(schema_with = "names::approval_mode")]
    pub approval_mode: Option<ApprovalMode>,
    /// The folder in which plan mode may write plans, from the workspace on; `.charla/plans` when unset.
    pub plan_directory: Option<String>,
    /// Variables that commands you approve get although they look like secrets, such as `GITHUB_TOKEN`.
    pub pass_variables: Vec<String>,
}

/// An MCP server: a program (`command`) or an address (`url`, `httpUrl`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServerSettings {
    /// The program to start. In it, in `args`, `cwd`, `env`, `url` and `headers`, `${NAME}` stands for a variable of yours.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets beside the usual ones, which hold no secrets, such as `{"GITHUB_TOKEN": "$GITHUB_TOKEN"}`.
    pub env: BTreeMap<String, String>,
    /// The folder it runs in, from the workspace on: `.` is the workspace. Unset, a server in a workspace's settings runs there, and any other in an empty folder, where no workspace can give it programs or modules.
    pub cwd: Option<String>,
    /// The address of a server: streamable HTTP, or the older form with server-sent events.
    pub url: Option<String>,
    /// The address of a server that speaks streamable HTTP.
    pub http_url: Option<String>,
    /// How it is spoken to, where that is not plain: `stdio`, `http` or `sse`.
    #[schemars(schema_with = "names::mcp_form")]
    pub r#type: Option<McpForm>,
    /// Headers of every request to its address, such as `{"Authorization": "Bearer ${TOKEN}"}`.
    pub headers: BTreeMap<String, String>,
    /// Milliseconds that a call may take.
    #[schemars(range(min = 1))]
    pub timeout: Option<u64>,
    /// You trust it: its tools run without asking, and its program is not confined.
    pub trust: Option<bool>,
    /// The only tools taken from it.
    pub include_tools: Option<Vec<String>>,
    /// Tools that are not taken from it.
    pub exclude_tools: Vec<String>,
}

/// Which of the MCP servers are used.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct McpSettings {
    /// The only servers that are used, by name; unset uses all. Also `--allowed-mcp-server-names`.
    pub allowed: Option<Vec<String>>,
    /// Servers that are not used.
    pub excluded: Vec<String>,
}

impl McpSettings {
    /// True for a server that is used.
    pub fn uses(&self, server: &str) -> bool {
        let named = |names: &Vec<String>| names.iter().any(|name| name == server);
        self.allowed.as_ref().is_none_or(named) && !named(&self.excluded)
    }
}

/// How an MCP server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpForm {
    /// Through the pipes of its program.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// Server-sent events, the older form.
    Sse,
}

/// What you put into the system prompt. See `charla prompt show`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptSettings {
    /// A file whose text stands in place of the built-in rules. Also `--system-prompt`.
    pub replace: Option<String>,
    /// A file whose text stands behind the rules. Also `--append-system-prompt @FILE`.
    pub append: Option<String>,
}

/// When a turn ends by itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitSettings {
    /// How often the model may be asked in one turn. Also `--max-turns`.
    #[schemars(range(min = 1))]
    pub max_turns: Option<u32>,
    /// How many tokens one turn may use. Also `--max-tokens`.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// How many US dollars one turn may cost; a model whose price is not known is refused, one that runs here is free. Also `--max-cost`.
    #[schemars(range(min = 0.0))]
    pub max_cost: Option<f64>,
}

/// When the older part of a conversation is replaced by a summary.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct CompressionSettings {
    /// Do it without being asked when the window fills up. Off, a conversation that no longer fits is an error.
    pub automatic: Option<bool>,
    /// The share of the model's window from which on it is done.
    #[schemars(range(min = 0.1, max = 0.95))]
    pub threshold: Option<f64>,
    /// The share of the conversation, its newest part, that stays word for word.
    #[schemars(range(min = 0.05, max = 0.9))]
    pub keep: Option<f64>,
}

/// Which model answers, and how.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelSettings {
    /// The model: `provider/model`, or a bare name such as `gemini-2.5-flash`. Also `-m` and `CHARLA_MODEL`.
    pub name: Option<String>,
    /// Models that take over, in this order, when the first stays overloaded, rate-limited or unreachable.
    pub fallback: Vec<String>,
    /// The model that answers in plan mode; unset, the usual one. With `auto-gemini-2.5` and `auto-gemini-3` as the model's name it is the larger model of the two.
    pub plan: Option<String>,
    /// Sampling temperature. Unset leaves it to the provider. Also `--temperature`.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// Most tokens an answer may have.
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u32>,
    /// How much the model thinks before it answers.
    pub thinking: ThinkingSettings,
    /// How tools are called, whatever is set for single models: `native`, `text`, `none` or `auto`. Also `--tool-mode`.
    #[schemars(schema_with = "names::tool_mode")]
    pub tool_mode: Option<ToolMode>,
    /// How much the system prompt and the tools' descriptions say. Unset, local servers and small windows get `compact`.
    #[schemars(schema_with = "names::prompt_length")]
    pub prompt: Option<PromptLength>,
    /// Answers from a file and to a file, for tests.
    pub responses: ResponseSettings,
}

/// Answers from a file and to a file, for tests.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponseSettings {
    /// A recording that answers in place of the model; nothing is asked of a server. Also `--fake-responses`.
    pub replay: Option<String>,
    /// Its lines are used by what is asked instead of one after the other. Also `--fake-responses-non-strict`.
    pub any_order: Option<bool>,
    /// A file that every answer is added to, as a recording. Also `--record-responses`.
    pub record: Option<String>,
}

/// How much the system prompt and the tools' descriptions say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptLength {
    /// Everything.
    Full,
    /// The least that works.
    Compact,
}

/// How much the model thinks before it answers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ThinkingSettings {
    /// A level, for models that take levels. Also `--thinking LEVEL`.
    #[schemars(schema_with = "names::thinking_level")]
    pub level: Option<ThinkingLevel>,
    /// Tokens to think with, for models that take a budget; 0 is off, -1 leaves it to the model. Also `--thinking BUDGET`.
    #[schemars(range(min = -1))]
    pub budget: Option<i64>,
}

/// A provider: changes to a built-in one, or a server of your own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderSettings {
    /// The wire format the server speaks; `openai-chat` for a server of your own.
    #[schemars(schema_with = "names::wire")]
    pub wire: Option<WireKind>,
    /// Its address up to the part the wire's paths are added to, such as `http://localhost:8000/v1`.
    pub base_url: Option<String>,
    /// Where the API key comes from. Keys themselves do not belong into settings.
    pub api_key: Option<KeySource>,
    /// How the key is sent.
    #[schemars(schema_with = "names::auth")]
    pub auth: Option<AuthStyle>,
    /// Headers added to every request.
    pub headers: BTreeMap<String, String>,
    /// What the server does differently from its wire.
    #[schemars(with = "QuirkSettings")]
    pub quirks: QuirkOverlay,
    /// What is known of its models, by id.
    pub models: BTreeMap<String, ModelFacts>,
    /// The model used when the provider is chosen without one.
    pub default_model: Option<String>,
    /// Other names its models use for tools' parameters: by tool, or `*` for all, the name used and the name declared.
    pub parameters: BTreeMap<String, BTreeMap<String, String>>,
    /// Fields put into every request body as they are.
    pub extra_body: Map<String, Value>,
    /// Minutes that Ollama keeps a model in memory after a request, unless it keeps it longer anyway; 0 leaves that to Ollama.
    #[schemars(range(max = 100_000))]
    pub keep_alive_minutes: Option<u32>,
}

/// Where an API key comes from.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum KeySource {
    /// The name of an environment variable.
    Env(String),
    /// A command whose output is the key, run with `sh -c`, such as `pass show openai`.
    Command(String),
    /// A file that holds nothing but the key and only you can read (mode 0600).
    File(String),
}

/// What is known of a model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelFacts {
    /// Tokens it can read and write together.
    #[schemars(range(min = 1))]
    pub context_window: Option<u32>,
    /// Most tokens it can write.
    #[schemars(range(min = 1))]
    pub max_output: Option<u32>,
    /// It sees images.
    pub images: Option<bool>,
    /// It refuses temperature and its kin.
    pub no_sampling: Option<bool>,
    /// The kind of thinking switch it has.
    #[schemars(schema_with = "names::thinking_switch")]
    pub thinking: Option<ThinkingSwitch>,
    /// How it calls tools: by its wire (`native`), in its text (`text`), not at all (`none`), or by what is known or found out (`auto`).
    #[schemars(schema_with = "names::tool_mode")]
    pub tools: Option<ToolMode>,
    /// How it is spoken to about tools in its text.
    pub text_tools: TextToolSettings,
    /// Whether its answers begin within a thought because the prompt ends with the opening tag.
    #[schemars(schema_with = "names::think_start")]
    pub think_start: Option<ThinkStart>,
    /// How it is told not to think when the budget is 0: by the wire, or by a word beside the user's.
    #[schemars(schema_with = "names::think_switch")]
    pub think_switch: Option<ThinkSwitch>,
    /// Other names it uses for tools' parameters, before those of its provider.
    pub parameters: BTreeMap<String, BTreeMap<String, String>>,
}

/// How a model is spoken to about tools in its text.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct TextToolSettings {
    /// How much is said about the tools; `compact` for small windows.
    #[schemars(schema_with = "names::guidance_style")]
    pub style: Option<GuidanceStyle>,
    /// Where it is said: behind the system instruction, or in front of the first message.
    #[schemars(schema_with = "names::guidance_place")]
    pub place: Option<GuidancePlace>,
    /// Keep what it says beside a call; without, an answer is shown only when it is over.
    pub preserve_context: Option<bool>,
}

/// The kind of thinking switch a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingSwitch {
    /// None.
    None,
    /// A budget in tokens.
    Budget,
    /// Levels.
    Levels,
    /// The model decides; an effort level may be named.
    Adaptive,
}

/// Connections.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkSettings {
    /// Seconds a connection may take to be made.
    #[schemars(range(min = 0.001))]
    pub connect_timeout_seconds: Option<f64>,
    /// Seconds until the first byte of an answer; 0 waits for ever. Unset, local servers have 600: one that computes without a graphics card reads a long prompt for minutes.
    #[schemars(range(min = 0.0))]
    pub first_byte_timeout_seconds: Option<f64>,
    /// Seconds of silence within an answer; 0 waits for ever. There is no limit on a whole answer.
    #[schemars(range(min = 0.0))]
    pub idle_timeout_seconds: Option<f64>,
    /// The proxy for every request, such as `http://proxy:3128` or `socks5://localhost:1080`; `none` ignores the proxy variables of the environment.
    pub proxy: Option<String>,
    /// A PEM file of certificate authorities to trust besides the system's.
    pub ca_file: Option<String>,
}

/// How often and how patiently a failed request is tried again.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RetrySettings {
    /// Attempts in all, fallback models included. 1 never tries again.
    #[schemars(range(min = 1, max = 100))]
    pub max_attempts: Option<u32>,
    /// Seconds before the second attempt; each further wait is twice as long.
    #[schemars(range(min = 0.0))]
    pub initial_delay_seconds: Option<f64>,
    /// The longest wait, unless the server names one.
    #[schemars(range(min = 0.0))]
    pub max_delay_seconds: Option<f64>,
}

/// What headless runs print.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputSettings {
    /// The form of the answer on standard output. Also `-o`.
    #[schemars(schema_with = "names::output_format")]
    pub format: Option<OutputFormat>,
    /// Show the model's thoughts, on standard error. Also `--thoughts`.
    pub thoughts: Option<bool>,
}

/// The interactive terminal.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalSettings {
    /// How it looks: default, high-contrast (both also with -dark or -light), terminal (its own sixteen colours), or a theme of yours. Also `/theme`.
    pub theme: Option<String>,
    /// The keys of the line you write: emacs or vi.
    #[schemars(schema_with = "names::keys")]
    pub keys: Option<WritingKeys>,
    /// Talk line by line, without a screen. Also `--screen-reader`.
    pub screen_reader: Option<bool>,
    /// The first conversation begins with a short set-up: which model answers, whether the folder is trusted. Also `--no-setup`.
    pub setup: Option<bool>,
}

/// The keys of a line that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritingKeys {
    /// Those of Emacs and of shells
    #[default]
    Emacs,
    /// Those of vi
    Vi,
}

/// The form of a headless answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputFormat {
    /// The answer and nothing else
    #[default]
    Text,
    /// One JSON document with answer and statistics
    Json,
    /// One JSON object a line, as things happen
    StreamJson,
}

/// The request log.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LoggingSettings {
    /// A file that gets one JSON line for each request, answer and error, keys blacked out. Also `--log-file`.
    pub file: Option<String>,
}

/// What happened: in a file, as Gemini CLI writes it (`docs/gemini-cli.md`), and at a collector (`docs/telemetry.md`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct TelemetrySettings {
    /// The file is written. `false` also keeps anything from being sent to a collector. Also `GEMINI_TELEMETRY_ENABLED`.
    pub enabled: Option<bool>,
    /// The file. Without, nothing is written. Also `GEMINI_TELEMETRY_OUTFILE`.
    pub outfile: Option<String>,
    /// Prompts and requests are in it, too; otherwise only their lengths. Also `GEMINI_TELEMETRY_LOG_PROMPTS`.
    pub log_prompts: Option<bool>,
    /// What the model answered is in it, too. Also `GEMINI_TELEMETRY_TRACES_ENABLED`.
    pub traces: Option<bool>,
    /// A collector of OpenTelemetry. Without an address nothing is sent.
    pub otlp: OtlpSettings,
}

/// A collector of OpenTelemetry, which gets traces and figures over HTTP. See `docs/telemetry.md`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct OtlpSettings {
    /// Its address, such as `http://localhost:4318`. Also `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: Option<String>,
    /// Headers of every request; `$NAME` stands for a variable of yours. Also `OTEL_EXPORTER_OTLP_HEADERS`.
    pub headers: BTreeMap<String, String>,
    /// Who tells; `charla` when unset. Also `OTEL_SERVICE_NAME`.
    pub service_name: Option<String>,
    /// Prompts, answers, arguments and results are sent, too.
    pub capture_content: Option<bool>,
}

/// What must hold for a run to begin.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SecuritySettings {
    /// The only way to log in to Google's models: `gemini-api-key`, `oauth-personal`, `vertex-ai`, …; another one is refused.
    pub enforced_auth: Option<String>,
    /// The way that was chosen; the environment tells it where this does not.
    pub selected_auth: Option<String>,
}
