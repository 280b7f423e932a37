//! A session's events as the events of one turn, for front ends that show one turn at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use charla_proto::{
    Fact, FinishReason, LlmError, LlmErrorKind, Record, TurnEnd, TurnEnded, TurnEvent, UsageMetadata,
};

use super::{Delta, SessionEvent, Subscription};

/// Follows a session from one prompt to the end of its turn.
pub struct Follower {
    events: Subscription,
    pending: VecDeque<TurnEvent>,
    finish: Option<FinishReason>,
    usage: Option<UsageMetadata>,
    failure: Option<LlmError>,
    /// Text of the current step was lost on the way.
    missed: bool,
    ended: bool,
}

impl Follower {
    /// Follows the turn that begins next. Subscribe before prompting.
    pub fn new(events: Subscription) -> Self {
        Self {
            events,
            missed: false,
            pending: VecDeque::new(),
            finish: None,
            usage: None,
            failure: None,
            ended: false,
        }
    }

    /// The next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            match self.events.recv().await {
                Some(SessionEvent::Delta(delta)) => self.delta(delta),
                Some(SessionEvent::Record(record)) => self.record(&record),
                Some(SessionEvent::Missed) => self.missed = true,
                Some(SessionEvent::Broken(error)) => {
                    self.end(TurnEvent::Error(LlmError::new(LlmErrorKind::Journal, error.to_string())));
                }
                None => self.ended = true,
            }
        }
    }

    fn end(&mut self, event: TurnEvent) {
        self.pending.push_back(event);
        self.ended = true;
    }

    fn delta(&mut self, delta: Delta) {
        self.pending.push_back(match delta {
            Delta::Content(text) => TurnEvent::Content(text),
            Delta::Thought(text) => TurnEvent::Thought(text),
            Delta::Retry(notice) => TurnEvent::Retry(notice),
            Delta::ModelSwitched { from, to, reason } => TurnEvent::ModelSwitched { from, to, reason },
            Delta::PreCompress(coming) => TurnEvent::PreCompress(coming),
            Delta::Compression(report) => TurnEvent::ChatCompressed(report),
            Delta::Citation(citation) => TurnEvent::Citation(citation),
            Delta::Live { call, text } => TurnEvent::ToolCallLive { call, text },
            Delta::Failed(error) => {
                self.failure = Some(error);
                return;
            }
        });
    }

    fn record(&mut self, record: &Record) {
        match &record.fact {
            Fact::ModelContent(said) => {
                if std::mem::take(&mut self.missed) {
                    self.pending.push_back(TurnEvent::WholeText(said.content.text()));
                }
                self.finish.clone_from(&said.finish);
                self.usage.clone_from(&said.usage);
                let calls: Vec<_> = said.content.function_calls().cloned().collect();
                if !calls.is_empty() {
                    let usage = self.usage.take();
                    self.pending.push_back(TurnEvent::StepEnded { usage });
                }
                self.pending.extend(calls.into_iter().map(TurnEvent::ToolCallRequest));
            }
            Fact::CallAsked(asked) => {
                self.pending.push_back(TurnEvent::ToolCallConfirmation(Arc::new((**asked).clone())));
            }
            Fact::CallEnded(ended) => {
                self.pending.push_back(TurnEvent::ToolCallResponse(Arc::new((**ended).clone())));
            }
            // The last process's turn, closed on resuming, is not the one that is followed.
            Fact::TurnEnded(ended) if ended.end != TurnEnd::Interrupted => self.turn_ended(ended),
            _ => {}
        }
    }

    fn turn_ended(&mut self, ended: &TurnEnded) {
        let detail = ended.detail.clone().unwrap_or_default();
        let event = match ended.end {
            TurnEnd::Finished => TurnEvent::Finished {
                reason: self.finish.take().unwrap_or(FinishReason::Stop),
                usage: self.usage.take(),
            },
            TurnEnd::Cancelled => TurnEvent::UserCancelled,
            TurnEnd::Error => {
                let kind = ended.error.unwrap_or(LlmErrorKind::Server);
                let error = self.failure.take().unwrap_or_else(|| LlmError::new(kind, detail));
                match kind {
                    LlmErrorKind::InvalidStream => TurnEvent::InvalidStream(error),
                    LlmErrorKind::ContextOverflow => TurnEvent::ContextOverflow(error),
                    _ => TurnEvent::Error(error),
                }
            }
            end => TurnEvent::Stopped { end, detail },
        };
        self.end(event);
    }
}
