//! The fold: what a session's records add up to.

mod grants;
mod hooked;
mod shortening;
mod untold;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    ApprovalAnswered, ApprovalMode, Args, CallAsked, CallEnded, CallHooks, CallStatus, Content, Delivery,
    Fact, FinishReason, FunctionCall, LlmErrorKind, ModelContent, Origin, Outcome, Part, PromptJoined,
    PromptQueued, Record, Role, SessionStarted, ToolErrorKind, TurnEnd, TurnEnded, TurnHooks, TurnStarted,
    UsageMetadata,
};
pub use grants::{Grant, Granted};
use hooked::Hooked;
pub use shortening::Shortening;
pub use untold::{ClientCall, Untold};

/// A session as its records tell it. Folding a journal gives the same value as having been there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// The first record's facts; absent only before it.
    pub started: Option<SessionStarted>,
    /// What was said, with the record each content came with, oldest first: everything, unless what a summary
    /// stands for was let go of.
    pub contents: Vec<(u64, Arc<Content>)>,
    /// The turn under way.
    pub turn: Option<OpenTurn>,
    /// The turns so far.
    pub past: PastTurns,
    /// The last record folded in.
    pub seq: u64,
    /// `provider/model` that answers.
    pub model: String,
    /// How much is allowed without asking.
    pub mode: ApprovalMode,
    /// What the last answer cost; the prompt's size is the conversation's.
    pub last_usage: Option<UsageMetadata>,
    /// Prompts that wait, in their order.
    pub queue: Vec<QueuedPrompt>,
    /// What "always" answers have allowed and nobody has taken back, in their order; the same thing once.
    pub grants: Vec<Granted>,
    /// What the model does not know yet.
    pub untold: Untold,
    /// Where less is sent than was said.
    pub shortening: Shortening,
}

/// The turns of a session so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastTurns {
    /// How many turns have begun and were not rewound.
    pub count: u64,
    /// How the last finished one ended.
    pub last_end: Option<TurnEnd>,
    /// Where each began: the record of its start, and how many there had been.
    marks: Vec<(u64, u64)>,
}

/// A turn under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenTurn {
    /// Its number, from 1.
    pub turn: u64,
    /// The calls of the model's last content, in order; empty while the model speaks.
    pub calls: Vec<OpenCall>,
    /// A question of the session itself: whether another model goes on.
    pub question: Option<OpenApproval>,
    /// How often the model was asked in this turn.
    pub steps: u32,
    /// Why the model's last answer ended; absent before one, and where a cancel cut it off.
    pub finish: Option<FinishReason>,
    /// What the turn has cost so far, summaries included.
    pub spent: UsageMetadata,
    /// The same by who was asked; summaries and answers of unknown origin under none.
    pub spent_by: Vec<(Option<Arc<Origin>>, UsageMetadata)>,
    /// The records of what the user said in it.
    pub prompts: Vec<u64>,
    /// Why calls of it failed or were not run, by their ids.
    pub errors: BTreeMap<String, ToolErrorKind>,
    /// What hooks have said.
    pub hooks: TurnHooks,
}

impl OpenTurn {
    /// The questions of the step under way, answered or not.
    pub fn questions(&self) -> impl Iterator<Item = &OpenApproval> {
        self.calls.iter().filter_map(|call| call.approval.as_ref()).chain(&self.question)
    }
}

/// A call that may still need its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The call, with its id and the arguments that hold now.
    pub call: FunctionCall,
    /// How far it has come, as far as the records know.
    pub status: CallStatus,
    /// The question it waits for, or waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<OpenApproval>,
    /// The model's own arguments, where a person or a hook gave others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Args>,
    /// What hooks have said about it.
    #[serde(default, skip_serializing_if = "CallHooks::is_none")]
    pub hooks: CallHooks,
    /// Its response, once it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Part>,
}

/// A question put to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenApproval {
    /// What the person is shown.
    pub asked: Arc<CallAsked>,
    /// The first answer, and whose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<(Outcome, String)>,
}

/// A prompt that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedPrompt {
    /// The id its sender got.
    pub id: String,
    /// What will be said.
    pub content: Arc<Content>,
    /// What it waits for.
    pub delivery: Delivery,
    /// Who will have said it.
    pub by: String,
}

impl Conversation {
    /// An empty session.
    pub fn new() -> Self {
        Self::default()
    }

