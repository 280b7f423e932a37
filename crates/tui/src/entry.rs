//! A line that is typed: a reason, an answer, a filter.

use charla_proto::text::one_line;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::text::{Line, Role, width};

/// What a key made of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// It goes on.
    More,
    /// It is ready.
    Done,
    /// It is given up.
    Left,
    /// The key means nothing here.
    Other,
}

/// A line of text with the cursor at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    text: String,
}

impl Entry {
    /// What was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Typed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Typed::Done,
            KeyCode::Esc => return Typed::Left,
            KeyCode::Char('c') if control => return Typed::Left,
            KeyCode::Char('u') if control => self.text.clear(),
            KeyCode::Char('w') if control => {
                let kept = self.text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.text.truncate(kept);
            }
            KeyCode::Backspace => drop(self.text.pop()),
            KeyCode::Char(c) if !control => self.text.push(c),
            _ => return Typed::Other,
        }
        Typed::More
    }

    /// Takes pasted text, on one line.
    pub fn paste(&mut self, text: &str) {
        self.text.push_str(&text.replace(['\r', '\n'], " "));
    }

    /// It behind a label, and the column of the cursor. What does not fit is left out at its beginning.
    pub fn view(&self, label: &str, columns: usize) -> (Line, usize) {
        let mut line = Line::of(Role::Accent, label);
        let room = columns.saturating_sub(width(label) + 1);
        let text = one_line(&self.text);
        let mut shown = text.as_str();
        while width(shown) > room {
            let mut rest = shown.chars();
            rest.next();
            shown = rest.as_str();
        }
        line.push(Role::Plain, shown);
        let column = line.width();
        (line, column)
    }
}
