//! A text as lines, with a way back to its own bytes.

use std::borrow::Cow;
use std::ops::Range;

/// A text with its line ends taken as LF for matching, and the original beside it.
pub(super) struct Lines<'a> {
    original: &'a str,
    /// The text with every CRLF as LF.
    normal: Cow<'a, str>,
    /// Where lines begin in `normal`; the last entry is its length plus one when it ends in no newline.
    starts: Vec<usize>,
    /// Positions in `normal` of newlines that are CRLF in the original.
    crlf: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(original: &'a str) -> Self {
        let normal: Cow<str> = if original.contains("\r\n") {
            Cow::Owned(original.replace("\r\n", "\n"))
        } else {
            Cow::Borrowed(original)
        };
        let mut starts = vec![0];
        let mut crlf = Vec::new();
        let mut removed = 0;
        for (at, _) in original.match_indices('\n') {
            let carriage = original.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\r') && at > 0;
            if carriage {
                removed += 1;
                crlf.push(at - removed);
            }
            starts.push(at - removed + 1);
        }
        Self { original, normal, starts, crlf }
    }

    pub(super) fn original(&self) -> &str {
        self.original
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// A line without its end.
    pub(super) fn line(&self, index: usize) -> &str {
        let Some(start) = self.starts.get(index) else { return "" };
        let end = self.starts.get(index + 1).map_or(self.normal.len(), |next| next - 1);
        self.normal.get(*start..end).unwrap_or_default()
    }

    /// The line, from 1, that a position is in.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    /// True when something, but only blanks, stands before a position in its line.
    pub(super) fn is_in_indentation(&self, at: usize) -> bool {
        let start = self.starts.get(self.line_of(at).wrapping_sub(1)).copied().unwrap_or(at);
        start < at && self.text(&(start..at)).trim_start_matches([' ', '\t']).is_empty()
    }

    /// Every place, left to right and not overlapping, where `old` stands exactly. A single one comes with
    /// one that overlaps it, if there is one: then it is not the only one.
    pub(super) fn find_exactly(&self, old: &str) -> Vec<Range<usize>> {
        let found = self.normal.match_indices(old).map(|(at, found)| at..at + found.len());
        let mut found: Vec<Range<usize>> = found.collect();
        if let [only] = found.as_slice() {
            let next = only.start + old.chars().next().map_or(1, char::len_utf8);
            let rest = self.normal.get(next..).unwrap_or_default();
            found.extend(rest.find(old).map(|at| next + at..next + at + old.len()));
        }
        found
    }

    /// Every run of lines whose forms equal those wanted, as `form` makes them. Runs may overlap. Runs of
    /// blank lines match nothing.
    pub(super) fn find_by_line<T: PartialEq>(
        &self,
        wanted: &[&str],
        form: impl Fn(&str) -> T,
        with_end: bool,
    ) -> Vec<Range<usize>> {
        if wanted.iter().all(|line| line.trim().is_empty()) {
            return Vec::new();
        }
        let wanted: Vec<T> = wanted.iter().map(|line| form(line)).collect();
        let there: Vec<T> = (0..self.count()).map(|index| form(self.line(index))).collect();
        let runs = there.windows(wanted.len()).enumerate().filter(|(_, run)| *run == wanted);
        runs.map(|(first, _)| self.range(first, wanted.len(), with_end)).collect()
    }

    /// The bytes of `count` lines from `first`, with the last one's end if wanted.
    pub(super) fn range(&self, first: usize, count: usize, with_end: bool) -> Range<usize> {
        let start = self.starts.get(first).copied().unwrap_or(self.normal.len());
        let end =
            self.starts.get(first + count).map_or(self.normal.len(), |next| next - usize::from(!with_end));
        start..end.max(start)
    }

    /// The text in a range, with LF line ends.
    pub(super) fn text(&self, range: &Range<usize>) -> &str {
        self.normal.get(range.clone()).unwrap_or_default()
    }

    /// The original with pieces put in place of ranges of the normal text. Ranges are in order.
    pub(super) fn splice(&self, pieces: &[(Range<usize>, String)]) -> String {
        let mut out = String::with_capacity(self.original.len() + 64);
        let mut from = 0;
        for (range, new) in pieces {
            let (start, end) = (self.to_original(range.start), self.to_original(range.end));
            out.push_str(self.original.get(from..start).unwrap_or_default());
            if self.ends_lines_in_crlf(range) {
                out.push_str(&new.replace('\n', "\r\n"));
            } else {
                out.push_str(new);
            }
            from = end;
        }
        out.push_str(self.original.get(from..).unwrap_or_default());
        out
    }

    /// A position in the normal text as one in the original. A newline's position is that of its CR.
    fn to_original(&self, at: usize) -> usize {
        at + self.crlf.partition_point(|newline| *newline < at)
    }

    /// Whether new lines in this range end in CRLF: as most lines there do, else as the line it is in.
    fn ends_lines_in_crlf(&self, range: &Range<usize>) -> bool {
        let inside = self.crlf.iter().filter(|newline| range.contains(newline)).count();
        let newlines = self.text(range).matches('\n').count();
        if newlines > 0 {
            return inside * 2 > newlines;
        }
        let ends = || self.starts.iter().skip(1).map(|start| start - 1);
        let nearest = ends().find(|newline| *newline >= range.end).or_else(|| ends().next_back());
        nearest.is_some_and(|newline| self.crlf.binary_search(&newline).is_ok())
    }
}

/// A line with blanks collapsed, its ends trimmed and typographic twins made plain.
pub(super) fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut blank = false;
    for c in line.chars() {
        let c = match c {
            '\u{2018}' | '\u{2019}' | '\u{201B}' | '\u{2032}' => '\'',
            '\u{201C}' | '\u{201D}' | '\u{201F}' | '\u{2033}' => '"',
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            '\u{FEFF}' | '\u{200B}' => continue,
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if c == ' ' {
            blank = !out.is_empty();
            continue;
        }
        if blank {
            out.push(' ');
            blank = false;
        }
        out.push(c);
    }
    out
}
