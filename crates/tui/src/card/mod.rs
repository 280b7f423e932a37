//! The approval card: what would happen, and the keys that answer.
//!
//! The text is the library's ([`charla::Card`]), which no call can forge. Here it is painted, scrolled and answered. A card
//! takes keys only once it has stood on the screen and nothing was typed for a moment: whatever somebody was typing when
//! it came up is no answer.

mod choosing;
mod keys;
mod paint;
mod rest;

use std::sync::Arc;
use std::time::{Duration, Instant};

use charla::Card as CardText;
use charla_proto::{CallAsked, ConfirmationDetail, Outcome, Question};
use crossterm::event::KeyEvent;

use crate::entry::{Entry, Typed};
use crate::screen::Place;
use crate::text::{Line, Role};
use choosing::{Choosing, Chosen};
use keys::Word;
pub use rest::RestOfWord;

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
    /// What is being typed: a reason.
    entry: Option<Entry>,
    /// The answer to the question of the model that is shown.
    choosing: Choosing,
    /// Answers to the model's questions so far.
    answers: Vec<String>,
    /// What is wrong with the last try.
    problem: Option<String>,
}

impl Card {
    /// A card for a question.
    pub fn new(asked: Arc<CallAsked>) -> Self {
        let is_edit = matches!(asked.confirmation.detail, ConfirmationDetail::Edit { .. });
        Self {
            asked,
            armed: None,
            scroll: is_edit.then_some(0),
            shown: (0, 0),
            entry: None,
            choosing: Choosing::default(),
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

    /// Takes a key. `preselects` where Enter allows it once: nothing else waits to be sent.
    pub fn key(&mut self, key: KeyEvent, preselects: bool, now: Instant) -> Deed {
        if !self.is_armed(now) {
            self.armed = self.armed.map(|_| now + QUIET);
            return Deed::NotMine;
        }
        if self.question().is_some() && !keys::turns_pages(key) {
            return self.asked_by_the_model(key);
        }
        if keys::scrolls(key) {
            self.scroll = keys::scrolled(key, self.scroll, self.shown);
            return Deed::Taken;
        }
        match self.entry {
            Some(_) => self.typed(key),
            None => self.chosen(key, preselects),
        }
    }

    /// Takes pasted text where words are typed.
    pub fn paste(&mut self, text: &str, now: Instant) -> bool {
        let is_question = self.question().is_some();
        match &mut self.entry {
            _ if self.armed.is_none_or(|armed| armed > now) => return false,
            _ if is_question => self.choosing.paste(text),
            Some(entry) => entry.paste(text),
            None => return false,
        }
        true
    }

    fn chosen(&mut self, key: KeyEvent, preselects: bool) -> Deed {
        self.problem = None;
        match keys::word(key, &self.asked.confirmation, preselects) {
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
        match entry.key(key) {
            Typed::Done => {
                let reason = entry.text().trim();
                let reason = (!reason.is_empty()).then(|| reason.to_owned());
                return Deed::Answer(Outcome::Cancel { reason });
            }
            Typed::Left => self.entry = None,
            Typed::More | Typed::Other => {}
        }
        Deed::Taken
    }

    fn asked_by_the_model(&mut self, key: KeyEvent) -> Deed {
        let ConfirmationDetail::AskUser { questions } = &self.asked.confirmation.detail else {
            return Deed::Taken;
        };
        let Some(question) = questions.get(self.answers.len()) else { return Deed::Taken };
        match self.choosing.key(key, question) {
            Chosen::More => self.scroll = None,
            Chosen::Left => return Deed::Answer(Outcome::Cancel { reason: None }),
            Chosen::Answer(answer) => {
                self.answers.push(answer);
                self.choosing = Choosing::default();
                self.scroll = None;
                if self.answers.len() >= questions.len() {
                    return Deed::Answer(Outcome::Answers { answers: std::mem::take(&mut self.answers) });
                }
            }
        }
        Deed::Taken
    }

    /// The card in at most so many rows, and where its cursor is. `more` questions wait behind it; `preselects` where Enter
    /// allows it once.
    pub fn view(
        &mut self,
        columns: usize,
        rows: usize,
        (more, preselects): (usize, bool),
        now: Instant,
    ) -> (Vec<Line>, Place) {
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
        match (&self.entry, self.question()) {
            _ if !self.is_armed(now) => foot.push(Line::of(Role::Dim, "…")),
            (_, Some(question)) => {
                let (lines, at) = self.choosing.foot(question, columns);
                foot.extend(lines);
                column = at;
            }
            (Some(entry), None) => {
                let (line, at) = entry.view("reason> ", columns);
                foot.push(line);
                column = at;
            }
            (None, None) => foot.extend(keys::choices(&self.asked.confirmation, preselects, columns)),
        }
        let mut lines = self.body(columns, rows.saturating_sub(foot.len() + 1));
        lines.extend(foot);
        let row = lines.len().saturating_sub(1);
        (lines, Place { row, column })
    }

    fn question(&self) -> Option<&Question> {
        match &self.asked.confirmation.detail {
            ConfirmationDetail::AskUser { questions } => questions.get(self.answers.len()),
            _ => None,
        }
    }

    /// What would happen, or what is asked: as much of it as fits.
    fn body(&mut self, columns: usize, rows: usize) -> Vec<Line> {
        let detail = &self.asked.confirmation.detail;
        let (mut lines, stands) = match self.question() {
            Some(question) => {
                let words = Question { options: Vec::new(), ..question.clone() };
                let mut lines = paint::lines(&CardText::question(&words, columns).text, detail);
                let (options, at) = self.choosing.lines(question, columns);
                let stands = lines.len() + at;
                lines.extend(options);
                (lines, Some(stands))
            }
            None => (paint::lines(&CardText::whole(&self.asked.confirmation, columns).text, detail), None),
        };
        let total = lines.len();
        let rows = rows.max(3);
        if total <= rows {
            self.shown = (total, total);
            return lines;
        }
        // One row tells what is out of sight.
        let rows = rows - 1;
        // What is stood on is in sight.
        let usual = stands.map_or(usize::MAX, |stands| (stands + 2).saturating_sub(rows));
        let from = self.scroll.unwrap_or(usual).min(total - rows);
        if stands.is_none() {
            self.scroll = Some(from);
        }
        self.shown = (rows, total);
        let mut shown: Vec<Line> = lines.drain(from..from + rows).collect();
        let words = format!(
            "rows {}–{} of {total} · {} PgUp PgDn",
            from + 1,
            from + rows,
            if stands.is_none() { "↑ ↓" } else { "" }
        );
        shown.push(Line::of(Role::Warning, &words));
        shown
    }
}

#[cfg(test)]
mod tests;
