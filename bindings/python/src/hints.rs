//! Advice in the words of a Python program: arguments where the library names actions, its own words for everything else.

use charla::{EngineRemedy, Hint, KeyAdvice};

/// What to do.
pub(crate) fn words(hint: &Hint) -> String {
    let words = match hint {
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
        Hint::Engine(EngineRemedy::AllowDownload) => "allow the download: `charla models pull`",
        Hint::Engine(EngineRemedy::NameModelFile) => "name a model file: model=\"local/PATH.gguf\"",
        Hint::Engine(EngineRemedy::Reinstall) => {
            "look at the model file, or install the engine anew: `charla models pull`"
        }
        Hint::SetKey(KeyAdvice { variable: None, provider, .. }) => {
            return format!("keep a key for {provider}: `charla auth`");
        }
        Hint::WhoSet(key) => return format!("look where `{key}` is set: `charla settings`"),
        Hint::TrustWorkspace => "look at what the workspace would set and trust it: `charla trust`",
        Hint::ShowWorkspaceContent => "look at the workspace's content and its hash: `charla trust`",
        Hint::ListQuestions => "`charla approvals` lists what waits, with its ids",
        Hint::ListSessions => "Agent.sessions() lists all of them",
        Hint::ListMessages | Hint::ListTurns => "`charla sessions show ID` lists its messages and turns",
        Hint::DeleteSession => "`charla sessions delete ID` removes it",
        Hint::ForkSession => "wait until the other process lets go of it",
        Hint::PipeSecret => "hand the secret over as a value of the environment",
        Hint::AllowTools => "Agent(allow=[…]) names tools that need not ask",
        Hint::AllowCommands => {
            "Agent(allow=[\"run_shell_command(git status)\"]) names commands by how they begin; approve= answers for others"
        }
        Hint::ListExtensions => "`charla extensions list` shows those that are installed",
        Hint::AgreeAgain => "`charla extensions update NAME` shows what changed and asks",
        Hint::TestServer => "`charla mcp test NAME` starts it and says what it answers",
        Hint::ResumeSession(id) => return format!("Agent.session(resume=\"{id}\") goes on with it"),
        Hint::OfferToolsAnyway => {
            "Agent(settings={\"model\": {\"tools\": \"native\"}}) offers it tools anyway"
        }
        Hint::CallsAsText => {
            "Agent(settings={\"model\": {\"tools\": \"text\"}}) lets it write its calls as text"
        }
        other => return other.to_string(),
    };
    words.to_owned()
}
