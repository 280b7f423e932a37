//! What stands below a card's text: what can be answered, or what is being written.

use charla_proto::{Confirmation, Question};

use super::fitting::Seen;
use super::interview::Interview;
use super::keys;
use crate::entry::Entry;
use crate::text::{Line, Role};

/// What is said while keys go to the line below.
const BESIDE: &str = "Allow? You write below; Esc, or an empty line, leads back to the answers";
/// What is said where there is no room for what would happen: nobody allows what was not in sight.
const UNSEEN: &str = "Allow? Enlarge the window to see what would happen; n no";

/// What a card waits for.
pub enum Waiting<'a> {
    /// What is written below it.
    Beside,
    /// What its answer comes to.
    Answered,
    /// A moment in which nothing is typed.
    Quiet,
    /// An answer to a question of the model.
    Question(&'a Interview, &'a Question),
    /// A reason.
    Reason(&'a Entry),
    /// A key that answers. `preselects` where Enter says yes.
    Choice { confirmation: &'a Confirmation, preselects: bool },
}

/// The rows below a card's text.
pub struct Foot {
    /// The rows.
    pub lines: Vec<Line>,
    /// The cursor's column in the last of them.
    pub column: usize,
}

impl Foot {
    /// All of it: what was wrong with the last try, how many `more` questions wait, and what is waited for.
    pub fn whole(waiting: &Waiting, problem: Option<&str>, more: usize, columns: usize) -> Self {
        let problem = problem.map(|words| Line::of(Role::Failure, words).wrap(columns));
        let mut lines = problem.unwrap_or_default();
        match more {
            0 => {}
            1 => lines.push(Line::of(Role::Dim, "1 more question waits")),
            _ => lines.push(Line::of(Role::Dim, &format!("{more} more questions wait"))),
        }
        let (last, column) = match waiting {
            Waiting::Beside => (vec![Line::of(Role::Warning, BESIDE)], 0),
            Waiting::Answered => (vec![Line::of(Role::Dim, "answered …")], 0),
            Waiting::Quiet => (vec![Line::of(Role::Dim, "…")], 0),
            Waiting::Question(interview, question) => interview.foot(question, columns),
            Waiting::Reason(entry) => {
                let (line, column) = entry.view("reason> ", columns);
                (vec![line], column)
            }
            Waiting::Choice { confirmation, preselects } => {
                (keys::choices(confirmation, *preselects, columns), 0)
            }
        };
        lines.extend(last);
        Self { lines, column }
    }

    /// The same in at most so many rows: what is waited for stays, the keys in one row.
    pub fn within(self, rows: usize, waiting: &Waiting, problem: Option<&str>, columns: usize) -> Self {
        if self.lines.len() <= rows {
            return self;
        }
        let mut lines = match waiting {
            Waiting::Choice { confirmation, preselects } => {
                let problem = problem.map(|words| Line::of(Role::Failure, words));
                problem.into_iter().chain([keys::short(confirmation, *preselects, columns)]).collect()
            }
            _ => self.lines,
        };
        lines.drain(..lines.len().saturating_sub(rows.max(1)));
        Self { lines, column: self.column }
    }

    /// Where so many rows of what would happen have not been in sight.
    pub fn missing(rows: usize) -> Self {
        let plural = if rows == 1 { "" } else { "s" };
        let mut line = Line::of(Role::Warning, &format!("Allow? PgDn first: {rows} row{plural} unseen"));
        line.push(Role::Plain, "; n no, e edit, r reason");
        Self { lines: vec![line], column: 0 }
    }

    /// Where somebody wants to allow it always, and has not seen so many rows of what that comes to.
    pub fn terms(missing: Seen) -> Self {
        let words = match missing {
            Seen::Without(1) => "always? PgDn first: 1 row unseen".to_owned(),
            Seen::Without(rows) => format!("always? PgDn first: {rows} rows unseen"),
            Seen::All | Seen::Nothing => "always? Enlarge the window first".to_owned(),
        };
        let mut line = Line::of(Role::Warning, &words);
        line.push(Role::Plain, "; y once, n no");
        Self { lines: vec![line], column: 0 }
    }

    /// Where there is no room for what would happen.
    pub fn unseen() -> Self {
        Self { lines: vec![Line::of(Role::Warning, UNSEEN)], column: 0 }
    }
}
