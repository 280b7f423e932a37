//! Plays the people: what they said, chose and answered, at the moment the recording has it.

use charla_proto::{
    CallEnded, CallStatus, CancelTarget, Command, Content, Delivery, Fact, Outcome, Request, ToolErrorKind,
    TurnStarted,
};

use super::segment::{is_by_person, is_plain_no};
use super::view::{View, id_of};
use crate::note::note_for_model;
use crate::session::NOBODY;

/// What somebody asked of the session so that the next fact came about; nothing when the engine makes it by itself.
pub(super) fn next_request(view: &View, cancelling: bool) -> Option<Request> {
    let (by, command) = match view.next()? {
        Fact::TurnStarted(started) => (started.by.clone(), start(view, started)),
        Fact::TurnResumed(_) => (String::new(), Command::Continue),
        Fact::PromptQueued(queued) => {
            let content = Content::clone(&queued.content);
            (queued.by.clone(), Command::Prompt { content, delivery: queued.delivery })
        }
        Fact::PromptWithdrawn(withdrawn) => {
            let target = CancelTarget::Prompt(withdrawn.prompt.clone());
            (withdrawn.by.clone(), Command::Cancel { target })
        }
        Fact::ModeChanged(changed) => {
            (changed.by.clone().unwrap_or_default(), Command::SetMode { mode: changed.mode })
        }
        Fact::ModelChanged(changed) => {
            (changed.by.clone().unwrap_or_default(), Command::SetModel { model: changed.model.clone() })
        }
        Fact::RulesSaved(saved) if !comes_of_answer(view) => {
            (saved.by.clone(), Command::SaveRules { rules: saved.rules.clone() })
        }
        Fact::GrantRevoked(revoked) => {
            (revoked.by.clone(), Command::Revoke { approval: revoked.approval.clone() })
        }
        Fact::ApprovalAnswered(answered) if is_by_person(answered) && !closes_question(view) => {
            let (approval, outcome) = (answered.approval.clone(), answered.outcome.clone());
            (answered.by.clone(), Command::Answer { approval, outcome })
        }
        _ if cancelling => return None,
        _ => (cancelled_by(view)?, Command::Cancel { target: CancelTarget::Turn }),
    };
    Some(Request { by, command })
}

/// Whether somebody is there to be asked, where the next fact tells.
pub(super) fn presence(view: &View) -> Option<bool> {
    match (view.next()?, view.after_next()) {
        (Fact::TurnResumed(resumed), _) => Some(resumed.somebody),
        (Fact::CallAsked(asked), Some(Fact::ApprovalAnswered(answered))) => {
            Some(answered.by != NOBODY || answered.approval != asked.approval)
        }
        (Fact::CallAsked(_), _) => Some(true),
        (Fact::ApprovalAnswered(answered), _) if answered.by == NOBODY => Some(false),
        _ => None,
    }
}

/// A prompt that waited is gone on with; any other is said, without what the engine put before it.
fn start(view: &View, started: &TurnStarted) -> Command {
    if view.conversation.queue.iter().any(|queued| queued.id == started.id) {
        return Command::Continue;
    }
    let mut content = Content::clone(&started.prompt);
    if let Some(note) = note_for_model(view.conversation)
        && content.parts.first().and_then(|part| part.as_text()) == Some(&note)
    {
        content.parts.remove(0);
    }
    Command::Prompt { content, delivery: Delivery::default() }
}

/// True when the rules that are saved next are those of an answer just given.
fn comes_of_answer(view: &View) -> bool {
    let last = view.at.checked_sub(1).and_then(|last| view.segment.facts.get(last));
    matches!(last, Some(Fact::ApprovalAnswered(answered)) if answered.outcome == Outcome::ProceedAlwaysAndSave)
}

/// True when the next fact is the no that a cancellation gives to an open question.
fn closes_question(view: &View) -> bool {
    match (view.next(), view.after_next()) {
        (Some(Fact::ApprovalAnswered(answered)), Some(Fact::CallEnded(ended))) => {
            is_plain_no(&answered.outcome)
                && ended.error == Some(ToolErrorKind::NotApproved)
                && view.next_call().map(id_of) == Some(&ended.call)
        }
        _ => false,
    }
}

/// Who cancelled, when the next fact is the first that came of it.
fn cancelled_by(view: &View) -> Option<String> {
    match view.next()? {
        Fact::ApprovalAnswered(answered) if closes_question(view) => Some(answered.by.clone()),
        Fact::CallEnded(ended) if view.segment.waits || comes_of_cancel(view, ended) => {
            Some(view.segment.canceller())
        }
        Fact::TurnEnded(ended) if ended.end.is_cancelled() => Some(view.segment.canceller()),
        _ => None,
    }
}

fn comes_of_cancel(view: &View, ended: &CallEnded) -> bool {
    let Some(open) = view.next_call() else { return false };
    if ended.status != CallStatus::Cancelled {
        return false;
    }
    if open.status == CallStatus::Executing {
        let mut rest = view.segment.facts.iter().skip(view.at);
        let is_last_step = !rest.clone().any(|fact| matches!(fact, Fact::ModelContent(_)));
        return is_last_step
            && rest.any(|fact| matches!(fact, Fact::TurnEnded(ended) if ended.end.is_cancelled()));
    }
    let answer = open.approval.as_ref().and_then(|approval| approval.answer.as_ref());
    match ended.error {
        Some(error) => error != ToolErrorKind::RefusedByPerson,
        None => answer.is_none_or(|(outcome, _)| outcome.allows()),
    }
}
