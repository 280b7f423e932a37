//! What can be taken back.

use super::buffer::Buffer;

/// What is kept of earlier texts, in bytes.
const KEPT: usize = 4 << 20;

/// What an edit is, for joining it with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A letter was typed.
    Typing,
    /// Anything else.
    Other,
}

/// Earlier texts, and later ones that were taken back.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    past: Vec<Buffer>,
    future: Vec<Buffer>,
    last: Option<Kind>,
    /// What changes from now on is one change; whether its beginning is remembered.
    group: Option<bool>,
}

impl Undo {
    /// Remembers a text that is about to change. Letters typed in a row are one change.
    pub fn remember(&mut self, buffer: &Buffer, kind: Kind) {
        let joins = match &mut self.group {
            Some(is_remembered) => std::mem::replace(is_remembered, true),
            None => kind == Kind::Typing && self.last == Some(Kind::Typing),
        };
        self.last = Some(kind);
        self.future.clear();
        if !joins {
            self.past.push(buffer.clone());
            self.forget_oldest();
        }
    }

    /// Begins what is one change however much of it there is, or ends it.
    pub fn group(&mut self, begins: bool) {
        self.group = begins.then_some(false);
    }

    /// The next letter begins a change of its own.
    pub fn pause(&mut self) {
        self.last = None;
    }

    /// The text before the last change.
    pub fn undo(&mut self, buffer: &Buffer) -> Option<Buffer> {
        let earlier = self.past.pop()?;
        self.last = None;
        self.future.push(buffer.clone());
        Some(earlier)
    }

    /// The text before the last undoing.
    pub fn redo(&mut self, buffer: &Buffer) -> Option<Buffer> {
        let later = self.future.pop()?;
        self.past.push(buffer.clone());
        Some(later)
    }

    fn forget_oldest(&mut self) {
        let mut kept = 0;
        let sizes = self.past.iter().rev().map(|buffer| buffer.text().len() + size_of::<Buffer>());
        let is_kept = |size: usize| {
            kept += size;
            kept <= KEPT
        };
        let number = sizes.map(is_kept).take_while(|is_kept| *is_kept).count();
        self.past.drain(..self.past.len() - number);
    }
}
