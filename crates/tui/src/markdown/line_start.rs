//! What a line begins with.

use super::list::{Marker, marker};

/// What kind of block a line begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// Nothing stands on it.
    Blank,
    /// A fence of so many of a character, with what stands behind it.
    Fence { mark: char, length: usize, info: &'a str },
    /// A heading and its level.
    Heading { level: usize, text: &'a str },
    /// A rule across the page.
    Rule,
    /// Words.
    Text,
}

/// What a line begins, container marks taken off.
pub fn start_of(line: &str) -> Start<'_> {
    let inner = line.trim_start_matches(' ');
    if inner.trim().is_empty() {
        return Start::Blank;
    }
    if line.len() - inner.len() > 3 {
        return Start::Text;
    }
    fence(inner)
        .or_else(|| heading(inner))
        .or_else(|| is_rule(inner).then_some(Start::Rule))
        .unwrap_or(Start::Text)
}

fn fence(line: &str) -> Option<Start<'_>> {
    let mark = line.chars().next().filter(|c| "`~".contains(*c))?;
    let info = line.trim_start_matches(mark);
    let length = line.len() - info.len();
    // Words in backticks may begin a line.
    let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
    is_fence.then(|| Start::Fence { mark, length, info: info.trim() })
}

fn heading(line: &str) -> Option<Start<'_>> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let is_heading = (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']));
    let text = text.trim();
    let closed = text.trim_end_matches('#');
    let text = if closed.is_empty() || closed.ends_with(' ') { closed.trim_end() } else { text };
    is_heading.then_some(Start::Heading { level, text })
}

/// Three or more of the same mark and nothing else.
pub fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|c| !c.is_whitespace());
    let Some(first) = marks.next().filter(|c| "-*_".contains(*c)) else { return false };
    marks.clone().count() >= 2 && marks.all(|c| c == first)
}

/// The level of the heading that a line below a paragraph makes of it.
pub fn underline(line: &str) -> Option<usize> {
    let inner = line.trim();
    let is_of = |mark: char| !inner.is_empty() && inner.chars().all(|c| c == mark);
    match line.starts_with("    ") {
        false if is_of('=') => Some(1),
        false if is_of('-') => Some(2),
        _ => None,
    }
}

/// What stands behind the mark of a quotation.
pub fn quoted(line: &str) -> Option<&str> {
    let inner = line.trim_start_matches(' ');
    let rest = inner.strip_prefix('>').filter(|_| line.len() - inner.len() <= 3)?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// True when a line ends a paragraph before it rather than going on with it. A number begins a list only where one is, or
/// if it is the first.
pub fn interrupts(line: &str, in_list: bool) -> bool {
    let begins =
        |marker: Marker| !marker.rest.trim().is_empty() && marker.number.is_none_or(|number| number == 1);
    let is_item = marker(line).is_some_and(|marker| in_list || begins(marker));
    start_of(line) != Start::Text || quoted(line).is_some() || is_item
}
