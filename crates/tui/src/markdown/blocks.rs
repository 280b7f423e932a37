//! Lines of source become blocks, and blocks rows.

use super::line_start::{Start, interrupts, is_rule, quoted, start_of, underline};
use super::list::{Marker, marker, task};
use super::table::Table;
use super::{Form, LONGEST, Layout, inline};
use crate::highlight::Highlighter;
use crate::text::{Emphasis, Line, Role};

/// What stands before lines of code.
const CODE_INDENT: &str = "  ";
const QUOTE: &str = "│ ";
/// The marks of items, by how deep they are.
const BULLETS: [&str; 3] = ["• ", "◦ ", "▪ "];
/// Containers beyond this many are text.
const DEEPEST: usize = 16;

/// What other blocks stand in.
#[derive(Clone, Debug)]
enum Container {
    Quote,
    Item {
        /// The columns before its mark in the source, and those before its text.
        column: usize,
        indent: usize,
        list: List,
        /// What is shown before its first row; then blanks are.
        label: String,
        is_shown: bool,
    },
}

/// Which list an item is of, and where it stands in it.
#[derive(Clone, Copy, Debug)]
struct List {
    mark: char,
    number: Option<u64>,
}

/// The block that is not over.
#[derive(Clone, Debug)]
enum Leaf {
    None,
    Paragraph(String),
    Fence {
        mark: char,
        length: usize,
        indent: usize,
        highlighter: Option<Box<Highlighter>>,
    },
    /// Code by indentation, and the empty lines that may belong to it.
    Indented {
        empty: usize,
    },
    Table(Box<Table>),
}

/// What was read so far and is not laid out.
#[derive(Clone, Debug)]
pub struct Blocks {
    layout: Layout,
    containers: Vec<Container>,
    leaf: Leaf,
    /// An empty line is due before the next row, in so many containers.
    gap: Option<usize>,
    has_begun: bool,
}

type Rows = Vec<Line>;

impl Blocks {
    pub fn new(layout: Layout) -> Self {
        let layout = least(layout);
        Self { layout, containers: Vec::new(), leaf: Leaf::None, gap: None, has_begun: false }
    }

    /// What is not laid out yet is laid out so.
    pub fn resize(&mut self, layout: Layout) {
        self.layout = least(layout);
    }

    /// Takes a line.
    pub fn line(&mut self, line: &str, rows: &mut Rows) {
        if self.layout.form == Form::Plain {
            return rows.extend(Line::plain(line).wrap(self.layout.columns));
        }
        let line = untabbed(line);
        let (matched, rest) = self.matching(&line);
        if matched < self.containers.len() {
            let in_list = matches!(self.containers.get(matched), Some(Container::Item { .. }));
            let goes_on = matches!(self.leaf, Leaf::Paragraph(_)) && !interrupts(rest, in_list);
            if goes_on {
                return self.words(rest, rows);
            }
            self.close_leaf(rows);
        } else if let Leaf::Fence { .. } = self.leaf {
            return self.fenced(rest, rows);
        }
        let mut earlier = self.close_containers(matched, rows);
        let mut rest = rest;
        while let Some((container, inner)) = self.opening(rest, earlier.take()) {
            self.close_leaf(rows);
            self.containers.push(container);
            rest = inner;
        }
        self.leaf_line(rest, matched, rows);
    }

    /// Takes what belongs to the same line as what came before.
    pub fn more(&mut self, text: &str, rows: &mut Rows) {
        match &mut self.leaf {
            _ if self.layout.form == Form::Plain => rows.extend(Line::plain(text).wrap(self.layout.columns)),
            Leaf::Fence { .. } => self.code(text, rows),
            Leaf::Indented { .. } => self.code(text, rows),
            Leaf::Paragraph(words) => {
                words.push_str(text);
                self.cut_paragraph(rows);
            }
            Leaf::None | Leaf::Table(_) => {
                self.close_leaf(rows);
                self.leaf = Leaf::Paragraph(text.to_owned());
            }
        }
    }

    /// The text is over.
    pub fn end(&mut self, rows: &mut Rows) {
        self.close_leaf(rows);
        self.close_containers(0, rows);
    }

