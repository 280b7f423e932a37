//! The rows of the text as they stand on the screen.

use std::borrow::Cow;
use std::ops::Range;

use charla_proto::text::readable;

use super::buffer::Buffer;
use super::chips::Chips;
use crate::text::{Line, Role, graphemes, width};

/// What a tab looks like.
const TAB: &str = "    ";

/// The rows of a text.
pub struct Rows<'a> {
    buffer: &'a Buffer,
    chips: &'a Chips,
    rows: Vec<Range<usize>>,
}

impl<'a> Rows<'a> {
    /// The text in rows of so many columns. A row ends where its last column would be the cursor's.
    pub fn new(buffer: &'a Buffer, chips: &'a Chips, columns: usize) -> Self {
        let mut rows = Vec::new();
        let mut at = 0;
        for line in buffer.text().split('\n') {
            let mut filling = Filling { start: at, at, word: at, used: 0, word_used: 0 };
            for (grapheme, _) in graphemes(line) {
                let width = width(&shown(grapheme, chips)).min(columns);
                while filling.used + width >= columns && filling.at > filling.start {
                    rows.push(filling.end_row());
                }
                filling.add(grapheme, width);
            }
            rows.push(filling.start..filling.at);
            at = filling.at + 1;
        }
        Self { buffer, chips, rows }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row and the column of the cursor.
    pub fn cursor(&self) -> (usize, usize) {
        let cursor = self.buffer.cursor();
        let row = self.rows.iter().rposition(|row| row.start <= cursor).unwrap_or_default();
        let start = self.rows.get(row).map_or(0, |row| row.start);
        (row, self.columns(start..cursor))
    }

    fn columns(&self, range: Range<usize>) -> usize {
        graphemes(self.buffer.slice(range)).map(|(grapheme, _)| width(&shown(grapheme, self.chips))).sum()
    }

    /// The place in the text nearest to a column of a row.
    pub fn place(&self, row: usize, column: usize) -> Option<usize> {
        let row = self.rows.get(row)?;
        let (mut at, mut used) = (row.start, 0);
        for (grapheme, _) in graphemes(self.buffer.slice(row.clone())) {
            let width = width(&shown(grapheme, self.chips));
            // The end of a row that goes on below is the next row's beginning.
            let is_end =
                at + grapheme.len() == row.end && self.rows.iter().any(|other| other.start == row.end);
            if used + width > column || is_end {
                break;
            }
            used += width;
            at += grapheme.len();
        }
        Some(at)
    }

    /// A row as it is shown.
    pub fn line(&self, row: usize) -> Line {
        let mut line = Line::new();
        let range = self.rows.get(row).cloned().unwrap_or_default();
        let mut plain = String::new();
        for (grapheme, _) in graphemes(self.buffer.slice(range)) {
            let label = grapheme.chars().next().and_then(|c| self.chips.label(c));
            match label {
                Some(label) => {
                    line.push(Role::Plain, &std::mem::take(&mut plain));
                    line.push(Role::Chip, &label);
                }
                None => plain.push_str(&shown(grapheme, self.chips)),
            }
        }
        line.push(Role::Plain, &plain);
        line
    }
}

/// What stands on the screen for a character.
fn shown<'a>(grapheme: &'a str, chips: &Chips) -> Cow<'a, str> {
    let label = grapheme.chars().next().filter(|c| !c.is_ascii()).and_then(|c| chips.label(c));
    match (label, grapheme) {
        (Some(label), _) => Cow::Owned(readable(&label).into_owned()),
        (None, "\t") => Cow::Borrowed(TAB),
        (None, grapheme) => readable(grapheme),
    }
}

/// A row as it is filled.
struct Filling {
    start: usize,
    at: usize,
    /// Where the last word began, and the columns used before it.
    word: usize,
    used: usize,
    word_used: usize,
}

impl Filling {
    fn add(&mut self, grapheme: &str, width: usize) {
        self.at += grapheme.len();
        self.used += width;
        if grapheme == " " || width == 2 {
            (self.word, self.word_used) = (self.at, self.used);
        }
    }

    /// Ends the row before its last word, or right here where it has but one.
    fn end_row(&mut self) -> Range<usize> {
        let (end, used) = match self.word > self.start {
            true => (self.word, self.word_used),
            false => (self.at, self.used),
        };
        let row = self.start..end;
        (self.start, self.used) = (end, self.used - used);
        (self.word, self.word_used) = (end, 0);
        row
    }
}
