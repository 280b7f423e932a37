//! The scanner for HTML and XML.

use crate::text::{Line, Role};

/// What is open at the end of a line.
#[derive(Clone, Copy, Debug, Default)]
pub enum MarkupState {
    /// Text.
    #[default]
    Text,
    /// A tag, whose name was read or not.
    Tag { named: bool },
    /// An attribute's value, with its quote.
    Value(char),
    /// A comment.
    Comment,
}

impl MarkupState {
    pub fn line(&mut self, text: &str) -> Line {
        let (mut line, mut rest) = (Line::new(), text);
        while !rest.is_empty() {
            let (length, role, next) = self.token(rest);
            let (taken, after) = rest.split_at_checked(length.max(1)).unwrap_or((rest, ""));
            line.push(role, taken);
            (rest, *self) = (after, next);
        }
        line
    }

    /// The length and role of the next token, and what is open behind it.
    fn token(self, rest: &str) -> (usize, Role, Self) {
        let all = rest.len();
        match self {
            Self::Comment => match rest.find("-->") {
                Some(end) => (end + 3, Role::Comment, Self::Text),
                None => (all, Role::Comment, self),
            },
            Self::Value(quote) => match rest.find(quote) {
                Some(end) => (end + 1, Role::Literal, Self::Tag { named: true }),
                None => (all, Role::Literal, self),
            },
            Self::Text if rest.starts_with("<!--") => (4, Role::Comment, Self::Comment),
            Self::Text if rest.starts_with('<') => (1, Role::Keyword, Self::Tag { named: false }),
            Self::Text => (rest.find('<').unwrap_or(all), Role::Plain, self),
            Self::Tag { named } => in_tag(rest, named),
        }
    }
}

fn in_tag(rest: &str, named: bool) -> (usize, Role, MarkupState) {
    let first = rest.chars().next().unwrap_or_default();
    match first {
        '>' => (1, Role::Keyword, MarkupState::Text),
        '"' | '\'' => (1, Role::Literal, MarkupState::Value(first)),
        '/' | '!' | '?' => (1, Role::Keyword, MarkupState::Tag { named }),
        c if c.is_alphanumeric() => {
            let is_part = |c: char| c.is_alphanumeric() || "-_:.".contains(c);
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let role = if named { Role::Type } else { Role::Keyword };
            (length, role, MarkupState::Tag { named: true })
        }
        c => (c.len_utf8(), Role::Plain, MarkupState::Tag { named }),
    }
}