    /// How many containers a line goes on with, and what stands in them.
    fn matching<'a>(&self, line: &'a str) -> (usize, &'a str) {
        let mut rest = line;
        for (number, container) in self.containers.iter().enumerate() {
            let inner = match container {
                Container::Quote => quoted(rest),
                Container::Item { column, indent, .. } => in_item(rest, *column, *indent),
            };
            match inner {
                Some(inner) => rest = inner,
                None => return (number, rest),
            }
        }
        (self.containers.len(), rest)
    }

    /// Closes what a line does not go on with; gives the list whose item was closed first.
    fn close_containers(&mut self, kept: usize, rows: &mut Rows) -> Option<List> {
        let mut last = None;
        self.gap = self.gap.map(|depth| depth.min(kept));
        while self.containers.len() > kept {
            let is_empty = matches!(self.containers.last(), Some(Container::Item { is_shown: false, .. }));
            if is_empty {
                self.put(vec![Line::new()], rows);
            }
            last = match self.containers.pop() {
                Some(Container::Item { list, .. }) => Some(list),
                _ => None,
            };
        }
        last
    }

    /// The container that a line opens, and what stands in it. `earlier` is the list that was just left.
    fn opening<'a>(&self, line: &'a str, earlier: Option<List>) -> Option<(Container, &'a str)> {
        if self.containers.len() >= DEEPEST || line.starts_with("    ") {
            return None;
        }
        if let Some(inner) = quoted(line) {
            return Some((Container::Quote, inner));
        }
        let is_paragraph = matches!(self.leaf, Leaf::Paragraph(_));
        let found = marker(line).filter(|_| !is_rule(line) && (!is_paragraph || interrupts(line, false)))?;
        Some(self.item(&found, earlier))
    }

    fn item<'a>(&self, marker: &Marker<'a>, earlier: Option<List>) -> (Container, &'a str) {
        let before = earlier.filter(|list| list.mark == marker.mark).and_then(|list| list.number);
        let number = marker.number.map(|own| before.map_or(own, |before| before + 1));
        let depth = self.containers.iter().filter(|one| matches!(one, Container::Item { .. })).count();
        let (label, rest) = match (number, task(marker.rest)) {
            (_, Some((is_done, rest))) => (if is_done { "☑ " } else { "☐ " }.to_owned(), rest),
            (Some(number), None) => (format!("{number}{} ", marker.mark), marker.rest),
            (None, None) => (BULLETS[depth.min(BULLETS.len() - 1)].to_owned(), marker.rest),
        };
        let list = List { mark: marker.mark, number };
        let Marker { column, indent, .. } = *marker;
        (Container::Item { column, indent, list, label, is_shown: false }, rest)
    }

    /// A line in its containers.
    fn leaf_line(&mut self, line: &str, matched: usize, rows: &mut Rows) {
        let start = start_of(line);
        if start == Start::Blank {
            return self.blank(matched, rows);
        }
        let room = self.room();
        if let Leaf::Table(table) = &mut self.leaf {
            let laid_out = if start == Start::Text { table.row(line, room) } else { None };
            match laid_out {
                Some(lines) => return self.put(lines, rows),
                None => self.close_leaf(rows),
            }
        }
        if let Leaf::Paragraph(words) = &self.leaf {
            if let Some(level) = underline(line) {
                let words = words.clone();
                self.leaf = Leaf::None;
                return self.heading(level, &words, rows);
            }
            if let Some(table) = Table::begin(words, line, self.layout.links) {
                self.leaf = Leaf::Table(Box::new(table));
                return;
            }
        }
        match start {
            Start::Blank => {}
            Start::Heading { level, text } => {
                self.close_leaf(rows);
                self.heading(level, text, rows);
            }
            Start::Rule => {
                self.close_leaf(rows);
                self.rule(rows);
            }
            Start::Fence { mark, length, info } => {
                self.close_leaf(rows);
                let indent = line.len() - line.trim_start_matches(' ').len();
                let highlighter = Highlighter::new(info).map(Box::new);
                self.leaf = Leaf::Fence { mark, length, indent, highlighter };
            }
            Start::Text => self.words(line, rows),
        }
    }

    fn blank(&mut self, matched: usize, rows: &mut Rows) {
        if let Leaf::Indented { empty } = &mut self.leaf {
            *empty += 1;
            return;
        }
        self.close_leaf(rows);
        if self.has_begun {
            self.gap = Some(matched);
        }
    }

    /// Words of a paragraph, or code by indentation.
    fn words(&mut self, line: &str, rows: &mut Rows) {
        match &mut self.leaf {
            Leaf::Paragraph(words) => {
                words.push('\n');
                words.push_str(line.trim_start());
                self.cut_paragraph(rows);
            }
            Leaf::Indented { empty } if line.starts_with("    ") => {
                let blanks = std::mem::take(empty);
                (0..blanks).for_each(|_| self.code("", rows));
                self.code(line.get(4..).unwrap_or_default(), rows);
            }
            Leaf::None if line.starts_with("    ") => {
                self.leaf = Leaf::Indented { empty: 0 };
                self.code(line.get(4..).unwrap_or_default(), rows);
            }
            _ => {
                self.close_leaf(rows);
                self.leaf = Leaf::Paragraph(line.trim_start().to_owned());
            }
        }
    }

    /// A paragraph that has become too long is laid out and goes on below.
    fn cut_paragraph(&mut self, rows: &mut Rows) {
        if matches!(&self.leaf, Leaf::Paragraph(words) if words.len() > LONGEST) {
            self.close_leaf(rows);
        }
    }

    fn close_leaf(&mut self, rows: &mut Rows) {
        match std::mem::replace(&mut self.leaf, Leaf::None) {
            Leaf::None | Leaf::Fence { .. } => {}
            Leaf::Indented { empty } => {
                if empty > 0 {
                    self.gap = Some(self.containers.len());
                }
            }
            Leaf::Paragraph(words) => self.put(inline::lines(&words, self.base(), self.layout.links), rows),
            Leaf::Table(mut table) => {
                let lines = table.take(self.room());
                self.put(lines, rows);
            }
        }
    }

    /// What words are here.
    fn base(&self) -> Role {
        let is_quote = self.containers.iter().any(|container| matches!(container, Container::Quote));
        if is_quote { Role::Quote } else { Role::Plain }
    }

    fn heading(&mut self, level: usize, text: &str, rows: &mut Rows) {
        let lines = inline::lines(text, Role::Heading, self.layout.links);
        let underline = level == 1;
        let emphasis = Emphasis { bold: true, underline, ..Emphasis::NONE };
        self.put(lines.into_iter().map(|line| line.with_emphasis(emphasis)).collect(), rows);
    }

    fn rule(&mut self, rows: &mut Rows) {
        let width = self.room();
        self.put(vec![Line::of(Role::Border, &"─".repeat(width))], rows);
    }

    /// A line in a fence, or the one that ends it.
    fn fenced(&mut self, line: &str, rows: &mut Rows) {
        let Leaf::Fence { mark, length, indent, .. } = &self.leaf else { return };
        let ends = match start_of(line) {
            Start::Fence { mark: other, length: others, info } => {
                other == *mark && others >= *length && info.is_empty()
            }
            _ => false,
        };
        if ends {
            self.leaf = Leaf::None;
            return;
        }
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let code = line.get(blanks.min(*indent)..).unwrap_or_default().to_owned();
        self.code(&code, rows);
    }

    fn code(&mut self, text: &str, rows: &mut Rows) {
        let line = match &mut self.leaf {
            Leaf::Fence { highlighter: Some(highlighter), .. } => highlighter.line(text),
            _ => Line::of(Role::Code, text),
        };
        let (first, others) = self.prefixes(rows);
        let indent = Line::plain(if line.is_empty() { "" } else { CODE_INDENT });
        let (first, others) = (first.then(indent.clone()), others.then(indent));
        rows.extend(line.fold_behind(self.layout.columns, &first, &others));
    }

    /// Puts lines in their containers.
    fn put(&mut self, lines: Vec<Line>, rows: &mut Rows) {
        for line in lines {
            let (first, others) = self.prefixes(rows);
            rows.extend(line.wrap_behind(self.layout.columns, &first, &others));
        }
    }

    /// The columns that are left in the containers.
    fn room(&self) -> usize {
        let columns = self.layout.columns;
        let used: usize = self.containers.iter().map(|container| container.blanks().width()).sum();
        // A prefix that leaves too little room is cut, too.
        columns - used.min(columns.saturating_sub(8))
    }

    /// What stands before the first row and the others. An empty line that is due is put first.
    fn prefixes(&mut self, rows: &mut Rows) -> (Line, Line) {
        if let Some(depth) = self.gap.take() {
            let quotes = self.containers.iter().take(depth).map(Container::blanks);
            let prefix = quotes.fold(Line::new(), Line::then);
            rows.push(prefix.truncate(self.layout.columns).trim_end());
        }
        self.has_begun = true;
        let others = self.containers.iter().map(Container::blanks).fold(Line::new(), Line::then);
        let first = self.containers.iter_mut().map(Container::show).fold(Line::new(), Line::then);
        (first, others)
    }
}

