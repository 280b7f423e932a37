//! The rows of a text that are in sight where not all of it fits.

use std::iter;
use std::ops::Range;

use super::fitting::LEAST;

/// Stretches of rows, in their order.
#[derive(Debug, PartialEq, Eq)]
pub struct Sight(Vec<Range<usize>>);

impl Sight {
    /// So many rows from one on.
    pub fn stretch(from: usize, rows: usize) -> Self {
        Self(iter::once(from..from + rows).collect())
    }

    /// What would happen, of a text of `total` rows, in `rows` of them, those that tell what is hidden included: with what
    /// stands around it; without what stands between its rows; its beginning and its end.
    pub fn of(deed: &[usize], total: usize, rows: usize, is_from_top: bool) -> Self {
        // One row tells what is out of sight, unless there are hardly others.
        let shown = if rows < LEAST { rows } else { rows - 1 };
        let span = span(deed);
        if is_from_top && span.end <= shown {
            return Self::stretch(0, shown);
        }
        if span.len() <= shown || rows < LEAST {
            return Self::stretch(span.start.min(total - shown), shown);
        }
        let pieces = pieces(deed);
        match rows.checked_sub(cost(&pieces)) {
            Some(left) => Self(pieces).reaching(left, total),
            None => Self::around(&span, total, shown),
        }
    }

    /// What stands behind the last stretch, as far as there is room.
    fn reaching(mut self, left: usize, total: usize) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.end = (last.end + left).min(total);
        }
        self
    }

    /// The beginning and the end. What stands before it where there is room.
    fn around(span: &Range<usize>, total: usize, rows: usize) -> Self {
        let beginning = rows.div_ceil(2);
        let from = if span.start < beginning { 0 } else { span.start };
        let ending = rows - beginning;
        // What holds it in must not take the place of its end.
        let end = if (total - span.end) * 2 <= ending { total } else { span.end };
        Self(vec![from..from + beginning, end - ending..end])
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().cloned().flatten()
    }

    /// The stretches; behind each but the last, rows are hidden.
    pub fn stretches(&self) -> &[Range<usize>] {
        &self.0
    }

    /// What the row that is ours says of all that is hidden.
    pub fn words(&self, total: usize, keys: &str) -> String {
        if let [Range { start, end }] = self.0[..] {
            return format!("rows {}–{end} of {total} · {keys}", start + 1);
        }
        let starts = self.0.iter().map(|rows| rows.start).chain([total]);
        let ends = [0].into_iter().chain(self.0.iter().map(|rows| rows.end));
        let hidden = ends.zip(starts).filter(|(from, to)| from < to);
        let hidden: Vec<String> = hidden.map(|(from, to)| format!("{}–{to}", from + 1)).collect();
        format!("rows {} of {total} hidden · {keys}", hidden.join(", "))
    }
}

/// How many rows what would happen needs to be in sight whole, those that tell what is hidden included.
pub fn needed(deed: &[usize]) -> usize {
    (span(deed).len() + 1).min(cost(&pieces(deed)))
}

/// From the first of these rows to the last.
fn span(deed: &[usize]) -> Range<usize> {
    deed.first().copied().unwrap_or_default()..deed.last().map_or(0, |last| last + 1)
}

/// Rows that follow each other. One that would be hidden alone is shown: the row that tells of it takes as much room.
fn pieces(deed: &[usize]) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    for row in deed {
        match pieces.last_mut() {
            Some(piece) if row - piece.end <= 1 => piece.end = row + 1,
            _ => pieces.push(*row..row + 1),
        }
    }
    pieces
}

/// How many rows they take: between them, one each tells what is hidden.
fn cost(pieces: &[Range<usize>]) -> usize {
    pieces.iter().map(Range::len).sum::<usize>() + (pieces.len().saturating_sub(1)).max(1)
}
