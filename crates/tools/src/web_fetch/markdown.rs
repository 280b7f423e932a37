//! HTML as markdown, for reading by a model.
//!
//! Made from the stream of tags, without a tree: a hostile page can nest a million elements, or make a
//! conforming parser build a tree a thousand times its size. Here memory grows with the text and nothing
//! recurses. Tags that do not match cost some beauty, nothing else.

use std::borrow::Cow;

use reqwest::Url;

use super::html::{Piece, Pieces, Tag};

/// Deeper lists and quotes are not indented further.
const DEEPEST: usize = 8;

/// The page as markdown; links are made absolute with `base`.
pub(super) fn from_html(html: &str, base: &Url) -> String {
    let html = if html.contains('\r') {
        html.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        Cow::Borrowed(html)
    };
    let mut writer = Writer::new(base.clone());
    for piece in Pieces::new(&html) {
        match piece {
            Piece::Text(text) => writer.text(&text),
            Piece::Open(tag) => writer.open(&tag),
            Piece::Close(name) => writer.close(&name),
        }
    }
    writer.finish()
}

/// What is not for readers.
const HIDDEN: [&str; 8] = ["script", "style", "noscript", "template", "svg", "iframe", "noembed", "noframes"];

struct Writer {
    base: Url,
    text: String,
    title: String,
    in_title: bool,
    hidden: Option<(String, usize)>,
    /// Line ends owed before the next text.
    breaks: usize,
    space: bool,
    preformatted: bool,
    quotes: usize,
    /// The open lists; a number counts an ordered one.
    lists: Vec<Option<u32>>,
    /// Where the text of the open link begins, and where it goes.
    link: Option<(usize, String)>,
    /// Cells in the current row, and whether the table has had a row.
    cells: usize,
    rows: usize,
}

impl Writer {
    fn new(base: Url) -> Self {
        Self {
            base,
            text: String::new(),
            title: String::new(),
            in_title: false,
            hidden: None,
            breaks: 0,
            space: false,
            preformatted: false,
            quotes: 0,
            lists: Vec::new(),
            link: None,
            cells: 0,
            rows: 0,
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
        } else if self.hidden.is_some() {
        } else if self.preformatted {
            self.write(text);
        } else {
            let mut rest = text;
            while !rest.is_empty() {
                let word = rest.find(is_space).unwrap_or(rest.len());
                let (word, after) = rest.split_at(word);
                if !word.is_empty() {
                    self.write(word);
                }
                self.space |= !after.is_empty();
                rest = after.trim_start_matches(is_space);
            }
        }
    }

    /// Writes after the breaks or the blank that are owed.
    fn write(&mut self, text: &str) {
        let quote = || std::iter::repeat_n("> ", self.quotes.min(DEEPEST));
        if self.text.is_empty() {
            self.text.extend(quote());
        } else if self.breaks > 0 {
            for _ in 0..self.breaks {
                self.text.push('\n');
                self.text.extend(quote());
            }
        } else if self.space {
            self.text.push(' ');
        }
        (self.breaks, self.space) = (0, false);
        self.text.push_str(text);
    }

    /// A marker that hugs the text after it.
    fn mark(&mut self, marker: &str) {
        self.write(marker);
    }

    fn block(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
        self.space = false;
    }

