//! What a person can do, as actions: each front end words them with its own flags, commands or buttons.

use std::path::PathBuf;

/// Advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Words that hold for every front end; may have several lines.
    Text(String),
    /// What helps against an error of a model or its server.
    Model(charla_proto::Hint),
    /// Name a model by provider and model.
    NameModel,
    /// Choose another model.
    ChooseAnotherModel,
    /// Choose a model whose price is known, or limit tokens instead.
    LimitTokens,
    /// Load a model at this provider's server, then name it.
    LoadModel {
        /// The provider.
        provider: String,
    },
    /// Set up any model at all.
    SetUpModel {
        /// How the built-in one stands.
        built_in: String,
    },
    /// Use something larger than the built-in model.
    UseLargerModel,
    /// Which models the engine has.
    EngineModels,
    /// What helps when there is no engine.
    Engine(EngineRemedy),
    /// Get a key for a provider.
    SetKey(KeyAdvice),
    /// Remove this file of kept keys and keep them anew.
    KeepKeysAgain(PathBuf),
    /// Log in to Google anew.
    LogInToGoogle,
    /// Look up the keys that settings have.
    SettingsKeys,
    /// Find out who set this setting.
    WhoSet(&'static str),
    /// Look at what the workspace would set, and trust it.
    TrustWorkspace,
    /// Look at the workspace's content and its hash.
    ShowWorkspaceContent,
    /// Remove the file of trusted workspaces and trust them anew.
    TrustAgain,
    /// Look at all sessions.
    ListSessions,
    /// Name a session by its id; the prompt is given apart.
    NameSession,
    /// Look at a session's messages and their numbers.
    ListMessages,
    /// Look at the questions that wait for an answer.
    ListQuestions,
    /// Look at a session's turns and their numbers.
    ListTurns,
    /// Remove a session that is of no use any more.
    DeleteSession,
    /// Wait for the session's owner, or go on in a copy.
    ForkSession,
    /// End the session, or restore its conversation from within.
    RestoreWithin,
    /// Hand a secret over as text, if it must be.
    PipeSecret,
    /// Name tools as rules know them.
    NameTools,
    /// Name the tools that need not ask.
    AllowTools,
    /// Name the commands that need not ask by how they begin, or be there to be asked.
    AllowCommands,
    /// Give a file with the prompt instead of naming it in its words.
    GiveFile,
    /// Name files of rules that can be read.
    NameRuleFiles,
    /// Name folders that exist.
    NameFolders,
    /// Offer tools to a model that called none, or ask it again.
    OfferToolsAnyway,
    /// Let the model write its calls as text.
    CallsAsText,
    /// Look at the extensions that are installed.
    ListExtensions,
    /// Agree anew to what an extension brings.
    AgreeAgain,
    /// Start an MCP server to see whether it answers.
    TestServer,
    /// Add an MCP server in the folder it is for.
    AddServerThere,
    /// Have keys and secrets taken over, too.
    TakeKeys,
    /// Go on with this session.
    ResumeSession(String),
}

/// The ways to a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAdvice {
    /// The provider.
    pub provider: String,
    /// The variable that may hold it.
    pub variable: Option<&'static str>,
    /// Google's own credentials do, too.
    pub google: bool,
    /// Where a key comes from.
    pub page: Option<&'static str>,
}

/// What helps when there is no engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineRemedy {
    /// Allow the download.
    AllowDownload,
    /// Install Python with pip.
    InstallPython,
    /// Look at the network.
    CheckNetwork,
    /// Try again.
    TryAgain,
    /// Name a model file.
    NameModelFile,
    /// Look at the model file, take less memory, or install the engine anew.
    Reinstall,
    /// Use another folder.
    OtherFolder,
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Hint::Text(text)
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Hint::Text(text.to_owned())
    }
}
