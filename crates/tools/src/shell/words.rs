//! Words: quoting, escapes, expansions and substitutions, as bash reads them.

use std::rc::Rc;

use super::ansi_c;
use super::reader::{Reader, ends_word};
use super::syntax::{Atom, RawWord, Read, Script};

pub(super) const ARITHMETIC: &str = "arithmetic on variables may run commands hidden in their values";

impl Reader<'_> {
    /// Reads a word; absent when something else than a word comes next.
    pub(super) fn word(&mut self) -> Read<Option<RawWord>> {
        let start = self.at;
        let mut word = RawWord { start: self.base + start, ..RawWord::default() };
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.byte(1) == Some(b'(') => {
                    self.at += 2;
                    let script = self.substitution()?;
                    word.scripts.push(Rc::new(script));
                    // Bash takes the first number that is free, which the policy does not distinguish from others.
                    word.atoms.extend("/dev/fd/63".chars().map(Atom::Quoted));
                }
                byte if ends_word(byte) => break,
                b'\\' => self.escape(&mut word)?,
                b'\'' => self.single_quotes(&mut word)?,
                b'"' => {
                    self.at += 1;
                    self.double_quotes(&mut word)?;
                }
                b'$' => self.dollar(&mut word, false)?,
                b'`' => self.backquotes(&mut word, false)?,
                b'*' | b'?' | b'[' => {
                    self.at += 1;
                    word.atoms.push(Atom::Glob(byte as char));
                }
                _ => word.atoms.extend(self.bump().map(Atom::Char)),
            }
        }
        if self.at == start {
            return Ok(None);
        }
        word.source = self.since(start);
        Ok(Some(word))
    }

    fn escape(&mut self, word: &mut RawWord) -> Read<()> {
        let start = self.at;
        self.at += 1;
        match self.bump() {
            Some('\n') => self.continuation(word, start),
            Some(escaped) => {
                word.atoms.push(Atom::Quoted(escaped));
                Ok(())
            }
            None => Err(self.trouble(start, "the text ends in a backslash")),
        }
    }

    /// A line that goes on inside a word. The shell never sees the break, so it must not stand inside anything
    /// that is longer than one character.
    fn continuation(&self, word: &RawWord, start: usize) -> Read<()> {
        let before = matches!(word.atoms.last(), None | Some(Atom::Char(_) | Atom::Quoted(_) | Atom::Empty))
            && word.atoms.last() != Some(&Atom::Quoted('$'));
        let after = self.peek().is_none_or(|byte| !b"<>&|();$`#{}[\"'\\~=".contains(&byte));
        if before && after {
            return Ok(());
        }
        Err(self.trouble(start, "a line break may join two characters into something else"))
    }

    fn single_quotes(&mut self, word: &mut RawWord) -> Read<()> {
        let start = self.at;
        self.at += 1;
        word.atoms.push(Atom::Empty);
        loop {
            match self.bump() {
                Some('\'') => return self.no_break_before_heredoc(start),
                Some(quoted) => word.atoms.push(Atom::Quoted(quoted)),
                None => return Err(self.trouble(start, "a quote is not closed")),
            }
        }
    }

    /// Reads what follows an opening double quote, up to the closing one.
    fn double_quotes(&mut self, word: &mut RawWord) -> Read<()> {
        let start = self.at - 1;
        let first = word.atoms.len();
        word.atoms.push(Atom::Empty);
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    self.keep_together(word, first, start);
                    return self.no_break_before_heredoc(start);
                }
                b'\\' => self.escape_in_text(word, b"$`\"\\")?,
                b'$' => self.dollar(word, true)?,
                b'`' => self.backquotes(word, true)?,
                _ => word.atoms.extend(self.bump().map(Atom::Quoted)),
            }
        }
        Err(self.trouble(start, "a quote is not closed"))
    }

    /// What is quoted is one word, unless it may be a list (`"$@"`, `"${a[@]}"`).
    fn keep_together(&self, word: &mut RawWord, first: usize, start: usize) {
        let list = self.text.get(start..self.at).is_none_or(|quoted| quoted.contains('@'));
        let quoted = word.atoms.iter_mut().skip(first).filter(|_| !list);
        quoted.filter(|atom| **atom == Atom::Unknown).for_each(|atom| *atom = Atom::One);
    }

    /// A backslash in double quotes or a heredoc: it only escapes what is special there.
    pub(super) fn escape_in_text(&mut self, word: &mut RawWord, special: &[u8]) -> Read<()> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'\n') => {
                self.at += 1;
                if matches!(word.atoms.last(), Some(Atom::Unknown | Atom::Quoted('$'))) {
                    return Err(
                        self.trouble(start, "a line break may join two characters into something else")
                    );
                }
            }
            Some(byte) if special.contains(&byte) => {
                self.at += 1;
                word.atoms.push(Atom::Quoted(byte as char));
            }
            _ => word.atoms.push(Atom::Quoted('\\')),
        }
        Ok(())
    }

    /// Where the text of a heredoc starts is not worth guessing when its line breaks off inside quotes.
    fn no_break_before_heredoc(&self, start: usize) -> Read<()> {
        let broken = self.text.get(start..self.at).is_some_and(|quoted| quoted.contains('\n'));
        if broken && !self.pending.is_empty() {
            return Err(self.trouble(start, "a line break inside quotes stands before the text of a heredoc"));
        }
        Ok(())
    }

    /// Reads what a `$` starts.
    pub(super) fn dollar(&mut self, word: &mut RawWord, in_quotes: bool) -> Read<()> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'\'') if !in_quotes => return self.ansi_c_quotes(word),
            Some(b'"') if !in_quotes => {
                // A translated string: the message catalogue decides what it says.
                self.at += 1;
                self.double_quotes(word)?;
                word.atoms.push(Atom::Unknown);
                return Ok(());
            }
            Some(b'(') if self.byte(1) == Some(b'(') => self.arithmetic(word, start)?,
            Some(b'(') => {
                self.at += 1;
                let script = self.substitution()?;
                word.scripts.push(Rc::new(script));
            }
            Some(b'{') => self.parameter(word, start)?,
            Some(b'[') => return Err(self.trouble(start, "old-style arithmetic is not read")),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                while self.peek().is_some_and(is_name_byte) {
                    self.at += 1;
                }
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => self.at += 1,
            _ => {
                word.atoms.push(Atom::Quoted('$'));
                return Ok(());
            }
        }
        word.atoms.push(Atom::Unknown);
        Ok(())
    }

    fn ansi_c_quotes(&mut self, word: &mut RawWord) -> Read<()> {
        let start = self.at - 1;
        self.at += 1;
        let body = self.at;
        loop {
            match self.bump() {
                Some('\\') => {
                    self.bump();
                }
                Some('\'') => break,
                Some(_) => {}
                None => return Err(self.trouble(start, "a quote is not closed")),
            }
        }
        self.no_break_before_heredoc(start)?;
        word.atoms.push(Atom::Empty);
        let quoted = self.text.get(body..self.at - 1).unwrap_or_default();
        match ansi_c::decode(quoted) {
            Some(text) => word.atoms.extend(text.chars().map(Atom::Quoted)),
            None => {
                word.atoms.push(Atom::Unknown);
                self.note(start, "the quotes hold bytes that are not text");
            }
        }
        Ok(())
    }

    /// Reads the commands of a substitution, up to and with its closing parenthesis.
    fn substitution(&mut self) -> Read<Script> {
        let start = self.at;
        let waiting = std::mem::take(&mut self.pending);
        let script = self.deeper(|reader| reader.list())?;
        if !self.eat(")") {
            return Err(self.trouble(start, "a parenthesis is not closed"));
        }
        let broken = self.text.get(start..self.at).is_some_and(|inside| inside.contains('\n'));
        if !self.pending.is_empty() || (broken && !waiting.is_empty()) {
            return Err(self.trouble(start, "a heredoc and a substitution are entangled"));
        }
        self.pending = waiting;
        Ok(script)
    }

    pub(super) fn backquotes(&mut self, word: &mut RawWord, in_quotes: bool) -> Read<()> {
        let start = self.at;
        self.at += 1;
        let mut inside = String::new();
        loop {
            match self.bump() {
                Some('`') => break,
                Some('\\') => match self.bump() {
                    Some(escaped @ ('`' | '\\' | '$')) => inside.push(escaped),
                    Some('"') if in_quotes => inside.push('"'),
                    Some(other) => inside.extend(['\\', other]),
                    None => return Err(self.trouble(start, "a backquote is not closed")),
                },
                Some(other) => inside.push(other),
                None => return Err(self.trouble(start, "a backquote is not closed")),
            }
        }
        self.no_break_before_heredoc(start)?;
        self.noticed.reread.push(self.base + start..self.base + self.at);
        word.atoms.push(Atom::Unknown);
        let depth = self.depth;
        let script = self.deeper(|_| super::parse(&inside, depth + 1))?;
        self.noticed.notes.extend(script.1);
        word.scripts.push(Rc::new(script.0));
        Ok(())
    }

    /// `$((…))`: harmless with numbers, and with variables that hold numbers. Anything else is read for its substitutions
    /// and noted.
    fn arithmetic(&mut self, word: &mut RawWord, start: usize) -> Read<()> {
        self.at += 2;
        if let Some((names, length)) = self.text.get(self.at..).and_then(plain_sum) {
            word.computed.extend(names);
            self.at += length;
            return Ok(());
        }
        self.arithmetic_body(word, start)
    }

    /// Reads arithmetic up to and with its closing `))`.
    pub(super) fn arithmetic_body(&mut self, word: &mut RawWord, start: usize) -> Read<()> {
        let mut open = 0usize;
        let mut plain = true;
        while let Some(byte) = self.peek() {
            match byte {
                b')' if open == 0 && self.byte(1) == Some(b')') => {
                    self.at += 2;
                    if !plain {
                        self.note(start, ARITHMETIC);
                    }
                    return Ok(());
                }
                b')' if open == 0 => break,
                b')' => open -= 1,
                b'(' => open += 1,
                b'$' => {
                    plain = false;
                    self.dollar(word, true)?;
                    continue;
                }
                b'`' => {
                    plain = false;
                    self.backquotes(word, true)?;
                    continue;
                }
                b'"' | b'\'' | b'\\' | b'#' | b'\n' | b';' | b'{' | b'}' => break,
                b'0'..=b'9' | b' ' | b'\t' => {}
                byte if b"+-*/%<>=!&|^~?:,".contains(&byte) => {}
                _ => plain = false,
            }
            self.bump();
        }
        Err(self.trouble(start, "this arithmetic is not read"))
    }

    /// `${…}`.
    fn parameter(&mut self, word: &mut RawWord, start: usize) -> Read<()> {
        self.at += 1;
        let length = self.starts_with("#") && self.byte(1).is_some_and(is_name_byte);
        if length {
            self.at += 1;
        }
        let name = self.at;
        while self.peek().is_some_and(is_name_byte) {
            self.at += 1;
        }
        let named = self.since(name);
        if named.starts_with(|c: char| c.is_ascii_digit()) && !named.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(self.trouble(start, "no variable has such a name"));
        }
        let special = !length && self.peek().is_some_and(|byte| b"@*#?-$".contains(&byte));
        if self.at == name && !special {
            return Err(self.trouble(start, "this kind of expansion may run commands"));
        }
        if self.at == name {
            self.at += 1;
        }
        if self.peek() == Some(b'[') && !self.eat("[@]") && !self.eat("[*]") {
            self.at += 1;
            while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                self.at += 1;
            }
            if !self.eat("]") {
                return Err(self.trouble(start, "an array index may run commands hidden in it"));
            }
        }
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                Ok(())
            }
            Some(b':') if matches!(self.byte(1), Some(b'-' | b'+' | b'=' | b'?')) => {
                if self.byte(1) == Some(b'=') {
                    word.assigned.push(named);
                }
                self.at += 2;
                self.parameter_word(word, start)
            }
            Some(b':') => self.slice(start),
            Some(b'-' | b'+' | b'=' | b'?' | b'#' | b'%' | b'/' | b'^' | b',') if !length => {
                if self.peek() == Some(b'=') {
                    word.assigned.push(named);
                }
                self.at += 1;
                self.parameter_word(word, start)
            }
            _ => Err(self.trouble(start, "this kind of expansion may run commands")),
        }
    }

    /// `:offset:length` with numbers.
    fn slice(&mut self, start: usize) -> Read<()> {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit() || b": -".contains(&byte)) {
            self.at += 1;
        }
        if self.eat("}") { Ok(()) } else { Err(self.trouble(start, ARITHMETIC)) }
    }

    /// The word inside `${name:-word}` and its kin, up to and with the closing brace.
    fn parameter_word(&mut self, word: &mut RawWord, start: usize) -> Read<()> {
        while let Some(byte) = self.peek() {
            match byte {
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                b'$' if self.byte(1) != Some(b'\'') => self.dollar(word, true)?,
                b'`' => self.backquotes(word, true)?,
                b'\\' if self.byte(1).is_some_and(|byte| byte.is_ascii_graphic()) => self.at += 2,
                // Quotes and redirections here mean different things inside and outside of quotes.
                b'"' | b'\'' | b'<' | b'>' | b'\\' | b'\n' | b'{' | b'$' => break,
                _ => {
                    self.bump();
                }
            }
        }
        Err(self.trouble(start, "the inside of this expansion is not read"))
    }
}

