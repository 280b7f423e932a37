//! Where vi's motions lead, and what they cover.

use std::ops::Range;

use super::buffer::Buffer;

/// How a character is looked for in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Find {
    /// To the right.
    pub forward: bool,
    /// Up to it, not onto it.
    pub until: bool,
}

/// A way through the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    Left,
    Right,
    Up,
    Down,
    /// `w`, or `W` where only blanks hold words apart.
    WordStart {
        big: bool,
    },
    /// `b` and `B`.
    WordBack {
        big: bool,
    },
    /// `e` and `E`.
    WordEnd {
        big: bool,
    },
    /// What `cw` covers: to the end of the word, and of one letter too.
    WordRest {
        big: bool,
    },
    LineStart,
    FirstLetter,
    LineEnd,
    /// `gg` and `G`: the line of this number, else the first or the last.
    ToLine {
        last: bool,
        number: Option<usize>,
    },
    Find(Find, char),
}

/// What holds words apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Word,
    Mark,
}

fn class(c: char, big: bool) -> Class {
    match c {
        c if c.is_whitespace() => Class::Blank,
        c if big || c.is_alphanumeric() || c == '_' => Class::Word,
        _ => Class::Mark,
    }
}

impl Motion {
    /// The motion of a letter.
    pub fn of(c: char) -> Option<Self> {
        Some(match c {
            'h' => Self::Left,
            'l' | ' ' => Self::Right,
            'j' => Self::Down,
            'k' => Self::Up,
            'w' => Self::WordStart { big: false },
            'W' => Self::WordStart { big: true },
            'b' => Self::WordBack { big: false },
            'B' => Self::WordBack { big: true },
            'e' => Self::WordEnd { big: false },
            'E' => Self::WordEnd { big: true },
            '0' => Self::LineStart,
            '^' | '_' => Self::FirstLetter,
            '$' => Self::LineEnd,
            _ => return None,
        })
    }

    /// Where it leads.
    pub fn target(self, buffer: &Buffer, at: usize, count: usize) -> usize {
        (0..count).fold(at, |at, _| self.once(buffer, at))
    }

    fn once(self, buffer: &Buffer, at: usize) -> usize {
        let (start, end) = (buffer.line_start(at), buffer.line_end(at));
        match self {
            Self::Left => buffer.previous(at).max(start),
            Self::Right => buffer.next(at).min(end),
            Self::Up | Self::Down => at,
            Self::WordStart { big } => word_start(buffer, at, big),
            Self::WordBack { big } => word_back(buffer, at, big),
            Self::WordEnd { big } => word_end(buffer, at, big),
            Self::LineStart => start,
            Self::FirstLetter => buffer.forward(start, |c| c == '\n' || !c.is_whitespace()),
            Self::LineEnd => end,
            Self::WordRest { big } => word_rest(buffer, at, big),
            Self::ToLine { last, number } => {
                let line = line_of(buffer, last, number);
                buffer.forward(line, |c| c == '\n' || !c.is_whitespace())
            }
            Self::Find(find, wanted) => found(buffer, at, find, wanted).unwrap_or(at),
        }
    }

    /// What lies between the cursor and where it leads.
    pub fn covers(self, buffer: &Buffer, at: usize, count: usize) -> Range<usize> {
        let mut to = match self {
            Self::Find(find, wanted) => match found_again(buffer, at, find, wanted, count) {
                Some(to) if find.forward => buffer.next(to),
                to => to.unwrap_or(at),
            },
            Self::WordRest { big } => {
                let end = class_at(buffer, at, big).map_or(at, |first| run_end(buffer, at, first, big));
                self.target(buffer, end, count - 1)
            }
            Self::WordEnd { .. } => buffer.next(self.target(buffer, at, count)),
            _ => self.target(buffer, at, count),
        };
        // A word at the end of a line does not take the line break along.
        if matches!(self, Self::WordStart { .. }) && count == 1 {
            to = to.min(buffer.line_end(at)).max(at);
        }
        at.min(to)..at.max(to)
    }
}

/// Where a line begins: that of this number, from 1, else the first or the last.
fn line_of(buffer: &Buffer, last: bool, number: Option<usize>) -> usize {
    let text = buffer.text();
    let begins = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    match number {
        Some(number) => begins.take(number.max(1)).last().unwrap_or(0),
        None if last => begins.last().unwrap_or(0),
        None => 0,
    }
}

