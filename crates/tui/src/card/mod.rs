//! The approval card: what would happen, and the keys that answer.
//!
//! The text is the library's ([`charla::Card`]), which no call can forge. Here it is painted, scrolled and answered. A card
//! takes keys only once it has stood on the screen and nothing was typed for a moment: whatever somebody was typing when
//! it came up is no answer.

mod keys;
mod paint;

use std::sync::Arc;
use std::time::{Duration, Instant};

use charla::Card as CardText;
use charla::question::{answer, prompt};
use charla_proto::{CallAsked, ConfirmationDetail, Outcome, Question};
use crossterm::event::KeyEvent;

use crate::entry::{Entry, Typed};
use crate::screen::Place;
use crate::text::{Line, Role};
use keys::Word;

/// How long nothing must be typed before a card takes keys.
pub const QUIET: Duration = Duration::from_millis(300);

/// What a key does to a card.
#[derive(Debug, PartialEq)]
pub enum Deed {
    /// The key was meant for something else.
    NotMine,
    /// The card took it.
    Taken,
    /// The person answers.
    Answer(Outcome),
    /// The person wants to edit what would happen.
    Edit,
}

/// A question on the screen.
pub struct Card {
    asked: Arc<CallAsked>,
    /// When keys begin to count; nothing before it was drawn.
    armed: Option<Instant>,
    /// Rows above those that are shown; the end of the card where nothing is said.
    scroll: Option<usize>,
    /// How many rows were shown last, of how many.
    shown: (usize, usize),
    /// What is being typed: a reason, or an answer to the model.
    entry: Option<Entry>,
    /// Answers to the model's questions so far.
    answers: Vec<String>,
    /// What is wrong with the last try.
    problem: Option<String>,
}

impl Card {
    /// A card for a question.
    pub fn new(asked: Arc<CallAsked>) -> Self {
        let is_question = matches!(asked.confirmation.detail, ConfirmationDetail::AskUser { .. });
        let is_edit = matches!(asked.confirmation.detail, ConfirmationDetail::Edit { .. });
        Self {
            asked,
            armed: None,
            scroll: is_edit.then_some(0),
            shown: (0, 0),
            entry: is_question.then(Entry::default),
            answers: Vec::new(),
            problem: None,
        }
    }

    /// The question.
    pub fn asked(&self) -> &CallAsked {
        &self.asked
    }

    /// It stands on the screen now.
    pub fn drawn(&mut self, now: Instant) {
        self.armed.get_or_insert(now + QUIET);
    }

    /// Keys count from then on; nothing once they do.
    pub fn arms_at(&self, now: Instant) -> Option<Instant> {
        self.armed.filter(|armed| *armed > now)
    }

    /// True when keys count.
    pub fn is_armed(&self, now: Instant) -> bool {
        self.armed.is_some_and(|armed| armed <= now)
    }

    /// Says what was wrong with the last try.
    pub fn complain(&mut self, problem: &str) {
        self.problem = Some(problem.to_owned());
    }

