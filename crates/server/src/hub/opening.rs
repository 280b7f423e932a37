//! How sessions are opened here: what is asked of them, and who is there to answer.

use std::path::PathBuf;

use charla::settings::Override;
use charla::{Begin, OpenRequest, RunOptions};
use charla_core::session::Clients;
use charla_proto::ApprovalMode;
use serde_json::{Value, json};

/// How the user allows more, for the model to pass on.
const HOW_TO_ALLOW: &str = "by answering the question when it is asked, or with another mode for the session";

/// What a new session is to be.
#[derive(Debug, Default)]
pub(crate) struct NewSession {
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<Value>,
    pub(crate) begin: Begin,
}

impl NewSession {
    /// What opens it, under this id.
    pub(super) fn request(self, id: &str) -> OpenRequest {
        let mut overrides = Vec::new();
        if let Some(model) = &self.model {
            overrides.push(Override { key: &["model", "name"], value: json!(model), source: "the request" });
        }
        if let Some(mode) = self.mode {
            overrides.push(mode_override(mode, "the request"));
        }
        OpenRequest {
            workspace: self.workspace,
            overrides,
            other_model: self.model.is_some(),
            begin: self.begin,
            new_id: Some(id.to_owned()),
            ..attended()
        }
    }
}

/// What goes on with a session of the store; a turn that was left goes on in the mode it had.
pub(super) fn resuming(id: &str, workspace: Option<PathBuf>, mode: Option<ApprovalMode>) -> OpenRequest {
    let mode = mode.map(|mode| mode_override(json!(mode), "the turn that goes on"));
    OpenRequest {
        workspace,
        overrides: mode.into_iter().collect(),
        begin: Begin::Resume(id.to_owned()),
        ..attended()
    }
}

fn mode_override(mode: Value, source: &'static str) -> Override {
    Override { key: &["tools", "approvalMode"], value: mode, source }
}

/// A session whose questions wait although nobody may be looking.
fn attended() -> OpenRequest {
    let how_to_allow = Some(HOW_TO_ALLOW.to_owned());
    OpenRequest {
        must_be_kept: true,
        clients: Clients::expected(),
        options: RunOptions { how_to_allow, ..RunOptions::default() },
        ..OpenRequest::default()
    }
}
