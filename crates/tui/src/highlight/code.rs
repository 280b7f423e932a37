//! The scanner for programming languages.

use super::languages::{Language, Quote};
use crate::text::{Line, Role};

/// A short literal, such as one character, has no more bytes.
const SHORT: usize = 14;

/// The words of a language that have a role, in order.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    words: Vec<(&'static str, Role)>,
    ignores_case: bool,
}

impl Vocabulary {
    pub fn of(language: &Language) -> Self {
        let lists = [
            (language.keywords, Role::Keyword),
            (language.constants, Role::Number),
            (language.types, Role::Type),
        ];
        let of_list = |(words, role): (&'static str, Role)| words.split(' ').map(move |word| (word, role));
        let mut words: Vec<_> = lists.into_iter().flat_map(of_list).collect();
        words.sort_unstable();
        Self { words, ignores_case: language.ignores_case }
    }

    fn role(&self, word: &str) -> Option<Role> {
        if self.ignores_case && word.contains(|c: char| c.is_ascii_uppercase()) {
            return self.role(&word.to_ascii_lowercase());
        }
        let at = self.words.binary_search_by_key(&word, |(known, _)| known).ok()?;
        self.words.get(at).map(|(_, role)| *role)
    }
}

/// What is open at the end of a line.
#[derive(Clone, Copy, Debug, Default)]
pub enum CodeState {
    /// Nothing.
    #[default]
    Plain,
    /// So many comments within each other.
    Comment(usize),
    /// A string.
    Text(&'static Quote),
}

impl CodeState {
    pub fn line(&mut self, language: &'static Language, vocabulary: &Vocabulary, text: &str) -> Line {
        let mut scanner = Scanner { language, vocabulary, line: Line::new(), rest: text, before: None };
        while !scanner.rest.is_empty() {
            *self = match *self {
                Self::Plain => scanner.token(),
                Self::Comment(depth) => scanner.comment(depth),
                Self::Text(quote) => scanner.text(quote, 0),
            };
        }
        scanner.line
    }
}

struct Scanner<'a> {
    language: &'static Language,
    vocabulary: &'a Vocabulary,
    line: Line,
    rest: &'a str,
    /// The character before the rest.
    before: Option<char>,
}

impl Scanner<'_> {
    /// Takes so many bytes in a role.
    fn take(&mut self, length: usize, role: Role) {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.before = taken.chars().next_back().or(self.before);
        self.line.push(role, taken);
        self.rest = rest;
    }

    /// The next token where nothing is open.
    fn token(&mut self) -> CodeState {
        let language = self.language;
        if self.begins_line_comment() {
            self.take(self.rest.len(), Role::Comment);
            return CodeState::Plain;
        }
        if let Some((open, _)) = language.block.filter(|(open, _)| self.rest.starts_with(open)) {
            self.take(open.len(), Role::Comment);
            return CodeState::Comment(1);
        }
        let quote = language.quotes.iter().find(|quote| self.rest.starts_with(quote.open));
        if let Some(quote) = quote.filter(|quote| !quote.is_short || self.closes_soon(quote)) {
            return self.text(quote, quote.open.len());
        }
        let first = self.rest.chars().next().unwrap_or_default();
        match first {
            c if language.variable == Some(c) => self.variable(),
            c if c.is_ascii_digit() => self.number(),
            c if self.is_of_word(c) => self.word(),
            c => self.take(c.len_utf8(), Role::Plain),
        }
        CodeState::Plain
    }

    fn begins_line_comment(&self) -> bool {
        let Some(mark) = self.language.line_comments.iter().find(|mark| self.rest.starts_with(**mark)) else {
            return false;
        };
        // `$#` and `a#b` are no comments.
        !mark.starts_with('#') || self.before.is_none_or(char::is_whitespace)
    }

    fn closes_soon(&self, quote: &Quote) -> bool {
        let inner: String = self.rest.chars().skip(1).take(SHORT).collect();
        let mut characters = inner.chars();
        match characters.next() {
            Some('\\') => inner.chars().skip(2).collect::<String>().contains(quote.close),
            Some(_) => characters.as_str().starts_with(quote.close),
            None => false,
        }
    }

