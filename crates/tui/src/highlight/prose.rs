//! Lines that need no memory of the ones before: those of a diff, and of Markdown.

use crate::text::{Line, Role};

/// A line of a unified diff.
pub fn diff(text: &str) -> Line {
    let heads = ["diff ", "index ", "+++", "---", "new file", "deleted file", "rename ", "similarity "];
    let role = match text.chars().next() {
        _ if heads.iter().any(|head| text.starts_with(head)) => Role::Heading,
        Some('+') => Role::Added,
        Some('-') => Role::Removed,
        Some('@') => Role::Accent,
        _ => Role::Plain,
    };
    Line::of(role, text)
}

/// A line of Markdown, shown as it is written.
pub fn markdown(text: &str) -> Line {
    let inner = text.trim_start();
    if inner.starts_with('#') {
        return Line::of(Role::Heading, text);
    }
    if inner.starts_with('>') {
        return Line::of(Role::Quote, text);
    }
    let mut line = Line::new();
    let mut rest = text;
    if let Some(marker) = ["- ", "* ", "+ "].iter().find(|marker| inner.starts_with(**marker)) {
        let length = text.len() - inner.len() + marker.len();
        let (start, after) = text.split_at_checked(length).unwrap_or_default();
        line.push(Role::Keyword, start);
        rest = after;
    }
    while let Some((before, code, after)) = code_span(rest) {
        line.push(Role::Plain, before);
        line.push(Role::Code, code);
        rest = after;
    }
    line.push(Role::Plain, rest);
    line
}

/// What stands before the first piece in backticks, that piece, and what follows it.
fn code_span(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find('`')?;
    let length = text.get(start + 1..)?.find('`')? + 2;
    let (before, rest) = text.split_at_checked(start)?;
    let (code, after) = rest.split_at_checked(length)?;
    Some((before, code, after))
}
