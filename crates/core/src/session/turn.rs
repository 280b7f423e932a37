//! The loop: the only place where a conversation goes on.
//!
//! Read it from the top: a session waits for a prompt ([`Session::run`]), a turn is steps until there is an
//! ending ([`Session::steps`]), a step is one exchange with the model ([`Session::ask`]) and the calls that come
//! of it ([`Calls`]); how it ends is decided in `last_word`. Whatever the session waits for, it hears its inbox meanwhile; what it decides runs to
//! completion, so that a cancelled future never leaves half a commit.

use std::sync::Arc;

use charla_proto::tool::Toolbox;
use charla_proto::{
    ApprovalMode, CompressionTrigger, Fact, FinishReason, GenerateRequest, HookEvent, LlmError, LlmErrorKind,
    ModelContent, Phase, ToolContext, TurnEvent,
};

use super::approvals::Approvals;
use super::binding::Binding;
use super::calls::Calls;
use super::client_calls::RunningCalls;
use super::compaction::Compaction;
use super::ending::{Ending, Stop};
use super::hooking::{Checked, HookState, Hooking, Prepared};
use super::inbox::{Inbox, Message};
use super::ledger::Ledger;
use super::offer::Offer;
use super::prompts::Prompts;
use super::requests::{Requests, Signal};
use super::{SESSION, SessionOptions};
use crate::exchange::{Exchange, Progress};
use crate::loop_guard::LoopGuard;

/// One conversation, and the task that owns it.
pub(super) struct Session {
    pub(super) ledger: Ledger,
    pub(super) inbox: Inbox,
    pub(super) binding: Binding,
    pub(super) approvals: Approvals,
    pub(super) options: SessionOptions,
    pub(super) guard: LoopGuard,
    pub(super) efforts: Efforts,
    pub(super) client_calls: RunningCalls,
    pub(super) phase: Phase,
    pub(super) next: Next,
    pub(super) hooks: HookState,
}

/// What a session does when it has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Waits, even with a turn or prompts that an earlier process left.
    Wait,
    /// Goes on with those.
    GoOn,
    /// A turn has just begun.
    Turn,
}

/// What was tried on behalf of one turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Efforts {
    /// Summaries asked for.
    pub(super) summaries: u32,
    /// How often the provider refused the conversation as too long.
    pub(super) refusals: u32,
    pub(super) repairs: u32,
    pub(super) pauses: u32,
}

/// What came of asking the model.
enum Answered {
    /// Calls, recorded and open.
    Calls,
    /// Words only, recorded.
    Words(FinishReason, String),
    TooLong(LlmError),
    Ended(Ending),
}

impl Session {
    pub(super) async fn run(&mut self) {
        while let Ok(true) = self.next_turn().await
            && self.turn().await.is_ok()
        {}
    }

    /// Waits until a turn is to be gone on with; false when nobody can ask for one any more.
    async fn next_turn(&mut self) -> Result<bool, Stop> {
        loop {
            let turn_is_due = self.next != Next::Wait;
            if let Some(by) = Hooking(self).session_start(turn_is_due).await? {
                self.cancel_open(&by).await?;
            }
            let conversation = &self.ledger.conversation;
            self.phase = if conversation.turn.is_some() { Phase::Open } else { Phase::Idle };
            match self.next {
                Next::Turn => {
                    self.next = Next::GoOn;
                    return Ok(true);
                }
                Next::GoOn if conversation.turn.is_some() => {
                    Prompts(self).resume_turn().await?;
                    return Ok(true);
                }
                Next::GoOn if !conversation.queue.is_empty() => {
                    let prompt = conversation.queue[0].clone();
                    Prompts(self).start_turn(prompt).await?;
                    continue;
                }
                Next::GoOn | Next::Wait => {}
            }
            if let Some(asked) = self.inbox.later.pop_front() {
                Requests(self).between_turns(asked).await?;
                continue;
            }
            if self.inbox.is_closed() {
                return Ok(false);
            }
            let message = self.inbox.recv().await;
            match self.message(message).await? {
                Signal::Answer(answer) => Requests(self).answer_outside_calls(answer).await?,
                Signal::Cancel { by } => self.cancel_open(&by).await?,
                Signal::Nothing => {}
            }
        }
    }

    /// Ends a turn that is open and not gone on with yet, if there is one.
    async fn cancel_open(&mut self, by: &str) -> Result<(), Stop> {
        if self.ledger.conversation.turn.is_none() {
            return Ok(());
        }
        if self.next == Next::Turn {
            self.next = Next::GoOn;
        }
        let ending = Calls::new(self).cancel_all(by).await?;
        self.end_turn(ending).await
    }

    async fn turn(&mut self) -> Result<(), Stop> {
        let ending = match Hooking(self).before_agent().await? {
            Some(ending) => Some(ending),
            None => self.said_before().await?,
        };
        let ending = match ending {
            Some(ending) => ending,
            None => self.steps().await?,
        };
        self.end_turn(ending).await
    }

