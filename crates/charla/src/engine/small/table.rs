//! Tables in texts: Markdown, CSV and its kin, columns of words.

use super::place::{Line, words};

/// The first table of a text.
pub(super) struct Table<'a> {
    /// The line with the names of the columns.
    pub(super) head: usize,
    /// The cells of each row, under the heads of their columns.
    pub(super) rows: Vec<Vec<Line<'a>>>,
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
    pub(super) fn of(text: &'a str) -> Option<Self> {
        CUTS.iter().find_map(|cut| Self::cut(text, cut))
    }

    fn cut(text: &'a str, cut: &fn(&str) -> Vec<&str>) -> Option<Self> {
        let is_rule = |line: &str| line.contains("--") && line.chars().all(|c| "|-: ".contains(c));
        let lines: Vec<(usize, &str)> = text.lines().enumerate().filter(|(_, line)| !is_rule(line)).collect();
        let like = |from: usize| {
            let width = cut(lines[from].1).len();
            let rows = lines[from..].iter().take_while(|(_, line)| cut(line).len() == width);
            if width > 1 { rows.count() } else { 0 }
        };
        // Without a rule under its head, only several lines that are alike make a table.
        let least = if text.lines().any(is_rule) { 2 } else { 3 };
        let first = (0..lines.len()).find(|at| like(*at) >= least)?;
        let (head, names) = lines[first];
        let cell = |at: usize, head: &str, text: &'a str| Line {
            at,
            text,
            key: words(head),
            under: Vec::new(),
            name: Vec::new(),
            value: words(text),
        };
        let row = |(at, line): &(usize, &'a str)| {
            cut(names).into_iter().zip(cut(line)).map(|(head, text)| cell(*at, head, text)).collect()
        };
        Some(Self { head, rows: lines[first + 1..first + like(first)].iter().map(row).collect() })
    }
}
