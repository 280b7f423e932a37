//! The fold: what a session's records add up to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{
    ApprovalMode, CallAsked, CallEnded, CallStatus, ChangesReverted, Compressed, CompressionFailed, Content,
    Fact, FunctionCall, LlmErrorKind, ModelContent, Outcome, OutputsCut, Part, PartKind, Record, Role,
    SessionStarted, TurnEnd, UsageMetadata,
};

/// Characters that are kept of each text of a prompt that did not fit the window.
const REFUSED_PROMPT: usize = 1000;

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
    /// How the last finished turn ended.
    pub last_end: Option<TurnEnd>,
    /// Turns begun so far.
    pub turns: u64,
    /// The last record folded in.
    pub seq: u64,
    /// `provider/model` that answers.
    pub model: String,
    /// How much is allowed without asking.
    pub mode: ApprovalMode,
    /// What the last answer cost; the prompt's size is the conversation's.
    pub last_usage: Option<UsageMetadata>,
    /// What the user took back, or brought back, since the last prompt: the model does not know it yet.
    /// True stands for an undo.
    pub reverted: Vec<(bool, ChangesReverted)>,
    /// What stands for the older part of the conversation when it is sent.
    pub compressed: Option<Compressed>,
    /// The compression that failed last; none once one succeeded, or once the conversation is another.
    pub compression_failed: Option<CompressionFailed>,
    /// Contents that are sent cut, by their record.
    trimmed: BTreeMap<u64, Arc<Content>>,
    /// Where each turn began: the record of its start, and how many turns there had been.
    marks: Vec<Mark>,
    /// Contents were let go of, see [`Conversation::forget_replaced`].
    forgetful: bool,
    /// Contents that were let go of are needed again.
    lacking: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Mark {
    seq: u64,
    turns: u64,
}

/// A turn under way.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenTurn {
    /// Its number.
    pub turn: u64,
    /// The calls of the model's last content, in order; empty while the model speaks.
    pub calls: Vec<OpenCall>,
    /// How often the model was asked in this turn.
    pub steps: u32,
}

/// A call that may still need its response.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call, with its id.
    pub call: FunctionCall,
    /// Where it stands.
    pub status: CallStatus,
    /// The question it waits for, or waited for.
    pub approval: Option<OpenApproval>,
    /// Its response, once it ended.
    pub response: Option<Part>,
}

