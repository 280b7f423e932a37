//! A recorded turn, read as the parts its players play.

use std::sync::Arc;

use charla_proto::{
    CallAsked, CallEnded, CallStatus, Content, Fact, FunctionCall, LlmError, LlmErrorKind, ModelContent,
    Outcome, Record, TurnEnd, TurnEnded, UsageMetadata,
};

use super::{ends_turn, is_interruption};
use crate::chat::NO_RESULT;
use crate::session::Limits;

/// One recorded turn.
pub(super) struct TurnScript {
    pub(super) turn: u64,
    /// What the engine made of it, as far as the process lived.
    pub(super) facts: Vec<Fact>,
    /// What the next process wrote to close it.
    pub(super) recovery: Vec<Fact>,
    pub(super) steps: Vec<Step>,
    /// What people answered, in their order.
    pub(super) answers: Vec<Answer>,
    /// How many facts there were when the user cancelled.
    pub(super) cancel_at: Option<usize>,
    /// The cancellation met calls, not the model.
    pub(super) cancel_stops_calls: bool,
}

/// One answer of the model and what became of its calls.
pub(super) struct Step {
    pub(super) calls: Vec<Call>,
}

/// One call as recorded; the numbers are places among the turn's facts.
pub(super) struct Call {
    pub(super) call: FunctionCall,
    pub(super) asked: Option<Arc<CallAsked>>,
    pub(super) outcome: Option<Outcome>,
    pub(super) started: Option<usize>,
    pub(super) ended: Option<(usize, Arc<CallEnded>)>,
}

/// A person's answer.
pub(super) struct Answer {
    /// How many facts came before it.
    pub(super) at: usize,
    pub(super) call: String,
    pub(super) outcome: Outcome,
    pub(super) by: String,
}

impl Call {
    pub(super) fn id(&self) -> &str {
        self.call.id.as_deref().unwrap_or_default()
    }

    fn was_cancelled(&self) -> bool {
        self.ended.as_ref().is_some_and(|(_, ended)| ended.status == CallStatus::Cancelled)
    }

    /// The person said no to it.
    fn was_declined(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Cancel { .. }))
    }
}

impl Step {
    /// True when a call ran while another of its step was open: then it did not need the lane for itself.
    pub(super) fn is_shared(&self, index: usize) -> bool {
        let Some(this) = self.calls.get(index) else { return false };
        let end = |call: &Call| call.ended.as_ref().map_or(usize::MAX, |(at, _)| *at);
        let overtakes =
            |later: &Call, earlier: &Call| later.started.is_some_and(|start| start < end(earlier));
        let mut calls = self.calls.iter().enumerate();
        calls.any(|(other, call)| match other.cmp(&index) {
            std::cmp::Ordering::Less => overtakes(this, call),
            std::cmp::Ordering::Equal => false,
            std::cmp::Ordering::Greater => overtakes(call, this),
        })
    }

    /// The place of the first fact that the user's cancellation made.
    fn cancelled_from(&self) -> Option<usize> {
        let at = |call: &Call| call.ended.as_ref().map(|(at, _)| *at);
        let waiting = self.calls.iter().filter(|call| call.started.is_none() && !call.was_declined());
        let waiting = waiting.filter(|call| call.was_cancelled()).filter_map(at).min();
        waiting.or_else(|| self.calls.iter().filter(|call| call.was_cancelled()).filter_map(at).min())
    }
}

impl TurnScript {
    pub(super) fn new(turn: u64, records: &[Record]) -> Self {
        let of_turn = records.iter().map(|record| &record.fact).filter(|fact| is_of_turn(fact));
        let mut facts: Vec<Fact> = of_turn.cloned().collect();
        let recovery = match facts.last().is_some_and(is_interruption) {
            true => {
                let kept = facts.iter().rposition(|fact| !is_repair(fact)).map_or(0, |last| last + 1);
                facts.split_off(kept)
            }
            false => Vec::new(),
        };
        let mut script = Self {
            turn,
            facts: Vec::new(),
            recovery,
            steps: Vec::new(),
            answers: Vec::new(),
            cancel_at: None,
            cancel_stops_calls: false,
        };
        for (at, fact) in facts.iter().enumerate() {
            script.read(at, fact);
        }
        script.facts = facts;
        script.find_cancellation();
        script
    }

