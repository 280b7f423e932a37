//! The keys of vi: the set that fingers know.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::buffer::Buffer;
use super::edit::Edit;
use super::emacs::{Emacs, special};
use super::ring::{Cut, Side};
use super::vi_motion::{Find, Motion, object};
use super::{Action, When};

/// No count is larger.
const LARGEST: usize = 9999;

/// What keys mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Letters are typed.
    #[default]
    Insert,
    /// Letters are commands.
    Normal,
}

/// What is done with what a motion covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Delete,
    Change,
    Copy,
}

/// What a command still needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// The second `g`.
    Go,
    /// The character to find.
    Find(Find),
    /// The character to put in the place of another.
    Replace,
    /// What a text object is about; whether blanks around it belong to it.
    Object { around: bool },
}

/// The state of vi's keys.
#[derive(Clone, Debug, Default)]
pub struct Vi {
    mode: Mode,
    emacs: Emacs,
    count: usize,
    /// The operator, and how many times it was said.
    operator: Option<Operator>,
    times: usize,
    pending: Option<Pending>,
    last_find: Option<(Find, char)>,
    /// The command under way; none while letters are typed that no command began.
    change: Option<Change>,
    last_change: Change,
}

/// The keys of a change, for doing it again.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The command.
    pub command: Vec<KeyEvent>,
    /// What was inserted by it, with the key that ended it.
    pub inserted: Vec<KeyEvent>,
    /// Something was changed.
    is_one: bool,
}

impl Vi {
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Letters are typed again, as after sending.
    pub fn reset(&mut self) {
        let last_change = std::mem::take(&mut self.last_change);
        *self = Self { last_find: self.last_find, last_change, ..Self::default() };
    }

    /// The last change.
    pub fn last_change(&self) -> &Change {
        &self.last_change
    }

    /// What a key does; nothing for one that is not of these.
    pub fn key(&mut self, key: KeyEvent, buffer: &Buffer) -> Option<Vec<Edit>> {
        let before = self.mode;
        if before == Mode::Normal && !self.is_waiting() {
            self.change = Some(Change::default());
        }
        let mut edits = self.meant(key, buffer)?;
        self.remember(key, before, &edits);
        match (before, self.mode) {
            (Mode::Normal, Mode::Insert) => edits.insert(0, Edit::Group(true)),
            (Mode::Insert, Mode::Normal) => edits.insert(0, Edit::Group(false)),
            _ => {}
        }
        Some(edits)
    }

    /// Keeps the key of a command. Text that is inserted belongs to the command that began it.
    fn remember(&mut self, key: KeyEvent, before: Mode, edits: &[Edit]) {
        let is_over = self.mode == Mode::Normal && !self.is_waiting();
        if edits.iter().any(|edit| matches!(edit, Edit::Repeat(_))) {
            // To do a change again is none of its own.
            self.change = None;
        }
        let Some(change) = &mut self.change else { return };
        match before {
            Mode::Normal => change.command.push(key),
            Mode::Insert => change.inserted.push(key),
        }
        change.is_one |= edits.iter().any(Edit::changes);
        if is_over && let Some(change) = self.change.take_if(|change| change.is_one) {
            self.last_change = change;
        }
    }

    fn meant(&mut self, key: KeyEvent, buffer: &Buffer) -> Option<Vec<Edit>> {
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match (self.mode, key.code) {
            (Mode::Insert, KeyCode::Esc) => {
                self.mode = Mode::Normal;
                let at = buffer.cursor();
                Some(vec![Edit::Go(if at > buffer.line_start(at) { buffer.previous(at) } else { at })])
            }
            (Mode::Insert, _) => self.emacs.key(key, buffer).map(|edit| vec![edit]),
            (Mode::Normal, KeyCode::Char(c)) if plain => Some(self.command(c, buffer)),
            (Mode::Normal, KeyCode::Char('r')) => Some(vec![Edit::Redo]),
            (Mode::Normal, KeyCode::Char(_)) => self.emacs.key(key, buffer).map(|edit| vec![edit]),
            (Mode::Normal, KeyCode::Esc) if self.is_waiting() => {
                self.forget();
                Some(vec![Edit::Wait])
            }
            (Mode::Normal, KeyCode::Enter) => Some(vec![Edit::Send(When::Now)]),
            (Mode::Normal, KeyCode::Backspace) => Some(vec![Edit::Go(buffer.previous(buffer.cursor()))]),
            (Mode::Normal, code) => {
                self.forget();
                special(code, !plain, buffer).map(|edit| vec![edit])
            }
        }
    }

    fn is_waiting(&self) -> bool {
        self.pending.is_some() || self.operator.is_some() || self.count > 0
    }

    fn forget(&mut self) {
        (self.count, self.times, self.operator, self.pending) = (0, 0, None, None);
    }

    /// How many times: what was said before the operator and behind it.
    fn number(&self) -> usize {
        self.count.max(1).saturating_mul(self.times.max(1)).min(LARGEST)
    }

    /// The number that was said; nothing where none was.
    fn said(&self) -> Option<usize> {
        (self.count > 0 || self.times > 0).then(|| self.number())
    }