/// A question put to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenApproval {
    /// The question.
    pub asked: Arc<CallAsked>,
    /// The first answer, and whose.
    pub answer: Option<(Outcome, String)>,
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
        conversation
    }

    /// Folds one more record in. Facts that do not fit (a response to a call nobody made) change nothing:
    /// a journal written by a newer version, or by hand, must never stop an older one.
    pub fn apply(&mut self, record: &Record) {
        match &record.fact {
            Fact::SessionStarted(started) => {
                self.model.clone_from(&started.model);
                self.started = Some((**started).clone());
            }
            Fact::TurnStarted(started) => {
                self.marks.push(Mark { seq: record.seq, turns: self.turns });
                self.turns = started.turn;
                self.contents.push((record.seq, started.prompt.clone()));
                self.turn = Some(OpenTurn { turn: started.turn, calls: Vec::new(), steps: 0 });
                self.reverted.clear();
            }
            Fact::ModelContent(said) => self.model_content(record.seq, said),
            Fact::CallAsked(asked) => {
                if let Some(call) = self.open_call(&asked.call) {
                    call.status = CallStatus::AwaitingApproval;
                    call.approval = Some(OpenApproval { asked: Arc::new((**asked).clone()), answer: None });
                }
            }
            Fact::ApprovalAnswered(answered) => {
                let approvals = self.turn.iter_mut().flat_map(|turn| &mut turn.calls);
                let mut approvals = approvals.filter_map(|call| call.approval.as_mut());
                if let Some(approval) = approvals.find(|open| open.asked.approval == answered.approval)
                    && approval.answer.is_none()
                {
                    approval.answer = Some((answered.outcome.clone(), answered.by.clone()));
                }
            }
            Fact::CallStarted(started) => {
                if let Some(call) = self.open_call(&started.call) {
                    call.status = CallStatus::Executing;
                }
            }
            Fact::CallEnded(ended) => self.call_ended(record.seq, ended),
            Fact::TurnEnded(ended) => {
                if ended.error == Some(LlmErrorKind::ContextOverflow) {
                    self.cut_refused_prompt();
                }
                self.turn = None;
                self.last_end = Some(ended.end);
            }
            Fact::Rewound(rewound) => self.rewind(rewound.to),
            Fact::Compressed(compressed) => {
                self.compressed = Some((**compressed).clone());
                self.compression_failed = None;
                self.last_usage = None;
            }
            Fact::CompressionFailed(failed) => self.compression_failed = Some(failed.clone()),
            Fact::Restored(_) => {
                self.trimmed.clear();
                self.uncompress();
            }
            Fact::OutputsCut(cut) => self.cut_outputs(cut),
            Fact::ModeChanged(changed) => self.mode = changed.mode,
            Fact::ModelChanged(changed) => self.model.clone_from(&changed.model),
            Fact::ChangesUndone(reverted) => self.reverted.push((true, reverted.clone())),
            Fact::ChangesRedone(reverted) => self.reverted.push((false, reverted.clone())),
            Fact::Unknown { .. } => {}
        }
        self.seq = record.seq;
    }

    fn model_content(&mut self, seq: u64, said: &ModelContent) {
        if said.usage.is_some() {
            self.last_usage.clone_from(&said.usage);
        }
        self.contents.push((seq, said.content.clone()));
        let Some(turn) = &mut self.turn else { return };
        turn.steps += 1;
        turn.calls = said
            .content
            .function_calls()
            .map(|call| OpenCall {
                call: call.clone(),
                status: CallStatus::Validating,
                approval: None,
                response: None,
            })
            .collect();
    }

    fn call_ended(&mut self, seq: u64, ended: &CallEnded) {
        let Some(call) = self.open_call(&ended.call) else { return };
        if call.response.is_some() {
            return;
        }
        call.status = ended.status;
        call.response = Some(Part::function_response(ended.response.clone()));
        let Some(turn) = &mut self.turn else { return };
        if turn.calls.iter().all(|call| call.response.is_some()) {
            // All results of one step are one content, in the order of the calls.
            let parts = turn.calls.drain(..).filter_map(|call| call.response).collect();
            self.contents.push((seq, Arc::new(Content::new(Role::User, parts))));
        }
    }

    fn cut_outputs(&mut self, cut: &OutputsCut) {
        self.last_usage = None;
        for (seq, content) in &self.contents {
            let touched = content
                .function_responses()
                .any(|response| response.id.as_ref().is_some_and(|id| cut.calls.contains(id)));
            if touched {
                let mut content = (**self.trimmed.get(seq).unwrap_or(content)).clone();
                for part in &mut content.parts {
                    if let PartKind::FunctionResponse(response) = &mut part.kind
                        && response.id.as_ref().is_some_and(|id| cut.calls.contains(id))
                    {
                        response.cut(cut.kept, cut.whole_in.as_deref());
                    }
                }
                self.trimmed.insert(*seq, Arc::new(content));
            }
        }
    }

    /// A prompt that was too long for the window is sent by its beginning from now on. It was refused and got no answer;
    /// whole, it would stand in the way of every later prompt.
    fn cut_refused_prompt(&mut self) {
        let unanswered = self.turn.as_ref().is_some_and(|turn| turn.steps == 0);
        let Some((seq, prompt)) = self.contents.last().filter(|_| unanswered) else { return };
        let mut prompt = Content::clone(prompt);
        let mut is_cut = false;
        for part in &mut prompt.parts {
            if let PartKind::Text(text) = &mut part.kind
                && let Some((end, _)) = text.char_indices().nth(REFUSED_PROMPT)
            {
                text.truncate(end);
                text.push_str("\n[… the rest did not fit the window and was left out …]");
                is_cut = true;
            }
        }
        if is_cut {
            self.trimmed.insert(*seq, Arc::new(prompt));
            self.last_usage = None;
        }
    }

    /// What is sent: the conversation, with what stands for its older part where it was compressed.
    pub fn sent(&self) -> Vec<(u64, Arc<Content>)> {
        let from = self.compressed.as_ref().map_or(0, |compressed| compressed.kept_from);
        let stand_ins = self.compressed.iter().flat_map(|compressed| {
            let told = [(0, compressed.summary.clone()), (0, compressed.acknowledgement.clone())];
            told.into_iter().chain(compressed.prompt.clone())
        });
        let kept = self.contents.iter().filter(|(seq, _)| *seq >= from);
        let kept = kept.map(|(seq, content)| (*seq, self.trimmed.get(seq).unwrap_or(content).clone()));
        stand_ins.chain(kept).collect()
    }

    /// True when less is sent than was said: a summary stands for a part, or outputs or a refused prompt are cut.
    pub fn is_shortened(&self) -> bool {
        self.compressed.is_some() || !self.trimmed.is_empty()
    }

    /// Lets go of the contents a summary stands for: a conversation that is compressed again and again then
    /// takes no more memory than what is sent. For holders of a journal to read them from again.
    pub fn forget_replaced(&mut self) {
        let Some(compressed) = &self.compressed else { return };
        let from = compressed.kept_from;
        let known = self.contents.len();
        self.contents.retain(|(seq, _)| *seq >= from);
        self.trimmed.retain(|seq, _| *seq >= from);
        self.forgetful |= self.contents.len() < known;
        self.contents.shrink_to(self.contents.len() * 2);
    }

    /// False when the last records ask for contents that were let go of. Then the journal must be folded
    /// anew, without forgetting, before the conversation is used.
    pub fn is_whole(&self) -> bool {
        !self.lacking
    }

    fn uncompress(&mut self) {
        self.compressed = None;
        self.compression_failed = None;
        self.last_usage = None;
        self.lacking |= self.forgetful;
    }

    fn rewind(&mut self, to: u64) {
        if self.compressed.as_ref().is_some_and(|compressed| compressed.kept_from > to) {
            self.uncompress();
        }
        self.compression_failed = None;
        self.contents.retain(|(seq, _)| *seq <= to);
        self.trimmed.retain(|seq, _| *seq <= to);
        while let Some(mark) = self.marks.last()
            && mark.seq > to
        {
            self.turns = mark.turns;
            self.marks.pop();
        }
        self.turn = None;
        self.last_usage = None;
    }

    fn open_call(&mut self, id: &str) -> Option<&mut OpenCall> {
        let calls = &mut self.turn.as_mut()?.calls;
        calls.iter_mut().find(|open| open.call.id.as_deref() == Some(id))
    }

    /// Calls that still need a response, in order.
    pub fn unanswered(&self) -> impl Iterator<Item = &OpenCall> {
        self.turn.iter().flat_map(|turn| &turn.calls).filter(|call| call.response.is_none())
    }

    /// Questions nobody has answered yet.
    pub fn open_approvals(&self) -> impl Iterator<Item = &OpenApproval> {
        let calls = self.turn.iter().flat_map(|turn| &turn.calls);
        calls.filter_map(|call| call.approval.as_ref()).filter(|approval| approval.answer.is_none())
    }

    /// The records at which turns began, oldest first: points to rewind to (just before).
    pub fn turn_starts(&self) -> impl Iterator<Item = u64> {
        self.marks.iter().map(|mark| mark.seq)
    }
}
