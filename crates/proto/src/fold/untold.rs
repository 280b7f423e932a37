//! What happened beside the conversation, and the model has yet to be told.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{CallEnded, ChangesReverted, ClientCallStarted, FunctionCall};

/// What people did beside the conversation since the model was told something last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Untold {
    /// What the user took back, or brought back. True stands for an undo.
    pub reverted: Vec<(bool, ChangesReverted)>,
    /// The calls that people made themselves, oldest first, those that run among them.
    pub client_calls: Vec<ClientCall>,
}

/// A call that a person or a program made themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientCall {
    /// The record of its start.
    pub seq: u64,
    /// The call, with its id.
    pub call: FunctionCall,
    /// Who made it.
    pub by: String,
    /// What comes of it stands in a prompt: the model is not told of it besides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_prompt: bool,
    /// What came of it; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Arc<CallEnded>>,
}

impl Untold {
    /// The calls that run, as far as the records know.
    pub fn running(&self) -> impl Iterator<Item = &ClientCall> {
        self.client_calls.iter().filter(|call| call.ended.is_none())
    }

    pub(super) fn call_started(&mut self, seq: u64, started: &ClientCallStarted) {
        let (call, by) = (started.call.clone(), started.by.clone());
        let for_prompt = started.for_prompt;
        self.client_calls.push(ClientCall { seq, call, by, for_prompt, ended: None });
    }

    pub(super) fn call_ended(&mut self, ended: &CallEnded) {
        let is_it =
            |call: &&mut ClientCall| call.ended.is_none() && call.call.id.as_ref() == Some(&ended.call);
        if let Some(call) = self.client_calls.iter_mut().find(is_it) {
            call.ended = Some(Arc::new(ended.clone()));
        }
        self.client_calls.retain(|call| call.ended.is_none() || !call.for_prompt);
    }

    /// The model was told all that had come to an end.
    pub(super) fn told(&mut self) {
        self.reverted.clear();
        self.client_calls.retain(|call| call.ended.is_none());
    }

    /// What a call showed whose place in the conversation is gone is nobody's business any more.
    pub(super) fn rewind(&mut self, to: u64) {
        self.client_calls.retain(|call| call.seq <= to || call.ended.is_none());
    }
}
