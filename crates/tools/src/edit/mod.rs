//! Replacing text the way the model meant it, and never in the wrong place.
//!
//! A ladder of ways to find the old text, each tried only when the one before found nothing: exactly as
//! given; line by line with blanks and typographic twins (curly quotes, long dashes, hard blanks) taken as
//! equal; and as a near miss of a few characters. The last two must point at one place only. Bytes outside
//! the replaced range are never touched: line ends, a byte order mark and a missing last newline stay.

mod lines;
mod nearest;

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
    pub how: Found,
}

/// How the old text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Exactly as given.
    Exactly,
    /// With other blanks or typographic twins.
    ByLine,
    /// With a few other characters.
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
    let exact = lines.find_exactly(&old);
    if !exact.is_empty() {
        return put(&lines, &exact, edit, Found::Exactly, |_| edit.new.replace("\r\n", "\n"));
    }
    let wanted: Vec<&str> = old.trim_end_matches('\n').split('\n').collect();
    let by_line = lines.find_by_line(&wanted, old.ends_with('\n'));
    if !by_line.is_empty() {
        let new = |range: &std::ops::Range<usize>| lines.reindented(range, &wanted, edit.new);
        return put(&lines, &by_line, edit, Found::ByLine, new);
    }
    if let Some(range) = nearest::only_near_miss(&lines, &wanted, old.ends_with('\n')) {
        let new = |range: &std::ops::Range<usize>| lines.reindented(range, &wanted, edit.new);
        return put(&lines, &[range], edit, Found::Nearly, new);
    }
    Err(EditError::NotFound { nearest: nearest::in_words(&lines, &wanted) })
}

/// Splices the replacement into the text at `ranges` (byte ranges of the text with LF line ends).
fn put(
    lines: &Lines,
    ranges: &[std::ops::Range<usize>],
    edit: Edit,
    how: Found,
    new: impl Fn(&std::ops::Range<usize>) -> String,
) -> Result<Edited, EditError> {
    if ranges.len() > 1 && !edit.all {
        return Err(EditError::Ambiguous {
            lines: ranges.iter().map(|range| lines.line_of(range.start)).collect(),
        });
    }
    let pieces: Vec<_> = ranges.iter().map(|range| (range.clone(), new(range))).collect();
    let text = lines.splice(&pieces);
    if text == lines.original() {
        return Err(EditError::Same);
    }
    Ok(Edited { text, places: ranges.len(), how })
}

#[cfg(test)]
mod tests;
