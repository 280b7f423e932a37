//! Where in an answer a call may begin, and where markup is only shown.
//!
//! A model that calls a tool and a model that explains how tools are called write the same characters. What
//! tells them apart is the place. Markup is taken for a call only
//!
//! - at the beginning of a line (up to three spaces in front), because four spaces, a quotation mark, a list
//!   bullet, a diff's `+` or a comment sign make it something shown;
//! - or, for forms with a marker of their own, glued to the word before it or right after the end of a sentence,
//!   as templates write it, but never after an odd number of back quotes or quotation marks;
//! - outside fenced blocks, `<pre>`, `<code>` and HTML comments;
//! - and not under a line that announces an example.
//!
//! The form that the guidance asks for, `{"tool_call": …}`, means nothing else: where it ends the answer it is a call
//! whatever sentence announced it, and behind words, too.
//!
//! A call that is missed costs a turn; an example that is run costs trust. In doubt it is prose.

use super::super::dialect::LinePosition;

/// As much of a line as the rules look at.
const MAX_LINE: usize = 400;

/// What an announcement of an example says, in the languages we meet most. Matched in lower case, on lines that
/// end in a colon and on headings.
const ANNOUNCEMENTS: &[&str] = &[
    "example",
    "e.g.",
    "for instance",
    "format",
    "syntax",
    "looks like",
    "look like",
    "like this",
    "as follows",
    "such as",
    "sample",
    "schema",
    "template",
    "instead of",
    "documentation",
    "respond with",
    "reply with",
    "would be",
    "output is",
    "emits",
    "produces",
    "writes",
    "wrote",
    "saw",
    "printed",
    "logged",
    "returned",
    "received",
    "pasted",
    "answered",
    "contains",
    "convention",
    "snippet",
    "excerpt",
    "quote",
    "markup",
    "payload",
    "log line",
    "transcript",
    "terminal",
    "fixture",
    "test case",
    "beispiel",
    "schreibt",
    "sieht so aus",
    "ejemplo",
    "formato",
    "exemple",
    "esempio",
    "exemplo",
    "пример",
    "формат",
    "выглядит",
    "示例",
    "例如",
    "例子",
    "の例",
    "格式",
    "如下",
    "例えば",
    "形式",
    "예시",
    "예를 들어",
    "형식",
    "przykład",
    "örnek",
];

/// A code block, or something like it, that is open.
#[derive(Clone, Debug, PartialEq)]
enum Block {
    /// A Markdown fence: ends with as many of the same marks.
    Fence(String),
    /// HTML: ends with this tag.
    Html(&'static str),
}

/// HTML that shows its content as it is.
const HTML: [(&str, &str); 3] = [("<pre", "</pre>"), ("<code", "</code>"), ("<!--", "-->")];

/// How far the announcement of an example reaches: to the first empty line after the example began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Announced {
    #[default]
    No,
    Before,
    Within,
}

/// The line that is being written, and what the lines before it mean for it.
#[derive(Debug, Default)]
pub(in crate::layers) struct Line {
    /// Its text, as far as the rules look.
    text: String,
    /// A call ended on this line: another may follow right behind it.
    after_call: bool,
    /// An example was announced.
    announced: Announced,
    /// Something was said in this answer.
    spoken: bool,
    block: Option<Block>,
}

impl Line {
    /// Whether a call may begin with `next`, the next character, and of what kind.
    pub(super) fn call_may_begin(&self, next: char) -> Option<LinePosition> {
        if !matches!(next, '<' | '[' | '{' | '`' | '~') || self.block.is_some() {
            return None;
        }
        let announced = self.announced != Announced::No;
        let before = self.text.trim();
        if before.is_empty() || self.after_call {
            let indent: usize = self.text.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
            let shown_as_code = indent >= 4 && self.spoken;
            let place = if announced { LinePosition::AtTheEnd } else { LinePosition::LineStart };
            return (!shown_as_code || self.after_call).then_some(place);
        }
        if self.text.len() >= MAX_LINE {
            return None;
        }
        match next {
            '<' | '[' => (!announced && self.prose_ends_here()).then_some(LinePosition::WithinLine),
            '{' | '`' => self.words_end_here().then_some(LinePosition::AtTheEnd),
            _ => None,
        }
    }

