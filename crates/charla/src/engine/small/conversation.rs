//! A conversation as the model is told it: requests, and what was done about each.

use std::sync::Arc;

use charla_proto::{Content, FunctionCall, FunctionResponse, Part, PartKind, Role};

/// Stands in an answer for the last tool's result.
pub(super) const RESULT: &str = "<result/>";

/// A request and what was done about it.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    /// What the user said.
    pub(super) said: String,
    /// The calls, in order.
    pub(super) steps: Vec<Step>,
    /// The answer, when there is one.
    pub(super) answer: Option<String>,
}

/// A call and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) call: FunctionCall,
    pub(super) result: Option<FunctionResponse>,
}

impl Step {
    /// An argument of the call.
    pub(super) fn argument(&self, name: &str) -> Option<&str> {
        self.call.args.get(name)?.as_str()
    }
}

impl Turn {
    /// The turns of a conversation. What was said after an ending that brought no answer begins a new one.
    pub(super) fn all(contents: &[Arc<Content>]) -> Vec<Self> {
        let mut turns: Vec<Self> = Vec::new();
        for content in contents {
            for part in &content.parts {
                match (&part.kind, turns.last_mut()) {
                    (PartKind::FunctionCall(call), Some(turn)) => {
                        turn.steps.push(Step { call: FunctionCall::clone(call), result: None });
                    }
                    (PartKind::FunctionResponse(response), Some(turn)) => turn.take(response),
                    _ => {}
                }
            }
            let said = said(content);
            match (content.role, turns.last_mut()) {
                _ if said.trim().is_empty() => {}
                (Role::User, _) => turns.push(Self { said, ..Self::default() }),
                (Role::Model, Some(turn)) => turn.answer = Some(said),
                (Role::Model, None) => {}
            }
        }
        turns
    }

    /// Results come in the order of the calls.
    fn take(&mut self, response: &FunctionResponse) {
        if let Some(step) = self.steps.iter_mut().find(|step| step.result.is_none()) {
            step.result = Some(response.clone());
        }
    }

    /// The last call and what it returned.
    pub(super) fn last(&self) -> Option<(&Step, &FunctionResponse)> {
        let step = self.steps.last()?;
        step.result.as_ref().map(|result| (step, result))
    }
}

/// The words of a message. Of a user's, those before the last request got no answer; a file that was attached begins with
/// a line break and belongs to the request before it. Words beside a call are no answer.
fn said(content: &Content) -> String {
    if content.role == Role::Model {
        let calls = content.function_calls().next().is_some();
        return if calls { String::new() } else { content.text() };
    }
    let texts: Vec<&str> =
        content.parts.iter().filter(|part| !part.thought).filter_map(Part::as_text).collect();
    let begins = texts.iter().rposition(|text| !text.starts_with('\n') && !text.trim().is_empty());
    texts.get(begins.unwrap_or(0)..).unwrap_or_default().concat()
}
