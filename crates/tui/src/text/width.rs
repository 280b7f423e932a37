//! How many columns a text takes.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// No terminal gives one character more.
const WIDEST: usize = 2;

/// The columns a text takes on a screen.
pub fn width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => graphemes(text).map(|(_, width)| width).sum(),
    }
}

/// What a reader takes for characters, each with its columns.
pub fn graphemes(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (first, after) = rest.split_at_checked(first_grapheme(rest))?;
        rest = after;
        (!first.is_empty()).then(|| (first, columns(first)))
    })
}

/// The length of the first character. Nothing joins two characters of ASCII, which most text consists of.
fn first_grapheme(text: &str) -> usize {
    match text.as_bytes() {
        [] => 0,
        [first] if first.is_ascii() => 1,
        [first, second, ..] if first.is_ascii() && second.is_ascii() => 1,
        _ => text.graphemes(true).next().map_or(0, str::len),
    }
}

fn columns(grapheme: &str) -> usize {
    match grapheme.is_ascii() {
        true => grapheme.len(),
        false => grapheme.width().min(WIDEST),
    }
}
