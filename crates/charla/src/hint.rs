//! What a person can do, as actions: each front end words them with its own flags, commands or buttons.

use std::fmt;
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
    /// Have the server listen at another address.
    ListenElsewhere,
    /// Give the server a certificate, or have something in front that encrypts.
    EncryptServer,
    /// Give all nodes the same key.
    ShareKey,
    /// Give the proxy a secret to show, or have it on another machine.
    GiveProxySecret,
    /// Keep the token of a server, or hand it in.
    KeepServerToken,
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

/// Words that hold in every program: settings, variables and files. A front end with flags, commands or buttons of its own words
/// those actions itself.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let words = match self {
            Hint::Text(text) => text,
            Hint::Model(hint) => return hint.fmt(f),
            Hint::NameModel => "name a model as provider/model (the setting `model.name`)",
            Hint::ChooseAnotherModel => "choose another model (the setting `model.name`)",
            Hint::LimitTokens => {
                "choose a model whose price is known, or limit tokens instead (the setting `limits.maxTokens`)"
            }
            Hint::LoadModel { provider } => {
                return write!(f, "load one there, then name it: {provider}/MODEL");
            }
            Hint::SetUpModel { .. } | Hint::UseLargerModel => {
                "set the variable of a provider's key (GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, …), or name a \
                 server's model, such as ollama/MODEL"
            }
            Hint::EngineModels => "the engine runs the model `local` and any model file, `local/PATH.gguf`",
            Hint::Engine(remedy) => return remedy.fmt(f),
            Hint::SetKey(advice) => return advice.fmt(f),
            Hint::KeepKeysAgain(path) => {
                return write!(f, "remove {} and keep the keys anew", path.display());
            }
            Hint::LogInToGoogle => "log in again: `gcloud auth application-default login`",
            Hint::SettingsKeys => "docs/settings.md has every key of the settings",
            Hint::WhoSet(key) => return write!(f, "look where `{key}` is set"),
            Hint::TrustWorkspace => "look at what the workspace would set, and trust it",
            Hint::ShowWorkspaceContent => "look at the workspace's content and its hash",
            Hint::TrustAgain => "remove the file of trusted workspaces and trust them anew",
            Hint::ListSessions => "look at the list of all sessions",
            Hint::NameSession => "name a session by its id",
            Hint::ListMessages => "look at its messages and their numbers",
            Hint::ListQuestions => "look at the questions that wait, with their ids",
            Hint::ListTurns => "look at its turns and their numbers",
            Hint::DeleteSession => "delete the session",
            Hint::ForkSession => "wait until the other process lets go of it, or go on in a copy",
            Hint::RestoreWithin => "close the session first, or restore it where it is open",
            Hint::PipeSecret => "hand the secret over as text, if it must be",
            Hint::NameTools => "name tools as rules know them, such as run_shell_command(git status)",
            Hint::AllowTools => "name the tools that need not ask (the setting `tools.allowed`)",
            Hint::AllowCommands => {
                "name commands that need not ask by how they begin: run_shell_command(git status)"
            }
            Hint::GiveFile => "give its content with the prompt",
            Hint::NameRuleFiles => "name rule files that can be read",
            Hint::NameFolders => "name folders that exist",
            Hint::OfferToolsAnyway => "the setting `model.tools`, as `native`, offers it tools anyway",
            Hint::CallsAsText => "the setting `model.tools`, as `text`, lets it write its calls as text",
            Hint::ListExtensions => "look at the extensions that are installed",
            Hint::AgreeAgain => "update the extension, and agree to what it brings",
            Hint::TestServer => "start the server by itself to see what it answers",
            Hint::AddServerThere => "add the server in the folder it is for",
            Hint::TakeKeys => "have keys and secrets taken over, too",
            Hint::ResumeSession(id) => return write!(f, "resume the session {id}"),
            Hint::ListenElsewhere => "have it listen at another address; port 0 is any free one",
            Hint::EncryptServer => {
                "give it a certificate, have it listen on this machine behind a proxy that encrypts, or let it send in clear"
            }
            Hint::ShareKey => "give this node the key file of the others",
            Hint::GiveProxySecret => "give the proxy a secret to show, or have it on another machine",
            Hint::KeepServerToken => "hand in the server's token, or keep it",
        };
        f.write_str(words)
    }
}

impl fmt::Display for KeyAdvice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.variable {
            Some(variable) => write!(f, "set the variable {variable}")?,
            None => write!(f, "keep a key for {}", self.provider)?,
        }
        match self.page {
            Some(page) => write!(f, " (a key is made at {page})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for EngineRemedy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            EngineRemedy::AllowDownload => "allow the download of the engine and its model",
            EngineRemedy::InstallPython => "install Python 3.10 or newer with pip",
            EngineRemedy::CheckNetwork => "check the network",
            EngineRemedy::TryAgain => "try again",
            EngineRemedy::NameModelFile => "name a model file: local/PATH.gguf",
            EngineRemedy::Reinstall => {
                "look at the model file, take less memory (the setting `local.contextWindow`), or install the engine anew"
            }
            EngineRemedy::OtherFolder => "use another folder: the variable CHARLA_CACHE",
        })
    }
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
