//! What a person can do about a failure, as an action: each front end words it with its own commands and flags.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An action that may help. Those that name another model, a setting or a command leave the naming to the front end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Hint {
    /// Check the API key, and where it was found.
    CheckKey,
    /// The key is good, but not for this model: use another one.
    ChooseAllowedModel,
    /// Check the model's name against the list of models.
    CheckModelName,
    /// Check the account's quota or billing, or use another model.
    CheckQuota,
    /// Sign in to Google again.
    SignInAgain,
    /// Wait and try again, or name models to fall back to.
    WaitAndRetry,
    /// The server asks for a long wait: use another model, or name models to fall back to.
    LongWait {
        /// What the server asks for.
        minutes: u64,
    },
    /// The provider has a problem: try again later, or use another model.
    RetryLater,
    /// Try again, or use another model.
    Retry,
    /// Look into the local server's log; else as for [`Hint::Retry`].
    CheckServerLog,
    /// Check the network, the base URL and proxy settings.
    CheckNetwork,
    /// Check what is configured for the endpoint.
    CheckEndpoint,
    /// Write the proxy's address in the usual form.
    FixProxyAddress,
    /// Name the certificate file of a private authority.
    TrustAuthority,
    /// Install the system's authorities, or name a certificate file.
    InstallAuthorities,
    /// Try again, or wait longer for the first byte of an answer.
    RaiseFirstByteTimeout,
    /// Try again, or wait longer in the middle of an answer.
    RaiseIdleTimeout,
    /// Raise the output limit, or let the model think less.
    RaiseOutputLimit,
    /// Shorten what fills the context window most, or use a model with a larger one.
    MakeRoom {
        /// What takes most of the window.
        fullest: WindowPart,
        /// Compressing is left to the user, and may help.
        compress: bool,
    },
    /// Let the model call tools in its text, or offer it none.
    ChangeToolMode,
    /// Rephrase the request.
    Rephrase,
    /// Use another model, or a simpler schema for its answer.
    SimplifySchema,
    /// Check the disk and the rights of the folder that keeps sessions.
    CheckSessionFolder,
    /// Advice that is the same in every front end.
    Text {
        /// The advice in words.
        text: String,
    },
}

/// A part of what is sent to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowPart {
    /// The user's messages.
    Input,
    /// The system instruction with the instruction files.
    Instructions,
    /// The declarations of tools.
    Tools,
    /// The model's words and calls.
    Answers,
    /// What tools returned.
    ToolResults,
}

/// Words that hold in every front end. One that has flags, commands or buttons of its own words those actions itself.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let words = match self {
            Hint::CheckKey => "check the API key",
            Hint::ChooseAllowedModel => "the key is valid but has no right to this model; use another one",
            Hint::CheckModelName => "check the model's name",
            Hint::CheckQuota => "check the account's quota or billing, or use another model",
            Hint::SignInAgain => "log in again: `gcloud auth application-default login`",
            Hint::WaitAndRetry => "wait and try again, or name other models in the setting `model.fallback`",
            Hint::LongWait { minutes } => {
                return write!(
                    f,
                    "the server asks to wait {minutes} minutes; use another model, or name others in the setting \
                     `model.fallback`"
                );
            }
            Hint::RetryLater => "the provider has a problem; try again later, or use another model",
            Hint::Retry => "try again, or use another model",
            Hint::CheckServerLog => "the local server's log tells why; else try again, or use another model",
            Hint::CheckNetwork => "check the network, the base URL and proxy settings",
            Hint::CheckEndpoint => "fix the endpoint in the settings",
            Hint::FixProxyAddress => "write it as http://host:port in the setting `network.proxy`",
            Hint::TrustAuthority | Hint::InstallAuthorities => {
                "name the authority's PEM file in the setting `network.caFile`"
            }
            Hint::RaiseFirstByteTimeout => "try again, or raise `network.firstByteTimeoutSeconds`",
            Hint::RaiseIdleTimeout => "try again, or raise `network.idleTimeoutSeconds`",
            Hint::RaiseOutputLimit => "raise the setting `model.maxOutputTokens`, or lower `model.thinking`",
            Hint::MakeRoom { fullest, .. } => {
                return write!(f, "{fullest}, or use a model with a larger window");
            }
            Hint::ChangeToolMode => "the setting `model.tools` says how the model calls tools",
            Hint::Rephrase => "rephrase the request; the provider's filter refused it",
            Hint::SimplifySchema => "use another model, or a simpler schema",
            Hint::CheckSessionFolder => "check the disk and the rights of the session folder",
            Hint::Text { text } => text,
        };
        f.write_str(words)
    }
}

/// How to make it smaller.
impl fmt::Display for WindowPart {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            WindowPart::Input => "shorten the input",
            WindowPart::Instructions => "shorten the instruction files (CHARLA.md, AGENTS.md, GEMINI.md)",
            WindowPart::Tools => "offer fewer tools (the settings `tools.core` and `tools.exclude`)",
            WindowPart::Answers => "begin a new session",
            WindowPart::ToolResults => "ask for parts of large files",
        })
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Hint::Text { text }
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Hint::from(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hint_is_an_action_with_its_details() {
        let room = Hint::MakeRoom { fullest: WindowPart::ToolResults, compress: true };
        for (hint, written) in [
            (Hint::CheckKey, json!({"action": "check_key"})),
            (Hint::LongWait { minutes: 60 }, json!({"action": "long_wait", "minutes": 60})),
            (room, json!({"action": "make_room", "fullest": "tool_results", "compress": true})),
            (Hint::from("look"), json!({"action": "text", "text": "look"})),
        ] {
            assert_eq!(serde_json::to_value(&hint).unwrap(), written);
            assert_eq!(serde_json::from_value::<Hint>(written).unwrap(), hint);
        }
    }
}
