//! Questions about calls and their answers, as records: made in one way for calls of a step, for what running calls want
//! and for other sessions that work for them.

use charla_proto::{ApprovalAnswered, Args, CallAsked, Fact, FunctionCall, Grant, Outcome, Plan, Verdict};

use super::ending::Stop;
use super::requests::Requests;
use super::turn::Session;

/// The question about a plan, `after` so many facts that are committed before it.
pub(super) fn question(
    session: &Session,
    plan: &Plan,
    call: &FunctionCall,
    verdict: Verdict,
    after: u64,
) -> CallAsked {
    let conversation = &session.ledger.conversation;
    let id = conversation.started.as_ref().map(|started| started.session.as_str()).unwrap_or_default();
    let isolation = session.options.isolation.as_ref();
    CallAsked {
        turn: conversation.past.count,
        call: call.id.clone().unwrap_or_default(),
        stands_for: None,
        approval: format!("{id}:{}", conversation.seq.saturating_add(1 + after)),
        confirmation: session.approvals.confirmation(plan, call, verdict, isolation, session.mode()),
    }
}

/// Takes what an answer allows beyond its call, and keeps it where it says so; true where it allows anything.
pub(super) async fn take_grant(
    session: &mut Session,
    outcome: &Outcome,
    asked: &CallAsked,
    by: &str,
) -> Result<bool, Stop> {
    let grant = Grant::of(outcome, &asked.confirmation);
    if let Some(grant) = &grant {
        session.approvals.take(grant);
    }
    if let (Outcome::ProceedAlwaysAndSave, Some(rules)) = (outcome, &asked.confirmation.always) {
        let _ = Requests(session).save_rules(rules, by).await?;
    }
    Ok(grant.is_some())
}

pub(super) fn answered(approval: String, outcome: Outcome, by: &str, args: Option<Args>) -> Fact {
    Fact::ApprovalAnswered(Box::new(ApprovalAnswered { approval, outcome, by: by.to_owned(), args }))
}
