//! A card's rows in colours, and which of them must have been seen.

use charla::{CardPart, CardRow};

use crate::text::{Emphasis, Line, Role};

/// The columns of the card's own words.
const LABEL: usize = 11;
/// Where there are fewer columns, they stand above what they are about.
const NARROW: usize = 33;

/// A card's rows.
pub struct Painted {
    /// The rows.
    pub lines: Vec<Line>,
    /// Those of them that tell what would happen, in their order; all of them where none does.
    pub deed: Vec<usize>,
    /// Those that tell what an "always" allows, where, and what holds it in.
    pub terms: Vec<usize>,
}

/// The rows of a card. Its own words stand left of the margin, what is asked about right of it.
pub fn lines(rows: &[CardRow], columns: usize) -> Painted {
    let mut painted = Painted { lines: Vec::new(), deed: Vec::new(), terms: Vec::new() };
    let (mut colour, mut diff) = (Role::Plain, Diff::default());
    for row in rows {
        // A row that was broken goes on as it began.
        if !row.is_broken {
            diff.pass(row);
            colour = role(row);
        }
        let begins = painted.lines.len();
        let put = if columns < NARROW { narrow(row, colour, columns) } else { wide(row, colour, columns) };
        // Where they stand above what they are about, our words need not have been seen.
        let is_labelled = columns < NARROW && !row.is_ours() && !row.label.trim().is_empty();
        painted.lines.extend(put);
        let told = begins + usize::from(is_labelled)..painted.lines.len();
        match weight(row.part) {
            Weight::Deed => painted.deed.extend(told),
            Weight::Change if diff.is_change => painted.deed.extend(told),
            Weight::Terms => painted.terms.extend(told),
            Weight::Change | Weight::Words => {}
        }
    }
    if painted.deed.is_empty() {
        painted.deed = (0..painted.lines.len()).collect();
    }
    painted
}

/// What a part of a card is to whoever answers.
enum Weight {
    /// What would happen.
    Deed,
    /// A change, of which the lines that come and go are what would happen.
    Change,
    /// What holds beside it.
    Terms,
    /// Words about it.
    Words,
}

fn weight(part: CardPart) -> Weight {
    match part {
        CardPart::Command | CardPart::File | CardPart::Action | CardPart::Address => Weight::Deed,
        CardPart::Diff => Weight::Change,
        CardPart::Rule | CardPart::Folder | CardPart::Isolation => Weight::Terms,
        CardPart::Heading | CardPart::Note | CardPart::Title | CardPart::Reason | CardPart::Question => {
            Weight::Words
        }
    }
}

/// A diff, line by line.
#[derive(Default)]
struct Diff {
    /// A hunk has begun: what stands before it names files.
    has_hunk: bool,
    /// The line comes or goes.
    is_change: bool,
}

impl Diff {
    /// A line begins.
    fn pass(&mut self, row: &CardRow) {
        if row.part != CardPart::Diff {
            *self = Self::default();
            return;
        }
        let is_name = !self.has_hunk && (row.text.starts_with("--- ") || row.text.starts_with("+++ "));
        self.has_hunk |= role(row) == Role::Accent;
        self.is_change = matches!(role(row), Role::Added | Role::Removed) && !is_name;
    }
}

fn wide(row: &CardRow, colour: Role, columns: usize) -> Vec<Line> {
    if row.is_ours() {
        return own_words(row).wrap(columns);
    }
    let before = Line::of(Role::Dim, &format!("{:<LABEL$}", row.label));
    vec![before.then(margin(row.is_broken)).then(Line::of(colour, &format!(" {}", row.text)))]
}

fn narrow(row: &CardRow, colour: Role, columns: usize) -> Vec<Line> {
    if row.is_ours() {
        return own_words(row).wrap(columns);
    }
    let label = row.label.trim();
    let mut lines = Vec::new();
    if !label.is_empty() {
        lines.push(Line::of(Role::Dim, label));
    }
    let body = Line::of(colour, &format!(" {}", row.text));
    lines.extend(body.fold_behind(columns, &margin(row.is_broken), &margin(true)));
    lines
}

fn own_words(row: &CardRow) -> Line {
    match row.part {
        CardPart::Heading => Line::of(Role::Warning, &row.text).with_emphasis(Emphasis::BOLD),
        _ => Line::of(Role::Dim, &row.text),
    }
}

fn margin(is_broken: bool) -> Line {
    Line::of(Role::Border, if is_broken { "┆" } else { "│" })
}

fn role(row: &CardRow) -> Role {
    match (row.part, row.text.chars().next()) {
        (CardPart::Command | CardPart::File | CardPart::Folder | CardPart::Address, _) => Role::Code,
        (CardPart::Diff, Some('+')) => Role::Added,
        (CardPart::Diff, Some('-')) => Role::Removed,
        (CardPart::Diff, Some('@')) if row.text.starts_with("@@") => Role::Accent,
        _ => Role::Plain,
    }
}
