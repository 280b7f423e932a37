//! Lists, pipelines and compound commands.

use super::reader::{Reader, ends_word};
use super::syntax::{Item, Link, Node, RawWord, Read, Redirect, Script, Simple};

const MISPLACED: &str = "the shell would not accept this";

/// Words that end a list when they stand where a command could.
const CLOSERS: [&str; 8] = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];
const OPENERS: [&str; 12] =
    ["if", "while", "until", "for", "select", "case", "function", "time", "{", "!", "[[", "coproc"];

impl Reader<'_> {
    /// Reads commands until something that cannot start one.
    pub(super) fn list(&mut self) -> Read<Script> {
        let mut script = Script::default();
        loop {
            self.skip_lines()?;
            if self.at_list_end() {
                return Ok(script);
            }
            let first = script.items.len();
            self.and_or(&mut script)?;
            self.skip_blanks();
            if self.starts_with(";;") || self.starts_with(";&") {
                return Ok(script);
            }
            if self.peek() == Some(b'&') {
                self.at += 1;
                let items = script.items.split_off(first);
                let node = Node::Apart { scripts: vec![Script { items }], redirects: Vec::new() };
                script.items.push(Item { node, link: Link::Always });
            } else if self.peek() == Some(b';') {
                self.at += 1;
            } else if self.peek() != Some(b'\n') {
                return Ok(script);
            }
        }
    }

    fn at_list_end(&self) -> bool {
        self.peek().is_none_or(|byte| byte == b')')
            || self.starts_with(";;")
            || self.starts_with(";&")
            || self.keyword().is_some_and(|keyword| CLOSERS.contains(&keyword))
    }

    /// The reserved word that comes next, if one does.
    pub(super) fn keyword(&self) -> Option<&'static str> {
        CLOSERS
            .into_iter()
            .chain(OPENERS)
            .chain(["in", "]]"])
            .find(|keyword| self.starts_with(keyword) && self.byte(keyword.len()).is_none_or(ends_word))
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.keyword() == Some(keyword);
        if found {
            self.at += keyword.len();
        }
        found
    }

    fn expect_keyword(&mut self, keyword: &str, start: usize) -> Read<()> {
        self.skip_lines()?;
        if self.eat_keyword(keyword) { Ok(()) } else { Err(self.trouble(start, MISPLACED)) }
    }

    fn and_or(&mut self, script: &mut Script) -> Read<()> {
        let mut link = Link::Always;
        loop {
            let node = self.pipeline()?;
            script.items.push(Item { node, link });
            self.skip_blanks();
            link = if self.eat("&&") {
                Link::Success
            } else if self.eat("||") {
                Link::Failure
            } else {
                return Ok(());
            };
            self.skip_lines()?;
        }
    }

    fn pipeline(&mut self) -> Read<Node> {
        self.skip_blanks();
        if self.eat_keyword("time") {
            self.skip_blanks();
            if self.starts_with("-p") && self.byte(2).is_none_or(ends_word) {
                self.at += 2;
            }
            self.skip_blanks();
        }
        let mut negated = false;
        while self.eat_keyword("!") {
            negated = true;
            self.skip_blanks();
        }
        let first = self.command()?;
        let mut parts = vec![first];
        loop {
            self.skip_blanks();
            if self.starts_with("||") || !(self.eat("|&") || self.eat("|")) {
                break;
            }
            self.skip_lines()?;
            parts.push(self.command()?);
        }
        let alone = |node| Script { items: vec![Item { node, link: Link::Always }] };
        let node = match parts.pop() {
            Some(only) if parts.is_empty() => only,
            last => Node::Apart {
                scripts: parts.into_iter().chain(last).map(alone).collect(),
                redirects: Vec::new(),
            },
        };
        if !negated {
            return Ok(node);
        }
        // As a block, so that nobody takes its success for the success of what is inside.
        Ok(Node::Block {
            scripts: vec![alone(node)],
            words: Vec::new(),
            variable: None,
            redirects: Vec::new(),
            repeats: false,
        })
    }

    fn command(&mut self) -> Read<Node> {
        self.skip_blanks();
        let start = self.at;
        if self.starts_with("((") {
            return self.arithmetic_command();
        }
        if self.eat("(") {
            let script = self.deeper(|reader| reader.list())?;
            if !self.eat(")") {
                return Err(self.trouble(start, "a parenthesis is not closed"));
            }
            return Ok(Node::Apart { scripts: vec![script], redirects: self.redirects()? });
        }
        match self.keyword() {
            Some("{") => self.deeper(|reader| reader.group(start)),
            Some("if") => self.deeper(|reader| reader.condition(start)),
            Some("while" | "until") => self.deeper(|reader| reader.while_loop(start)),
            Some("for" | "select") => self.deeper(|reader| reader.for_loop(start)),
            Some("case") => self.deeper(|reader| reader.case(start)),
            Some("function") => self.deeper(|reader| reader.function_keyword(start)),
            Some("[[") => self.test_command(),
            Some("coproc") => {
                self.at += "coproc".len();
                self.note(start, "coprocesses are not judged");
                self.command()
            }
            Some("time" | "!") | None => self.simple(),
            // `in` and `]]` are plain words here.
            Some("in" | "]]") => self.simple(),
            Some(_) => Err(self.trouble(start, MISPLACED)),
        }
    }

    fn block(&mut self, scripts: Vec<Script>, words: Vec<RawWord>, variable: Option<String>) -> Read<Node> {
        Ok(Node::Block { scripts, words, variable, redirects: self.redirects()?, repeats: false })
    }

    fn repeated(
        &mut self,
        scripts: Vec<Script>,
        words: Vec<RawWord>,
        variable: Option<String>,
    ) -> Read<Node> {
        Ok(Node::Block { scripts, words, variable, redirects: self.redirects()?, repeats: true })
    }

    fn group(&mut self, start: usize) -> Read<Node> {
        self.at += 1;
        let script = self.body(start)?;
        self.expect_keyword("}", start)?;
        self.block(vec![script], Vec::new(), None)
    }

    /// A list that may not be empty.
    fn body(&mut self, start: usize) -> Read<Script> {
        let script = self.list()?;
        if script.items.is_empty() { Err(self.trouble(start, MISPLACED)) } else { Ok(script) }
    }

    fn condition(&mut self, start: usize) -> Read<Node> {
        self.at += 2;
        let mut scripts = vec![self.body(start)?];
        self.expect_keyword("then", start)?;
        scripts.push(self.body(start)?);
        loop {
            if self.eat_keyword("elif") {
                scripts.push(self.body(start)?);
                self.expect_keyword("then", start)?;
                scripts.push(self.body(start)?);
            } else if self.eat_keyword("else") {
                scripts.push(self.body(start)?);
            } else {
                self.expect_keyword("fi", start)?;
                return self.block(scripts, Vec::new(), None);
            }
        }
    }

    fn while_loop(&mut self, start: usize) -> Read<Node> {
        self.at += 5;
        let condition = self.body(start)?;
        let body = self.do_group(start)?;
        self.repeated(vec![condition, body], Vec::new(), None)
    }

    fn do_group(&mut self, start: usize) -> Read<Script> {
        self.expect_keyword("do", start)?;
        let body = self.body(start)?;
        self.expect_keyword("done", start)?;
        Ok(body)
    }

    fn for_loop(&mut self, start: usize) -> Read<Node> {
        self.at += if self.eat("for") { 0 } else { "select".len() };
        self.skip_blanks();
        let mut words = Vec::new();
        let mut variable = None;
        if self.eat("((") {
            let mut word = RawWord::default();
            self.for_header(&mut word, start)?;
            words.push(word);
        } else {
            variable = Some(self.name(start)?);
            self.skip_lines()?;
            if self.eat_keyword("in") {
                self.skip_blanks();
                while let Some(word) = self.word()? {
                    words.push(word);
                    self.skip_blanks();
                }
            }
        }
        self.skip_blanks();
        self.eat(";");
        let body = self.do_group(start)?;
        self.repeated(vec![body], words, variable)
    }

    /// `for ((a; b; c))`: each part is arithmetic.
    fn for_header(&mut self, word: &mut RawWord, start: usize) -> Read<()> {
        let header = self.text.get(self.at..).unwrap_or_default();
        let plain = header.split("))").next().unwrap_or_default();
        let harmless = |c: char| c.is_ascii_alphanumeric() || "_ \t;<>=+-*/%!&|".contains(c);
        if plain.len() == header.len() || !plain.chars().all(harmless) {
            return Err(self.trouble(start, "this arithmetic is not read"));
        }
        self.at += plain.len() + 2;
        word.source = plain.to_owned();
        self.note(start, "arithmetic on variables may run commands hidden in their values");
        Ok(())
    }

    fn name(&mut self, start: usize) -> Read<String> {
        let from = self.at;
        while self.peek().is_some_and(super::words::is_name_byte) {
            self.at += 1;
        }
        let name = self.since(from);
        let ended = self.peek().is_none_or(ends_word);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !ended {
            return Err(self.trouble(start, MISPLACED));
        }
        Ok(name)
    }

    fn case(&mut self, start: usize) -> Read<Node> {
        self.at += "case".len();
        self.skip_blanks();
        let subject = self.word()?.ok_or_else(|| self.trouble(start, MISPLACED))?;
        let mut words = vec![subject];
        let mut scripts = Vec::new();
        self.expect_keyword("in", start)?;
        loop {
            self.skip_lines()?;
            if self.eat_keyword("esac") {
                return self.block(scripts, words, None);
            }
            self.eat("(");
            loop {
                self.skip_blanks();
                words.push(self.word()?.ok_or_else(|| self.trouble(start, "this pattern is not read"))?);
                self.skip_blanks();
                if !self.eat("|") {
                    break;
                }
            }
            if !self.eat(")") {
                return Err(self.trouble(start, "this pattern is not read"));
            }
            scripts.push(self.list()?);
            self.skip_lines()?;
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) {
                self.expect_keyword("esac", start)?;
                return self.block(scripts, words, None);
            }
        }
    }

    fn function_keyword(&mut self, start: usize) -> Read<Node> {
        self.at += "function".len();
        self.skip_blanks();
        let name = self.name(start)?;
        self.skip_blanks();
        if self.eat("(") {
            self.skip_blanks();
            if !self.eat(")") {
                return Err(self.trouble(start, MISPLACED));
            }
        }
        self.function_body(name)
    }

    pub(super) fn function_body(&mut self, name: String) -> Read<Node> {
        self.skip_lines()?;
        let body = Box::new(self.deeper(|reader| reader.command())?);
        Ok(Node::Function { name, body })
    }

    fn arithmetic_command(&mut self) -> Read<Node> {
        let start = self.at;
        self.at += 2;
        let mut word = RawWord { start: self.base + start, ..RawWord::default() };
        self.arithmetic_body(&mut word, start)?;
        word.source = self.since(start);
        self.block(Vec::new(), vec![word], None)
    }

    /// `[[ … ]]`, kept as words.
    fn test_command(&mut self) -> Read<Node> {
        let start = self.at;
        self.noticed.commands.push(self.base + start);
        let mut simple = Simple { test: true, ..Simple::default() };
        loop {
            self.skip_lines()?;
            let from = self.at;
            let operator = ["&&", "||", "(", ")", "<", ">"].into_iter().find(|operator| self.eat(operator));
            let word = match operator {
                Some(operator) => RawWord { source: operator.to_owned(), ..RawWord::default() },
                None => self.word()?.ok_or_else(|| self.trouble(start, "this test is not read"))?,
            };
            let last = word.source == "]]";
            if word.source == "=~" {
                // What follows is read by rules of its own.
                return Err(self.trouble(from, "tests with regular expressions are not read"));
            }
            simple.words.push(word);
            if last {
                break;
            }
        }
        simple.source = self.since(start);
        simple.redirects = self.redirects()?;
        Ok(Node::Simple(simple))
    }

    /// The redirects behind a compound command.
    fn redirects(&mut self) -> Read<Vec<Redirect>> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => break,
            }
        }
        let closed = self.keyword().is_some_and(|keyword| CLOSERS.contains(&keyword));
        if closed || self.peek().is_none_or(ends_word) {
            Ok(redirects)
        } else {
            Err(self.trouble(self.at, MISPLACED))
        }
    }
}
