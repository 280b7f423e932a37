//! A card's text in colours.

use charla_proto::ConfirmationDetail;

use crate::text::{Emphasis, Line, Role};

/// The columns of the card's own words.
const LABEL: usize = 11;
/// Where there are fewer columns, they stand above what they are about.
const NARROW: usize = 33;
/// The words before what would happen.
const DEEDS: [&str; 7] = ["command", "changes", "new file", "does", "goes to", "calls", "with"];
/// The word before a change, of which the lines that come and go are what would happen.
const DIFF: &str = "diff";

/// A card's rows.
pub struct Painted {
    /// The rows.
    pub lines: Vec<Line>,
    /// Those of them that tell what would happen, in their order.
    pub deed: Vec<usize>,
}

/// The rows of a card's text. Its own words stand left of the margin, what is asked about right of it.
pub fn lines(text: &str, detail: &ConfirmationDetail, columns: usize) -> Painted {
    let is_edit = matches!(detail, ConfirmationDetail::Edit { .. });
    let (mut role, mut section) = (Role::Plain, Section::default());
    let mut painted = Painted { lines: Vec::new(), deed: Vec::new() };
    let is_narrow = columns < NARROW;
    for row in text.lines() {
        let at = row.char_indices().nth(LABEL).map_or(row.len(), |(at, _)| at);
        let (label, rest) = row.split_at_checked(at).unwrap_or((row, ""));
        let Some(margin @ ('│' | '┆')) = rest.chars().next() else {
            painted.lines.extend(own_words(row).wrap(columns));
            continue;
        };
        let body = rest.strip_prefix(margin).unwrap_or_default();
        section.enter(label.trim());
        // A row that was broken goes on in the colour it began with.
        if margin == '│' {
            role = role_of(label, body.strip_prefix(' ').unwrap_or(body), is_edit);
            section.pass(role, body);
        }
        if is_narrow && !label.trim().is_empty() {
            painted.lines.push(Line::of(Role::Dim, label.trim()));
        }
        let begins = painted.lines.len();
        let before = Line::of(Role::Dim, if is_narrow { "" } else { label });
        let body = Line::of(role, body);
        match is_narrow {
            true => painted.lines.extend(body.fold_behind(
                columns,
                &marked(before.clone(), margin),
                &marked(before, '┆'),
            )),
            false => painted.lines.push(marked(before, margin).then(body)),
        }
        if section.is_deed {
            painted.deed.extend(begins..painted.lines.len());
        }
    }
    painted
}

/// The part of a card that a row belongs to.
#[derive(Default)]
struct Section<'a> {
    label: &'a str,
    /// A hunk of the diff has begun: what stands before it names files.
    has_hunk: bool,
    /// The row tells what would happen.
    is_deed: bool,
}

impl<'a> Section<'a> {
    fn enter(&mut self, label: &'a str) {
        if !label.is_empty() {
            *self = Self { label, is_deed: DEEDS.contains(&label), has_hunk: false };
        }
    }

    /// A line of it begins.
    fn pass(&mut self, role: Role, body: &str) {
        if self.label != DIFF {
            return;
        }
        let is_name = !self.has_hunk && (body.starts_with(" --- ") || body.starts_with(" +++ "));
        self.has_hunk |= role == Role::Accent;
        self.is_deed = matches!(role, Role::Added | Role::Removed) && !is_name;
    }
}

fn own_words(row: &str) -> Line {
    match row.starts_with('─') {
        true => Line::of(Role::Warning, row).with_emphasis(Emphasis::BOLD),
        false => Line::of(Role::Dim, row),
    }
}

fn marked(before: Line, margin: char) -> Line {
    before.then(Line::of(Role::Border, &margin.to_string()))
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
