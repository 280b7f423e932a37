//! A conversation as the model is told it: requests, and what was done about each.

use std::sync::Arc;

use charla_proto::{Content, FunctionCall, FunctionResponse, Part, PartKind, Role};
use serde_json::Value;

/// Stands in an answer for the last tool's result.
pub(super) const RESULT: &str = "<result/>";

/// A request and what was done about it.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    /// What the user said.
    pub(super) said: String,
    /// The calls in order, each with what came of it.
    pub(super) steps: Vec<(FunctionCall, Option<FunctionResponse>)>,
    /// The answer, when there is one.
    pub(super) answer: Option<String>,
}

impl Turn {
    /// The turns of a conversation. What was said after an ending that brought no answer begins a new one.
    pub(super) fn all(contents: &[Arc<Content>]) -> Vec<Self> {
        let mut turns: Vec<Self> = Vec::new();
        for content in contents {
            if let Some(turn) = turns.last_mut() {
                content.parts.iter().for_each(|part| turn.take(&part.kind));
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
    fn take(&mut self, part: &PartKind) {
        match part {
            PartKind::FunctionCall(call) => self.steps.push((FunctionCall::clone(call), None)),
            PartKind::FunctionResponse(response) => {
                if let Some((_, result)) = self.steps.iter_mut().find(|(_, result)| result.is_none()) {
                    *result = Some(FunctionResponse::clone(response));
                }
            }
            _ => {}
        }
    }

    /// The last call and what it returned.
    pub(super) fn last(&self) -> Option<(&FunctionCall, &FunctionResponse)> {
        self.steps.last().and_then(|(call, result)| Some((call, result.as_ref()?)))
    }

    /// What the last call returned.
    pub(super) fn result(&self) -> String {
        self.last().map(|(_, result)| result.to_text()).unwrap_or_default()
    }
}

/// An argument of a call, empty where it has none.
pub(super) fn argument<'a>(call: &'a FunctionCall, name: &str) -> &'a str {
    call.args.get(name).and_then(Value::as_str).unwrap_or_default()
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
