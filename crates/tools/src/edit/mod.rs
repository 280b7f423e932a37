//! Replacing text the way the model meant it, and never in the wrong place.
//!
//! A ladder of ways to find the old text, each tried only when the one before found nothing: exactly as
//! given; line by line with other blanks and typographic twins (curly quotes, long dashes, hard blanks); line
//! by line with blanks between other signs; and with a few long words misspelt. What is found in several
//! places is not guessed. Bytes outside the replaced range are never touched: line ends, a byte order mark
//! and a missing last newline stay. Lines that the edit does not change keep the file's own form even where
//! the model's copy of them differs.

mod adapt;
mod lines;
mod nearest;
mod tokens;

use std::ops::Range;

use lines::Lines;

/// What to replace.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    /// The text to find.
    pub old: &'a str,
    /// The text to put there.
    pub new: &'a str,
    /// Replace every occurrence, not just the only one.
    pub all: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The whole text after.
    pub text: String,
    /// How many places changed.
    pub places: usize,
    /// How the old text was found.
    pub how: MatchKind,
}

/// How the old text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// Exactly as given.
    Exactly,
    /// With other blanks or typographic twins.
    ByLine,
    /// With a few words misspelt.
    Nearly,
}

/// Why nothing was replaced, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is nothing to look for.
    #[error(
        "old_string is empty. To create a file, use a path that does not exist; to change one, give the text to replace"
    )]
    Empty,
    /// It would change nothing.
    #[error("old_string and new_string are the same: there is nothing to change")]
    Same,
    /// It is not there.
    #[error("old_string was not found in the file.{nearest} Read the file again and use its text exactly")]
    NotFound {
        /// The nearest lines, if any are near.
        nearest: String,
    },
    /// It is there more than once.
    #[error("old_string was found {} times, at lines {}. Give more lines around the place, or set allow_multiple to change them all", .lines.len(), join(.lines))]
    Ambiguous {
        /// The lines where it begins, from 1.
        lines: Vec<usize>,
    },
}

fn join(lines: &[usize]) -> String {
    let shown = lines.iter().take(10).map(usize::to_string).collect::<Vec<_>>().join(", ");
    if lines.len() > 10 { format!("{shown}, …") } else { shown }
}

/// Replaces `edit.old` in `text`.
pub fn replace(text: &str, edit: Edit) -> Result<Edited, EditError> {
    if edit.old.is_empty() {
        return Err(EditError::Empty);
    }
    if edit.old == edit.new {
        return Err(EditError::Same);
    }
    let lines = Lines::new(text);
    let old = edit.old.replace("\r\n", "\n");
    let new = edit.new.replace("\r\n", "\n");
    let exact = lines.find_exactly(&old);
    let with_end = old.ends_with('\n');
    let wanted: Vec<&str> = old.strip_suffix('\n').unwrap_or(&old).split('\n').collect();
    if !exact.is_empty() && !is_misplaced(&lines, &exact, &old, &new, &wanted) {
        return put(&lines, exact, edit, MatchKind::Exactly, |_| new.clone());
    }
    let adapted = |range: &Range<usize>| adapt::to_file(lines.text(range), &wanted, &new, with_end);
    let by_line = lines.find_by_line(&wanted, lines::plain, with_end);
    if !by_line.is_empty() {
        return put(&lines, by_line, edit, MatchKind::ByLine, adapted);
    }
    let by_token = lines.find_by_line(&wanted, tokens::split, with_end);
    if !by_token.is_empty() {
        return put(&lines, by_token, edit, MatchKind::ByLine, adapted);
    }
    if let Some(range) = nearest::only_misspelt(&lines, &wanted, with_end) {
        return put(&lines, vec![range], edit, MatchKind::Nearly, adapted);
    }
    Err(EditError::NotFound { nearest: nearest::in_words(&lines, &wanted) })
}

/// True when one whole line was found only because it stands deeper than the model thinks: its blanks match the
/// end of the line's own. Several new lines would then all but the first stand too far out.
fn is_misplaced(lines: &Lines, exact: &[Range<usize>], old: &str, new: &str, wanted: &[&str]) -> bool {
    let [only] = exact else { return false };
    old.starts_with([' ', '\t'])
        && new.contains('\n')
        && lines.is_in_indentation(only.start)
        && lines.find_by_line(wanted, lines::plain, old.ends_with('\n')).len() == 1
}

/// Splices the replacement into the text at `ranges` (byte ranges of the text with LF line ends).
fn put(
    lines: &Lines,
    mut ranges: Vec<Range<usize>>,
    edit: Edit,
    how: MatchKind,
    new: impl Fn(&Range<usize>) -> String,
) -> Result<Edited, EditError> {
    if ranges.len() > 1 && !edit.all {
        return Err(EditError::Ambiguous {
            lines: ranges.iter().map(|range| lines.line_of(range.start)).collect(),
        });
    }
    let mut end = 0;
    ranges.retain(|range| {
        let apart = range.start >= end;
        end = if apart { range.end } else { end };
        apart
    });
    let pieces: Vec<_> = ranges.iter().map(|range| (range.clone(), new(range))).collect();
    let text = lines.splice(&pieces);
    if text == lines.original() {
        return Err(EditError::Same);
    }
    Ok(Edited { text, places: ranges.len(), how })
}

#[cfg(test)]
mod tests;
