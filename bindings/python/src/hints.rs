//! Advice in the words of a Python program: the library names an action, this module the argument or setting.

use charla::proto::{Hint as ModelHint, WindowPart};
use charla::{EngineRemedy, Hint, KeyAdvice};

/// What to do.
pub(crate) fn words(hint: &Hint) -> String {
    let words = match hint {
        Hint::Text(text) => text,
        Hint::Model(hint) => return of_model(hint),
        Hint::NameModel => "name a model: Agent(model=\"provider/model\")",
        Hint::ChooseAnotherModel => "choose another one: Agent(model=\"provider/model\")",
        Hint::LimitTokens => {
            "choose a model whose price is known, or limit tokens instead: settings={\"limits\": {\"maxTokens\": N}}"
        }
        Hint::LoadModel { provider } => {
            return format!("load one there, then name it: Agent(model=\"{provider}/MODEL\")");
        }
        Hint::SetUpModel { .. } | Hint::UseLargerModel => {
            "set the variable of a provider's key (GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, …) or name a server's \
             model: Agent(model=\"ollama/MODEL\")"
        }
        Hint::EngineModels => "the engine runs model=\"local\" and any model file, model=\"local/PATH.gguf\"",
        Hint::Engine(remedy) => engine(*remedy),
        Hint::SetKey(advice) => return set_key(advice),
        Hint::KeepKeysAgain(path) => {
            return format!("remove {} and keep the keys anew: `charla auth`", path.display());
        }
        Hint::LogInToGoogle => "log in again: `gcloud auth application-default login`",
        Hint::SettingsKeys => "docs/settings.md has every key of the settings",
        Hint::WhoSet(key) => return format!("look where `{key}` is set: `charla settings`"),
        Hint::TrustWorkspace => "look at what the workspace would set and trust it: `charla trust`",
        Hint::ShowWorkspaceContent => "look at the workspace's content and its hash: `charla trust`",
        Hint::TrustAgain => "remove the file of trusted workspaces and trust them anew",
        Hint::ListQuestions => "`charla approvals` lists what waits, with its ids",
        Hint::NameRuleFiles => "name rule files that exist",
        Hint::ListSessions => "Agent.sessions() lists all of them",
        Hint::NameSession => "name a session by its id",
        Hint::ListMessages | Hint::ListTurns => "`charla sessions show ID` lists its messages and turns",
        Hint::DeleteSession => "`charla sessions delete ID` removes it",
        Hint::ForkSession => "wait until the other process lets go of it",
        Hint::RestoreWithin => "close the session first",
        Hint::PipeSecret => "hand the secret over as a value of the environment",
        Hint::NameTools => "name tools as rules know them, such as run_shell_command(git status)",
        Hint::AllowTools => "Agent(allow=[…]) names tools that need not ask",
        Hint::AllowCommands => {
            "Agent(allow=[\"run_shell_command(git status)\"]) names commands by how they begin; approve= answers for others"
        }
        Hint::GiveFile => "give its content with the prompt",
        Hint::ListExtensions => "`charla extensions list` shows those that are installed",
        Hint::AgreeAgain => "`charla extensions update NAME` shows what changed and asks",
        Hint::TestServer => "`charla mcp test NAME` starts it and says what it answers",
        Hint::AddServerThere => "`charla mcp add --project`, in the folder it is for, adds it",
        Hint::TakeKeys => "`charla import --keys` takes keys, too",
        Hint::ResumeSession(id) => return format!("Agent.session(resume=\"{id}\") goes on with it"),
        Hint::NameFolders => "name folders that exist",
        Hint::OfferToolsAnyway => {
            "Agent(settings={\"model\": {\"tools\": \"native\"}}) offers it tools anyway"
        }
        Hint::CallsAsText => {
            "Agent(settings={\"model\": {\"tools\": \"text\"}}) lets it write its calls as text"
        }
    };
    words.to_owned()
}

fn of_model(hint: &ModelHint) -> String {
    let words = match hint {
        ModelHint::CheckKey => "check the API key",
        ModelHint::ChooseAllowedModel => "the key is valid but has no right to this model; use another one",
        ModelHint::CheckModelName => "check the model's name",
        ModelHint::CheckQuota => "check the account's quota or billing, or use another model",
        ModelHint::SignInAgain => "log in again: `gcloud auth application-default login`",
        ModelHint::WaitAndRetry => "wait and try again, or name other models in the setting `model.fallback`",
        ModelHint::LongWait { minutes } => {
            return format!(
                "the server asks to wait {minutes} minutes; use another model, or name others in the setting \
                 `model.fallback`"
            );
        }
        ModelHint::RetryLater => "the provider has a problem; try again later, or use another model",
        ModelHint::Retry => "try again, or use another model",
        ModelHint::CheckServerLog => "the local server's log tells why; else try again, or use another model",
        ModelHint::CheckNetwork => "check the network, the base URL and proxy settings",
        ModelHint::CheckEndpoint => "fix the endpoint in the settings",
        ModelHint::FixProxyAddress => "write it as http://host:port in the setting `network.proxy`",
        ModelHint::TrustAuthority | ModelHint::InstallAuthorities => {
            "name the authority's PEM file in the setting `network.caFile`"
        }
        ModelHint::RaiseFirstByteTimeout => "try again, or raise `network.firstByteTimeoutSeconds`",
        ModelHint::RaiseIdleTimeout => "try again, or raise `network.idleTimeoutSeconds`",
        ModelHint::RaiseOutputLimit => "raise the setting `model.maxOutputTokens`, or lower `model.thinking`",
        ModelHint::MakeRoom { fullest, .. } => {
            return format!("{}, or use a model with a larger window", make_room(*fullest));
        }
        ModelHint::ChangeToolMode => "the setting `model.tools` says how the model calls tools",
        ModelHint::Rephrase => "rephrase the request; the provider's filter refused it",
        ModelHint::SimplifySchema => "use another model, or a simpler schema",
        ModelHint::CheckSessionFolder => "check the disk and the rights of the session folder",
        ModelHint::Text { text } => text,
    };
    words.to_owned()
}

fn make_room(fullest: WindowPart) -> &'static str {
    match fullest {
        WindowPart::Input => "shorten the input",
        WindowPart::Instructions => "shorten the instruction files (CHARLA.md, AGENTS.md, GEMINI.md)",
        WindowPart::Tools => "offer fewer tools (the settings `tools.core` and `tools.exclude`)",
        WindowPart::Answers => "begin a new session",
        WindowPart::ToolResults => "ask for parts of large files",
    }
}

fn engine(remedy: EngineRemedy) -> &'static str {
    match remedy {
        EngineRemedy::AllowDownload => "allow the download: `charla models pull`",
        EngineRemedy::InstallPython => "install Python with pip",
        EngineRemedy::CheckNetwork => "check the network",
        EngineRemedy::TryAgain => "try again",
        EngineRemedy::NameModelFile => "name a model file: model=\"local/PATH.gguf\"",
        EngineRemedy::Reinstall => "look at the model file, or install the engine anew: `charla models pull`",
        EngineRemedy::OtherFolder => "use another folder: the variable CHARLA_CACHE",
    }
}

fn set_key(advice: &KeyAdvice) -> String {
    let mut words = match advice.variable {
        Some(variable) => format!("set the variable {variable}"),
        None => format!("keep a key for {}: `charla auth`", advice.provider),
    };
    if let Some(page) = advice.page {
        words.push_str(&format!(" (a key is made at {page})"));
    }
    words
}
