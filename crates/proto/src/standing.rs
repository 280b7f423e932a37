//! Where a session stands for whoever looks at many: whether something is under way, and what waits for a person.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Args, CallAsked, Conversation};

/// Where a session stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// A turn is under way, or was left, or a prompt waits for one.
    pub turn_open: bool,
    /// The questions that wait, in the order of their calls.
    pub questions: Vec<WaitingQuestion>,
}

/// What is asked, and the arguments that the call has now: whoever changes them sees all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingQuestion {
    /// The question.
    pub asked: Arc<CallAsked>,
    /// The call's arguments.
    pub args: Args,
}

impl Standing {
    /// Where the session stands whose records add up to this.
    pub fn of(conversation: &Conversation) -> Self {
        let questions = conversation.unanswered().filter_map(|call| {
            let approval = call.approval.as_ref().filter(|approval| approval.answer.is_none())?;
            Some(WaitingQuestion { asked: approval.asked.clone(), args: call.call.args.clone() })
        });
        Self {
            questions: questions.collect(),
            turn_open: conversation.turn.is_some() || !conversation.queue.is_empty(),
        }
    }
}
