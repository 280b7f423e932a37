//! A card's text in colours.

use charla_proto::ConfirmationDetail;

use crate::text::{Emphasis, Line, Role};

/// The columns of the card's own words.
const LABEL: usize = 11;

/// The rows of a card's text. Its own words stand left of the margin, what is asked about right of it.
pub fn lines(text: &str, detail: &ConfirmationDetail) -> Vec<Line> {
    let is_edit = matches!(detail, ConfirmationDetail::Edit { .. });
    let mut role = Role::Plain;
    text.lines()
        .map(|row| {
            let at = row.char_indices().nth(LABEL).map_or(row.len(), |(at, _)| at);
            let (label, rest) = row.split_at_checked(at).unwrap_or((row, ""));
            match rest.chars().next() {
                Some(margin @ ('│' | '┆')) => {
                    let body = rest.strip_prefix(margin).unwrap_or_default();
                    // A row that was broken goes on in the colour it began with.
                    if margin == '│' {
                        role = role_of(label, body.trim_start_matches(' '), is_edit);
                    }
                    let mut line = Line::of(Role::Dim, label);
                    line.push(Role::Border, &margin.to_string());
                    line.push(role, body);
                    line
                }
                _ if row.starts_with('─') => Line::of(Role::Warning, row).with_emphasis(Emphasis::BOLD),
                _ => Line::of(Role::Dim, row),
            }
        })
        .collect()
}

fn role_of(label: &str, body: &str, is_edit: bool) -> Role {
    match label.trim() {
        "command" | "changes" | "new file" | "folder" | "goes to" => Role::Code,
        "" | "diff" if is_edit && body.starts_with('+') => Role::Added,
        "" | "diff" if is_edit && body.starts_with('-') => Role::Removed,
        "" | "diff" if is_edit && body.starts_with("@@") => Role::Accent,
        _ => Role::Plain,
    }
}