    fn open(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth += usize::from(*hidden == name && !tag.self_closing);
            return;
        }
        if HIDDEN.contains(&name) {
            self.hidden = (!tag.self_closing).then(|| (name.to_owned(), 1));
            return;
        }
        match name {
            "title" => self.in_title = true,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block(2);
                let level = name.trim_start_matches('h').parse().unwrap_or(1);
                self.mark(&format!("{} ", "#".repeat(level)));
            }
            "br" => self.block(1),
            "hr" => {
                self.block(2);
                self.write("---");
                self.block(2);
            }
            "ul" | "ol" => {
                self.block(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push((name == "ol").then_some(0));
            }
            "li" => self.item(),
            "blockquote" => {
                self.block(2);
                self.quotes += 1;
            }
            "pre" => {
                self.block(2);
                self.write("```\n");
                self.preformatted = true;
            }
            "code" if !self.preformatted => self.mark("`"),
            "strong" | "b" if !self.preformatted => self.mark("**"),
            "a" if !self.preformatted => self.link(tag.attribute("href")),
            "img" => {
                let source = tag.attribute("src").and_then(|source| self.absolute(source));
                if let (Some(alt), Some(source)) =
                    (tag.attribute("alt").filter(|alt| !alt.is_empty()), source)
                {
                    self.write(&format!("![{alt}]({source})"));
                }
            }
            "table" => {
                self.block(2);
                self.rows = 0;
            }
            "tr" => {
                self.block(1);
                self.cells = 0;
            }
            "td" | "th" => {
                self.space = self.cells > 0;
                self.write("| ");
                self.cells += 1;
            }
            _ if is_block(name) => self.block(2),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((hidden, depth)) = &mut self.hidden {
            if *hidden == name {
                *depth -= 1;
            }
            if *depth == 0 {
                self.hidden = None;
            }
            return;
        }
        match name {
            "title" => self.in_title = false,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.block(2),
            "ul" | "ol" => {
                self.lists.pop();
                self.block(if self.lists.is_empty() { 2 } else { 1 });
            }
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.block(2);
            }
            "pre" if self.preformatted => {
                self.preformatted = false;
                self.breaks = usize::from(!self.text.ends_with('\n'));
                self.write("```");
                self.block(2);
            }
            "code" if !self.preformatted => self.text.push('`'),
            "strong" | "b" if !self.preformatted => self.text.push_str("**"),
            "a" => self.end_link(),
            "tr" => self.end_row(),
            _ if is_block(name) => self.block(2),
            _ => {}
        }
    }

    fn item(&mut self) {
        self.block(1);
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(DEEPEST));
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{indent}{number}. ")
            }
            _ => format!("{indent}- "),
        };
        self.write(&marker);
    }

    fn link(&mut self, target: Option<&str>) {
        self.end_link();
        if let Some(target) = target.and_then(|target| self.absolute(target)) {
            self.mark("[");
            self.link = Some((self.text.len(), target));
        }
    }

    fn end_link(&mut self) {
        let Some((start, target)) = self.link.take() else { return };
        if self.text.len() == start {
            // A link without words says nothing.
            self.text.pop();
        } else {
            self.text.push_str(&format!("]({target})"));
        }
    }

    fn end_row(&mut self) {
        if self.cells == 0 {
            return;
        }
        self.text.push_str(" |");
        self.rows += 1;
        if self.rows == 1 {
            self.block(1);
            self.write(&format!("|{}", " --- |".repeat(self.cells.min(50))));
        }
        self.cells = 0;
    }

    /// An address to go to; none for scripts and places on the same page.
    fn absolute(&self, target: &str) -> Option<String> {
        if target.starts_with('#') {
            return None;
        }
        let url = self.base.join(target).ok()?;
        matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.to_string())
    }

    fn finish(mut self) -> String {
        self.end_link();
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = self.text.trim();
        if title.is_empty() { text.to_owned() } else { format!("Title: {title}\n\n{text}") }
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

fn is_block(name: &str) -> bool {
    const BLOCKS: [&str; 22] = [
        "p",
        "div",
        "section",
        "article",
        "header",
        "footer",
        "main",
        "nav",
        "aside",
        "body",
        "form",
        "fieldset",
        "figure",
        "figcaption",
        "details",
        "summary",
        "dl",
        "dt",
        "dd",
        "table",
        "address",
        "option",
    ];
    BLOCKS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(html: &str) -> String {
        from_html(html, &Url::parse("https://example.com/dir/page").unwrap())
    }

    #[test]
    fn structure_becomes_markdown() {
        let cases = [
            (
                "<title>A &amp; B</title><h1>Head</h1><p>One\n  two</p><p>three",
                "Title: A & B\n\n# Head\n\nOne two\n\nthree",
            ),
            (
                "<p>see <a href='../x?a=1&amp;b=2'>the <b>page</b></a>.</p>",
                "see [the **page**](https://example.com/x?a=1&b=2).",
            ),
            ("<a href='#top'>up</a> <a href='javascript:x()'>no</a> <a href='/e'></a>end", "up no end"),
            (
                "<ul><li>a<li>b<ol><li>c</li><li>d</li></ol></li></ul>after",
                "- a\n- b\n  1. c\n  2. d\n\nafter",
            ),
            ("<pre><code>let x = 1;\n  y</code></pre>", "```\nlet x = 1;\n  y\n```"),
            ("run <code>ls -l</code> now", "run `ls -l` now"),
            ("<blockquote><p>said</p><p>more</p></blockquote>done", "> said\n> \n> more\n\ndone"),
            ("<table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
            ("a<script>if (1 < 2) alert('</p>')</script>b<style>p{}</style>c<!-- d -->", "abc"),
            ("<svg><title>x</title><svg></svg>y</svg>z", "z"),
            ("<img src=i.png alt='An image'><img src=x>", "![An image](https://example.com/dir/i.png)"),
        ];
        for (html, expected) in cases {
            assert_eq!(markdown(html), expected, "{html}");
        }
    }

    #[test]
    fn hostile_pages_cost_no_more_than_their_size() {
        let pages = [
            "<div>".repeat(200_000),
            "<ul><li>".repeat(100_000),
            "<blockquote>x".repeat(50_000),
            (0..20_000).map(|n| format!("<font id={n}><p>")).collect(),
            "<a href=/x>".repeat(100_000),
            "<".repeat(1_000_000),
            "<table><tr><td>".repeat(50_000),
            "<script>".repeat(100_000),
        ];
        for page in pages {
            let text = markdown(&page);
            assert!(text.len() <= page.len() * 8, "{} from {}", text.len(), page.len());
        }
    }
}
