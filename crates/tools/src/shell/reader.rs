//! The reader's state: a place in the text, and what was noticed on the way.

use std::ops::Range;

use super::heredoc::Pending;
use super::syntax::{RawWord, Read, Script, Trouble};

/// How deep commands may hide in commands before the text is called unclear.
const MAX_DEPTH: usize = 32;

/// Reads one text. Bash's own rules are followed; where they are odd, the text is called unclear.
pub(super) struct Reader<'s> {
    pub(super) text: &'s str,
    pub(super) at: usize,
    /// Where this text starts in the whole command line.
    pub(super) base: usize,
    pub(super) depth: usize,
    pub(super) pending: Vec<Pending>,
    pub(super) noticed: Noticed,
}

/// What a reading found beside the tree.
#[derive(Debug, Default)]
pub(super) struct Noticed {
    /// Parts that were read but cannot be judged.
    pub notes: Vec<Trouble>,
    /// Where each simple command starts in the command line.
    pub commands: Vec<usize>,
    /// Parts that were read as a text of their own (backquotes).
    pub reread: Vec<Range<usize>>,
    /// Words whose substitutions belong to no command: heredoc bodies.
    pub loose: Vec<RawWord>,
}

impl<'s> Reader<'s> {
    pub(super) fn new(text: &'s str, base: usize, depth: usize) -> Reader<'s> {
        Reader { text, at: 0, base, depth, pending: Vec::new(), noticed: Noticed::default() }
    }

    /// Reads the whole text as a script.
    pub(super) fn script(mut self) -> Read<(Script, Noticed)> {
        let script = self.list()?;
        if self.at < self.text.len() {
            return Err(self.trouble(self.at, "the shell would not accept this"));
        }
        if !self.pending.is_empty() {
            return Err(self.trouble(0, "a heredoc has no text"));
        }
        Ok((script, self.noticed))
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.byte(0)
    }

    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn starts_with(&self, prefix: &str) -> bool {
        self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(prefix.as_bytes()))
    }

    /// Steps over `prefix` if the text goes on with it.
    pub(super) fn eat(&mut self, prefix: &str) -> bool {
        let found = self.starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Takes one character.
    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.text.get(self.at..)?.chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn since(&self, start: usize) -> String {
        self.text.get(start..self.at).unwrap_or_default().to_owned()
    }

    pub(super) fn trouble(&self, start: usize, reason: &str) -> Trouble {
        let rest = self.text.get(start..).unwrap_or_default();
        Trouble { what: rest.chars().take(80).collect(), reason: reason.to_owned() }
    }

    pub(super) fn note(&mut self, start: usize, reason: &str) {
        let what = self.since(start);
        self.noticed.notes.push(Trouble { what, reason: reason.to_owned() });
    }

    /// Runs `read` one level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.trouble(self.at, "commands are nested too deeply"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Takes over what a reader of a part of this text noticed.
    pub(super) fn absorb(&mut self, noticed: Noticed) {
        self.noticed.notes.extend(noticed.notes);
        self.noticed.commands.extend(noticed.commands);
        self.noticed.reread.extend(noticed.reread);
        self.noticed.loose.extend(noticed.loose);
    }

    /// Steps over blanks, line continuations and a comment.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.byte(1) == Some(b'\n') => self.at += 2,
                Some(b'#') if self.at_word_start() => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn at_word_start(&self) -> bool {
        let before = self.text.as_bytes().get(..self.at).unwrap_or_default();
        match before.last() {
            None => true,
            // What precedes a continued line decides, as the shell never sees the line break.
            Some(b'\n') if before.ends_with(b"\\\n") => {
                before.len() == 2 || before.get(before.len() - 3).is_some_and(|byte| ends_word(*byte))
            }
            Some(byte) => ends_word(*byte),
        }
    }

    /// Takes a line break and the heredoc texts that follow it.
    pub(super) fn newline(&mut self) -> Read<()> {
        self.at += 1;
        self.heredocs()
    }

    /// Steps over blanks and line breaks.
    pub(super) fn skip_lines(&mut self) -> Read<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }
}

/// True for the bytes that end a word when they are not quoted.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}
