//! Where a line is broken into rows.

use std::ops::Range;

use super::graphemes;

/// A row is at least as wide as one wide character.
const NARROWEST: usize = 2;
/// What does not begin a row.
const CLOSING: &str = "、。，．：；？！）］｝」』】〉》ー…";

/// Rows broken at blanks, or between wide characters; a word that is too long is broken where the row is full. Blanks
/// at a break are left out.
pub fn at_words(text: &str, first: usize, others: usize) -> Vec<Range<usize>> {
    let mut rows = Rows::new(first, others);
    let mut wide = false;
    for (grapheme, width) in graphemes(text) {
        match grapheme {
            " " => rows.blank(),
            other => {
                let is_wide = width == 2;
                if (wide || is_wide) && !CLOSING.contains(other) {
                    rows.may_break();
                }
                wide = is_wide;
                rows.word(other.len(), width);
            }
        }
    }
    rows.end(text.len())
}

/// Rows that are full, whatever stands in them.
pub fn everywhere(text: &str, first: usize, others: usize) -> Vec<Range<usize>> {
    let (mut rows, mut start, mut at, mut used) = (Vec::new(), 0, 0, 0);
    let mut room = first.max(NARROWEST);
    for (grapheme, width) in graphemes(text) {
        if used + width > room {
            rows.push(start..at);
            (start, used, room) = (at, 0, others.max(NARROWEST));
        }
        at += grapheme.len();
        used += width;
    }
    rows.push(start..text.len());
    rows
}

/// A place where a row may end.
#[derive(Clone, Copy)]
struct Gap {
    /// The row's end.
    end: usize,
    /// Where the next one begins.
    next: usize,
    /// The columns used up to there.
    used: usize,
}

/// Rows as they are filled.
struct Rows {
    done: Vec<Range<usize>>,
    start: usize,
    at: usize,
    used: usize,
    room: usize,
    others: usize,
    gap: Option<Gap>,
}

impl Rows {
    fn new(first: usize, others: usize) -> Self {
        let (room, others) = (first.max(NARROWEST), others.max(NARROWEST));
        Self { done: Vec::new(), start: 0, at: 0, used: 0, room, others, gap: None }
    }

    fn blank(&mut self) {
        let end = match self.gap {
            Some(gap) if gap.next == self.at => gap.end,
            _ => self.at,
        };
        // A row that began with blanks keeps them.
        if end == self.start && self.used == self.room {
            self.done.push(self.start..self.at);
            (self.start, self.used, self.room) = (self.at, 0, self.others);
        }
        self.at += 1;
        self.used += 1;
        if end > self.start {
            self.gap = Some(Gap { end, next: self.at, used: self.used });
        }
    }

    fn may_break(&mut self) {
        let is_gap = self.gap.is_some_and(|gap| gap.next == self.at);
        if !is_gap && self.at > self.start {
            self.gap = Some(Gap { end: self.at, next: self.at, used: self.used });
        }
    }

    fn word(&mut self, length: usize, width: usize) {
        while self.used + width > self.room && self.at > self.start {
            let gap = self.gap.take().unwrap_or(Gap { end: self.at, next: self.at, used: self.used });
            self.done.push(self.start..gap.end);
            self.start = gap.next;
            self.used = self.used.saturating_sub(gap.used);
            self.room = self.others;
        }
        self.at += length;
        self.used += width;
    }

    fn end(mut self, length: usize) -> Vec<Range<usize>> {
        let end = match self.gap {
            // Blanks that no word follows are not worth a row.
            Some(gap) if gap.next == length && self.used > self.room => gap.end,
            _ => length,
        };
        self.done.push(self.start..end);
        self.done
    }
}
