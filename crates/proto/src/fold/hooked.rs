//! What hooks change in a conversation.

use super::Conversation;
use crate::{CallHooks, CallStatus, HookActed, HookEffect, HookEvent};

/// Folds in what hooks have changed.
pub(super) struct Hooked<'a>(pub(super) &'a mut Conversation);

impl Hooked<'_> {
    pub(super) fn acted(&mut self, seq: u64, acted: &HookActed) {
        if acted.event == HookEvent::BeforeAgent {
            self.0.turn.iter_mut().for_each(|turn| turn.hooks.prompted = true);
        }
        match &acted.effect {
            HookEffect::Passed | HookEffect::Request { .. } => {}
            HookEffect::Context { content } => {
                self.0.contents.push((seq, content.clone()));
                let turn = self.0.turn.as_mut().filter(|_| acted.event == HookEvent::BeforeAgent);
                turn.into_iter().for_each(|turn| turn.prompts.push(seq));
            }
            HookEffect::Prompt { content } => {
                self.0.contents.push((seq, content.clone()));
                if let Some(turn) = &mut self.0.turn {
                    turn.prompts.push(seq);
                    turn.hooks.prompts += 1;
                }
            }
            HookEffect::Cleared => {
                self.0.last_usage = None;
                self.0.shortening.clear(seq);
            }
            HookEffect::Call { call, args, ask } => {
                let Some(open) = self.0.open_call(call) else { return };
                open.hooks.asked = true;
                open.hooks.question.clone_from(ask);
                if let Some(args) = args {
                    open.hooks.changed = true;
                    let before = std::mem::replace(&mut open.call.args, args.clone());
                    open.original.get_or_insert(before);
                }
            }
            HookEffect::TailCall { call, name, args } => {
                let Some(open) = self.0.open_call(call) else { return };
                let before = std::mem::replace(&mut open.call.name, name.clone());
                let called = Some(open.hooks.called.take().unwrap_or(before));
                let before = std::mem::replace(&mut open.call.args, args.clone());
                open.original.get_or_insert(before);
                open.hooks = CallHooks { called, tails: open.hooks.tails + 1, ..CallHooks::default() };
                open.status = CallStatus::Validating;
                open.approval = None;
            }
        }
    }
}