    /// The fold of many records.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut conversation = Self::new();
        for record in records {
            conversation.apply(record);
        }
        conversation.settle();
        conversation
    }

    /// Folds one more record in. Facts that do not fit (a response to a call nobody made) change nothing:
    /// a journal written by a newer version, or by hand, must never stop an older one.
    pub fn apply(&mut self, record: &Record) {
        let seq = record.seq;
        if self.is_foreign() && self.imported_up_to() < Some(seq) {
            self.imported();
        }
        match &record.fact {
            // A session begins once: whose questions these are is not said again.
            Fact::SessionStarted(_) if self.started.is_some() => {}
            Fact::SessionStarted(started) => {
                self.model.clone_from(&started.model);
                self.started = Some((**started).clone());
            }
            Fact::PromptQueued(queued) => self.prompt_queued(queued),
            Fact::PromptWithdrawn(withdrawn) => self.queue.retain(|queued| queued.id != withdrawn.prompt),
            Fact::PromptJoined(joined) => self.prompt_joined(seq, joined),
            Fact::TurnStarted(started) => self.turn_started(seq, started),
            Fact::ModelContent(said) => self.model_content(seq, said),
            Fact::CallAsked(asked) => self.call_asked(asked),
            Fact::ApprovalAnswered(answered) => self.approval_answered(answered),
            Fact::CallStarted(started) => {
                if let Some(call) = self.open_call(&started.call) {
                    call.status = CallStatus::Executing;
                }
            }
            Fact::Sampled(sampled) => self.spend(sampled.usage.as_ref(), sampled.content.origin.as_ref()),
            Fact::CallEnded(ended) => self.call_ended(seq, ended),
            Fact::ClientCallStarted(started) => self.untold.call_started(seq, started),
            Fact::ClientCallEnded(ended) => self.untold.call_ended(ended),
            Fact::TurnEnded(ended) => self.turn_ended(ended),
            Fact::Rewound(rewound) => self.rewind(rewound.to),
            Fact::Compressed(compressed) => {
                self.spend(compressed.usage.as_ref(), None);
                self.last_usage = None;
                self.shortening.compress((**compressed).clone());
            }
            Fact::CompressionFailed(failed) => {
                self.spend(failed.usage.as_ref(), None);
                self.shortening.failed = Some(failed.clone());
            }
            Fact::Restored(_) => {
                self.last_usage = None;
                self.shortening.restore();
            }
            Fact::OutputsCut(cut) => {
                self.last_usage = None;
                self.shortening.cut_outputs(cut, &self.contents);
            }
            Fact::ModeChanged(changed) => self.mode = changed.mode,
            Fact::ModelChanged(changed) => self.model.clone_from(&changed.model),
            Fact::ChangesUndone(reverted) => self.untold.reverted.push((true, reverted.clone())),
            Fact::ChangesRedone(reverted) => self.untold.reverted.push((false, reverted.clone())),
            Fact::HookActed(acted) => Hooked(self).acted(seq, acted),
            Fact::GrantRevoked(revoked) => self.grants.retain(|held| held.approval != revoked.approval),
            Fact::Imported(_) => self.imported(),
            Fact::TurnResumed(_) | Fact::RulesSaved(_) | Fact::Unknown { .. } => {}
        }
        self.seq = seq;
    }

    fn prompt_queued(&mut self, queued: &PromptQueued) {
        self.queue.push(QueuedPrompt {
            id: queued.prompt.clone(),
            content: queued.content.clone(),
            delivery: queued.delivery,
            by: queued.by.clone(),
        });
    }

    fn prompt_joined(&mut self, seq: u64, joined: &PromptJoined) {
        self.queue.retain(|queued| queued.id != joined.prompt);
        self.contents.push((seq, joined.content.clone()));
        if let Some(turn) = &mut self.turn {
            turn.prompts.push(seq);
        }
        // What the user did beside the conversation is told before anything else is.
        self.untold.told();
    }

    fn turn_started(&mut self, seq: u64, started: &TurnStarted) {
        self.queue.retain(|queued| started.id.is_empty() || queued.id != started.id);
        self.past.marks.push((seq, self.past.count));
        self.past.count = started.turn;
        self.contents.push((seq, started.prompt.clone()));
        self.turn = Some(OpenTurn { turn: started.turn, prompts: vec![seq], ..OpenTurn::default() });
        self.untold.told();
    }

    fn spend(&mut self, usage: Option<&UsageMetadata>, origin: Option<&Arc<Origin>>) {
        let (Some(turn), Some(usage)) = (&mut self.turn, usage) else { return };
        turn.spent.add(usage);
        match turn.spent_by.iter_mut().find(|(by, _)| by.as_ref() == origin) {
            Some((_, spent)) => spent.add(usage),
            None => turn.spent_by.push((origin.cloned(), usage.clone())),
        }
    }

    fn model_content(&mut self, seq: u64, said: &ModelContent) {
        if said.usage.is_some() {
            self.last_usage.clone_from(&said.usage);
        }
        self.spend(said.usage.as_ref(), said.content.origin.as_ref());
        self.contents.push((seq, said.content.clone()));
        let Some(turn) = &mut self.turn else { return };
        turn.steps += 1;
        turn.question = None;
        turn.finish.clone_from(&said.finish);
        let open = |call: &FunctionCall| OpenCall {
            call: call.clone(),
            status: CallStatus::Validating,
            approval: None,
            original: None,
            hooks: CallHooks::default(),
            response: None,
        };
        turn.calls = said.content.function_calls().map(open).collect();
    }

    fn call_asked(&mut self, asked: &CallAsked) {
        let approval = Some(OpenApproval { asked: Arc::new(asked.clone()), answer: None });
        if asked.call.is_empty() {
            self.turn.iter_mut().for_each(|turn| turn.question.clone_from(&approval));
        } else if let Some(call) = self.open_call(&asked.call) {
            // What a running call asks does not stop it.
            if call.status != CallStatus::Executing {
                call.status = CallStatus::AwaitingApproval;
            }
            call.approval = approval;
        }
    }

    fn approval_answered(&mut self, answered: &ApprovalAnswered) {
        let question = self.turn.as_mut().and_then(|turn| turn.question.as_mut());
        if let Some(open) = question.filter(|open| open.asked.approval == answered.approval) {
            open.answer.get_or_insert((answered.outcome.clone(), answered.by.clone()));
            return;
        }
        let calls = self.turn.iter_mut().flat_map(|turn| &mut turn.calls);
        let mut asked = calls.filter(|call| call.response.is_none());
        let is_it = |call: &&mut OpenCall| {
            call.approval.as_ref().is_some_and(|open| open.asked.approval == answered.approval)
        };
        let Some(call) = asked.find(is_it) else { return };
        let Some(approval) = call.approval.as_mut().filter(|open| open.answer.is_none()) else { return };
        approval.answer = Some((answered.outcome.clone(), answered.by.clone()));
        if approval.asked.stands_for.is_some() {
            // What it allows is allowed in the session that asks.
            return;
        }
        let grant = Grant::of(&answered.outcome, &approval.asked.confirmation);
        if let Some(args) = &answered.args {
            let before = std::mem::replace(&mut call.call.args, args.clone());
            call.original.get_or_insert(before);
        }
        if answered.outcome.allows() && call.status != CallStatus::Executing {
            call.status = CallStatus::Scheduled;
        }
        if let Some(grant) = grant {
            self.granted(grant, answered);
        }
    }

    /// The same is held once, so that it can be taken back as one.
    fn granted(&mut self, grant: Grant, answered: &ApprovalAnswered) {
        let saved = answered.outcome == Outcome::ProceedAlwaysAndSave;
        match self.grants.iter_mut().find(|held| held.grant == grant) {
            Some(held) => held.saved |= saved,
            None => {
                let (approval, by) = (answered.approval.clone(), answered.by.clone());
                self.grants.push(Granted { approval, by, grant, saved });
            }
        }
    }

    fn call_ended(&mut self, seq: u64, ended: &CallEnded) {
        let Some(call) = self.open_call(&ended.call) else { return };
        call.status = ended.status;
        call.response = Some(Part::function_response(ended.response.clone()));
        for spent in &ended.spent {
            self.spend(Some(&spent.usage), spent.origin.as_ref());
        }
        let Some(turn) = &mut self.turn else { return };
        turn.errors.extend(ended.error.map(|kind| (ended.call.clone(), kind)));
        if turn.calls.iter().all(|call| call.response.is_some()) {
            // All results of one step are one content, in the order of the calls.
            let parts = turn.calls.drain(..).filter_map(|call| call.response).collect();
            self.contents.push((seq, Arc::new(Content::new(Role::User, parts))));
        }
    }

    fn turn_ended(&mut self, ended: &TurnEnded) {
        let Some(turn) = self.turn.take() else { return };
        self.past.last_end = Some(ended.end);
        let unanswered = turn.steps == 0;
        if ended.error == Some(LlmErrorKind::ContextOverflow)
            && unanswered
            && self.shortening.cut_refused_prompt(&self.contents)
        {
            self.last_usage = None;
        }
        if ended.error.is_some_and(LlmErrorKind::refuses_content)
            && self.shortening.leave_out_refused_media(&self.contents)
        {
            self.last_usage = None;
        }
        if matches!(ended.end, TurnEnd::Withdrawn | TurnEnd::HookBlocked) && unanswered {
            self.shortening.left_out.extend(turn.prompts);
        }
    }

    /// True when media was said that no model has answered to. A provider that refuses it is not sent it again.
    pub fn has_unanswered_media(&self) -> bool {
        shortening::media_since_the_last_answer(&self.contents).next().is_some()
    }

    /// The number up to which records were written elsewhere.
    fn imported_up_to(&self) -> Option<u64> {
        self.started.as_ref()?.imported_up_to
    }

    /// True while every record so far was written elsewhere.
    fn is_foreign(&self) -> bool {
        self.imported_up_to().is_some_and(|last| self.seq <= last)
    }

    /// Ends reading: where nothing was written here yet, nothing counts that somebody allowed elsewhere, whichever record could not be read.
    pub fn settle(&mut self) {
        if self.is_foreign() {
            self.imported();
        }
    }

    /// What was said elsewhere stays. What somebody allowed, chose or left to be said there does not count here: calls that
    /// had not begun are judged, and asked about, anew.
    fn imported(&mut self) {
        self.grants.clear();
        self.queue.clear();
        self.mode = self.mode.min(ApprovalMode::default());
        let Some(turn) = &mut self.turn else { return };
        turn.question = None;
        turn.hooks = TurnHooks::default();
        for call in turn.calls.iter_mut().filter(|call| call.response.is_none()) {
            call.approval = None;
            call.hooks = CallHooks::default();
            if let Some(original) = call.original.take() {
                call.call.args = original;
            }
            if call.status != CallStatus::Executing {
                call.status = CallStatus::Validating;
            }
        }
    }

    fn rewind(&mut self, to: u64) {
        self.shortening.rewind(to);
        self.untold.rewind(to);
        self.contents.retain(|(seq, _)| *seq <= to);
        while let Some((seq, before)) = self.past.marks.last()
            && *seq > to
        {
            self.past.count = *before;
            self.past.marks.pop();
        }
        self.turn = None;
        self.last_usage = None;
    }

    /// A call of the last step that has no response yet. Of two with one id the first is meant.
    fn open_call(&mut self, id: &str) -> Option<&mut OpenCall> {
        let calls = &mut self.turn.as_mut()?.calls;
        calls.iter_mut().find(|open| open.response.is_none() && open.call.id.as_deref() == Some(id))
    }

    /// What is sent: the conversation, with what stands for its older part where it was compressed.
    pub fn sent(&self) -> Vec<(u64, Arc<Content>)> {
        self.shortening.sent(&self.contents)
    }

    /// Lets go of the contents a summary stands for: a conversation that is compressed again and again then
    /// takes no more memory than what is sent. For holders of a journal to read them from again.
    pub fn forget_replaced(&mut self) {
        self.shortening.forget_replaced(&mut self.contents);
    }

    /// False when the last records ask for contents that were let go of. Then the journal must be folded
    /// anew, without forgetting, before the conversation is used.
    pub fn is_whole(&self) -> bool {
        self.shortening.is_whole()
    }

    /// Calls that still need a response, in order.
    pub fn unanswered(&self) -> impl Iterator<Item = &OpenCall> {
        self.turn.iter().flat_map(|turn| &turn.calls).filter(|call| call.response.is_none())
    }

    /// What the model said last in the turn under way, when it calls nothing and nothing was said since: the turn
    /// lacks only its end.
    pub fn last_word(&self) -> Option<&Arc<Content>> {
        self.turn.as_ref().filter(|turn| turn.steps > 0)?;
        let (_, last) = self.contents.last()?;
        (last.role == Role::Model && last.function_calls().next().is_none()).then_some(last)
    }

    /// True when a prompt waits for the next request of the turn under way.
    pub fn is_joined(&self) -> bool {
        self.queue.iter().any(|queued| queued.delivery == Delivery::Join)
    }

    /// Questions nobody has answered yet.
    pub fn open_approvals(&self) -> impl Iterator<Item = &OpenApproval> {
        let calls = self.unanswered().filter_map(|call| call.approval.as_ref());
        let own = self.turn.iter().filter_map(|turn| turn.question.as_ref());
        calls.chain(own).filter(|approval| approval.answer.is_none())
    }
}

#[cfg(test)]
mod tests;
