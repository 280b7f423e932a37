//! The events of one run, with the questions among them put to the person.

use std::collections::VecDeque;
use std::sync::Arc;

use charla_core::session::Follower;
use charla_proto::{CompressionTrigger, FinishReason, OpenCall, TurnEnd, TurnEvent};

use crate::approver::Approver;
use crate::compression;

/// A session's turn, or the compression that was asked for in its place.
pub struct Answer {
    follower: Follower,
    approver: Option<Approver>,
    /// What is still to be told before the next event is waited for.
    pending: VecDeque<TurnEvent>,
}

impl Answer {
    /// Follows a turn. Questions go to the approver, if there is one. `open` are calls that an earlier process left.
    pub fn new(follower: Follower, approver: Option<Approver>, open: &[OpenCall]) -> Self {
        let mut pending: VecDeque<TurnEvent> = open.iter().flat_map(introduced).collect();
        if approver.is_some() {
            // A person is asked; the calls themselves were shown to them before.
            pending.retain(|event| matches!(event, TurnEvent::ToolCallConfirmation { .. }));
        }
        Self { follower, approver, pending }
    }

    /// The next event; nothing once the run is over.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        let event = match self.pending.pop_front() {
            Some(event) => event,
            None => self.follower.next().await?,
        };
        match &event {
            // Asked for, it is the answer of the run; by itself, it happens beside it.
            TurnEvent::ChatCompressed(report) if report.trigger == CompressionTrigger::Manual => {
                let (reason, end) = (FinishReason::Stop, TurnEnd::Finished);
                match compression::told(report) {
                    Ok(words) => self.pending.extend([
                        TurnEvent::content(words),
                        TurnEvent::Finished { reason, end, usage: None },
                    ]),
                    Err(error) => self.pending.push_back(TurnEvent::failure(error)),
                }
            }
            TurnEvent::ToolCallConfirmation { approval, confirmation, .. } => {
                if let Some(approver) = &self.approver {
                    approver.put(approval.clone(), confirmation.clone());
                }
            }
            _ => {}
        }
        Some(event)
    }
}

/// A call that an earlier process left, and the question it waits for.
fn introduced(open: &OpenCall) -> Vec<TurnEvent> {
    if open.response.is_some() {
        return Vec::new();
    }
    let call = open.call.id.clone().unwrap_or_default();
    let mut events = vec![TurnEvent::ToolCallRequest {
        name: open.call.name.clone(),
        call: call.clone(),
        parameters: open.call.args.clone(),
    }];
    if let Some(question) = open.approval.as_ref().filter(|question| question.answer.is_none()) {
        events.push(TurnEvent::ToolCallConfirmation {
            call,
            approval: question.asked.approval.clone(),
            confirmation: Arc::new(question.asked.confirmation.clone()),
        });
    }
    events
}
