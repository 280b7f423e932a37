//! The text that is written, and the place in it.

use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

/// A text with a cursor, which always stands between two characters as readers see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    text: String,
    cursor: usize,
}

impl Buffer {
    /// A text with the cursor at its end.
    pub fn new(text: String) -> Self {
        Self { cursor: text.len(), text }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What stands before the cursor.
    pub fn before(&self) -> &str {
        self.slice(0..self.cursor)
    }

    pub fn slice(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// Moves the cursor, to the end of the character where it would stand in one.
    pub fn go(&mut self, to: usize) {
        let to = to.min(self.text.len());
        self.cursor = if self.is_boundary(to) { to } else { self.next(to) };
    }

    /// Puts the cursor from behind the last character of a line onto it.
    pub fn stand_on_letter(&mut self) {
        if self.cursor == self.line_end(self.cursor) && self.cursor > self.line_start(self.cursor) {
            self.cursor = self.previous(self.cursor);
        }
    }

    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.go(self.cursor + text.len());
    }

    /// Takes a part out and puts the cursor in its place.
    pub fn remove(&mut self, range: Range<usize>) -> String {
        let range = range.start.min(self.text.len())..range.end.min(self.text.len());
        let is_whole = self.text.is_char_boundary(range.start) && self.text.is_char_boundary(range.end);
        if range.is_empty() || !is_whole {
            return String::new();
        }
        let removed = self.text.drain(range.clone()).collect();
        self.go(range.start);
        removed
    }

    fn is_boundary(&self, at: usize) -> bool {
        self.text.is_char_boundary(at)
            && GraphemeCursor::new(at, self.text.len(), true).is_boundary(&self.text, 0).unwrap_or(true)
    }

    /// The end of the character at a place.
    pub fn next(&self, at: usize) -> usize {
        let at = self.char_boundary(at);
        let mut cursor = GraphemeCursor::new(at, self.text.len(), true);
        cursor.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len())
    }

    /// The beginning of the character before a place.
    pub fn previous(&self, at: usize) -> usize {
        let mut cursor = GraphemeCursor::new(self.char_boundary(at), self.text.len(), true);
        cursor.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn char_boundary(&self, at: usize) -> usize {
        self.text.floor_char_boundary(at)
    }

    /// The beginning of the line a place is in.
    pub fn line_start(&self, at: usize) -> usize {
        self.slice(0..at).rfind('\n').map_or(0, |at| at + 1)
    }

    /// The end of the line a place is in, before its line break.
    pub fn line_end(&self, at: usize) -> usize {
        self.slice(at..self.text.len()).find('\n').map_or(self.text.len(), |length| at + length)
    }

    /// The first place from `at` on where `stops` holds, or the end.
    pub fn forward(&self, at: usize, stops: impl Fn(char) -> bool) -> usize {
        self.slice(at..self.text.len()).find(stops).map_or(self.text.len(), |length| at + length)
    }

    /// The end of the last character before `at` for which `stops` holds, or the beginning.
    pub fn backward(&self, at: usize, stops: impl Fn(char) -> bool) -> usize {
        let before = self.slice(0..at);
        let found = before.char_indices().rev().find(|(_, c)| stops(*c));
        found.map_or(0, |(at, c)| at + c.len_utf8())
    }

    /// The end of the word at or behind a place.
    pub fn word_end(&self, at: usize) -> usize {
        let start = self.forward(at, char::is_alphanumeric);
        self.forward(start, |c| !c.is_alphanumeric())
    }

    /// The beginning of the word at or before a place.
    pub fn word_start(&self, at: usize) -> usize {
        let end = self.backward(at, char::is_alphanumeric);
        self.backward(end, |c| !c.is_alphanumeric())
    }
}
