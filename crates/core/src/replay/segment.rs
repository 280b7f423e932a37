//! A recorded session, cut into what one process each made of it.

use std::collections::HashSet;

use charla_proto::{
    ApprovalAnswered, CallStatus, Conversation, Fact, Outcome, Record, ToolErrorKind, TurnEnd, TurnResumed,
};

use crate::session::{EARLIER_ANSWER, Limits, NOBODY, Price, SESSION};

/// What one process made of a turn: from the turn's start, or from where the process took it over, until the turn
/// ended or the process did.
pub(super) struct Segment {
    /// The session as the process found it.
    pub(super) before: Conversation,
    pub(super) turn: u64,
    pub(super) facts: Vec<Fact>,
    /// The process did not go on with the turn: it only took what people said to it.
    pub(super) waits: bool,
    /// How many records it stands for.
    pub(super) length: usize,
    /// How many of its facts are no records.
    made_up: usize,
}

impl Segment {
    /// The segment that begins with the first record; nothing when that record is taken as it is.
    pub(super) fn first(records: &[Record], before: &Conversation) -> Option<Self> {
        let begins = matches!(records.first()?.fact, Fact::TurnStarted(_) | Fact::TurnResumed(_));
        if !begins && before.turn.is_none() {
            return None;
        }
        let mut length = length(records, before);
        let mut facts: Vec<Fact> = records.iter().take(length).map(|record| record.fact.clone()).collect();
        facts.truncate(closed_from(&facts));
        if let Some(died) = died_at(&facts) {
            facts.truncate(died);
            length = died;
        }
        if length == 0 {
            return None;
        }
        let turn = match facts.first() {
            Some(Fact::TurnStarted(started)) => started.turn,
            _ => before.past.count,
        };
        let waits = !begins && facts.iter().all(can_come_while_waiting);
        let mut before = before.clone();
        if matches!(facts.first(), Some(Fact::TurnResumed(_))) {
            // A process that takes a session over knows no more of it than this.
            before.forget_replaced();
        }
        let mut segment = Self { before, turn, facts, waits, length, made_up: 0 };
        if !begins && !waits {
            segment.resume();
        }
        Some(segment)
    }

    /// Begins in the middle of a turn, after something that is not played: as if another process went on there. What
    /// this adds takes a number that is taken already, so that the ids made of numbers stay what they were.
    fn resume(&mut self) {
        self.before.seq -= 1;
        self.made_up = 1;
        self.facts.insert(0, Fact::TurnResumed(TurnResumed { turn: self.turn, somebody: true }));
    }

    /// How many records are played when its first `facts` are, if its process may have died there. Then the rest was
    /// written by one that waited: whoever goes on with a turn says so first.
    pub(super) fn died_after(&self, facts: usize) -> Option<usize> {
        let rest = self.facts.get(facts..)?;
        let records = facts.checked_sub(self.made_up)?;
        (records > 0 && rest.iter().all(can_come_while_waiting)).then_some(records)
    }

    /// Who cancelled the turn, as far as it is told.
    pub(super) fn canceller(&self) -> String {
        match self.facts.last() {
            Some(Fact::TurnEnded(ended)) => ended.by.clone().unwrap_or_default(),
            _ => String::new(),
        }
    }

    /// Limits are settings and not recorded; the one that ended the turn is known from its end.
    pub(super) fn limits(&self) -> (Limits, Option<Price>) {
        let mut limits = Limits::default();
        let Some(Fact::TurnEnded(ended)) = self.facts.last() else { return (limits, None) };
        let mut words = ended.detail.as_deref().unwrap_or_default().split_whitespace();
        let number = words.find_map(|word| word.trim_start_matches('$').parse::<f64>().ok());
        match (ended.end, number) {
            (TurnEnd::StepLimit, Some(most)) => limits.steps = Some(most as u32),
            (TurnEnd::TokenLimit, Some(most)) => limits.tokens = Some(most as u64),
            (TurnEnd::CostLimit, Some(most)) => {
                let most = most.max(0.001);
                limits.cost = Some(most);
                return (limits, Some(self.price(most)));
            }
            _ => {}
        }
        (limits, None)
    }

    /// A price for a token of any kind under which the whole turn costs this much, and no part of it does.
    fn price(&self, cost: f64) -> Price {
        let mut conversation = self.before.clone();
        for fact in self.facts.iter().filter(|fact| !matches!(fact, Fact::TurnEnded(_))) {
            conversation.apply(&Record::new(conversation.seq + 1, 0, fact.clone()));
        }
        let spent = conversation.turn.map(|turn| turn.spent).unwrap_or_default();
        let at_one_dollar = Price { input: 1.0, output: 1.0, cached: 1.0 }.of(&spent);
        // A little more, so that rounding cannot leave the sum just below the limit.
        let price = cost / at_one_dollar.max(1e-6) * (1.0 + 1e-9);
        Price { input: price, output: price, cached: price }
    }
}

