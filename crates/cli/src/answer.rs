//! The events of one run, with the questions among them put to the person.

use std::collections::VecDeque;

use charla_core::session::Follower;
use charla_proto::{CompressionTrigger, FinishReason, TurnEnd, TurnEvent};

use crate::approver::Approver;
use crate::compression;
use crate::headless::Events;

/// A session's turn, or the compression that was asked for in its place.
pub struct Answer {
    follower: Follower,
    approver: Option<Approver>,
    /// What is still to be told before the next event is waited for.
    pending: VecDeque<TurnEvent>,
}

impl Answer {
    /// Follows a turn. Questions go to the approver, if there is one.
    pub fn new(follower: Follower, approver: Option<Approver>) -> Self {
        Self { follower, approver, pending: VecDeque::new() }
    }
}

impl Events for Answer {
    async fn next(&mut self) -> Option<TurnEvent> {
        if let Some(event) = self.pending.pop_front() {
            return Some(event);
        }
        let event = self.follower.next().await?;
        match &event {
            // Asked for, it is the answer of the run; by itself, it happens beside it.
            TurnEvent::ChatCompressed(report) if report.trigger == CompressionTrigger::Manual => {
                let (reason, end) = (FinishReason::Stop, TurnEnd::Finished);
                match compression::told(report) {
                    Ok(words) => self
                        .pending
                        .extend([TurnEvent::content(words), TurnEvent::Finished { reason, end, usage: None }]),
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
