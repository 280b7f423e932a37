//! Words with emphasis, code and links.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::text::{Emphasis, Line, Role, Span};

/// The text of a paragraph, a heading or a cell as lines; only a hard break begins another one.
pub fn lines(text: &str, base: Role, links: bool) -> Vec<Line> {
    let mut words = Words { base, links, lines: vec![Line::new()], ..Words::default() };
    let is_inline = Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH).all(|event| words.take(event));
    let is_lost = words.lines.iter().all(Line::is_empty) && !text.trim().is_empty();
    match is_inline && !is_lost {
        true => words.lines,
        // Something that looks like a block, or like the definition of a link: as it is written.
        false => text.split('\n').map(|line| Line::of(base, line)).collect(),
    }
}

/// The same as one line.
pub fn line(text: &str, base: Role, links: bool) -> Line {
    let mut all = lines(text, base, links).into_iter();
    let first = all.next().unwrap_or_default();
    all.fold(first, |line, next| line.then(Line::plain(" ")).then(next))
}

#[derive(Default)]
struct Words {
    base: Role,
    links: bool,
    lines: Vec<Line>,
    bold: usize,
    italic: usize,
    strike: usize,
    /// The address of the link or picture that is open, and where its words begin.
    link: Option<(String, usize)>,
}

impl Words {
    /// Takes an event; false for one that no words have.
    fn take(&mut self, event: Event<'_>) -> bool {
        match event {
            Event::Start(tag) => return self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) => {
                let role = if self.link.is_some() { Role::Link } else { self.base };
                self.push(role, &text);
            }
            Event::Code(text) => self.push(Role::Code, &text),
            Event::SoftBreak => self.push(self.base, " "),
            Event::HardBreak => self.lines.push(Line::new()),
            _ => return false,
        }
        true
    }

    fn start(&mut self, tag: Tag<'_>) -> bool {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => {}
            Tag::Strong => self.bold += 1,
            Tag::Emphasis => self.italic += 1,
            Tag::Strikethrough => self.strike += 1,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), self.length()));
            }
            _ => return false,
        }
        true
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strikethrough => self.strike = self.strike.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    /// An address that nobody could follow, or read in the words, is written behind them.
    fn end_link(&mut self) {
        let Some((address, start)) = self.link.take() else { return };
        let shown = self.lines.last().map(Line::text).unwrap_or_default();
        let words = shown.get(start..).unwrap_or(&shown);
        let is_told = self.links && !words.is_empty() || address.trim_start_matches("mailto:") == words;
        if !is_told && !address.is_empty() {
            let gap = if words.is_empty() { "" } else { " " };
            self.push(Role::Dim, &format!("{gap}({address})"));
        }
    }

    fn length(&self) -> usize {
        self.lines.last().map_or(0, |line| line.text().len())
    }

    fn push(&mut self, role: Role, text: &str) {
        let emphasis = Emphasis {
            bold: self.bold > 0,
            italic: self.italic > 0,
            strike: self.strike > 0,
            underline: false,
        };
        let mut span = Span::new(role, text).with_emphasis(emphasis);
        if let Some((address, _)) = &self.link {
            span = span.with_link(address);
        }
        if let Some(line) = self.lines.last_mut() {
            line.push_span(span);
        }
    }
}
