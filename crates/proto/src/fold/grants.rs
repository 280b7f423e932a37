//! What "always" answers allow until somebody takes it back.

use serde::{Deserialize, Serialize};

use crate::{Confirmation, ConfirmationDetail, Outcome};

/// What an "always" has allowed for the rest of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "grant", rename_all = "snake_case")]
pub enum Grant {
    /// The rules the question has shown, as TOML.
    Rules {
        /// The rules, as TOML.
        rules: String,
    },
    /// A tool, where nothing but its own rule asks.
    Tool {
        /// The tool's name.
        tool: String,
    },
    /// All tools of an MCP server.
    Server {
        /// The server's name.
        server: String,
    },
}

impl Grant {
    /// What an answer to a question allows beyond its own call.
    pub fn of(outcome: &Outcome, confirmation: &Confirmation) -> Option<Grant> {
        match outcome {
            Outcome::ProceedAlways | Outcome::ProceedAlwaysAndSave => {
                confirmation.always.clone().map(|rules| Grant::Rules { rules })
            }
            Outcome::ProceedAlwaysTool => Some(Grant::Tool { tool: confirmation.tool.clone() }),
            Outcome::ProceedAlwaysServer => match &confirmation.detail {
                ConfirmationDetail::Mcp { server, .. } => Some(Grant::Server { server: server.clone() }),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A grant that holds, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The question whose answer it was; it is taken back by this id.
    pub approval: String,
    /// Who gave it.
    pub by: String,
    /// What it allows.
    pub grant: Grant,
    /// It was to be kept as a rule for every session, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub saved: bool,
}

impl Granted {
    /// The number by which people name it: that of the question, the same for everybody as long as the session lasts.
    pub fn number(&self) -> Option<u64> {
        self.approval.rsplit_once(':')?.1.parse().ok()
    }
}