    fn read(&mut self, at: usize, fact: &Fact) {
        match fact {
            Fact::ModelContent(said) => self.steps.push(Step { calls: calls(said) }),
            Fact::CallAsked(asked) => {
                if let Some(call) = self.call(&asked.call) {
                    call.asked = Some(Arc::new((**asked).clone()));
                }
            }
            Fact::ApprovalAnswered(answered) => {
                let mut calls = self.steps.last_mut().into_iter().flat_map(|step| &mut step.calls);
                let is_it = |call: &&mut Call| {
                    call.asked.as_ref().is_some_and(|asked| asked.approval == answered.approval)
                };
                let Some(call) = calls.find(is_it) else { return };
                call.outcome = Some(answered.outcome.clone());
                let (call, outcome, by) =
                    (call.id().to_owned(), answered.outcome.clone(), answered.by.clone());
                if by != crate::session::NOBODY {
                    self.answers.push(Answer { at, call, outcome, by });
                }
            }
            Fact::CallStarted(started) => {
                if let Some(call) = self.call(&started.call) {
                    call.started = Some(at);
                }
            }
            Fact::CallEnded(ended) => {
                if let Some(call) = self.call(&ended.call) {
                    call.ended = Some((at, Arc::new((**ended).clone())));
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, id: &str) -> Option<&mut Call> {
        self.steps.last_mut()?.calls.iter_mut().find(|call| call.id() == id)
    }

    /// When the user cancelled, if the turn does not end so by itself.
    fn find_cancellation(&mut self) {
        let ended_at = self.facts.len().saturating_sub(1);
        if self.end().is_none_or(|ended| ended.end != TurnEnd::Cancelled)
            || self.answers.iter().any(|answer| ends_turn(&answer.outcome))
        {
            return;
        }
        let last = self.steps.last();
        if let Some(at) = last.and_then(Step::cancelled_from) {
            self.cancel_at = Some(at);
            self.cancel_stops_calls = true;
            return;
        }
        // The model was speaking: what it had said so far is its last content, without calls.
        let said = self.facts.iter().rposition(|fact| matches!(fact, Fact::ModelContent(_)));
        let spoke = last.is_some_and(|step| step.calls.is_empty());
        self.cancel_at = Some(said.filter(|_| spoke).unwrap_or(ended_at));
    }

    fn end(&self) -> Option<&TurnEnded> {
        match self.facts.last() {
            Some(Fact::TurnEnded(ended)) => Some(ended),
            _ => None,
        }
    }

    /// True when the process died in it.
    pub(super) fn is_open(&self) -> bool {
        self.end().is_none()
    }

    pub(super) fn prompt(&self) -> Content {
        match self.facts.first() {
            Some(Fact::TurnStarted(started)) => (*started.prompt).clone(),
            _ => Content::default(),
        }
    }

    /// The error that ended it.
    pub(super) fn error(&self) -> Option<LlmError> {
        let ended = self.end().filter(|ended| ended.end == TurnEnd::Error)?;
        let kind = ended.error.unwrap_or(LlmErrorKind::Server);
        Some(LlmError::new(kind, ended.detail.clone().unwrap_or_default()))
    }

    /// True when a call is only given its end once the user has cancelled.
    pub(super) fn waits_for_cancel(&self, call: &Call) -> bool {
        let after = match (&call.ended, self.cancel_at) {
            (Some((at, _)), Some(cancelled)) => *at >= cancelled,
            _ => false,
        };
        after || call.was_cancelled()
    }

    pub(super) fn nobody_there(&self) -> bool {
        let mut answers = self.facts.iter().filter_map(|fact| match fact {
            Fact::ApprovalAnswered(answered) => Some(&answered.by),
            _ => None,
        });
        answers.any(|by| by == crate::session::NOBODY)
    }

    pub(super) fn isolation(&self) -> String {
        let mut asked = self.facts.iter().filter_map(|fact| match fact {
            Fact::CallAsked(asked) => Some(asked.confirmation.isolation.clone()),
            _ => None,
        });
        asked.next().unwrap_or_default()
    }

    /// Limits are settings and not recorded; the one that ended the turn is known from its end.
    pub(super) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        let Some(ended) = self.end() else { return limits };
        let words = ended.detail.as_deref().unwrap_or_default();
        let number =
            words.split_whitespace().find_map(|word| word.trim_start_matches('$').parse::<f64>().ok());
        match (ended.end, number) {
            (TurnEnd::StepLimit, _) => limits.steps = u32::try_from(self.steps.len()).ok(),
            (TurnEnd::TokenLimit, Some(most)) => limits.tokens = Some(most as u64),
            (TurnEnd::CostLimit, Some(most)) => limits.cost = Some(self.price(most)),
            _ => {}
        }
        limits
    }

    /// A limit and a price for a token of any kind under which the last step reaches the limit.
    fn price(&self, most: f64) -> (f64, [f64; 3]) {
        let most = most.max(0.001);
        let used = self.facts.iter().filter_map(|fact| match fact {
            Fact::ModelContent(said) => said.usage.as_ref().map(all_tokens),
            _ => None,
        });
        let tokens = used.fold(0, u64::saturating_add);
        // A little more, so that rounding cannot leave the sum just below the limit.
        let price = most * 1e6 / (tokens.max(1) as f64) * (1.0 + 1e-9);
        (most, [price; 3])
    }
}

fn all_tokens(usage: &UsageMetadata) -> u64 {
    usage.prompt_token_count.unwrap_or(0).saturating_add(usage.output())
}

fn calls(said: &ModelContent) -> Vec<Call> {
    let calls = said.content.function_calls().cloned();
    calls.map(|call| Call { call, asked: None, outcome: None, started: None, ended: None }).collect()
}

/// Facts that the engine makes of a prompt; others (another mode or model) are given, not made.
fn is_of_turn(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TurnStarted(_)
            | Fact::ModelContent(_)
            | Fact::CallAsked(_)
            | Fact::ApprovalAnswered(_)
            | Fact::CallStarted(_)
            | Fact::CallEnded(_)
            | Fact::TurnEnded(_)
    )
}

/// What a process writes for the one that died before it.
fn is_repair(fact: &Fact) -> bool {
    match fact {
        Fact::CallEnded(ended) => ended.response.to_text() == NO_RESULT,
        fact => is_interruption(fact),
    }
}
