//! As much of Markdown as the documents use.

use std::fs;

use crate::source::repository;

/// A document of the repository.
pub(crate) fn document(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The text below a heading, up to the next one of its level or a higher one.
pub(crate) fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let start = document.find(&format!("{heading}\n")).unwrap_or_else(|| panic!("no section {heading:?}"));
    let (_, text) = document.split_at(start + heading.len());
    let level = heading.chars().take_while(|mark| *mark == '#').count();
    let ends = |line: &str| {
        let marks = line.chars().take_while(|mark| *mark == '#').count();
        (1..=level).contains(&marks)
    };
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        if ends(line) {
            break;
        }
        length += line.len();
    }
    text.split_at(length).0
}

/// The rows of a text's tables, without their heads.
pub(crate) fn rows(text: &str) -> Vec<Vec<&str>> {
    let is_rule = |line: &str| line.starts_with("|--") || line.starts_with("| --");
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |index: usize| lines.get(index + 1).is_some_and(|next| is_rule(next));
    let body = lines
        .iter()
        .enumerate()
        .filter(|(index, line)| line.starts_with('|') && !is_rule(line) && !is_head(*index));
    body.map(|(_, line)| line.trim().trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// What stands between backticks, outside of blocks of code.
pub(crate) fn code_spans(text: &str) -> Vec<&str> {
    let mut in_block = false;
    let mut spans = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            spans.extend(line.split('`').skip(1).step_by(2));
        }
    }
    spans
}

/// The blocks of code marked with a language.
pub(crate) fn code_blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    text.split(opening.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}
