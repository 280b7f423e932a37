//! What of a card is in sight where not all of it fits.
//!
//! What would happen comes first: the rows that are about it are shown before all others, and where they do not fit, their
//! beginning and their end stand around a row that says how much is between them. Which of them have been in sight is
//! remembered: nobody allows what they have not seen, nor always allows what they have not seen the terms of.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent};

use super::keys;
use super::paint::Painted;
use super::sight::{Sight, needed};
use crate::text::{Line, Role};

/// A text in fewer rows cannot be read by moving it.
pub const LEAST: usize = 3;
/// What would happen has so many rows before its foot is whole, where it is too long for all of it to be seen at once.
const MOST: usize = 6;
/// Where it has more than so many, a row is left to what runs.
const AMPLE: usize = 8;
/// Where there are fewer columns, rows are cut.
const NARROWEST: usize = 12;

/// How many of a card's rows are more needed by its text than by what stands below it.
pub fn least(text: &Painted, rows: usize) -> usize {
    let needed = needed(&text.deed);
    let least = if needed + 2 <= rows { needed.max(LEAST) } else { MOST };
    least.min(text.lines.len())
}

/// How a text is read.
#[derive(Clone, Copy, Debug)]
pub enum Reading {
    /// From its beginning on, as a change is.
    FromTop,
    /// Its beginning and its end matter, as those of a command do.
    FromBothEnds,
    /// A list, of which this row is stood on.
    At(usize),
}

/// How much of what would happen has been in sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All of it.
    All,
    /// So many rows are missing, which can be moved to.
    Without(usize),
    /// The window is too small to read it.
    Nothing,
}

/// The part of a card's text that is in sight.
#[derive(Debug, Default)]
pub struct Viewport {
    /// Rows above those that are shown, once somebody has moved them.
    scroll: Option<usize>,
    /// How many rows were shown last, of how many.
    shown: (usize, usize),
    /// Rows that tell what would happen and were not in sight yet, for a text of so many columns.
    unseen: BTreeSet<usize>,
    /// The same of those that tell what an "always" allows, where, and what holds it in.
    unseen_terms: BTreeSet<usize>,
    columns: usize,
    /// All that tells what would happen has been in sight, or as much of it as must be.
    is_seen: bool,
    /// The terms have been.
    are_terms_seen: bool,
    /// What brought the last of it into sight has been written to the terminal.
    is_written: bool,
    /// There are rows enough to read it.
    is_readable: bool,
    /// There are rows enough to read more than is in sight.
    is_movable: bool,
}

impl Viewport {
    /// How much of what would happen has been in sight.
    pub fn seen(&self) -> Seen {
        told(self.is_seen, self.is_readable, &self.unseen)
    }

    /// How much has been in sight of what an "always" allows, where, and what holds it in.
    pub fn seen_terms(&self) -> Seen {
        told(self.are_terms_seen, self.is_movable, &self.unseen_terms)
    }

    /// True when all that counts as seen is on the screen, or was.
    pub fn is_written(&self) -> bool {
        self.is_written
    }

    /// What was shown last is on the screen.
    pub fn written(&mut self) {
        self.is_written = true;
    }

    /// Somebody moves the text. What they have not seen is never gone past by a page; the terms are gone to where somebody
    /// `wants_terms`.
    pub fn scroll(&mut self, key: KeyEvent, wants_terms: bool) {
        self.scroll = match (key.code, self.next_unseen(wants_terms)) {
            (KeyCode::PageDown, Some(row)) => Some(row.saturating_sub(usize::from(self.shown.0 > 1))),
            _ => keys::scrolled(key, self.scroll, self.shown),
        };
    }

    /// The first row below that was not in sight yet, else the first of all. What would happen goes before its terms.
    fn next_unseen(&self, wants_terms: bool) -> Option<usize> {
        let below = self.scroll.unwrap_or_default();
        let next = |rows: &BTreeSet<usize>| rows.range(below..).next().or(rows.first()).copied();
        let deed = next(&self.unseen).filter(|_| !self.is_seen);
        deed.or_else(|| next(&self.unseen_terms).filter(|_| wants_terms && !self.are_terms_seen))
    }

