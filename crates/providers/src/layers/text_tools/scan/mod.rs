//! Finds calls in a text as it comes and lets everything else pass.

mod line;
#[cfg(test)]
mod tests;

pub(in crate::layers) use line::Line;

use super::dialect::{self, Declared, RawCall, Reading};

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// Prose, to be shown.
    Text(String),
    /// Calls, and the text they were written in.
    Calls {
        /// In the order they were written.
        calls: Vec<RawCall>,
        /// What the model wrote, marks included.
        source: String,
    },
}

/// What is wrong with the calls of an answer that consists of nothing else and of which none could be taken.
pub(crate) fn unusable(answer: &str) -> Vec<RawCall> {
    dialect::read_unusable(answer)
}

/// Splits an answer into prose and calls.
///
/// Only what may still become a call is held back; the pieces, put together, are the answer byte for byte, and
/// they do not depend on where it was cut.
#[derive(Debug)]
pub(crate) struct Scanner {
    declared: Declared,
    /// What is not decided yet.
    held: String,
    /// A held text this short was looked at before: nothing new can be told from it.
    looked_at: usize,
    line: Line,
}

impl Scanner {
    /// A scanner for calls of these tools.
    pub(crate) fn new(declared: Declared) -> Self {
        Self { declared, held: String::new(), looked_at: 0, line: Line::default() }
    }

    /// Takes more text.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.held.push_str(text);
        // Looking again at every small addition to a long call would take quadratic time.
        if self.held.len() < self.looked_at + self.looked_at / 16 {
            return Vec::new();
        }
        self.advance(false)
    }

    /// The answer is over: what was held back comes out.
    pub(crate) fn finish(&mut self) -> Vec<Piece> {
        self.advance(true)
    }

    fn advance(&mut self, ended: bool) -> Vec<Piece> {
        let held = std::mem::take(&mut self.held);
        let mut pieces = Vec::new();
        let mut prose = String::new();
        let mut rest = held.as_str();
        self.looked_at = 0;
        while let Some(next) = rest.chars().next() {
            let reading = match self.line.call_may_begin(next) {
                Some(place) if !self.declared.is_empty() => dialect::read(rest, ended, place, &self.declared),
                _ => Reading::No,
            };
            let length = match reading {
                Reading::More => {
                    self.looked_at = rest.len();
                    break;
                }
                Reading::Calls(calls, length) => {
                    if !prose.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut prose)));
                    }
                    let source = rest.get(..length).unwrap_or_default().to_owned();
                    pieces.push(Piece::Calls { calls, source });
                    self.line.call_ended();
                    length
                }
                Reading::No => {
                    prose.push(next);
                    self.line.push(next);
                    next.len_utf8()
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        if !prose.is_empty() {
            pieces.push(Piece::Text(prose));
        }
        self.held = rest.to_owned();
        pieces
    }
}
