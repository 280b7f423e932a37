//! A segment as its players see it.

use charla_proto::{Conversation, Fact, OpenCall};

use super::segment::Segment;

/// A segment as it stands: what was made, and what comes next.
pub(super) struct View<'a> {
    pub(super) segment: &'a Segment,
    pub(super) at: usize,
    pub(super) conversation: &'a Conversation,
    /// Somebody is there to be asked.
    pub(super) somebody: bool,
}

impl<'a> View<'a> {
    pub(super) fn next(&self) -> Option<&'a Fact> {
        self.segment.facts.get(self.at)
    }

    pub(super) fn after_next(&self) -> Option<&'a Fact> {
        self.segment.facts.get(self.at + 1)
    }

    pub(super) fn open_call(&self, id: &str) -> Option<&'a OpenCall> {
        self.conversation.unanswered().find(|open| id_of(open) == id)
    }

    /// The open call that the next fact is about.
    pub(super) fn next_call(&self) -> Option<&'a OpenCall> {
        call_of(self.conversation, self.next()?)
    }

    /// How often the model was asked in the turn, the next fact counted in.
    pub(super) fn step(&self) -> usize {
        let steps = self.conversation.turn.as_ref().map_or(0, |turn| turn.steps as usize);
        steps + usize::from(matches!(self.next(), Some(Fact::ModelContent(_))))
    }
}

pub(super) fn id_of(open: &OpenCall) -> &str {
    open.call.id.as_deref().unwrap_or_default()
}

/// The open call that a fact is about.
pub(super) fn call_of<'a>(conversation: &'a Conversation, fact: &Fact) -> Option<&'a OpenCall> {
    conversation.unanswered().find(|open| is_about(fact, open))
}

pub(super) fn is_about(fact: &Fact, open: &OpenCall) -> bool {
    match fact {
        Fact::CallAsked(asked) => id_of(open) == asked.call,
        Fact::CallStarted(started) => id_of(open) == started.call,
        Fact::CallEnded(ended) => id_of(open) == ended.call,
        Fact::ApprovalAnswered(answered) => {
            open.approval.as_ref().is_some_and(|approval| approval.asked.approval == answered.approval)
        }
        _ => false,
    }
}
