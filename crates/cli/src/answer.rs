//! The answer of a session, held to the schema that was asked for.

use std::collections::VecDeque;

use charla::OpenedSession;
use charla::session::OutputSchema;
use charla_core::session::{Command, Follower, SessionHandle};
use charla_proto::{CompressionTrigger, Content, FinishReason, LlmError, LlmErrorKind, TurnEvent};

use crate::approver::Approver;
use crate::compression;
use crate::headless::Events;

/// How often the model may mend an answer that does not fit.
const REPAIRS: u32 = 2;

/// A session's turn, and where a schema holds as many more as it takes to mend the answer.
pub struct Answer<'s> {
    session: SessionHandle,
    follower: Follower,
    schema: Option<&'s OutputSchema>,
    approver: Option<Approver>,
    text: String,
    repairs: u32,
    /// What is still to be told before the next event is waited for.
    pending: VecDeque<TurnEvent>,
}

impl<'s> Answer<'s> {
    /// Follows the turn that begins next. Questions go to the approver, if there is one.
    pub fn new(opened: &'s OpenedSession, approver: Option<Approver>) -> Self {
        Self {
            session: opened.handle.clone(),
            follower: Follower::new(opened.handle.subscribe()),
            schema: opened.output_schema.as_ref(),
            approver,
            text: String::new(),
            repairs: 0,
            pending: VecDeque::new(),
        }
    }

    /// Asks the model to mend its answer.
    async fn mend(&mut self, problem: &str) {
        self.repairs += 1;
        self.text.clear();
        self.follower = Follower::new(self.session.subscribe());
        let words = format!(
            "Your answer does not fit the JSON Schema: {problem}. Answer again with the corrected JSON value and nothing else."
        );
        self.session.send(Command::Prompt(Content::user(words))).await;
    }
}

impl Events for Answer<'_> {
    async fn next(&mut self) -> Option<TurnEvent> {
        if let Some(event) = self.pending.pop_front() {
            return Some(event);
        }
        let event = self.follower.next().await?;
        match &event {
            // Asked for, it is the answer of the run; by itself, it happens beside it.
            TurnEvent::ChatCompressed(report) if report.trigger == CompressionTrigger::Manual => {
                match compression::told(report) {
                    Ok(words) => self.pending.extend([
                        TurnEvent::Content(words),
                        TurnEvent::Finished { reason: FinishReason::Stop, usage: None },
                    ]),
                    Err(error) => self.pending.push_back(TurnEvent::Error(error)),
                }
            }
            TurnEvent::Content(text) => self.text.push_str(text),
            TurnEvent::WholeText(text) => self.text.clone_from(text),
            TurnEvent::StepEnded { .. } | TurnEvent::Retry(_) => self.text.clear(),
            TurnEvent::ToolCallConfirmation(asked) => {
                if let Some(approver) = &self.approver {
                    approver.put(asked.clone());
                }
            }
            TurnEvent::Finished { usage, .. } => {
                let usage = usage.clone();
                let problem = self.schema.and_then(|schema| schema.problem(&self.text));
                let Some(problem) = problem else { return Some(event) };
                if self.repairs < REPAIRS {
                    self.mend(&problem).await;
                    return Some(TurnEvent::StepEnded { usage });
                }
                let message =
                    format!("the answer does not fit the schema after {REPAIRS} corrections: {problem}");
                return Some(TurnEvent::Error(LlmError::new(LlmErrorKind::OutputSchema, message)));
            }
            _ => {}
        }
        Some(event)
    }
}