    /// A letter in normal mode.
    fn command(&mut self, c: char, buffer: &Buffer) -> Vec<Edit> {
        if let Some(pending) = self.pending.take() {
            return self.complete(pending, c, buffer);
        }
        match c {
            '1'..='9' => self.digit(c),
            '0' if self.count > 0 => self.digit(c),
            'f' => self.wait_for(Pending::Find(Find { forward: true, until: false })),
            'F' => self.wait_for(Pending::Find(Find { forward: false, until: false })),
            't' => self.wait_for(Pending::Find(Find { forward: true, until: true })),
            'T' => self.wait_for(Pending::Find(Find { forward: false, until: true })),
            'g' => self.wait_for(Pending::Go),
            'i' | 'a' if self.operator.is_some() => self.wait_for(Pending::Object { around: c == 'a' }),
            ';' | ',' => match self.last_find {
                Some((find, wanted)) => {
                    let forward = find.forward == (c == ';');
                    self.motion(Motion::Find(Find { forward, ..find }, wanted), buffer)
                }
                None => self.nothing(),
            },
            'd' | 'c' | 'y' => self.operate(c, buffer),
            'G' => self.motion(Motion::ToLine { last: true, number: self.said() }, buffer),
            c => match Motion::of(c) {
                Some(motion) => self.motion(motion, buffer),
                None if self.operator.is_some() => self.nothing(),
                None => self.simple(c, buffer),
            },
        }
    }

    fn digit(&mut self, c: char) -> Vec<Edit> {
        let digit = c.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).unwrap_or_default();
        self.count = (self.count * 10 + digit).min(LARGEST);
        vec![Edit::Wait]
    }

    fn wait_for(&mut self, pending: Pending) -> Vec<Edit> {
        self.pending = Some(pending);
        vec![Edit::Wait]
    }

    fn nothing(&mut self) -> Vec<Edit> {
        self.forget();
        vec![Edit::Wait]
    }

    /// The letter that a command waited for.
    fn complete(&mut self, pending: Pending, c: char, buffer: &Buffer) -> Vec<Edit> {
        match pending {
            Pending::Go if c == 'g' => {
                self.motion(Motion::ToLine { last: false, number: self.said() }, buffer)
            }
            Pending::Go => self.nothing(),
            Pending::Find(find) => {
                self.last_find = Some((find, c));
                self.motion(Motion::Find(find, c), buffer)
            }
            Pending::Replace => {
                let at = buffer.cursor();
                let end = (0..self.count.max(1)).fold(at, |at, _| buffer.next(at)).min(buffer.line_end(at));
                let number = crate::text::graphemes(buffer.slice(at..end)).count();
                self.forget();
                let text = c.to_string().repeat(number);
                let last = at + text.len().saturating_sub(c.len_utf8());
                vec![Edit::Replace(at..end, text), Edit::Go(last)]
            }
            Pending::Object { around } => match object(c, around, buffer) {
                Some(range) => self.over(range, false, buffer),
                None => self.nothing(),
            },
        }
    }

    /// Goes somewhere, or does something with what lies between.
    fn motion(&mut self, motion: Motion, buffer: &Buffer) -> Vec<Edit> {
        let at = buffer.cursor();
        let count = self.number();
        let vertical = match motion {
            Motion::Down => Some(Edit::Down),
            Motion::Up => Some(Edit::Up),
            _ => None,
        };
        match (self.operator, vertical) {
            (None, Some(edit)) => {
                self.forget();
                vec![edit; count]
            }
            (Some(_), Some(edit)) => {
                let lines = lines(buffer, count, edit == Edit::Up);
                self.over(lines, true, buffer)
            }
            (None, None) => {
                self.forget();
                vec![Edit::Go(motion.target(buffer, at, count))]
            }
            (Some(_), None) if matches!(motion, Motion::ToLine { .. }) => {
                let (there, end) = (motion.target(buffer, at, 1), buffer.text().len());
                let (first, last) = (at.min(there), at.max(there));
                let lines = buffer.line_start(first)..(buffer.line_end(last) + 1).min(end);
                self.over(lines, true, buffer)
            }
            (Some(operator), None) => {
                // `cw` leaves the blanks behind the word, as vi does.
                let motion = match (operator, motion) {
                    (Operator::Change, Motion::WordStart { big }) => Motion::WordRest { big },
                    (_, motion) => motion,
                };
                let range = motion.covers(buffer, at, count);
                self.over(range, false, buffer)
            }
        }
    }

    /// An operator, or the same one twice: then it is about lines.
    fn operate(&mut self, c: char, buffer: &Buffer) -> Vec<Edit> {
        let operator = match c {
            'd' => Operator::Delete,
            'c' => Operator::Change,
            _ => Operator::Copy,
        };
        match self.operator {
            None => {
                (self.operator, self.times) = (Some(operator), std::mem::take(&mut self.count));
                vec![Edit::Wait]
            }
            Some(first) if first == operator => {
                let lines = lines(buffer, self.number() - 1, false);
                self.over(lines, true, buffer)
            }
            Some(_) => self.nothing(),
        }
    }

    /// Does what the operator says with a part of the text.
    fn over(&mut self, range: Range<usize>, is_lines: bool, buffer: &Buffer) -> Vec<Edit> {
        let Some(operator) = self.operator else { return self.nothing() };
        self.forget();
        let text = buffer.slice(range.clone());
        let cut = match is_lines {
            true => Cut { text: format!("{}\n", text.trim_end_matches('\n')), is_lines },
            false => Cut { text: text.to_owned(), is_lines },
        };
        match operator {
            Operator::Copy => vec![Edit::Copy(cut), Edit::Go(range.start.min(buffer.cursor()))],
            Operator::Delete => vec![Edit::Take(removed(range, is_lines, buffer), cut)],
            Operator::Change => {
                self.mode = Mode::Insert;
                // The line stays, empty.
                let end = if is_lines && text.ends_with('\n') { range.end - 1 } else { range.end };
                vec![Edit::Take(range.start..end, cut)]
            }
        }
    }

    /// Commands of one letter.
    fn simple(&mut self, c: char, buffer: &Buffer) -> Vec<Edit> {
        let at = buffer.cursor();
        let (start, end) = (buffer.line_start(at), buffer.line_end(at));
        let count = self.count.max(1);
        let forward = (0..count).fold(at, |at, _| buffer.next(at)).min(end);
        let back = (0..count).fold(at, |at, _| buffer.previous(at)).max(start);
        let cut = |range: Range<usize>| {
            let cut = Cut { text: buffer.slice(range.clone()).to_owned(), is_lines: false };
            Edit::Take(range, cut)
        };
        self.forget();
        let insert = |vi: &mut Self, edits: Vec<Edit>| {
            vi.mode = Mode::Insert;
            edits
        };
        match c {
            'i' => insert(self, vec![Edit::Wait]),
            'a' => insert(self, vec![Edit::Go(buffer.next(at).min(end))]),
            'I' => insert(self, vec![Edit::Go(Motion::FirstLetter.target(buffer, at, 1))]),
            'A' => insert(self, vec![Edit::Go(end)]),
            'o' => insert(self, vec![Edit::Go(end), Edit::Type("\n".to_owned())]),
            'O' => insert(self, vec![Edit::Go(start), Edit::Type("\n".to_owned()), Edit::Go(start)]),
            's' => insert(self, vec![cut(at..forward)]),
            'S' => insert(self, vec![cut(start..end)]),
            'C' => insert(self, vec![cut(at..end)]),
            'D' => vec![cut(at..end)],
            'x' => vec![cut(at..forward)],
            'X' => vec![cut(back..at)],
            '.' => vec![Edit::Repeat(count)],
            'Y' => vec![Edit::Copy(Cut { text: format!("{}\n", buffer.slice(start..end)), is_lines: true })],
            'p' => vec![Edit::Put(Side::After); count],
            'P' => vec![Edit::Put(Side::Before); count],
            'u' => vec![Edit::Undo; count],
            'r' => {
                self.count = count;
                self.wait_for(Pending::Replace)
            }
            'J' => joined(buffer),
            '~' => vec![swapped_case(buffer, at..forward)],
            '/' => vec![Edit::Search],
            'v' => vec![Edit::Act(Action::EditExternally)],
            _ => self.nothing(),
        }
    }
}

