//! The approval card: what would happen, and the keys that answer.
//!
//! The text is the library's ([`charla::Card`]), which no call can forge. Here it is painted, scrolled and answered. A card
//! takes keys only once it has stood on the screen and nothing was typed for a moment: whatever somebody was typing when
//! it came up is no answer. Nor is a word: a letter answers when nothing follows it, and a key that is no answer begins
//! what goes to the line below, with all that follows until the line is empty again or Esc is pressed.

mod choosing;
mod fitting;
mod foot;
mod held;
mod interview;
mod keys;
mod paint;
mod rest;
mod sight;

use std::sync::Arc;
use std::time::{Duration, Instant};

use charla::Card as CardText;
use charla_proto::{CallAsked, ConfirmationDetail, Outcome, Question};
use crossterm::event::{KeyCode, KeyEvent};

use crate::entry::{Entry, Typed};
use crate::screen::Place;
use crate::text::Line;
use fitting::{Reading, Seen, Viewport};
use foot::{Foot, Waiting};
use held::{Held, letter};
use interview::{Interview, Said};
use keys::Word;
use paint::Painted;
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
    /// These were no answer: they are for the line below.
    Write(Vec<KeyEvent>),
}

/// Whom keys are for.
#[derive(Debug, Default)]
enum Attention {
    /// The card.
    #[default]
    Card,
    /// The card, if nothing follows what was typed.
    Held(Held),
    /// The line below, where something is written.
    Line,
    /// The line below: the answer was given.
    Answered,
}

/// A question on the screen.
pub struct Card {
    asked: Arc<CallAsked>,
    /// A frame shows it, which may still be on its way.
    is_drawn: bool,
    /// When keys begin to count; nothing before it was written to the terminal.
    armed: Option<Instant>,
    attention: Attention,
    /// What of it is in sight.
    viewport: Viewport,
    /// What is being typed: a reason.
    entry: Option<Entry>,
    /// Answers to the model's questions.
    interview: Interview,
    /// What is wrong with the last try.
    problem: Option<String>,
    /// What the person wrote in their editor and was not accepted.
    draft: Option<String>,
    /// Somebody wanted to allow it always before they saw what that comes to.
    wants_terms: bool,
}

impl Card {
    /// A card for a question.
    pub fn new(asked: Arc<CallAsked>) -> Self {
        Self {
            asked,
            is_drawn: false,
            armed: None,
            attention: Attention::Card,
            viewport: Viewport::default(),
            entry: None,
            interview: Interview::default(),
            problem: None,
            draft: None,
            wants_terms: false,
        }
    }

    /// The question.
    pub fn asked(&self) -> &CallAsked {
        &self.asked
    }

    /// What was drawn of it has been written to the terminal.
    pub fn written(&mut self, now: Instant) {
        if self.is_drawn {
            self.armed.get_or_insert(now + QUIET);
            self.viewport.written();
        }
    }

    /// True while something of it was drawn and may not be on the screen yet.
    pub fn is_on_its_way(&self) -> bool {
        self.is_drawn && (self.armed.is_none() || !self.viewport.is_written())
    }

    /// Keys count from then on; nothing once they do.
    pub fn arms_at(&self, now: Instant) -> Option<Instant> {
        self.armed.filter(|armed| *armed > now)
    }

    /// True when keys count.
    pub fn is_armed(&self, now: Instant) -> bool {
        self.armed.is_some_and(|armed| armed <= now)
    }

    /// Says what was wrong with the last try; another may follow.
    pub fn complain(&mut self, problem: &str) {
        self.problem = Some(problem.to_owned());
        self.attention = Attention::Card;
    }

    /// Keeps what the person wrote in their editor, for when they go on with it; or nothing.
    pub fn keep_draft(&mut self, draft: Option<String>) {
        self.draft = draft;
    }

    /// What they wrote there and was not accepted.
    pub fn draft(&self) -> Option<&str> {
        self.draft.as_deref()
    }

    /// The terminal was away: what was typed meanwhile is no answer.
    pub fn disarm(&mut self) {
        (self.armed, self.is_drawn) = (None, false);
        self.interview.forget_held();
        if matches!(self.attention, Attention::Held(_)) {
            self.attention = Attention::Card;
        }
    }

    /// Its answer was given: it takes no other, unless that one is refused.
    pub fn answered(&mut self) {
        self.attention = Attention::Answered;
    }

    /// True while keys go to the line below.
    pub fn is_beside(&self) -> bool {
        matches!(self.attention, Attention::Line)
    }

    /// Nothing is written any more: keys are for the card again, soon.
    pub fn line_is_empty(&mut self, now: Instant) {
        if self.is_beside() {
            self.attention = Attention::Card;
            self.armed = self.armed.map(|_| now + QUIET);
        }
    }