/// The variables of arithmetic that sets none and is made of names, numbers and operators alone, and how long it is with its
/// closing parentheses.
fn plain_sum(text: &str) -> Option<(Vec<String>, usize)> {
    let (body, _) = text.split_once("))")?;
    let known = |c: char| c.is_ascii_alphanumeric() || "_$ +-*/%<>!&|?:()".contains(c);
    let compared =
        ["==", "!=", "<=", ">="].iter().fold(body.to_owned(), |body, sign| body.replace(sign, " < "));
    let sets = compared.contains("++") || compared.contains("--") || !compared.chars().all(known);
    let nested =
        body.contains("$(") || body.contains("$$") || body.matches('(').count() != body.matches(')').count();
    if sets || nested {
        return None;
    }
    let words = compared.split(|c: char| !(c.is_ascii_alphanumeric() || "_$".contains(c)));
    let mut names = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let name = word.strip_prefix('$').unwrap_or(word);
        match name.bytes().next()? {
            b'0'..=b'9' if word == name && name.bytes().all(|byte| byte.is_ascii_digit()) => {}
            b'a'..=b'z' | b'A'..=b'Z' | b'_' if name.bytes().all(is_name_byte) => names.push(name.to_owned()),
            _ => return None,
        }
    }
    Some((names, body.len() + 2))
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
