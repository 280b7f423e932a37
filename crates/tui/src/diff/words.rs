//! The words of a line that differ from another one.

use std::ops::Range;

use charla_proto::diff::{DiffOp, differences};
use charla_proto::text::visible;

use crate::text::{Line, Role};

/// Longer lines are not compared.
const LONGEST: usize = 2000;
/// How much of two lines must be the same for marks to say something, in hundredths.
const ALIKE: usize = 40;

/// A line with what `other` does not have marked. Lines that have too little in common have no marks.
pub fn marked(text: &str, other: Option<&str>, role: Role, mark: Role) -> Line {
    let compared = other.filter(|other| text.len() <= LONGEST && other.len() <= LONGEST);
    let differing = compared.and_then(|other| differing(text, other));
    let Some(differing) = differing else { return Line::of(role, &visible(text)) };
    let mut line = Line::new();
    let mut at = 0;
    for range in differing {
        line.push(role, &visible(text.get(at..range.start).unwrap_or_default()));
        line.push(mark, &visible(text.get(range.clone()).unwrap_or_default()));
        at = range.end;
    }
    line.push(role, &visible(text.get(at..).unwrap_or_default()));
    line
}

/// The parts of a text that another one does not have; nothing where the two are too different.
fn differing(text: &str, other: &str) -> Option<Vec<Range<usize>>> {
    let (words, others) = (words(text), words_only(other));
    let own: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
    let (mut same, mut ranges) = (0, Vec::new());
    for op in differences(&own, &others, None) {
        let part = words.get(op.old_range()).unwrap_or_default();
        let (Some((start, _)), Some((last, word))) = (part.first(), part.last()) else { continue };
        let range = *start..last + word.len();
        match op {
            DiffOp::Equal { .. } => same += part.iter().map(|(_, word)| word.trim().len()).sum::<usize>(),
            _ => ranges.push(range),
        }
    }
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).map(char::len_utf8).sum::<usize>();
    let most = letters(text).max(letters(other));
    (same * 100 >= most * ALIKE && same > 0).then_some(ranges)
}

/// Words, runs of blanks, and single marks, with where they begin.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = kind(first);
        let length = match kind {
            Kind::Mark => first.len_utf8(),
            kind => rest.find(|c| self::kind(c) != kind).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        words.push((text.len() - rest.len(), word));
        rest = after;
    }
    words
}

fn words_only(text: &str) -> Vec<&str> {
    words(text).into_iter().map(|(_, word)| word).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Blank,
    Mark,
}

fn kind(c: char) -> Kind {
    match c {
        c if c.is_alphanumeric() || c == '_' => Kind::Word,
        c if c.is_whitespace() => Kind::Blank,
        _ => Kind::Mark,
    }
}