    /// When a letter that was typed becomes an answer.
    pub fn settles_at(&self) -> Option<Instant> {
        match &self.attention {
            Attention::Held(held) => Some(held.until()),
            _ => self.interview.settles_at(),
        }
    }

    /// Time has passed: what a letter says that nothing has followed, and what may still come of its word.
    pub fn settle(&mut self, now: Instant) -> (Deed, RestOfWord) {
        match std::mem::take(&mut self.attention) {
            Attention::Held(held) if held.until() <= now => {
                let rest = RestOfWord::behind(&held.typed(), now);
                (self.decide(held), rest)
            }
            other => {
                self.attention = other;
                let (said, rest) = self.interview.settle(questions(&self.asked), now);
                (self.heard(said), rest)
            }
        }
    }

    /// Takes a key. `preselects` where Enter allows it once: nothing else waits to be sent.
    pub fn key(&mut self, key: KeyEvent, preselects: bool, now: Instant) -> Deed {
        match self.attention {
            Attention::Line if key.code == KeyCode::Esc => {
                self.attention = Attention::Card;
                return Deed::Taken;
            }
            Attention::Line | Attention::Answered => return Deed::NotMine,
            Attention::Card | Attention::Held(_) => {}
        }
        if !self.is_armed(now) {
            self.armed = self.armed.map(|_| now + QUIET);
            if letter(key).is_some() {
                self.turn_to_line();
            }
            return Deed::NotMine;
        }
        if self.question().is_some() && self.interview.is_blank() && keys::passes(key) {
            return Deed::NotMine;
        }
        if self.question().is_some() && !keys::turns_pages(key) {
            let said = self.interview.key(key, questions(&self.asked), now);
            self.viewport.let_go();
            return self.heard(said);
        }
        if keys::scrolls(key) {
            self.viewport.scroll(key, self.wants_terms);
            return Deed::Taken;
        }
        match self.entry {
            Some(_) => self.typed(key),
            None => self.chosen(key, preselects, now),
        }
    }

    /// Takes pasted text where words are typed; elsewhere it is for the line, behind what was typed before it.
    pub fn paste(&mut self, text: &str, now: Instant) -> Deed {
        let is_question = self.question().is_some();
        match &mut self.entry {
            _ if self.armed.is_none_or(|armed| armed > now) => {}
            _ if is_question => {
                self.interview.paste(text, questions(&self.asked));
                return Deed::Taken;
            }
            Some(entry) => {
                entry.paste(text);
                return Deed::Taken;
            }
            None => {}
        }
        match self.turn_to_line() {
            Some(held) => Deed::Write(held.into_keys()),
            None => Deed::NotMine,
        }
    }

    /// Something is written below: keys go on there. What was held back belongs to it.
    fn turn_to_line(&mut self) -> Option<Held> {
        let takes_words = self.entry.is_some() || self.question().is_some();
        if takes_words || matches!(self.attention, Attention::Answered) {
            return None;
        }
        match std::mem::replace(&mut self.attention, Attention::Line) {
            Attention::Held(held) => Some(held),
            _ => None,
        }
    }

    fn chosen(&mut self, key: KeyEvent, preselects: bool, now: Instant) -> Deed {
        self.problem = None;
        self.wants_terms = false;
        let held = match std::mem::take(&mut self.attention) {
            Attention::Held(held) => Some(held),
            _ => None,
        };
        match (held, letter(key)) {
            (Some(held), Some(_)) => self.followed(held, key, now),
            (Some(held), None) if key.code == KeyCode::Enter => self.decide(held),
            (None, Some(_)) if keys::word(key, &self.asked.confirmation, false).is_none() => {
                self.attention = Attention::Line;
                Deed::Write(vec![key])
            }
            (None, Some(_)) => {
                self.attention = Attention::Held(Held::new(key, now));
                Deed::Taken
            }
            (_, None) => self.said(key, preselects),
        }
    }

    /// Another letter has followed: a word that answers, or what was meant for the line.
    fn followed(&mut self, mut held: Held, key: KeyEvent, now: Instant) -> Deed {
        if held.take(key, now) {
            self.attention = Attention::Held(held);
            return Deed::Taken;
        }
        self.attention = Attention::Line;
        Deed::Write(held.into_keys())
    }

    /// Nothing follows what was typed.
    fn decide(&mut self, held: Held) -> Deed {
        match held.answer() {
            Some(key) => self.said(key, false),
            None => {
                self.attention = Attention::Line;
                Deed::Write(held.into_keys())
            }
        }
    }

