//! Simple commands: assignments, words and redirects.

use super::reader::{Reader, ends_word};
use super::syntax::{Assignment, Atom, Node, RawWord, Read, Redirect, RedirectKind, Simple};
use super::words::is_name_byte;

const OPERATORS: [(&str, RedirectKind); 11] = [
    ("&>>", RedirectKind::Write),
    ("&>", RedirectKind::Write),
    ("<<<", RedirectKind::Text),
    ("<>", RedirectKind::ReadWrite),
    ("<&", RedirectKind::DuplicateInput),
    (">&", RedirectKind::DuplicateOutput),
    (">>", RedirectKind::Write),
    (">|", RedirectKind::Write),
    (">", RedirectKind::Write),
    ("<<", RedirectKind::Text),
    ("<", RedirectKind::Read),
];

impl Reader<'_> {
    pub(super) fn simple(&mut self) -> Read<Node> {
        let start = self.at;
        let mut simple = Simple::default();
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            let Some(word) = self.word()? else { break };
            if simple.words.is_empty() {
                self.plain_first_word(&word, start)?;
                self.noticed.commands.push(word.start);
            }
            if word.source.starts_with('{') && matches!(self.peek(), Some(b'<' | b'>')) {
                return Err(self.trouble(start, "a redirect that picks its own descriptor is not read"));
            }
            simple.words.push(word);
            simple.source = self.since(start);
            if self.peek() == Some(b'(') || (simple.words.len() == 1 && self.opens_function()) {
                return self.function_parentheses(simple, start);
            }
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty() {
            return Err(self.trouble(start, "a command is missing"));
        }
        if simple.words.is_empty() {
            simple.source = self.since(start);
        }
        Ok(Node::Simple(simple))
    }

    /// A first word that is broken over two lines must not turn out to be a reserved word or an assignment.
    fn plain_first_word(&self, word: &RawWord, start: usize) -> Read<()> {
        let joined = word.source.replace("\\\n", "");
        let special = joined.contains('=') || Reader::new(&joined, 0, 0).keyword().is_some();
        if joined != word.source && special {
            return Err(self.trouble(start, "a line break may join two characters into something else"));
        }
        Ok(())
    }

    fn opens_function(&mut self) -> bool {
        let before = self.at;
        self.skip_blanks();
        let opens = self.peek() == Some(b'(');
        if !opens {
            self.at = before;
        }
        opens
    }

    fn function_parentheses(&mut self, simple: Simple, start: usize) -> Read<Node> {
        self.at += 1;
        self.skip_blanks();
        let closed = self.eat(")");
        let [word] = simple.words.as_slice() else {
            return Err(self.trouble(start, "a parenthesis stands where the shell allows none"));
        };
        let plain = word.atoms.iter().all(|atom| matches!(atom, Atom::Char(_)));
        if !closed || !plain || !simple.assignments.is_empty() || !simple.redirects.is_empty() {
            return Err(self.trouble(start, "a parenthesis stands where the shell allows none"));
        }
        self.noticed.commands.pop();
        self.function_body(word.source.clone())
    }

    /// Reads `NAME=value`, `NAME+=value`, `NAME[1]=value` or `NAME=(…)`.
    fn assignment(&mut self) -> Read<Option<Assignment>> {
        let start = self.at;
        let Some((name, equals)) = self.assigned_name()? else { return Ok(None) };
        self.at = equals;
        let mut values = Vec::new();
        if self.eat("(") {
            loop {
                self.skip_lines()?;
                match self.word()? {
                    Some(word) => values.push(word),
                    None if self.eat(")") => break,
                    None => return Err(self.trouble(start, "this array is not read")),
                }
            }
            if values.iter().any(|word| matches!(word.atoms.first(), Some(Atom::Glob('[')))) {
                return Err(self.trouble(start, "an array index may run commands hidden in it"));
            }
            if !self.peek().is_none_or(ends_word) {
                return Err(self.trouble(start, "this array is not read"));
            }
        } else if let Some(word) = self.word()? {
            values.push(word);
        }
        Ok(Some(Assignment { name, values, source: self.since(start) }))
    }

    /// The name that is assigned to here and the place behind its `=`.
    fn assigned_name(&mut self) -> Read<Option<(String, usize)>> {
        let bytes = self.text.as_bytes();
        let mut end = self.at;
        while bytes.get(end).copied().is_some_and(is_name_byte) {
            end += 1;
        }
        let name = self.text.get(self.at..end).unwrap_or_default().to_owned();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        if bytes.get(end) == Some(&b'[') {
            let index = bytes.get(end + 1..).unwrap_or_default();
            let digits = index.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 || index.get(digits) != Some(&b']') {
                // `a[b]` may be a file name pattern or an index that hides a command.
                return Err(self.trouble(self.at, "an array index may run commands hidden in it"));
            }
            end += digits + 2;
        }
        if bytes.get(end) == Some(&b'+') {
            end += 1;
        }
        Ok((bytes.get(end) == Some(&b'=')).then_some((name, end + 1)))
    }

    /// Reads a redirect with the descriptor before it; absent when none comes next.
    pub(super) fn redirect(&mut self) -> Read<Option<Redirect>> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let numbered = self.at > start;
        let substitution = self.starts_with("<(") || self.starts_with(">(");
        let operator = OPERATORS.into_iter().find(|(operator, _)| self.starts_with(operator));
        let Some((operator, kind)) = operator
            .filter(|(operator, _)| !(substitution && !numbered || numbered && operator.starts_with('&')))
        else {
            self.at = start;
            return Ok(None);
        };
        self.at += operator.len();
        if operator == "<<" {
            let strip_tabs = self.eat("-");
            return self.heredoc_start(start, strip_tabs).map(Some);
        }
        self.skip_blanks();
        let target: RawWord = self.word()?.ok_or_else(|| self.trouble(start, "a redirect has no target"))?;
        Ok(Some(Redirect { kind, target, source: self.since(start) }))
    }
}
