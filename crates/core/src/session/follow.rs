//! A session's events as the events of one turn, for front ends that show one turn at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use charla_proto::{
    CallAsked, Fact, FinishReason, HookActed, HookEffect, LlmError, LlmErrorKind, ModelContent, Record,
    SessionEvent, TurnEnd, TurnEnded, TurnEvent, UsageMetadata,
};

use super::{HOOK, Subscription};

/// Follows a session to the end of a turn.
pub struct Follower {
    events: Subscription,
    pending: VecDeque<TurnEvent>,
    /// The prompt whose turn is followed; without one it is the turn that ends next.
    prompt: Option<String>,
    step: Step,
    failure: Option<LlmError>,
    /// Text of the current step was lost on the way.
    missed: bool,
    /// Text of the current step has come.
    streamed: bool,
    ended: bool,
}

/// What the last answer came with.
#[derive(Default)]
struct Step {
    finish: Option<FinishReason>,
    usage: Option<UsageMetadata>,
    /// Front ends know that another request follows.
    announced: bool,
}

impl Follower {
    /// Follows the turn that ends next. Subscribe before prompting.
    pub fn new(events: Subscription) -> Self {
        Self {
            events,
            pending: VecDeque::new(),
            prompt: None,
            step: Step { announced: true, ..Step::default() },
            failure: None,
            missed: false,
            streamed: false,
            ended: false,
        }
    }

    /// Follows until the end of the turn in which this prompt is answered.
    pub fn of_prompt(mut self, prompt: String) -> Self {
        self.prompt = Some(prompt);
        self
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
            match self.events.recv_shared().await.map(Arc::unwrap_or_clone) {
                // Nothing else waits: it comes next.
                Some(SessionEvent::Turn(event)) => match self.transient(event) {
                    None => {}
                    shown => return shown,
                },
                Some(SessionEvent::Record(record)) => self.record(&record),
                Some(SessionEvent::Missed) => self.missed = true,
                Some(SessionEvent::Broken(error)) => {
                    self.end(TurnEvent::failure(LlmError::new(LlmErrorKind::Journal, error)));
                }
                None => self.ended = true,
            }
        }
    }

    fn end(&mut self, event: TurnEvent) {
        self.pending.push_back(event);
        self.ended = true;
    }

    /// Takes in something transient; gives it back where it is to be shown.
    fn transient(&mut self, event: TurnEvent) -> Option<TurnEvent> {
        match event {
            // The turn's end tells of it.
            TurnEvent::Error { error }
            | TurnEvent::InvalidStream { error }
            | TurnEvent::ContextOverflow { error } => {
                self.failure = Some(error);
                None
            }
            event => {
                self.streamed = match event {
                    TurnEvent::Content { .. } => true,
                    TurnEvent::Retry(_) => false,
                    _ => self.streamed,
                };
                Some(event)
            }
        }
    }

    fn record(&mut self, record: &Record) {
        match &record.fact {
            Fact::TurnStarted(started) => self.said(&started.id),
            Fact::PromptJoined(joined) => {
                self.said(&joined.prompt);
                self.step_ended();
                self.pending.push_back(TurnEvent::PromptJoined {
                    prompt: joined.prompt.clone(),
                    by: joined.by.clone(),
                    content: joined.content.text(),
                });
            }
            Fact::HookActed(acted) => self.hook_acted(acted),
            Fact::PromptWithdrawn(withdrawn) if self.prompt.as_ref() == Some(&withdrawn.prompt) => {
                self.end(TurnEvent::UserCancelled);
            }
            Fact::ModelContent(said) => self.model_content(said),
            Fact::CallAsked(asked) => self.pending.push_back(confirmation(asked)),
            Fact::ApprovalAnswered(answered) => self.pending.push_back(TurnEvent::ToolCallAnswered {
                approval: answered.approval.clone(),
                answer: answered.outcome.clone(),
                by: answered.by.clone(),
            }),
            Fact::Sampled(sampled) => self.sampled(sampled.usage.as_ref()),
            Fact::CallEnded(ended) => self.pending.push_back(TurnEvent::tool_result(ended)),
            Fact::TurnEnded(ended) => self.turn_ended(ended),
            _ => {}
        }
    }

    /// What a hook says in the user's place is told as what somebody said.
    fn hook_acted(&mut self, acted: &HookActed) {
        if let HookEffect::Prompt { content } = &acted.effect {
            self.step_ended();
            let (by, content) = (format!("{HOOK} {}", acted.hook), content.text());
            self.pending.push_back(TurnEvent::PromptJoined { prompt: String::new(), by, content });
        }
    }

    /// The prompt that is waited for is part of a turn now: that turn's end is the end.
    fn said(&mut self, prompt: &str) {
        if self.prompt.as_deref() == Some(prompt) {
            self.prompt = None;
        }
    }

    fn model_content(&mut self, said: &ModelContent) {
        self.step_ended();
        // Of a session that runs in another process perhaps nothing comes but records.
        let is_missing = !std::mem::take(&mut self.streamed) && !said.content.text().is_empty();
        if std::mem::take(&mut self.missed) || is_missing {
            self.pending.push_back(TurnEvent::whole_content(said.content.text()));
        }
        let mut usage = said.usage.clone();
        if let Some(paused) = self.step.usage.take() {
            usage.get_or_insert_with(UsageMetadata::default).add(&paused);
        }
        self.step = Step { finish: said.finish.clone(), usage, announced: false };
        let mut calls = said.content.function_calls().peekable();
        if calls.peek().is_some() {
            self.step_ended();
        }
        self.pending.extend(calls.map(|call| TurnEvent::ToolCallRequest {
            name: call.name.clone(),
            call: call.id.clone().unwrap_or_default(),
            parameters: call.args.clone(),
        }));
    }

    /// What running calls asked of the model counts with the answer that follows them.
    fn sampled(&mut self, usage: Option<&UsageMetadata>) {
        if let Some(usage) = usage {
            self.step.usage.get_or_insert_with(UsageMetadata::default).add(usage);
        }
    }

    /// Tells, once, that the last answer was not the last word.
    fn step_ended(&mut self) {
        // What follows a pause is the rest of the same answer.
        if self.step.finish == Some(FinishReason::Pause) {
            return;
        }
        if !std::mem::replace(&mut self.step.announced, true) {
            let usage = self.step.usage.take();
            self.pending.push_back(TurnEvent::StepEnded { usage });
        }
    }

    fn turn_ended(&mut self, ended: &TurnEnded) {
        let failure = self.failure.take();
        if self.prompt.is_some() {
            return;
        }
        let detail = ended.detail.clone().unwrap_or_default();
        let event = match ended.end {
            end if end.is_answer() => TurnEvent::Finished {
                reason: self.step.finish.take().unwrap_or(FinishReason::Stop),
                end,
                usage: self.step.usage.take(),
            },
            end if end.is_cancelled() => TurnEvent::UserCancelled,
            TurnEnd::Error => {
                let kind = ended.error.unwrap_or(LlmErrorKind::Server);
                TurnEvent::failure(failure.unwrap_or_else(|| LlmError::new(kind, detail)))
            }
            end => TurnEvent::Stopped { end, detail },
        };
        self.end(event);
    }
}

fn confirmation(asked: &CallAsked) -> TurnEvent {
    TurnEvent::ToolCallConfirmation {
        call: asked.call.clone(),
        approval: asked.approval.clone(),
        confirmation: Arc::new(asked.confirmation.clone()),
    }
}
