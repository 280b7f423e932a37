//! Advice in the words of an editor: its lists of models and commands, a terminal beside it, and the library's own words for the rest.

use charla::{EngineRemedy, Failure, Hint, Notice};

/// What happened, why, and what to do.
pub(crate) fn failure(failure: &Failure) -> String {
    failure.explained_by(words)
}

/// What a person should know, and what to do about it.
pub(crate) fn notice(notice: &Notice) -> String {
    notice.explained_by(words)
}

fn words(hint: &Hint) -> String {
    let words = match hint {
        Hint::NameModel | Hint::ChooseAnotherModel => {
            "choose another model in the list of models, or name one in the setting `model.name`"
        }
        // Editors start programs with an environment of their own.
        Hint::SetKey(advice) => {
            let provider = &advice.provider;
            return format!(
                "{hint}, in the editor's environment, or keep the key: charla auth set {provider}, in a terminal"
            );
        }
        Hint::SetUpModel { .. } | Hint::UseLargerModel => {
            "keep a provider's key (charla auth set PROVIDER, in a terminal), or name a server's model in the setting \
             `model.name`, such as ollama/MODEL"
        }
        Hint::Engine(EngineRemedy::AllowDownload | EngineRemedy::Reinstall) => {
            "install the engine and its model: charla models pull, in a terminal"
        }
        Hint::TrustWorkspace | Hint::ShowWorkspaceContent => {
            "charla trust, in a terminal in that folder, shows what the workspace would set, and trusts it"
        }
        Hint::AllowTools | Hint::AllowCommands => {
            "choose another mode, or name what need not ask in the setting `tools.allowed`"
        }
        Hint::ListQuestions => "charla approvals, in a terminal, lists what waits",
        Hint::RestoreWithin => "say /uncompress in the session, or close it first",
        Hint::AgreeAgain => "charla extensions update, in a terminal, shows what changed and asks",
        Hint::TestServer => "charla mcp test NAME, in a terminal, starts it and says what it answers",
        other => return other.to_string(),
    };
    words.to_owned()
}