    /// The text is where it is by itself.
    pub fn let_go(&mut self) {
        self.scroll = None;
    }

    /// As much of the text as `room` rows of so many columns have room for.
    pub fn show(&mut self, text: Painted, reading: Reading, room: usize, columns: usize) -> Vec<Line> {
        if self.columns != columns {
            self.columns = columns;
            self.unseen = text.deed.iter().copied().collect();
            self.unseen_terms = text.terms.iter().copied().collect();
        }
        let rows = room - usize::from(room > AMPLE);
        let Painted { lines, deed, .. } = text;
        let total = lines.len();
        self.is_movable = rows >= LEAST && columns >= NARROWEST;
        if total <= rows {
            self.shown = (total, total);
            self.saw(0..total, columns >= NARROWEST);
            return lines;
        }
        let sight = self.sight(&deed, reading, total, rows);
        let shown = sight.rows().count();
        self.shown = (shown, total);
        let is_readable = rows >= LEAST || deed.iter().all(|row| sight.rows().any(|shown| shown == *row));
        self.saw(sight.rows(), is_readable && columns >= NARROWEST);
        // Of a long change its beginning, its end and how much is between them are enough: it can be taken back, a command cannot.
        if matches!(reading, Reading::FromTop) && self.is_readable && rows >= MOST && !self.is_seen {
            (self.is_seen, self.is_written) = (true, false);
        }
        let is_list = matches!(reading, Reading::At(_));
        let words = sight.words(total, if is_list { "PgUp PgDn" } else { "↑ ↓ PgUp PgDn" });
        Self::put(&lines, &sight, &words, rows > shown)
    }

    /// These rows are in sight; in vain where they cannot be read.
    fn saw(&mut self, rows: impl Iterator<Item = usize>, is_readable: bool) {
        self.is_readable = is_readable;
        if is_readable {
            let rows: BTreeSet<usize> = rows.collect();
            let before = self.unseen.len() + self.unseen_terms.len();
            self.unseen.retain(|row| !rows.contains(row));
            self.unseen_terms.retain(|row| !rows.contains(row));
            self.is_written &= self.unseen.len() + self.unseen_terms.len() == before;
            self.is_seen |= self.unseen.is_empty();
            self.are_terms_seen |= self.unseen_terms.is_empty();
        }
    }

    /// The rows in sight, with what tells of the others.
    fn put(lines: &[Line], sight: &Sight, words: &str, has_words: bool) -> Vec<Line> {
        let mut put = Vec::new();
        for (number, stretch) in sight.stretches().iter().enumerate() {
            match number {
                0 => {}
                1 => put.push(Line::of(Role::Warning, words)),
                _ => put.push(Line::of(Role::Warning, "⋮")),
            }
            put.extend(lines.get(stretch.clone()).unwrap_or_default().iter().cloned());
        }
        if has_words && sight.stretches().len() == 1 {
            put.push(Line::of(Role::Warning, words));
        }
        put
    }

    fn sight(&self, deed: &[usize], reading: Reading, total: usize, rows: usize) -> Sight {
        let shown = rows.saturating_sub(1).max(rows.min(1));
        let from = match (self.scroll, reading) {
            (Some(scroll), _) => scroll,
            // What is stood on is in sight.
            (None, Reading::At(row)) => (row + 2).saturating_sub(shown).min(row),
            (None, Reading::FromTop) => return Sight::of(deed, total, rows, true),
            (None, Reading::FromBothEnds) => return Sight::of(deed, total, rows, false),
        };
        Sight::stretch(from.min(total - shown), shown)
    }
}

fn told(is_seen: bool, can_be_seen: bool, unseen: &BTreeSet<usize>) -> Seen {
    match (is_seen, can_be_seen) {
        (true, _) => Seen::All,
        (false, true) => Seen::Without(unseen.len()),
        (false, false) => Seen::Nothing,
    }
}
