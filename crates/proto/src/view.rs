//! A session as it is at one moment: all that a front end needs to begin with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    ApprovalMode, CallAsked, CallStatus, ClientCall, Content, Conversation, Granted, OpenCall, QueuedPrompt,
    UsageMetadata,
};

/// A session as it is right after record `seq`, with what its running step has shown so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSnapshot {
    /// The last record it includes.
    pub seq: u64,
    /// The session's id.
    pub session: String,
    /// The folder it works in.
    pub cwd: PathBuf,
    /// What is set: model, mode and grants.
    #[serde(flatten)]
    pub choices: Choices,
    /// What the session is doing.
    pub phase: Phase,
    /// The conversation, oldest first; what a summary stands for may be missing.
    pub contents: Vec<Said>,
    /// The turn under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The calls of the step under way, in order, with the questions they wait for.
    pub calls: Vec<OpenCall>,
    /// Prompts that wait.
    pub queue: Vec<QueuedPrompt>,
    /// What the running step has shown.
    pub running: RunningStep,
    /// The calls that people made themselves and the model does not know of yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_calls: Vec<ClientCall>,
    /// How full the window is.
    #[serde(flatten)]
    pub room: Room,
}

/// A model's window, and what the conversation takes of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Room {
    /// Tokens of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageMetadata>,
    /// Tokens the model can read and write together, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

/// What somebody chose for a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// `provider/model` that answers.
    pub model: String,
    /// How much is allowed without asking.
    pub mode: ApprovalMode,
    /// What "always" answers allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Granted>,
}

/// A content with the record it came with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The number of that record.
    pub seq: u64,
    /// What was said.
    pub content: Arc<Content>,
}

/// What a session does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It waits for a prompt.
    #[default]
    Idle,
    /// A turn is open and waits to be gone on with: its process ended.
    Open,
    /// The model is asked.
    Asking,
    /// Calls are checked, asked about and run.
    Calling,
    /// The model is asked for a summary.
    Summarizing,
}

/// What the step under way has shown so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningStep {
    /// The visible text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The model's thoughts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thoughts: String,
    /// Where each call of the step stands, by call: finer than the records tell.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<String, CallStatus>,
    /// The end of what each running tool has shown, by call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub live: BTreeMap<String, String>,
}

impl SessionSnapshot {
    /// A session of which nothing is known but its records.
    pub fn of(conversation: &Conversation) -> Self {
        let started = conversation.started.as_ref();
        let said = |(seq, content): &(u64, Arc<Content>)| Said { seq: *seq, content: content.clone() };
        let is_open = conversation.turn.is_some() || !conversation.queue.is_empty();
        Self {
            seq: conversation.seq,
            session: started.map(|started| started.session.clone()).unwrap_or_default(),
            cwd: started.map(|started| started.cwd.clone()).unwrap_or_default(),
            choices: Choices {
                model: conversation.model.clone(),
                mode: conversation.mode,
                grants: conversation.grants.clone(),
            },
            phase: if is_open { Phase::Open } else { Phase::Idle },
            contents: conversation.contents.iter().map(said).collect(),
            turn: conversation.turn.as_ref().map(|turn| turn.turn),
            calls: conversation.turn.iter().flat_map(|turn| turn.calls.clone()).collect(),
            queue: conversation.queue.clone(),
            running: RunningStep::default(),
            client_calls: conversation.untold.client_calls.clone(),
            room: Room { usage: conversation.last_usage.clone(), window: None },
        }
    }

    /// Questions that wait for an answer, in the order of their calls.
    pub fn questions(&self) -> impl Iterator<Item = &Arc<CallAsked>> {
        let open = self.calls.iter().filter(|call| call.response.is_none());
        let open = open.filter_map(|call| call.approval.as_ref());
        open.filter(|approval| approval.answer.is_none()).map(|approval| &approval.asked)
    }
}
