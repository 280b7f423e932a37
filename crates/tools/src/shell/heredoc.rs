//! Heredocs: where their text ends, and what is substituted into it.

use super::reader::Reader;
use super::syntax::{Atom, RawWord, Read, Redirect, RedirectKind, Trouble};
use super::variables::{SECRET_VARIABLE, names_secret};

/// A heredoc whose text comes after the line.
#[derive(Debug)]
pub(super) struct Pending {
    delimiter: String,
    /// Quoted delimiters switch all expansion off.
    quoted: bool,
    strip_tabs: bool,
}

impl Reader<'_> {
    /// Reads the delimiter after `<<` or `<<-`.
    pub(super) fn heredoc_start(&mut self, start: usize, strip_tabs: bool) -> Read<Redirect> {
        self.skip_blanks();
        let word = self.word()?.ok_or_else(|| self.trouble(start, "a heredoc has no delimiter"))?;
        let quoted = word.source.contains(['\'', '"', '\\']);
        let delimiter: Option<String> = word
            .atoms
            .iter()
            .filter(|atom| **atom != Atom::Empty)
            .map(|atom| match atom {
                Atom::Char(c) | Atom::Quoted(c) if c.is_ascii_alphanumeric() || "_-.!".contains(*c) => {
                    Some(*c)
                }
                _ => None,
            })
            .collect();
        let delimiter = delimiter
            .filter(|delimiter| !delimiter.is_empty() && !word.source.contains(['$', '\n']))
            .ok_or_else(|| self.trouble(start, "the delimiter of this heredoc is unusual"))?;
        self.pending.push(Pending { delimiter, quoted, strip_tabs });
        Ok(Redirect { kind: RedirectKind::Text, target: RawWord::default(), source: self.since(start) })
    }

    /// Reads the texts of the heredocs that wait for this line break.
    pub(super) fn heredocs(&mut self) -> Read<()> {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.at;
            let end = self.heredoc_end(&pending)?;
            if !pending.quoted {
                self.heredoc_expansions(start, end)?;
            }
        }
        Ok(())
    }

    /// Steps past the delimiter line and says where the text before it ends.
    fn heredoc_end(&mut self, pending: &Pending) -> Read<usize> {
        let start = self.at;
        let mut joined = String::new();
        while self.at < self.text.len() {
            let line_start = self.at;
            let rest = self.text.get(line_start..).unwrap_or_default();
            let full = rest.split('\n').next().unwrap_or_default();
            let line = if pending.strip_tabs { full.trim_start_matches('\t') } else { full };
            let continued =
                !pending.quoted && line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
            let after_continuation = !joined.is_empty();
            joined.push_str(line.strip_suffix('\\').filter(|_| continued).unwrap_or(line));
            let ends = joined == pending.delimiter;
            if after_continuation && (ends || line == pending.delimiter) {
                return Err(self.trouble(line_start, "a continued line hides the end of a heredoc"));
            }
            self.at = (line_start + full.len() + 1).min(self.text.len());
            if ends && !continued {
                // The line break stays, so that what follows starts a line of its own.
                self.at = line_start + full.len();
                return Ok(line_start);
            }
            if continued && joined.is_empty() {
                return Err(self.trouble(line_start, "a continued line hides the end of a heredoc"));
            }
            if !continued {
                joined.clear();
            }
        }
        Err(self.trouble(start, "the end of a heredoc is missing"))
    }

    /// Finds the substitutions in the text between `start` and `end`.
    fn heredoc_expansions(&mut self, start: usize, end: usize) -> Read<()> {
        let text = self.text.get(start..end).unwrap_or_default();
        let mut body = Reader::new(text, self.base + start, self.depth);
        let mut word = RawWord { start: self.base + start, source: text.to_owned(), ..RawWord::default() };
        while let Some(byte) = body.peek() {
            match byte {
                b'\\' => body.escape_in_text(&mut word, b"$`\\")?,
                b'$' => body.dollar(&mut word, true)?,
                b'`' => body.backquotes(&mut word, true)?,
                _ => word.atoms.extend(body.bump().map(Atom::Quoted)),
            }
        }
        if !body.pending.is_empty() {
            return Err(self.trouble(start, "a heredoc and a substitution are entangled"));
        }
        let noticed = body.noticed;
        self.absorb(noticed);
        if word.atoms.contains(&Atom::Unknown) && names_secret(text) {
            let (what, reason) = (text.trim().to_owned(), SECRET_VARIABLE.to_owned());
            self.noticed.notes.push(Trouble { what, reason });
        }
        if !word.scripts.is_empty() || !word.assigned.is_empty() {
            self.noticed.loose.push(word);
        }
        Ok(())
    }
}
