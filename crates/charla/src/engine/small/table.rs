//! Tables in texts: Markdown, CSV and its kin, columns of words.

use super::place::words;

/// A head with rows of as many cells.
pub(super) struct Table<'a> {
    head: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
    /// The lines of the head and the rows.
    lines: Vec<&'a str>,
}

/// How a line is cut into cells.
const CUTS: [fn(&str) -> Vec<&str>; 5] = [
    |line| cells(line.trim().trim_matches('|').split('|')),
    |line| cells(line.split('\t')),
    |line| cells(line.split(';')),
    |line| cells(line.split(',')),
    |line| cells(line.split("  ").filter(|cell| !cell.trim().is_empty())),
];

fn cells<'a>(parts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    parts.map(|cell| cell.trim().trim_matches(['"', '`'])).collect()
}

impl<'a> Table<'a> {
    /// The first table of a text.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        CUTS.iter().find_map(|cut| Self::cut(text, cut))
    }

    fn cut(text: &'a str, cut: &fn(&str) -> Vec<&str>) -> Option<Self> {
        let is_rule = |line: &&str| line.contains("--") && line.chars().all(|c| "|-: ".contains(c));
        let lines: Vec<&str> = text.lines().filter(|line| !is_rule(line)).collect();
        let like = |from: usize| {
            let width = cut(lines[from]).len();
            let rows = lines[from..].iter().take_while(|line| cut(line).len() == width);
            if width > 1 { rows.count() } else { 0 }
        };
        // Without a rule under its head, only several lines that are alike make a table.
        let least = if text.lines().any(|line| is_rule(&line)) { 2 } else { 3 };
        let first = (0..lines.len()).find(|at| like(*at) >= least)?;
        let lines: Vec<&str> = lines[first..first + like(first)].to_vec();
        let mut rows: Vec<Vec<&str>> = lines.iter().map(|line| cut(line)).collect();
        let head = rows.remove(0);
        Some(Self { head, rows, lines })
    }

    /// What stands in a column of a row, both by their names.
    pub(super) fn cell(&self, row: &str, column: &str) -> Option<&'a str> {
        let same = |one: &str, other: &str| words(one) == words(other);
        let column = self.head.iter().position(|head| same(head, column))?;
        let row = self.rows.iter().find(|cells| cells.iter().any(|cell| same(cell, row)))?;
        row.get(column).copied()
    }

    /// How many words of a column's name a request has, where it has not more of another one's.
    pub(super) fn asked_for(&self, request: &str, column: &str) -> Option<usize> {
        let asked = words(request);
        let is_said = |word: &&String| asked.iter().any(|asked| is_form_of(asked, word));
        let said = |head: &str| words(head).iter().filter(is_said).count();
        self.head.iter().all(|head| said(head) <= said(column)).then(|| said(column))
    }

    /// The head and the rows that a request names by one of their cells; nothing where it names none.
    pub(super) fn rows_named(&self, request: &str) -> Option<String> {
        let asked = words(request);
        let is_named = |cell: &&str| {
            let words = words(cell);
            !words.is_empty() && words.iter().all(|word| asked.iter().any(|asked| is_name_of(asked, word)))
        };
        let by = |is_row: &dyn Fn(&Vec<&str>) -> bool| {
            let rows = self.rows.iter().zip(self.lines.iter().skip(1));
            let found: Vec<&str> = rows.filter(|(row, _)| is_row(row)).map(|(_, line)| *line).collect();
            (!found.is_empty()).then_some(found)
        };
        let first = by(&|row| row.first().is_some_and(&is_named));
        let found = first.or_else(|| by(&|row| row.iter().any(&is_named)))?;
        Some(format!("{}\n{}", self.lines.first()?, found.join("\n")))
    }
}

/// "prices" for `price`, "cooling" for `cool`.
fn is_form_of(asked: &str, word: &str) -> bool {
    let stem: String = word.chars().take(4).collect();
    asked == word || (stem.len() > 2 && asked.starts_with(&stem))
}

/// "Gretas" for `Greta`, "21" for `21` only.
fn is_name_of(asked: &str, word: &str) -> bool {
    asked == word || (word.len() > 2 && asked.strip_prefix(word) == Some("s"))
}