    /// Asks the model, runs the calls it makes, and asks again, until there is an ending.
    async fn steps(&mut self) -> Result<Ending, Stop> {
        loop {
            if self.ledger.conversation.unanswered().next().is_some() {
                self.phase = Phase::Calling;
                if let Some(ending) = Calls::new(self).run().await? {
                    return Ok(ending);
                }
            }
            if let Some(ending) = Hooking(self).before_joining().await? {
                return Ok(ending);
            }
            Prompts(self).join().await?;
            let (limits, prices) = (&self.options.limits, &self.binding.model.prices);
            if let Some(ending) = limits.reached(&self.ledger.conversation, prices) {
                return Ok(ending);
            }
            if let Some(by) = Hooking(self).pre_compress(CompressionTrigger::Auto).await? {
                return Ok(self.cancelled(by));
            }
            if let Some(ending) = Compaction::new(self).make_room().await? {
                return Ok(ending);
            }
            // Making room may take long: what was said meanwhile is part of the next request, too.
            if self.ledger.conversation.is_joined() {
                continue;
            }
            let ending = match self.ask().await? {
                Answered::Calls => None,
                Answered::Words(finish, text) => self.last_word(finish, &text).await?,
                Answered::TooLong(error) => Compaction::new(self).after_refusal(error).await?,
                Answered::Ended(ending) => Offer(self).instead_of(ending).await?,
            };
            if let Some(ending) = ending {
                return Ok(ending);
            }
        }
    }

    /// One exchange with the model.
    async fn ask(&mut self) -> Result<Answered, Stop> {
        self.phase = Phase::Asking;
        let (request, turn) = (self.request(), self.ledger.conversation.past.count);
        let request = match Hooking(self).before_model(request).await? {
            Prepared::Send(request) => *request,
            Prepared::Answer(said) => {
                self.ledger.show(TurnEvent::content(said.content.text()));
                return self.record(*said).await;
            }
            Prepared::End(ending) => return Ok(Answered::Ended(ending)),
        };
        // Hooks see an answer before anybody else does.
        let checked = Hooking(self).wants(HookEvent::AfterModel).then(|| Arc::new(request.clone()));
        let mut exchange = Exchange::new(self.binding.model.generator.clone(), request);
        loop {
            tokio::select! {
                biased;
                message = self.inbox.recv() => match self.message(message).await? {
                    Signal::Cancel { by } => {
                        let shown = exchange.partial(turn).filter(|_| checked.is_none());
                        return self.keep_partial(shown, by).await;
                    }
                    Signal::Answer(answer) => Requests(self).answer_outside_calls(answer).await?,
                    Signal::Nothing => {}
                },
                progress = exchange.next() => match progress {
                    Progress::Event(TurnEvent::Content { .. } | TurnEvent::Thought { .. }) if checked.is_some() => {}
                    Progress::Event(event) => self.ledger.show(event),
                    Progress::Complete => return self.answered(exchange.said(turn), checked).await,
                    Progress::Failed(error) => match error.kind {
                        LlmErrorKind::ContextOverflow => return Ok(Answered::TooLong(error)),
                        LlmErrorKind::Cancelled => {
                            let shown = exchange.partial(turn).filter(|_| checked.is_none());
                            return self.keep_partial(shown, SESSION.to_owned()).await;
                        }
                        _ => return Ok(Answered::Ended(error.into())),
                    },
                },
            }
        }
    }

    /// The mode that holds: the chosen one, as far as the model is trusted.
    pub(super) fn mode(&self) -> ApprovalMode {
        self.ledger.conversation.mode.min(self.binding.model.at_most)
    }

    /// The tools as they fit the situation.
    pub(super) fn toolbox(&mut self) -> Arc<dyn Toolbox> {
        let (mode, somebody) = (self.mode(), self.inbox.somebody());
        self.binding.equipment(mode, somebody).toolbox
    }

    /// Where a call of this tool works, with the judge of the files that it comes across while it is prepared.
    pub(super) fn tool_context(&self, tool: &str, mode: ApprovalMode) -> Arc<ToolContext> {
        let files = self.approvals.files(tool, mode);
        Arc::new(ToolContext { files, ..self.options.tool_context.as_ref().clone() })
    }

    /// The request that would be sent now.
    pub(super) fn request(&mut self) -> GenerateRequest {
        let (mode, somebody) = (self.mode(), self.inbox.somebody());
        self.binding.request(self.ledger.chat.curated(), mode, somebody)
    }

    /// The answer is whole: what hooks make of it is recorded.
    async fn answered(
        &mut self,
        said: ModelContent,
        request: Option<Arc<GenerateRequest>>,
    ) -> Result<Answered, Stop> {
        let Some(request) = request else { return self.record(said).await };
        match Hooking(self).after_model(request, said).await? {
            Checked::Said(said) => self.record(*said).await,
            Checked::End(said, ending) => {
                self.ledger.commit_one(Fact::ModelContent(said)).await?;
                Ok(Answered::Ended(ending))
            }
        }
    }

    async fn record(&mut self, mut said: ModelContent) -> Result<Answered, Stop> {
        self.options.call_ids.name(&mut said.content, &self.ledger.conversation);
        let (calls, text) = (said.content.function_calls().next().is_some(), said.content.text());
        let finish = said.finish.clone().unwrap_or(FinishReason::Stop);
        self.ledger.commit_one(Fact::ModelContent(Box::new(said))).await?;
        self.guard.begin_step();
        Ok(if calls { Answered::Calls } else { Answered::Words(finish, text) })
    }

    /// What was shown before a cancellation stays. A prompt that got no word of an answer is taken back.
    async fn keep_partial(&mut self, said: Option<ModelContent>, by: String) -> Result<Answered, Stop> {
        if let Some(said) = said {
            self.ledger.commit_one(Fact::ModelContent(Box::new(said))).await?;
        }
        Ok(Answered::Ended(self.cancelled(by)))
    }

    pub(super) async fn message(&mut self, message: Option<Message>) -> Result<Signal, Stop> {
        match message {
            Some(message) => Requests(self).take(message).await,
            None => Ok(Signal::Nothing),
        }
    }
}