/// The line of the cursor and `more` of them, below or above, with the line break at the end.
fn lines(buffer: &Buffer, more: usize, above: bool) -> Range<usize> {
    let (mut start, mut end) = (buffer.line_start(buffer.cursor()), buffer.line_end(buffer.cursor()));
    for _ in 0..more {
        match above {
            true => start = buffer.line_start(start.saturating_sub(1)),
            false => end = buffer.line_end((end + 1).min(buffer.text().len())),
        }
    }
    start..(end + 1).min(buffer.text().len())
}

/// What goes when lines are deleted: for the last line, the line break before it.
fn removed(range: Range<usize>, is_lines: bool, buffer: &Buffer) -> Range<usize> {
    let is_last =
        is_lines && range.end == buffer.text().len() && !buffer.slice(range.clone()).ends_with('\n');
    match is_last {
        true => range.start.saturating_sub(1)..range.end,
        false => range,
    }
}

/// The next line at the end of this one.
fn joined(buffer: &Buffer) -> Vec<Edit> {
    let end = buffer.line_end(buffer.cursor());
    if end == buffer.text().len() {
        return vec![Edit::Wait];
    }
    let next = buffer.forward(end + 1, |c| c == '\n' || !c.is_whitespace());
    vec![Edit::Replace(end..next, " ".to_owned()), Edit::Go(end)]
}

fn swapped_case(buffer: &Buffer, range: Range<usize>) -> Edit {
    let swapped = buffer.slice(range.clone()).chars().flat_map(|c| -> Box<dyn Iterator<Item = char>> {
        if c.is_uppercase() { Box::new(c.to_lowercase()) } else { Box::new(c.to_uppercase()) }
    });
    Edit::Replace(range, swapped.collect())
}
