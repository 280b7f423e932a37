//! Markdown as it streams in: what is finished goes to the scrollback once, the rest is the live tail.

use crate::text::Line;

/// How Markdown is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// No row is wider.
    pub columns: usize,
}

/// A text that arrives in pieces.
pub struct Stream {
    layout: Layout,
    open: String,
    done: Vec<Line>,
}

impl Stream {
    /// Nothing yet.
    pub fn new(layout: Layout) -> Self {
        Self { layout, open: String::new(), done: Vec::new() }
    }

    /// Takes a piece of the text.
    pub fn push(&mut self, piece: &str) {
        self.open.push_str(piece);
        while let Some((line, rest)) = self.open.split_once('\n') {
            self.done.extend(Line::plain(line).wrap(self.layout.columns));
            self.open = rest.to_owned();
        }
    }

    /// The lines that were finished since this was asked last. They never change.
    pub fn finished(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.done)
    }

    /// What is not finished, as it looks now.
    pub fn tail(&self) -> Vec<Line> {
        match self.open.is_empty() {
            true => Vec::new(),
            false => Line::plain(&self.open).wrap(self.layout.columns),
        }
    }

    /// The text is over: the lines that remained.
    pub fn end(mut self) -> Vec<Line> {
        let tail = self.tail();
        self.done.extend(tail);
        self.done
    }
}
