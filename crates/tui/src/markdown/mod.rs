//! Markdown as it streams in: what is finished goes to the scrollback once, the rest is the live tail.
//!
//! Text is read line by line, and each block is laid out when it is over, code line by line. What was laid out never
//! changes, whatever follows and wherever the text was cut into pieces; the cost is that of the text, not of how often it
//! came.

mod blocks;
mod inline;
mod line_start;
mod list;
mod table;

use self::blocks::Blocks;
use crate::text::Line;

#[cfg(test)]
mod tests;

/// No piece of a line or a paragraph is laid out in one go that is longer: so the tail stays cheap.
const LONGEST: usize = 8 << 10;

/// What a text is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Markdown.
    #[default]
    Markdown,
    /// Nothing: it is shown to the letter.
    Plain,
}

/// How a text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// No row is wider.
    pub columns: usize,
    /// The terminal follows links: their addresses need not be written.
    pub links: bool,
    /// What it is written in.
    pub form: Form,
}

/// A text that arrives in pieces. To withdraw it, drop it.
#[derive(Debug)]
pub struct Stream {
    blocks: Blocks,
    /// The line that is not over.
    open: String,
    /// Its beginning was laid out already.
    is_cut: bool,
    done: Vec<Line>,
}

impl Stream {
    /// Nothing yet.
    pub fn new(layout: Layout) -> Self {
        Self { blocks: Blocks::new(layout), open: String::new(), is_cut: false, done: Vec::new() }
    }

    /// Takes a piece of the text.
    pub fn push(&mut self, piece: &str) {
        let mut rest = piece;
        while let Some((line, after)) = rest.split_once('\n') {
            self.open.push_str(line);
            self.end_line();
            rest = after;
        }
        self.open.push_str(rest);
        self.cut_open_line();
    }

    /// The lines that were finished since this was asked last. They never change.
    pub fn finished(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.done)
    }

    /// What is not finished, and what is to come, is laid out so.
    pub fn resize(&mut self, layout: Layout) {
        self.blocks.resize(layout);
    }

    /// What is not finished, as it looks now.
    pub fn tail(&self) -> Vec<Line> {
        self.open_part().end()
    }

    /// The text is over: the lines that remained.
    pub fn end(mut self) -> Vec<Line> {
        if !self.open.is_empty() {
            self.end_line();
        }
        self.blocks.end(&mut self.done);
        self.done
    }

    /// What is not finished, by itself.
    fn open_part(&self) -> Self {
        Self { blocks: self.blocks.clone(), open: self.open.clone(), is_cut: self.is_cut, done: Vec::new() }
    }

    fn end_line(&mut self) {
        self.cut_open_line();
        let line = std::mem::take(&mut self.open);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        match std::mem::take(&mut self.is_cut) {
            true => self.blocks.more(line, &mut self.done),
            false => self.blocks.line(line, &mut self.done),
        }
    }

    /// Lays out the beginning of a line that has become too long, up to a blank where there is one.
    fn cut_open_line(&mut self) {
        while self.open.len() > LONGEST {
            let end = self.open.floor_char_boundary(LONGEST);
            let start = self.open.get(..end).unwrap_or_default();
            let at = start.rfind(' ').map_or(end, |at| at + 1);
            let rest = self.open.split_off(at);
            let line = std::mem::replace(&mut self.open, rest);
            match std::mem::replace(&mut self.is_cut, true) {
                true => self.blocks.more(&line, &mut self.done),
                false => self.blocks.line(&line, &mut self.done),
            }
        }
    }
}

/// A whole text laid out.
pub fn lines(text: &str, layout: Layout) -> Vec<Line> {
    let mut stream = Stream::new(layout);
    stream.push(text);
    stream.end()
}
