//! Unified diffs as a person reads them: line numbers, colours, and the words that differ.
//!
//! A person may be about to agree to what a diff says, so nothing in it hides: every character that shows nothing is shown by
//! its number, and no line of a file can pass for a head of the diff, because a hunk says how many lines it has.

mod words;

use charla_proto::text::visible;

use self::words::marked;
use crate::text::{Line, Role};

#[cfg(test)]
mod tests;

/// The lines of a unified diff, none wider than `columns`.
pub fn lines(unified: &str, columns: usize) -> Vec<Line> {
    let mut reader = Reader { columns, numbers: number_columns(unified), ..Reader::default() };
    for line in unified.lines() {
        reader.line(line);
    }
    reader.flush();
    reader.rows
}

/// Where a hunk begins and how many lines it has, in the old text and in the new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hunk {
    old: usize,
    old_left: usize,
    new: usize,
    new_left: usize,
}

impl Hunk {
    /// What `@@ -1,2 +3,4 @@` says.
    fn parse(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let ((old, old_left), (new, new_left)) = (range(old)?, range(new)?);
        Some(Self { old, old_left, new, new_left })
    }

    fn is_over(self) -> bool {
        self.old_left == 0 && self.new_left == 0
    }
}

fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// The columns of the largest line number.
fn number_columns(unified: &str) -> usize {
    let hunks = unified.lines().filter_map(Hunk::parse);
    let last =
        hunks.map(|hunk| hunk.old.saturating_add(hunk.old_left).max(hunk.new.saturating_add(hunk.new_left)));
    last.max().unwrap_or(0).to_string().len().max(2)
}

/// Lines that were removed or added together, with their numbers.
type Changed<'a> = Vec<(usize, &'a str)>;

#[derive(Default)]
struct Reader<'a> {
    columns: usize,
    numbers: usize,
    hunk: Hunk,
    has_hunk: bool,
    removed: Changed<'a>,
    added: Changed<'a>,
    /// The name of the old file, until that of the new one is known.
    old_name: Option<&'a str>,
    rows: Vec<Line>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str) {
        match self.hunk.is_over() {
            true => self.head(line),
            false => self.content(line),
        }
    }

    /// A line between hunks.
    fn head(&mut self, line: &'a str) {
        self.flush();
        if let Some(hunk) = Hunk::parse(line) {
            if std::mem::replace(&mut self.has_hunk, true) {
                self.put(Line::of(Role::Dim, "⋯"));
            }
            self.hunk = hunk;
        } else if let Some(name) = line.strip_prefix("--- ") {
            (self.old_name, self.has_hunk) = (Some(name), false);
        } else if let (Some(new), Some(old)) = (line.strip_prefix("+++ "), self.old_name) {
            self.old_name = None;
            self.put(Line::of(Role::Heading, &visible(&names(old, new))));
        } else {
            self.put(Line::of(unnumbered(line), &visible(line)));
        }
    }

    /// A line of a hunk.
    fn content(&mut self, line: &'a str) {
        let Hunk { old, new, .. } = self.hunk;
        if let Some(text) = line.strip_prefix('-') {
            if !self.added.is_empty() {
                self.flush();
            }
            self.removed.push((old, text));
            self.pass(1, 0);
        } else if let Some(text) = line.strip_prefix('+') {
            self.added.push((new, text));
            self.pass(0, 1);
        } else if line.starts_with('\\') {
            self.flush();
            self.put(Line::of(Role::Dim, &visible(line)));
        } else {
            self.flush();
            let text = visible(line.strip_prefix(' ').unwrap_or(line));
            self.numbered(new, "  ", Role::Plain, Line::plain(&text));
            self.pass(1, 1);
        }
    }

    fn pass(&mut self, old: usize, new: usize) {
        let hunk = &mut self.hunk;
        (hunk.old, hunk.new) = (hunk.old.saturating_add(old), hunk.new.saturating_add(new));
        hunk.old_left = hunk.old_left.saturating_sub(old);
        hunk.new_left = hunk.new_left.saturating_sub(new);
    }

    /// Puts what was removed and added together.
    fn flush(&mut self) {
        let (removed, added) = (std::mem::take(&mut self.removed), std::mem::take(&mut self.added));
        // Lines that changed one by one can be compared word by word.
        let pairs = removed.len() == added.len();
        let other = |others: &Changed<'a>, at: usize| others.get(at).map(|(_, text)| *text).filter(|_| pairs);
        for (at, (number, text)) in removed.iter().enumerate() {
            let line = marked(text, other(&added, at), Role::Removed, Role::RemovedWord);
            self.numbered(*number, "- ", Role::Removed, line);
        }
        for (at, (number, text)) in added.iter().enumerate() {
            let line = marked(text, other(&removed, at), Role::Added, Role::AddedWord);
            self.numbered(*number, "+ ", Role::Added, line);
        }
    }

    fn numbered(&mut self, number: usize, sign: &str, role: Role, text: Line) {
        let width = self.numbers;
        let first = Line::of(Role::Dim, &format!("{number:>width$} ")).then(Line::of(role, sign));
        let others = Line::plain(&" ".repeat(first.width()));
        self.rows.extend(text.fold_behind(self.columns, &first, &others));
    }

    fn put(&mut self, line: Line) {
        self.rows.extend(line.wrap(self.columns));
    }
}

/// The role of a line of which nothing is known but how it begins.
fn unnumbered(line: &str) -> Role {
    match line.chars().next() {
        Some('+') => Role::Added,
        Some('-') => Role::Removed,
        _ => Role::Dim,
    }
}

/// What happens to a file, by the names of the old and the new one.
fn names(old: &str, new: &str) -> String {
    let bare = |name: &str, side: &str| {
        let name = name.split('\t').next().unwrap_or_default().trim_end();
        name.strip_prefix(side).unwrap_or(name).to_owned()
    };
    let (old, new) = (bare(old, "a/"), bare(new, "b/"));
    match (old.as_str(), new.as_str()) {
        ("/dev/null", new) => format!("{new} (new)"),
        (old, "/dev/null") => format!("{old} (deleted)"),
        (old, new) if old == new => old.to_owned(),
        (old, new) => format!("{old} → {new}"),
    }
}