    fn is_of_word(&self, c: char) -> bool {
        c.is_alphanumeric() || c == '_' || self.language.letters.contains(c)
    }

    fn length_of(&self, is_part: impl Fn(char) -> bool) -> usize {
        self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len())
    }

    fn number(&mut self) {
        let length = self.length_of(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        self.take(length, Role::Number);
    }

    fn variable(&mut self) {
        let name = self.rest.get(1..).unwrap_or_default();
        let length = match name.strip_prefix('{') {
            Some(braced) => braced.find('}').map_or(1, |end| end + 2),
            None => name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len()).max(1),
        };
        let length = self.rest.char_indices().map(|(at, c)| at + c.len_utf8()).find(|end| *end > length);
        self.take(length.unwrap_or(self.rest.len()), Role::Type);
    }

    fn word(&mut self) {
        let length = self.length_of(|c| self.is_of_word(c));
        let word = self.rest.get(..length).unwrap_or_default();
        let after = self.rest.get(length..).unwrap_or_default();
        let role = self.role(word, after);
        self.take(length, role);
    }

    fn role(&self, word: &str, after: &str) -> Role {
        let is_type = || self.language.capitals_are_types && word.starts_with(char::is_uppercase);
        match self.vocabulary.role(word) {
            _ if self.is_key(after) => Role::Type,
            Some(role) => role,
            None if is_type() => Role::Type,
            None => Role::Plain,
        }
    }

    fn is_key(&self, after: &str) -> bool {
        self.language.key_ends_with.is_some_and(|end| after.trim_start().starts_with(end))
    }

    /// A string from its beginning, or on from the line before; `opening` bytes of it are its quote.
    fn text(&mut self, quote: &'static Quote, opening: usize) -> CodeState {
        let inner = self.rest.get(opening..).unwrap_or_default();
        let Some(length) = end_of(inner, quote) else {
            self.take(self.rest.len(), Role::Literal);
            return if quote.goes_on { CodeState::Text(quote) } else { CodeState::Plain };
        };
        let length = opening + length;
        let after = self.rest.get(length..).unwrap_or_default();
        let role = if self.is_key(after) { Role::Type } else { Role::Literal };
        self.take(length, role);
        CodeState::Plain
    }

    /// The rest of a comment, up to its end or the beginning of one within it.
    fn comment(&mut self, depth: usize) -> CodeState {
        let Some((open, close)) = self.language.block else { return CodeState::Plain };
        let end = self.rest.find(close);
        let inner = self.rest.find(open).filter(|_| self.language.comments_nest);
        match (end, inner) {
            (end, Some(inner)) if end.is_none_or(|end| inner < end) => {
                self.take(inner + open.len(), Role::Comment);
                CodeState::Comment(depth + 1)
            }
            (Some(end), _) => {
                self.take(end + close.len(), Role::Comment);
                if depth > 1 { CodeState::Comment(depth - 1) } else { CodeState::Plain }
            }
            (None, _) => {
                self.take(self.rest.len(), Role::Comment);
                CodeState::Comment(depth)
            }
        }
    }
}

/// The bytes of a string's inside and its closing quote.
fn end_of(inner: &str, quote: &Quote) -> Option<usize> {
    if !quote.escapes {
        return inner.find(quote.close).map(|at| at + quote.close.len());
    }
    let mut at = 0;
    loop {
        let rest = inner.get(at..)?;
        let next = rest.find(['\\', quote.close.chars().next()?])?;
        let found = rest.get(next..)?;
        if found.starts_with(quote.close) {
            return Some(at + next + quote.close.len());
        }
        // A backslash takes the character behind it along; another quote is one character.
        let skipped = if found.starts_with('\\') { 2 } else { 1 };
        at += next + found.chars().take(skipped).map(char::len_utf8).sum::<usize>();
    }
}
