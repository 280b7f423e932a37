//! The model's questions, one after another, and the answers so far.

use std::time::Instant;

use charla::question::answer;
use charla_proto::Question;
use crossterm::event::{KeyCode, KeyEvent};

use super::choosing::{Choosing, Chosen};
use super::held::{Held, letter};
use super::rest::RestOfWord;
use crate::text::Line;

/// What was said to a question.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing yet.
    More,
    /// An answer, and another question comes.
    Next,
    /// Nothing, to none of them.
    Left,
    /// The last answer: these are all.
    All(Vec<String>),
}

/// Answers that are being given.
#[derive(Debug, Default)]
pub struct Interview {
    answers: Vec<String>,
    choosing: Choosing,
    /// A letter that answers, if nothing follows it. What follows makes it an answer in the person's own words.
    held: Option<Held>,
}

impl Interview {
    /// The question that is asked now.
    pub fn question<'a>(&self, questions: &'a [Question]) -> Option<&'a Question> {
        questions.get(self.answers.len())
    }

    /// True when no answer is being written.
    pub fn is_blank(&self) -> bool {
        self.held.is_none() && self.choosing.is_blank()
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent, questions: &[Question], now: Instant) -> Said {
        let Some(question) = self.question(questions) else { return Said::More };
        match (self.held.take(), letter(key)) {
            (Some(mut held), Some(_)) => {
                let is_word = held.take(key, now);
                self.held = Some(held);
                if !is_word {
                    self.release(question);
                }
                Said::More
            }
            (Some(held), None) if key.code == KeyCode::Enter && held.answer().is_some() => {
                self.answered(answer(question, &held.typed()), questions)
            }
            (Some(held), None) => {
                self.held = Some(held);
                self.release(question);
                self.choose(key, questions)
            }
            (None, Some(letter)) if self.choosing.is_answer(letter, question) => {
                self.held = Some(Held::new(key, now));
                Said::More
            }
            (None, _) => self.choose(key, questions),
        }
    }

    /// Takes pasted text, behind what was typed.
    pub fn paste(&mut self, text: &str, questions: &[Question]) {
        if let Some(question) = self.question(questions) {
            self.release(question);
        }
        self.choosing.paste(text);
    }

    /// When a letter that was typed becomes an answer.
    pub fn settles_at(&self) -> Option<Instant> {
        self.held.as_ref().map(Held::until)
    }

    /// Time has passed: what a letter says that nothing has followed, and what may still come of its word.
    pub fn settle(&mut self, questions: &[Question], now: Instant) -> (Said, RestOfWord) {
        let (Some(held), Some(question)) =
            (self.held.take_if(|held| held.until() <= now), self.question(questions))
        else {
            return (Said::More, RestOfWord::default());
        };
        if held.answer().is_some() {
            let rest = RestOfWord::behind(&held.typed(), now);
            return (self.answered(answer(question, &held.typed()), questions), rest);
        }
        self.held = Some(held);
        self.release(question);
        (Said::More, RestOfWord::default())
    }

    /// What was typed and not settled is no answer.
    pub fn forget_held(&mut self) {
        self.held = None;
    }

    /// The rows of the list, and which of them is stood on.
    pub fn lines(&self, question: &Question, columns: usize) -> (Vec<Line>, usize) {
        self.choosing.lines(question, columns)
    }

    /// The line of one's own words, with the column of its cursor, and what keys there are.
    pub fn foot(&self, question: &Question, columns: usize) -> (Vec<Line>, usize) {
        self.choosing.foot(question, columns)
    }

    /// What was held back is written into the line of one's own words.
    fn release(&mut self, question: &Question) {
        for key in self.held.take().map(Held::into_keys).unwrap_or_default() {
            self.choosing.key(key, question);
        }
    }

    fn choose(&mut self, key: KeyEvent, questions: &[Question]) -> Said {
        let Some(question) = self.question(questions) else { return Said::More };
        match self.choosing.key(key, question) {
            Chosen::More => Said::More,
            Chosen::Left => Said::Left,
            Chosen::Answer(answer) => self.answered(answer, questions),
        }
    }

    fn answered(&mut self, answer: String, questions: &[Question]) -> Said {
        self.answers.push(answer);
        self.choosing = Choosing::default();
        match self.question(questions) {
            Some(_) => Said::Next,
            None => Said::All(std::mem::take(&mut self.answers)),
        }
    }
}
