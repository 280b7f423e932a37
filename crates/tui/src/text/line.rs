//! A line of spans.

use super::wrap::{at_words, everywhere};
use super::{Emphasis, Role, Span, graphemes, width};

/// Stands for what was cut off.
const CUT: &str = "…";
/// What a prefix leaves to the text behind it at least.
const LEAST: usize = 8;

/// One line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of one text in one role.
    pub fn of(role: Role, text: &str) -> Self {
        let mut line = Self::new();
        line.push(role, text);
        line
    }

    /// A line of ordinary text.
    pub fn plain(text: &str) -> Self {
        Self::of(Role::Plain, text)
    }

    /// Adds a text.
    pub fn push(&mut self, role: Role, text: &str) {
        self.push_span(Span::new(role, text));
    }

    /// Adds a span, to the last one where both look the same.
    pub fn push_span(&mut self, span: Span) {
        match self.spans.last_mut() {
            _ if span.text().is_empty() => {}
            Some(last) if last.looks_like(&span) => last.append(span.text()),
            _ => self.spans.push(span),
        }
    }

    /// Adds the spans of another line.
    pub fn extend(&mut self, other: Self) {
        other.spans.into_iter().for_each(|span| self.push_span(span));
    }

    /// The same line with another one behind it.
    pub fn then(mut self, other: Self) -> Self {
        self.extend(other);
        self
    }

    /// The same line with an emphasis on all of it.
    pub fn with_emphasis(mut self, emphasis: Emphasis) -> Self {
        for span in &mut self.spans {
            *span = std::mem::take(span).with_emphasis(emphasis);
        }
        self
    }

    /// The same line without the blanks at its end.
    pub fn trim_end(mut self) -> Self {
        while let Some(last) = self.spans.pop() {
            let text = last.text().trim_end_matches(' ');
            if !text.is_empty() {
                self.spans.push(last.part(text));
                break;
            }
        }
        self
    }

    /// Its spans.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Its text alone.
    pub fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    /// The columns it takes.
    pub fn width(&self) -> usize {
        match self.spans.as_slice() {
            [span] => span.width(),
            spans if spans.iter().all(|span| span.text().is_ascii()) => spans.iter().map(Span::width).sum(),
            // A character may begin in one span and end in the next.
            _ => width(&self.text()),
        }
    }

    /// True when it has no text.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The line broken between words, so that no row is wider than `columns`.
    pub fn wrap(&self, columns: usize) -> Vec<Self> {
        self.wrap_behind(columns, &Self::new(), &Self::new())
    }

    /// The same with a text before the first row and one before the others. What leaves too little room is cut.
    pub fn wrap_behind(&self, columns: usize, first: &Self, others: &Self) -> Vec<Self> {
        self.broken_behind(columns, first, others, at_words)
    }

    /// The line broken wherever a row is full, with a text before the first row and one before the others: for code,
    /// whose blanks matter.
    pub fn fold_behind(&self, columns: usize, first: &Self, others: &Self) -> Vec<Self> {
        self.broken_behind(columns, first, others, everywhere)
    }

    fn broken_behind(&self, columns: usize, first: &Self, others: &Self, breaks: Breaks) -> Vec<Self> {
        let room = columns.saturating_sub(LEAST);
        let (first, others) = (first.truncate(room), others.truncate(room));
        let left = |prefix: &Self| columns.saturating_sub(prefix.width());
        let text = self.text();
        let rows = breaks(&text, left(&first), left(&others));
        let mut parts = Parts::of(self);
        let prefixes = std::iter::once(first).chain(std::iter::repeat(others));
        rows.into_iter().zip(prefixes).map(|(row, prefix)| parts.take(row, prefix)).collect()
    }

    /// The line with its end cut off where it is wider than `columns`.
    pub fn truncate(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let mut line = Self::new();
        let mut room = columns.saturating_sub(width(CUT));
        for span in &self.spans {
            let kept = fitting(span.text(), room);
            room -= width(kept);
            line.push_span(span.part(kept));
            if kept.len() < span.text().len() {
                line.push_span(span.part(if columns == 0 { "" } else { CUT }));
                break;
            }
        }
        line
    }
}

/// The rows of a text for the room in the first row and in the others, as ranges of bytes.
type Breaks = fn(&str, usize, usize) -> Vec<std::ops::Range<usize>>;

/// As much of the beginning as fits.
fn fitting(text: &str, columns: usize) -> &str {
    let (mut used, mut end) = (0, 0);
    for (grapheme, width) in graphemes(text) {
        if used + width > columns {
            break;
        }
        used += width;
        end += grapheme.len();
    }
    text.get(..end).unwrap_or_default()
}

/// The spans of a line, handed out from left to right.
struct Parts<'a> {
    spans: &'a [Span],
    /// Where the first of them begins in the line's text.
    at: usize,
}

impl<'a> Parts<'a> {
    fn of(line: &'a Line) -> Self {
        Self { spans: &line.spans, at: 0 }
    }

    /// The part of the text in a range, behind a prefix. Ranges come in their order.
    fn take(&mut self, range: std::ops::Range<usize>, prefix: Line) -> Line {
        let mut row = prefix;
        while let [span, rest @ ..] = self.spans {
            let end = self.at + span.text().len();
            let (from, to) = (range.start.max(self.at), range.end.min(end));
            if from < to {
                row.push_span(span.part(span.text().get(from - self.at..to - self.at).unwrap_or_default()));
            }
            if end > range.end {
                break;
            }
            (self.spans, self.at) = (rest, end);
        }
        row
    }
}
