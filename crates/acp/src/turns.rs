//! Which prompts were answered, and how: what a request waits for that said one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// How a prompt's turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// For a reason that the protocol has a word for.
    Stopped(&'static str),
    /// It failed, and why.
    Failed(String),
}

/// The turns of a session, as far as its feed has come.
#[derive(Default)]
pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// Prompts of ours that are part of the turn under way.
    said: Vec<String>,
    /// Prompts of ours whose turn is over, until somebody asks.
    ended: HashMap<String, End>,
    over: bool,
}

impl Turns {
    /// A prompt of ours is part of the turn under way.
    pub(crate) fn said(&self, prompt: &str) {
        self.state().said.push(prompt.to_owned());
    }

    /// A prompt of ours was taken back.
    pub(crate) fn withdrawn(&self, prompt: &str) {
        self.state().ended.insert(prompt.to_owned(), End::Stopped("cancelled"));
        self.changed.notify_waiters();
    }

    /// The turn under way is over.
    pub(crate) fn ended(&self, end: &End) {
        let mut state = self.state();
        for prompt in std::mem::take(&mut state.said) {
            state.ended.insert(prompt, end.clone());
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// No turn will end any more.
    pub(crate) fn over(&self) {
        self.state().over = true;
        self.changed.notify_waiters();
    }

    /// Waits until the turn of this prompt is over.
    pub(crate) async fn end_of(&self, prompt: &str) -> End {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            if let Some(end) = self.known(prompt) {
                return end;
            }
            changed.await;
        }
    }

    fn known(&self, prompt: &str) -> Option<End> {
        let mut state = self.state();
        let end = state.ended.remove(prompt);
        // A session that was closed over it.
        end.or_else(|| state.over.then_some(End::Stopped("cancelled")))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
