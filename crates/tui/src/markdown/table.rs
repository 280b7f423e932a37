//! Tables: fitted to the width, or told row by row where that is too narrow.

use super::inline;
use crate::text::{Emphasis, Line, Role};

/// So many rows are laid out together; the columns of later ones are as wide.
const ROWS: usize = 200;
/// A column is not made narrower.
const NARROWEST: usize = 6;
/// More columns are not told apart.
const MOST: usize = 64;
/// What stands between columns.
const GAP: &str = " │ ";
const CROSSING: &str = "─┼─";

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    Middle,
}

/// A table as it comes.
#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<Line>,
    sides: Vec<Side>,
    rows: Vec<Vec<Line>>,
    /// How wide the columns are, once the first rows were laid out.
    widths: Option<Vec<usize>>,
    links: bool,
}

impl Table {
    /// The table that two lines begin: names of columns, and dashes below them.
    pub fn begin(names: &str, dashes: &str, links: bool) -> Option<Self> {
        let sides: Vec<Side> = cells(dashes)?.iter().map(|cell| side(cell)).collect::<Option<_>>()?;
        let names = cells(names).filter(|names| names.len() == sides.len())?;
        let header = names.iter().map(|name| inline::line(name, Role::Plain, links)).collect();
        Some(Self { header, sides, rows: Vec::new(), widths: None, links })
    }

    /// Adds a row; gives lines where many came together. Nothing for a line that is no row.
    pub fn row(&mut self, line: &str, columns: usize) -> Option<Vec<Line>> {
        let mut cells = cells(line)?;
        cells.resize(self.header.len(), String::new());
        self.rows.push(cells.iter().map(|cell| inline::line(cell, Role::Plain, self.links)).collect());
        let is_full = self.rows.len() >= ROWS;
        Some(if is_full { self.take(columns) } else { Vec::new() })
    }

    /// The rows that were not laid out yet; the first time, with the header.
    pub fn take(&mut self, columns: usize) -> Vec<Line> {
        let rows = std::mem::take(&mut self.rows);
        let fitted = self.widths.clone().or_else(|| self.fitted(&rows, columns));
        let Some(widths) = fitted else { return self.records(&rows, columns) };
        let mut lines = Vec::new();
        if self.widths.is_none() {
            let names: Vec<Line> =
                self.header.iter().map(|name| name.clone().with_emphasis(Emphasis::BOLD)).collect();
            lines.extend(self.laid_out(&names, &widths));
            let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            lines.push(Line::of(Role::Border, &dashes.join(CROSSING)));
        }
        lines.extend(rows.iter().flat_map(|row| self.laid_out(row, &widths)));
        self.widths = Some(widths);
        lines
    }

    /// How wide each column is, so that all fit; nothing where they cannot.
    fn fitted(&self, rows: &[Vec<Line>], columns: usize) -> Option<Vec<usize>> {
        let number = self.header.len();
        let room = columns.checked_sub(crate::text::width(GAP) * number.saturating_sub(1))?;
        let all = || std::iter::once(&self.header).chain(rows);
        let widest =
            |column: usize| all().filter_map(|row| row.get(column)).map(Line::width).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..number).map(|column| widest(column).max(1)).collect();
        while widths.iter().sum::<usize>() > room {
            // The widest columns give first, down to the next widest.
            let most = widths.iter().copied().max()?;
            if most <= NARROWEST {
                return None;
            }
            let next = widths.iter().copied().filter(|width| *width < most).max().unwrap_or(0).max(NARROWEST);
            let over = widths.iter().sum::<usize>() - room;
            let wide = widths.iter().filter(|width| **width == most).count();
            let less = over.div_ceil(wide).min(most - next).max(1);
            widths.iter_mut().filter(|width| **width == most).for_each(|width| *width -= less);
        }
        Some(widths)
    }

    /// One row, of as many lines as its longest cell needs.
    fn laid_out(&self, row: &[Line], widths: &[usize]) -> Vec<Line> {
        let cells: Vec<Vec<Line>> =
            row.iter().zip(widths).map(|(cell, width)| cell.wrap((*width).max(2))).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let mut line = Line::new();
            for (number, ((cell, width), side)) in cells.iter().zip(widths).zip(&self.sides).enumerate() {
                if number > 0 {
                    line.push(Role::Border, GAP);
                }
                line.extend(aligned(cell.get(at).cloned().unwrap_or_default(), *width, *side));
            }
            line.trim_end()
        };
        (0..height).map(line).collect()
    }

    /// Each row as lines of a name and what stands there.
    fn records(&mut self, rows: &[Vec<Line>], columns: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for row in rows {
            if !lines.is_empty() {
                lines.push(Line::of(Role::Border, &"─".repeat(columns.min(8))));
            }
            for (name, cell) in self.header.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
                let name = name.clone().with_emphasis(Emphasis::BOLD);
                let label = if name.is_empty() { Line::new() } else { name.then(Line::plain(": ")) };
                lines.extend(label.then(cell.clone()).wrap_behind(columns, &Line::new(), &Line::plain("  ")));
            }
        }
        if rows.is_empty() {
            let names: Vec<String> = self.header.iter().map(Line::text).collect();
            lines.extend(Line::plain(&names.join(", ")).with_emphasis(Emphasis::BOLD).wrap(columns));
        }
        lines
    }
}

fn aligned(cell: Line, width: usize, side: Side) -> Line {
    let free = width.saturating_sub(cell.width());
    let before = match side {
        Side::Left => 0,
        Side::Right => free,
        Side::Middle => free / 2,
    };
    let blanks = |number: usize| Line::plain(&" ".repeat(number));
    blanks(before).then(cell).then(blanks(free - before))
}

/// The cells of a line, if it has any.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim();
    if !inner.contains('|') {
        return None;
    }
    let inner = inner.strip_prefix('|').unwrap_or(inner);
    let mut cells = vec![String::new()];
    let mut rest = inner.chars().peekable();
    while let Some(c) = rest.next() {
        let number = cells.len();
        let cell = cells.last_mut()?;
        match c {
            '\\' if rest.next_if_eq(&'|').is_some() => cell.push('|'),
            '|' if number < MOST => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    // The line may end with a mark.
    if cells.len() > 1 && cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    Some(cells.into_iter().map(|cell| cell.trim().to_owned()).collect())
}

fn side(dashes: &str) -> Option<Side> {
    let inner = dashes.trim_matches(':');
    let is_line = !inner.is_empty() && inner.chars().all(|c| c == '-');
    let side = match (dashes.starts_with(':'), dashes.ends_with(':')) {
        (true, true) => Side::Middle,
        (false, true) => Side::Right,
        _ => Side::Left,
    };
    is_line.then_some(side)
}
