//! Advice in the words of the command line: the libraries name an action, this module the flag, command or setting.

use charla_proto::{Hint, WindowPart};

/// A hint as the command line gives it.
pub fn words(hint: &Hint) -> String {
    let words = match hint {
        Hint::CheckKey => "check the API key; `charla models` shows which key was found where",
        Hint::ChooseAllowedModel => {
            "the key is valid but has no right to this model; try another model with -m"
        }
        Hint::CheckModelName => "check the model's name; `charla models` lists providers and models",
        Hint::CheckQuota => "check the account's quota or billing, or use another model with -m",
        Hint::SignInAgain => "log in again: `gcloud auth application-default login` or `charla auth login`",
        Hint::WaitAndRetry => "wait and try again, or name other models in the setting `model.fallback`",
        Hint::LongWait { minutes } => {
            return format!(
                "the server asks to wait {minutes} minutes; use another model with -m, or name others in \
                 the setting `model.fallback`"
            );
        }
        Hint::RetryLater => "the provider has a problem; try again later or use another model with -m",
        Hint::Retry => "try again, or use another model with -m",
        Hint::CheckServerLog => {
            "a local server does this when the input does not fit its window or it fails inside: its log tells; \
             else try again, or use another model with -m"
        }
        Hint::CheckNetwork => "check the network, the base URL and proxy settings",
        Hint::CheckEndpoint => "fix the endpoint in the settings; `charla models` shows what is configured",
        Hint::FixProxyAddress => "write it as http://host:port in the setting `network.proxy`",
        Hint::TrustAuthority => "for a private authority, name its PEM file in the setting `network.caFile`",
        Hint::InstallAuthorities => {
            "install the system's CA certificates, or name a PEM file in the setting `network.caFile`"
        }
        Hint::RaiseFirstByteTimeout => {
            "try again, or raise `network.firstByteTimeoutSeconds` for a slow local server"
        }
        Hint::RaiseIdleTimeout => {
            "the server sent nothing for too long; try again, or raise `network.idleTimeoutSeconds`"
        }
        Hint::RaiseOutputLimit => "raise the setting `model.maxOutputTokens`, or lower `model.thinking`",
        Hint::MakeRoom { fullest, compress } => return make_room(*fullest, *compress),
        Hint::ChangeToolMode => {
            "--tool-mode text lets a model without function calls call tools in its text; --no-tools offers none"
        }
        Hint::Rephrase => "rephrase the request; the provider's filter refused it",
        Hint::SimplifySchema => "try another model with -m, or a simpler schema",
        Hint::CheckSessionFolder => "check the disk and the rights of the session folder",
        Hint::Text { text } => text,
    };
    words.to_owned()
}

fn make_room(fullest: WindowPart, compress: bool) -> String {
    let compress = match compress {
        true => "summarize it with `/compress` (the setting `compression.automatic` is off), or ",
        false => "",
    };
    let shorten = match fullest {
        WindowPart::Input => "shorten the input",
        WindowPart::Instructions => "shorten the instruction files (CHARLA.md, AGENTS.md, GEMINI.md)",
        WindowPart::Tools => {
            "offer fewer tools (the settings `tools.core` and `tools.exclude`, or --no-tools)"
        }
        WindowPart::Answers => "begin a new session",
        WindowPart::ToolResults => "ask for parts of large files",
    };
    format!("{compress}{shorten}, or use a model with a larger window (-m)")
}

#[cfg(test)]
mod tests {
    use charla_proto::LlmErrorKind;

    use super::*;

    #[test]
    fn what_fills_the_window_is_what_there_is_advice_about() {
        let hint = LlmErrorKind::ContextOverflow.hint().unwrap();
        assert_eq!(words(&hint), "shorten the input, or use a model with a larger window (-m)");
        let hint = Hint::MakeRoom { fullest: WindowPart::Answers, compress: true };
        assert_eq!(
            words(&hint),
            "summarize it with `/compress` (the setting `compression.automatic` is off), or begin a new session, \
             or use a model with a larger window (-m)"
        );
    }

    #[test]
    fn a_long_wait_is_told_in_minutes() {
        assert!(words(&Hint::LongWait { minutes: 60 }).starts_with("the server asks to wait 60 minutes; "));
    }
}