    /// The terminal was away: what was typed meanwhile is no answer.
    pub fn disarm(&mut self) {
        self.armed = None;
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Deed {
        if !self.is_armed(now) {
            self.armed = self.armed.map(|_| now + QUIET);
            return Deed::NotMine;
        }
        if keys::scrolls(key) {
            self.scroll = keys::scrolled(key, self.scroll, self.shown);
            return Deed::Taken;
        }
        match self.entry {
            Some(_) => self.typed(key),
            None => self.chosen(key),
        }
    }

    /// Takes pasted text where words are typed.
    pub fn paste(&mut self, text: &str, now: Instant) -> bool {
        match &mut self.entry {
            Some(entry) if self.armed.is_some_and(|armed| armed <= now) => {
                entry.paste(text);
                true
            }
            _ => false,
        }
    }

    fn chosen(&mut self, key: KeyEvent) -> Deed {
        self.problem = None;
        match keys::word(key, &self.asked.confirmation) {
            Some(Word::Answer(outcome)) => Deed::Answer(outcome),
            Some(Word::Edit) => Deed::Edit,
            Some(Word::Reason) => {
                self.entry = Some(Entry::default());
                Deed::Taken
            }
            // Nothing else that is typed reaches what stands behind the card.
            None => Deed::Taken,
        }
    }

    fn typed(&mut self, key: KeyEvent) -> Deed {
        let Some(entry) = &mut self.entry else { return Deed::Taken };
        match (entry.key(key), &self.asked.confirmation.detail) {
            (Typed::Done, ConfirmationDetail::AskUser { questions }) => {
                let question = questions.get(self.answers.len());
                let text = question.map(|question| answer(question, entry.text()));
                self.answers.extend(text);
                *entry = Entry::default();
                if self.answers.len() >= questions.len() {
                    return Deed::Answer(Outcome::Answers { answers: std::mem::take(&mut self.answers) });
                }
            }
            (Typed::Done, _) => {
                let reason = entry.text().trim();
                let reason = (!reason.is_empty()).then(|| reason.to_owned());
                return Deed::Answer(Outcome::Cancel { reason });
            }
            (Typed::Left, ConfirmationDetail::AskUser { .. }) => {
                return Deed::Answer(Outcome::Cancel { reason: None });
            }
            (Typed::Left, _) => self.entry = None,
            (Typed::More | Typed::Other, _) => {}
        }
        Deed::Taken
    }

    /// The card in at most so many rows, and where its cursor is. `more` questions wait behind it.
    pub fn view(&mut self, columns: usize, rows: usize, more: usize, now: Instant) -> (Vec<Line>, Place) {
        let mut foot = self
            .problem
            .iter()
            .flat_map(|words| Line::of(Role::Failure, words).wrap(columns))
            .collect::<Vec<_>>();
        if more > 0 {
            let words = if more == 1 {
                "1 more question waits".to_owned()
            } else {
                format!("{more} more questions wait")
            };
            foot.push(Line::of(Role::Dim, &words));
        }
        let mut column = 0;
        if self.is_armed(now) {
            match &self.entry {
                Some(entry) => {
                    let (line, at) = entry.view(&self.label(), columns);
                    foot.push(line);
                    column = at;
                }
                None => foot.extend(keys::choices(&self.asked.confirmation, columns)),
            }
        } else {
            foot.push(Line::of(Role::Dim, "…"));
        }
        let mut lines = self.body(columns, rows.saturating_sub(foot.len() + 1));
        lines.extend(foot);
        let row = lines.len().saturating_sub(1);
        (lines, Place { row, column })
    }

    fn label(&self) -> String {
        self.question().map_or_else(|| "reason> ".to_owned(), |question| format!("{}> ", prompt(question)))
    }

    fn question(&self) -> Option<&Question> {
        match &self.asked.confirmation.detail {
            ConfirmationDetail::AskUser { questions } => questions.get(self.answers.len()),
            _ => None,
        }
    }

    /// What would happen, or what is asked: as much of it as fits.
    fn body(&mut self, columns: usize, rows: usize) -> Vec<Line> {
        let text = match self.question() {
            Some(question) => CardText::question(question, columns).text,
            None => CardText::whole(&self.asked.confirmation, columns).text,
        };
        let mut lines = paint::lines(&text, &self.asked.confirmation.detail);
        let total = lines.len();
        let rows = rows.max(3);
        if total <= rows {
            self.shown = (total, total);
            return lines;
        }
        // One row tells what is out of sight.
        let rows = rows - 1;
        let from = self.scroll.unwrap_or(usize::MAX).min(total - rows);
        self.scroll = Some(from);
        self.shown = (rows, total);
        let mut shown: Vec<Line> = lines.drain(from..from + rows).collect();
        let words = format!("rows {}–{} of {total} · ↑ ↓ PgUp PgDn", from + 1, from + rows);
        shown.push(Line::of(Role::Warning, &words));
        shown
    }
}

#[cfg(test)]
mod tests;
