//! One screen for a question and everything else: while a question waits for its answer nothing else is drawn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What printers of one screen share.
#[derive(Clone, Default)]
pub struct Curtain(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// A question is on the screen.
    open: bool,
    /// What came meanwhile.
    waiting: String,
}

impl Curtain {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True while a question waits.
    pub fn is_open(&self) -> bool {
        self.state().open
    }

    /// Draws now, or keeps the text until the question has its answer.
    pub fn draw(&self, text: &str, write: impl FnOnce(&str)) {
        let mut state = self.state();
        match state.open {
            true => state.waiting.push_str(text),
            false => write(text),
        }
    }

    /// Draws a part of a question: from now on it has the screen.
    pub fn ask(&self, text: &str, write: impl FnOnce(&str)) {
        let mut state = self.state();
        state.open = true;
        write(text);
    }

    /// The question has its answer: draws what came meanwhile.
    pub fn close(&self, write: impl FnOnce(&str)) {
        let mut state = self.state();
        state.open = false;
        let waiting = std::mem::take(&mut state.waiting);
        if !waiting.is_empty() {
            write(&waiting);
        }
    }
}