    /// True within a fenced block or HTML that shows its content as it is.
    pub(in crate::layers) fn in_block(&self) -> bool {
        self.block.is_some()
    }

    /// What the line has so far, if it is not too long to be looked at.
    pub(in crate::layers) fn text(&self) -> Option<&str> {
        (self.text.len() < MAX_LINE).then_some(&self.text)
    }

    /// True when the line so far is words in which nothing is open.
    fn is_prose(&self) -> bool {
        let text = self.text.as_str();
        let odd = |mark: char| text.matches(mark).count() % 2 == 1;
        let open = |one: char, other: char| text.matches(one).count() > text.matches(other).count();
        let quoted = odd('`') || odd('"') || open('“', '”') || open('«', '»') || open('「', '」');
        !quoted && !open('(', ')') && text.trim_start().starts_with(char::is_alphabetic)
    }

    /// True when the line so far says something and what follows may be what it speaks of.
    fn words_end_here(&self) -> bool {
        let ends = |c: char| c.is_alphanumeric() || ".!?…:,;。！？：，、；-–—".contains(c);
        self.is_prose() && self.text.trim_end().ends_with(ends)
    }

    /// True when the line so far is prose, and a template could go on with a marker here.
    fn prose_ends_here(&self) -> bool {
        let text = self.text.as_str();
        if !self.is_prose() {
            return false;
        }
        let Some(last) = text.chars().next_back() else { return false };
        if last.is_whitespace() {
            return text.trim_end().ends_with(['.', '!', '?', '…', '。', '！', '？']);
        }
        last.is_alphanumeric() || matches!(last, '.' | '!' | '?' | '…' | ':' | '。' | '！' | '？' | '：')
    }

    /// Takes a character of prose.
    pub(in crate::layers) fn push(&mut self, next: char) {
        self.spoken |= !next.is_whitespace();
        if next == '\n' {
            self.end();
        } else if self.text.len() < MAX_LINE {
            self.text.push(next);
        }
    }

    /// A call took the place of what came next.
    pub(super) fn call_ended(&mut self) {
        self.spoken = true;
        self.after_call = true;
    }

    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.after_call = false;
        let line = text.trim();
        match &self.block {
            Some(Block::Fence(fence)) => {
                let mark = fence.chars().next().unwrap_or_default();
                if line.starts_with(fence.as_str()) && line.chars().all(|c| c == mark) {
                    self.block = None;
                }
            }
            Some(Block::Html(end)) => {
                if line.contains(end) {
                    self.block = None;
                }
            }
            None => self.block = opened(line),
        }
        self.announced = match self.announced {
            _ if self.block.is_none() && announces(line) => Announced::Before,
            Announced::Before if !line.is_empty() => Announced::Within,
            Announced::Within if line.is_empty() => Announced::No,
            unchanged => unchanged,
        };
    }
}

/// The block that a line opens and leaves open.
fn opened(line: &str) -> Option<Block> {
    for mark in ['`', '~'] {
        let after = line.trim_start_matches(mark);
        let length = line.len() - after.len();
        if length >= 3 && !after.contains(mark) {
            return Some(Block::Fence(mark.to_string().repeat(length)));
        }
    }
    // Behind words: what follows is in the block all the same.
    if let Some((_, language)) = line.rsplit_once("```")
        && line.matches("```").count() % 2 == 1
        && language.chars().all(|c| c.is_alphanumeric() || c == '_')
    {
        return Some(Block::Fence("```".to_owned()));
    }
    let lower = line.to_ascii_lowercase();
    let opens = |(start, end): &(&str, &'static str)| {
        let (_, after) = lower.rsplit_once(start)?;
        (!after.contains(end)).then_some(Block::Html(end))
    };
    HTML.iter().find_map(opens)
}

fn announces(line: &str) -> bool {
    let introduces = line.ends_with([':', '：']) || line.ends_with(":**") || line.starts_with(['#', '*']);
    let lower = line.to_lowercase();
    introduces && ANNOUNCEMENTS.iter().any(|word| lower.contains(word))
}