/// Where what is of this class ends, in the line.
fn run_end(buffer: &Buffer, from: usize, kind: Class, big: bool) -> usize {
    buffer.forward(from, |c| c == '\n' || class(c, big) != kind)
}

/// Behind the next word, and behind the blanks before it.
fn word_rest(buffer: &Buffer, at: usize, big: bool) -> usize {
    let start = buffer.forward(at, |c| class(c, big) != Class::Blank);
    class_at(buffer, start, big).map_or(start, |kind| run_end(buffer, start, kind, big))
}

fn class_at(buffer: &Buffer, at: usize, big: bool) -> Option<Class> {
    buffer.slice(at..buffer.text().len()).chars().next().map(|c| class(c, big))
}

fn word_start(buffer: &Buffer, at: usize, big: bool) -> usize {
    let Some(first) = class_at(buffer, at, big) else { return at };
    let end = if first == Class::Blank { at } else { buffer.forward(at, |c| class(c, big) != first) };
    buffer.forward(end, |c| class(c, big) != Class::Blank)
}

fn word_back(buffer: &Buffer, at: usize, big: bool) -> usize {
    let end = buffer.backward(at, |c| class(c, big) != Class::Blank);
    match buffer.slice(0..end).chars().next_back() {
        Some(last) => buffer.backward(end, |c| class(c, big) != class(last, big)),
        None => 0,
    }
}

fn word_end(buffer: &Buffer, at: usize, big: bool) -> usize {
    let start = buffer.forward(buffer.next(at), |c| class(c, big) != Class::Blank);
    match class_at(buffer, start, big) {
        Some(first) => buffer.previous(buffer.forward(start, |c| class(c, big) != first)),
        None => buffer.previous(buffer.text().len()).max(at),
    }
}

/// A character in the line, on the way there.
fn found(buffer: &Buffer, at: usize, find: Find, wanted: char) -> Option<usize> {
    match find.forward {
        true => {
            let from = buffer.next(at);
            let place = from + buffer.slice(from..buffer.line_end(at)).find(wanted)?;
            Some(if find.until { buffer.previous(place) } else { place })
        }
        false => {
            let start = buffer.line_start(at);
            let place = start + buffer.slice(start..at).rfind(wanted)?;
            Some(if find.until { buffer.next(place) } else { place })
        }
    }
}

/// The same several times; the last one decides whether it is reached.
fn found_again(buffer: &Buffer, at: usize, find: Find, wanted: char, count: usize) -> Option<usize> {
    let onto = Find { until: false, ..find };
    let from = (1..count).try_fold(at, |at, _| found(buffer, at, onto, wanted))?;
    found(buffer, from, find, wanted)
}

/// A text object at the cursor: a word, or what stands between quotes or brackets.
pub fn object(kind: char, around: bool, buffer: &Buffer) -> Option<Range<usize>> {
    match kind {
        'w' | 'W' => word_object(kind == 'W', around, buffer),
        '"' | '\'' | '`' => between(kind, kind, around, buffer),
        '(' | ')' | 'b' => between('(', ')', around, buffer),
        '[' | ']' => between('[', ']', around, buffer),
        '{' | '}' | 'B' => between('{', '}', around, buffer),
        _ => None,
    }
}

fn word_object(big: bool, around: bool, buffer: &Buffer) -> Option<Range<usize>> {
    let at = buffer.cursor();
    let kind = class_at(buffer, at, big)?;
    let start = buffer.backward(at, |c| class(c, big) != kind || c == '\n');
    let end = buffer.forward(at, |c| class(c, big) != kind || c == '\n');
    match around {
        true => Some(start..buffer.forward(end, |c| c == '\n' || class(c, big) != Class::Blank)),
        false => Some(start..end),
    }
}

fn between(open: char, close: char, around: bool, buffer: &Buffer) -> Option<Range<usize>> {
    let at = buffer.cursor();
    let (line, length) = (buffer.line_start(at), open.len_utf8());
    let is_on_open = buffer.slice(at..buffer.text().len()).starts_with(open);
    let start = match is_on_open {
        true => at,
        false => line + buffer.slice(line..at).rfind(open)?,
    };
    let inner = start + length;
    let end = inner + buffer.slice(inner..buffer.line_end(at)).find(close)?;
    Some(if around { start..end + close.len_utf8() } else { inner..end })
}