impl Container {
    /// What stands before a row of it.
    fn blanks(&self) -> Line {
        match self {
            Self::Quote => Line::of(Role::Border, QUOTE),
            Self::Item { label, .. } => Line::plain(&" ".repeat(crate::text::width(label))),
        }
    }

    /// What stands before its next row: once its label.
    fn show(&mut self) -> Line {
        match self {
            Self::Item { label, is_shown, .. } if !*is_shown => {
                *is_shown = true;
                Line::of(Role::Accent, label)
            }
            other => other.blanks(),
        }
    }
}

/// No layout has fewer columns than a wide character takes.
fn least(layout: Layout) -> Layout {
    Layout { columns: layout.columns.max(2), ..layout }
}

/// What stands in an item, if a line goes on with it. A list in a list may be indented by two blanks only.
fn in_item(line: &str, column: usize, indent: usize) -> Option<&str> {
    let inner = line.trim_start_matches(' ');
    let blanks = line.len() - inner.len();
    match () {
        () if inner.is_empty() => Some(""),
        () if blanks >= indent => line.get(indent..),
        () if blanks >= column + 2 && marker(inner).is_some() => Some(inner),
        () => None,
    }
}

/// The line with the tabs it begins with as blanks.
fn untabbed(line: &str) -> std::borrow::Cow<'_, str> {
    let inner = line.trim_start_matches([' ', '\t']);
    let start = line.strip_suffix(inner).unwrap_or_default();
    match start.contains('\t') {
        true => format!("{}{inner}", start.replace('\t', "    ")).into(),
        false => line.into(),
    }
}