/// How many records there are until the end of a turn in which people made calls themselves, running calls asked something,
/// another session worked for one, or hooks acted. What ran beside a turn came at moments that its own records do not tell, and
/// what hooks changed they would have to change again: such a turn is taken as it is.
pub(super) fn taken_as_it_is(records: &[Record], before: &Conversation) -> Option<usize> {
    let begins = matches!(records.first()?.fact, Fact::TurnStarted(_));
    if !begins && before.turn.is_none() {
        return None;
    }
    let end = records.iter().position(|record| matches!(record.fact, Fact::TurnEnded(_)));
    let length = end.map_or(records.len(), |end| end + 1);
    let mut begun = HashSet::new();
    let is_beside = |record: &Record| match &record.fact {
        Fact::ClientCallStarted(_) | Fact::ClientCallEnded(_) | Fact::HookActed(_) | Fact::Sampled(_) => true,
        Fact::CallAsked(asked) => asked.stands_for.is_some() || begun.contains(&asked.call),
        // It went on in another process.
        Fact::CallStarted(started) => !begun.insert(started.call.clone()),
        Fact::ModelContent(said) => said.hook.is_some(),
        Fact::CallEnded(ended) => ended.error == Some(ToolErrorKind::BlockedByHook),
        Fact::TurnEnded(ended) => matches!(ended.end, TurnEnd::HookStopped | TurnEnd::HookBlocked),
        _ => false,
    };
    records.iter().take(length).any(is_beside).then_some(length)
}

/// How many records it takes until the turn ends, another process goes on with it, or something comes that is not
/// played.
fn length(records: &[Record], before: &Conversation) -> usize {
    // Which model is ready is not recorded: an offer, and what comes of it until the model speaks, is taken as it is.
    let mut is_offered = before.turn.as_ref().is_some_and(|turn| turn.question.is_some());
    for (index, record) in records.iter().enumerate() {
        is_offered &= !matches!(record.fact, Fact::ModelContent(_));
        match record.fact {
            Fact::ApprovalAnswered(_) | Fact::ModelChanged(_) | Fact::TurnEnded(_) if is_offered => {
                return index;
            }
            Fact::TurnEnded(_) => return index + 1,
            Fact::TurnStarted(_) | Fact::TurnResumed(_) if index > 0 => return index,
            Fact::CallAsked(ref asked) if asked.call.is_empty() => return index,
            Fact::TurnStarted(_)
            | Fact::TurnResumed(_)
            | Fact::ModelContent(_)
            | Fact::CallAsked(_)
            | Fact::ApprovalAnswered(_)
            | Fact::CallStarted(_)
            | Fact::CallEnded(_)
            | Fact::PromptQueued(_)
            | Fact::PromptJoined(_)
            | Fact::PromptWithdrawn(_)
            | Fact::ModeChanged(_)
            | Fact::ModelChanged(_)
            | Fact::RulesSaved(_)
            | Fact::GrantRevoked(_) => {}
            // Summaries and files depend on more than is recorded: they are taken as they are.
            _ => return index,
        }
    }
    records.len()
}

/// Where a fork, or an engine that could not go on with a turn, closed it: no engine makes that by itself.
fn closed_from(facts: &[Fact]) -> usize {
    match facts.last() {
        Some(Fact::TurnEnded(ended)) if ended.end == TurnEnd::Interrupted => {}
        _ => return facts.len(),
    }
    let is_closing =
        |fact: &Fact| matches!(fact, Fact::ApprovalAnswered(_) | Fact::CallEnded(_) | Fact::TurnEnded(_));
    facts.iter().rposition(|fact| !is_closing(fact)).map_or(0, |last| last + 1)
}

/// Where a call is reported as interrupted that was begun in the same segment: another process says so.
fn died_at(facts: &[Fact]) -> Option<usize> {
    facts.iter().enumerate().position(|(at, fact)| match fact {
        Fact::CallEnded(ended) if ended.error == Some(ToolErrorKind::Interrupted) => {
            let mut before = facts.iter().take(at);
            before.any(|fact| matches!(fact, Fact::CallStarted(started) if started.call == ended.call))
        }
        _ => false,
    })
}

/// True for what a process may write that does not go on with the turn.
fn can_come_while_waiting(fact: &Fact) -> bool {
    match fact {
        Fact::PromptQueued(_)
        | Fact::PromptWithdrawn(_)
        | Fact::ModeChanged(_)
        | Fact::ModelChanged(_)
        | Fact::RulesSaved(_)
        | Fact::GrantRevoked(_) => true,
        Fact::ApprovalAnswered(answered) => is_by_person(answered),
        Fact::CallEnded(ended) => {
            ended.status == CallStatus::Cancelled || ended.error == Some(ToolErrorKind::Interrupted)
        }
        Fact::TurnEnded(ended) => ended.end.is_cancelled(),
        _ => false,
    }
}

/// True for an answer that somebody gave, and not the engine in somebody's place.
pub(super) fn is_by_person(answered: &ApprovalAnswered) -> bool {
    ![NOBODY, SESSION, EARLIER_ANSWER].contains(&answered.by.as_str())
}

/// True for a no that gives the word back to the person, ending the turn.
pub(super) fn is_plain_no(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Cancel { reason: None })
}