    fn said(&mut self, key: KeyEvent, preselects: bool) -> Deed {
        match keys::word(key, &self.asked.confirmation, preselects) {
            Some(Word::Answer(outcome)) if self.may_be(&outcome) => Deed::Answer(outcome),
            Some(Word::Edit) => Deed::Edit,
            Some(Word::Reason) => {
                self.entry = Some(Entry::default());
                Deed::Taken
            }
            Some(Word::Answer(outcome)) => {
                self.wants_terms = keys::is_always(&outcome);
                Deed::Taken
            }
            // Leaving and the mode are for everybody. Other keys that write nothing do not reach what stands behind the card.
            None if keys::passes(key) => Deed::NotMine,
            None => Deed::Taken,
        }
    }

    /// Nobody allows what has not been in sight whole, and always only what they have seen the rule, the folder and the
    /// isolation of. Of a long change less is enough, see [`Viewport::show`].
    fn may_be(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Cancel { .. } => true,
            _ if self.viewport.seen() != Seen::All || !self.viewport.is_written() => false,
            outcome => !keys::is_always(outcome) || self.viewport.seen_terms() == Seen::All,
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

    /// What was said to a question of the model. The next one takes keys once it was seen.
    fn heard(&mut self, said: Said) -> Deed {
        match said {
            Said::More => {}
            Said::Next => {
                self.viewport.let_go();
                (self.armed, self.is_drawn) = (None, false);
            }
            Said::Left => return Deed::Answer(Outcome::Cancel { reason: None }),
            Said::All(answers) => return Deed::Answer(Outcome::Answers { answers }),
        }
        Deed::Taken
    }

    /// The card in at most so many rows, and where its cursor is, unless keys go to the line below. `more` questions wait behind it; `preselects` where Enter
    /// allows it once. Where there is little room, the foot gives way to what would happen.
    pub fn view(
        &mut self,
        columns: usize,
        rows: usize,
        (more, preselects): (usize, bool),
        now: Instant,
    ) -> (Vec<Line>, Option<Place>) {
        self.is_drawn = true;
        let (text, reading) = self.text(columns);
        let least = fitting::least(&text, rows);
        let (waiting, problem) = (self.waiting(preselects, now), self.problem.as_deref());
        let foot = Foot::whole(&waiting, problem, more, columns);
        let foot = foot.within(rows.saturating_sub(least), &waiting, problem, columns);
        let offers_answers = matches!(waiting, Waiting::Choice { .. });
        let room = rows.saturating_sub(foot.lines.len());
        let mut lines = self.viewport.show(text, reading, room, columns);
        let Foot { lines: foot, column } = match (self.viewport.seen(), self.viewport.seen_terms()) {
            (Seen::Without(missing), _) if offers_answers => Foot::missing(missing),
            (Seen::Nothing, _) if offers_answers => Foot::unseen(),
            (_, terms) if offers_answers && self.wants_terms && terms != Seen::All => Foot::terms(terms),
            _ => foot,
        };
        lines.extend(foot);
        let lines: Vec<Line> = lines.iter().map(|line| line.truncate(columns)).collect();
        let row = lines.len().saturating_sub(1);
        let is_below = matches!(self.attention, Attention::Line | Attention::Answered);
        (lines, (!is_below).then_some(Place { row, column }))
    }

    /// What it waits for.
    fn waiting(&self, preselects: bool, now: Instant) -> Waiting<'_> {
        match (&self.attention, &self.entry, self.question()) {
            (Attention::Line, ..) => Waiting::Beside,
            (Attention::Answered, ..) => Waiting::Answered,
            _ if !self.is_armed(now) => Waiting::Quiet,
            (_, _, Some(question)) => Waiting::Question(&self.interview, question),
            (_, Some(entry), None) => Waiting::Reason(entry),
            (_, None, None) => Waiting::Choice { confirmation: &self.asked.confirmation, preselects },
        }
    }

    fn question(&self) -> Option<&Question> {
        self.interview.question(questions(&self.asked))
    }

    /// What would happen, or what is asked, and how that is read.
    fn text(&self, columns: usize) -> (Painted, Reading) {
        let detail = &self.asked.confirmation.detail;
        let Some(question) = self.question() else {
            let text = CardText::whole(&self.asked.confirmation, columns);
            let is_edit = matches!(detail, ConfirmationDetail::Edit { .. });
            let reading = if is_edit { Reading::FromTop } else { Reading::FromBothEnds };
            return (paint::lines(&text.rows, columns), reading);
        };
        let words = Question { options: Vec::new(), ..question.clone() };
        let mut painted = paint::lines(&CardText::question(&words, columns).rows, columns);
        let (options, at) = self.interview.lines(question, columns);
        let stands = painted.lines.len() + at;
        painted.lines.extend(options);
        (painted, Reading::At(stands))
    }
}

/// What the model asks the person in words.
fn questions(asked: &CallAsked) -> &[Question] {
    match &asked.confirmation.detail {
        ConfirmationDetail::AskUser { questions } => questions,
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
