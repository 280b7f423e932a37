//! Forking: a new session that begins with what an earlier one said.

use charla_proto::{
    ApprovalAnswered, CallStatus, Conversation, Fact, GrantRevoked, Granted, Outcome, PromptWithdrawn,
    Record, SessionStarted, ToolError, ToolErrorKind, ToolOutput, TurnEnd, TurnEnded,
};

use super::SESSION;
use super::calls::ended;

/// What a call of the other session is told.
const ELSEWHERE: &str = "The conversation was forked here. This call belongs to the session it was forked from and has no result in this one.";

/// The records of a new session that has everything `records` have up to message `at` (all without one). A turn
/// that is open there is closed here: its calls belong to the other session and run, if at all, there.
///
/// Records keep their numbers, so that what refers to them still does, and their unknown fields.
pub fn fork(records: &[Record], at: Option<u64>, started: SessionStarted, now: u64) -> Vec<Record> {
    let at = at.map_or(u64::MAX, |at| with_results(records, at));
    let copied = records.iter().skip(1).take_while(|record| record.seq <= at).cloned();
    let mut forked: Vec<Record> = copied.collect();
    let mut next = forked.last().map_or(1, |record| record.seq);
    let imported_up_to = imported_up_to(records).map(|last| last.min(next));
    let started = SessionStarted { imported_up_to, ..started };
    forked.insert(0, Record::new(1, now, Fact::SessionStarted(Box::new(started))));
    let mut push = |forked: &mut Vec<Record>, fact| {
        next = next.saturating_add(1);
        forked.push(Record::new(next, now, fact));
    };
    // What came from elsewhere did, however little of it is taken over.
    let imported = records.iter().rev().find(|record| matches!(record.fact, Fact::Imported(_)));
    if let Some(imported) = imported.filter(|imported| imported.seq > at) {
        push(&mut forked, imported.fact.clone());
    }
    // What was allowed "in this session" was allowed in the other one.
    for granted in Conversation::of(&forked).grants {
        let Granted { approval, grant, saved, .. } = granted;
        let revoked = GrantRevoked { approval, grant, by: SESSION.to_owned(), saved };
        push(&mut forked, Fact::GrantRevoked(Box::new(revoked)));
    }
    for fact in closing(&Conversation::of(&forked)) {
        push(&mut forked, fact);
    }
    forked
}

/// The number up to which records of a session were written elsewhere.
fn imported_up_to(records: &[Record]) -> Option<u64> {
    match &records.first()?.fact {
        Fact::SessionStarted(started) => started.imported_up_to,
        _ => None,
    }
}

/// A message with calls is taken over with their results.
fn with_results(records: &[Record], at: u64) -> u64 {
    let before: Vec<Record> = records.iter().take_while(|record| record.seq <= at).cloned().collect();
    let mut conversation = Conversation::of(&before);
    if !matches!(before.last().map(|record| &record.fact), Some(Fact::ModelContent(_))) {
        return at;
    }
    for record in records.iter().skip(before.len()) {
        let is_of_step = matches!(
            record.fact,
            Fact::CallAsked(_) | Fact::ApprovalAnswered(_) | Fact::CallStarted(_) | Fact::CallEnded(_)
        );
        if conversation.unanswered().next().is_none() || !is_of_step {
            break;
        }
        conversation.apply(record);
    }
    conversation.seq
}

fn closing(conversation: &Conversation) -> Vec<Fact> {
    let mut facts = Vec::new();
    for approval in conversation.open_approvals() {
        facts.push(Fact::ApprovalAnswered(Box::new(ApprovalAnswered {
            approval: approval.asked.approval.clone(),
            outcome: Outcome::Cancel { reason: Some(ELSEWHERE.to_owned()) },
            by: SESSION.to_owned(),
            args: None,
        })));
    }
    let turn = conversation.past.count;
    for open in conversation.unanswered() {
        let error = ToolError::new(ToolErrorKind::Interrupted, ELSEWHERE);
        let ended = ended(turn, &open.call, CallStatus::Error, ToolOutput::failed(error));
        facts.push(Fact::CallEnded(Box::new(ended)));
    }
    for call in conversation.untold.running() {
        let error = ToolError::new(ToolErrorKind::Interrupted, ELSEWHERE);
        let ended = ended(turn, &call.call, CallStatus::Error, ToolOutput::failed(error));
        facts.push(Fact::ClientCallEnded(Box::new(ended)));
    }
    if conversation.turn.is_some() {
        let detail = Some("the session was forked here".to_owned());
        let by = Some(SESSION.to_owned());
        let ended = TurnEnded { turn, end: TurnEnd::Interrupted, detail, error: None, by };
        facts.push(Fact::TurnEnded(Box::new(ended)));
    }
    facts.extend(conversation.queue.iter().map(|queued| {
        Fact::PromptWithdrawn(PromptWithdrawn { prompt: queued.id.clone(), by: SESSION.to_owned() })
    }));
    facts
}
