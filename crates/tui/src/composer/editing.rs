//! The text with what belongs to it: what can be taken back, what was cut, what was pasted.

use super::buffer::Buffer;
use super::chips::Chips;
use super::edit::Edit;
use super::ring::{Cut, KillRing, Side};
use super::undo::{Kind, Undo};

/// The state of the text.
#[derive(Clone, Debug, Default)]
pub struct Editing {
    pub buffer: Buffer,
    pub chips: Chips,
    pub ring: KillRing,
    undo: Undo,
    /// Where the last cut was put, as long as nothing else happened.
    yanked: Option<std::ops::Range<usize>>,
    /// The column that moving by rows keeps to.
    pub goal: Option<usize>,
}

impl Editing {
    /// Puts a text in the place of all.
    pub fn set(&mut self, text: &str) {
        self.undo.remember(&self.buffer, Kind::Other);
        self.buffer = Buffer::new(text.to_owned());
    }

    /// Nothing is written; what was cut stays.
    pub fn start_anew(&mut self) {
        *self = Self { ring: std::mem::take(&mut self.ring), ..Self::default() };
    }

    /// The same with a large text shown by a name.
    pub fn set_folded(&mut self, text: &str) {
        let chip = Chips::is_large(text).then(|| self.chips.add_text(text)).flatten();
        match chip {
            Some(chip) => self.set(&chip.to_string()),
            None => self.set(text),
        }
    }

    /// Types a text as one change.
    pub fn paste(&mut self, text: &str) {
        self.undo.remember(&self.buffer, Kind::Other);
        self.buffer.insert(text);
    }

    /// Does what a key said; true where the text changed.
    pub fn apply(&mut self, edit: Edit) -> bool {
        self.goal = None;
        let yanked = self.yanked.take();
        if !matches!(edit, Edit::Kill(..)) {
            self.ring.pause();
        }
        match edit {
            Edit::Go(to) => {
                self.undo.pause();
                self.buffer.go(to);
                return false;
            }
            Edit::Type(text) => {
                let kind = if text.trim().is_empty() { Kind::Other } else { Kind::Typing };
                self.undo.remember(&self.buffer, kind);
                self.buffer.insert(&super::chips::cleaned(&text));
            }
            Edit::Remove(range) => {
                self.remove(range);
            }
            Edit::Kill(range, side) => {
                let text = self.remove(range);
                self.ring.cut(&text, side);
            }
            Edit::Take(range, cut) => {
                self.remove(range);
                self.ring.keep(cut);
            }
            Edit::Copy(cut) => {
                self.ring.keep(cut);
                return false;
            }
            Edit::Replace(range, text) => {
                self.undo.remember(&self.buffer, Kind::Other);
                self.buffer.remove(range.clone());
                self.buffer.go(range.start);
                self.buffer.insert(&text);
            }
            Edit::Yank => {
                let cut = self.ring.latest();
                self.yank(cut);
            }
            Edit::YankOlder => {
                let Some(range) = yanked else { return false };
                let cut = self.ring.older();
                self.remove(range);
                self.yank(cut);
            }
            Edit::Put(side) => self.put(side),
            Edit::Group(begins) => {
                self.undo.group(begins);
                return false;
            }
            Edit::Undo => self.restore(Undo::undo),
            Edit::Redo => self.restore(Undo::redo),
            _ => return false,
        }
        true
    }

    fn remove(&mut self, range: std::ops::Range<usize>) -> String {
        if range.is_empty() {
            return String::new();
        }
        self.undo.remember(&self.buffer, Kind::Other);
        self.buffer.remove(range)
    }

    fn yank(&mut self, cut: Option<Cut>) {
        let Some(cut) = cut else { return };
        let start = self.buffer.cursor();
        self.paste(&cut.text);
        self.yanked = Some(start..self.buffer.cursor());
    }

    /// Puts a cut as vi does: lines below or above the line, else behind or before the character.
    fn put(&mut self, side: Side) {
        let Some(cut) = self.ring.latest() else { return };
        let at = self.buffer.cursor();
        let (start, end) = (self.buffer.line_start(at), self.buffer.line_end(at));
        self.undo.remember(&self.buffer, Kind::Other);
        match (cut.is_lines, side) {
            (true, Side::Before) => {
                self.buffer.go(start);
                self.buffer.insert(&cut.text);
                self.buffer.go(start);
            }
            (true, Side::After) => {
                self.buffer.go(end);
                self.buffer.insert(&format!("\n{}", cut.text.trim_end_matches('\n')));
                self.buffer.go(end + 1);
            }
            (false, side) => {
                if side == Side::After {
                    self.buffer.go(self.buffer.next(at).min(end));
                }
                self.buffer.insert(&cut.text);
                self.buffer.go(self.buffer.previous(self.buffer.cursor()));
            }
        }
    }

    fn restore(&mut self, which: fn(&mut Undo, &Buffer) -> Option<Buffer>) {
        if let Some(buffer) = which(&mut self.undo, &self.buffer) {
            self.buffer = buffer;
        }
    }
}
