//! The answers to a question of the model: a list to go through, and a line for words of one's own.

use std::collections::BTreeSet;

use charla::question::{answer, prompt};
use charla_proto::text::visible;
use charla_proto::{Question, QuestionKind};
use crossterm::event::{KeyCode, KeyEvent};

use crate::entry::{Entry, Typed};
use crate::text::{Line, Role};

/// What a key came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Nothing yet.
    More,
    /// This is the answer.
    Answer(String),
    /// There will be none.
    Left,
}

/// An answer that is being given.
#[derive(Clone, Debug, Default)]
pub struct Choosing {
    /// The row that was gone to.
    at: Option<usize>,
    /// Rows that are marked, where several may be.
    marked: BTreeSet<usize>,
    entry: Entry,
}

/// What can be chosen, and what there is to know of it.
fn options(question: &Question) -> Vec<(&str, &str)> {
    match question.kind {
        QuestionKind::Yesno => vec![("yes", ""), ("no", "")],
        QuestionKind::Text => Vec::new(),
        QuestionKind::Choice => question
            .options
            .iter()
            .map(|option| (option.label.as_str(), option.description.as_str()))
            .collect(),
    }
}

impl Choosing {
    /// True when nothing is written in one's own words.
    pub fn is_blank(&self) -> bool {
        self.entry.text().is_empty()
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent, question: &Question) -> Chosen {
        let options = options(question);
        let is_empty = self.entry.text().is_empty();
        match key.code {
            KeyCode::Up => self.at = Some(self.stands(question).map_or(0, |at| at.saturating_sub(1))),
            KeyCode::Down => {
                let next = self.stands(question).map_or(0, |at| at + 1);
                self.at = Some(next.min(options.len().saturating_sub(1)));
            }
            KeyCode::Char(' ') if is_empty && question.multi_select && !options.is_empty() => {
                let at = *self.at.get_or_insert(0);
                if !self.marked.remove(&at) {
                    self.marked.insert(at);
                }
            }
            _ => match self.entry.key(key) {
                Typed::Done => return Chosen::Answer(self.answer(question, &options)),
                Typed::Left => return Chosen::Left,
                Typed::More | Typed::Other => {}
            },
        }
        Chosen::More
    }

    /// True for a letter that would answer alone: it counts once nothing has followed it.
    pub fn is_answer(&self, letter: char, question: &Question) -> bool {
        question.kind == QuestionKind::Yesno && self.entry.text().is_empty() && matches!(letter, 'y' | 'n')
    }

    /// The row that is stood on: at first none where an answer may be left open.
    fn stands(&self, question: &Question) -> Option<usize> {
        self.at.or((!question.optional).then_some(0))
    }

    /// Words of one's own go before what is marked, and that before where one stands.
    fn answer(&self, question: &Question, options: &[(&str, &str)]) -> String {
        let words = self.entry.text();
        let label = |at: usize| options.get(at).map(|(label, _)| *label);
        match self.marked.is_empty() {
            _ if !words.trim().is_empty() => answer(question, words),
            false => self.marked.iter().filter_map(|at| label(*at)).collect::<Vec<_>>().join(", "),
            true => self.stands(question).and_then(label).unwrap_or_default().to_owned(),
        }
    }

    /// Takes pasted text.
    pub fn paste(&mut self, text: &str) {
        self.entry.paste(text);
    }

    /// The rows of the list, and which of them is stood on. What the model wrote stands behind a margin.
    pub fn lines(&self, question: &Question, columns: usize) -> (Vec<Line>, usize) {
        let mut lines = Vec::new();
        let mut stands = 0;
        for (at, (label, about)) in options(question).into_iter().enumerate() {
            let is_here = Some(at) == self.stands(question) && self.entry.text().is_empty();
            let mark = match (question.multi_select, self.marked.contains(&at)) {
                (true, true) => "☑ ",
                (true, false) => "☐ ",
                (false, _) => "",
            };
            let mut first = Line::of(Role::Accent, if is_here { "▸ " } else { "  " });
            first.push(Role::Dim, &format!("{:>2} {mark}", at + 1));
            first.push(Role::Border, "│ ");
            let mut others = Line::plain(&" ".repeat(first.width().saturating_sub(2)));
            others.push(Role::Border, "┆ ");
            let mut text = Line::of(if is_here { Role::Selected } else { Role::Plain }, &visible(label));
            if !about.is_empty() {
                text.push(Role::Dim, &format!("  {}", visible(about).replace('\n', " ")));
            }
            if is_here {
                stands = lines.len();
            }
            lines.extend(text.wrap_behind(columns, &first, &others));
        }
        (lines, stands)
    }

    /// The line of one's own words, with the column of its cursor, and what keys there are.
    pub fn foot(&self, question: &Question, columns: usize) -> (Vec<Line>, usize) {
        let (line, column) = self.entry.view(&format!("{}> ", prompt(question)), columns);
        let mut keys = match (options(question).is_empty(), question.multi_select) {
            (true, _) => Vec::new(),
            (false, true) => vec!["↑ ↓ Space marks, Enter answers, Esc says nothing"],
            (false, false) => vec!["↑ ↓ Enter, or type; Esc says nothing"],
        };
        let is_open = question.optional && self.at.is_none() && self.entry.text().is_empty();
        match &question.default {
            Some(_) if is_open => keys.push("Enter alone takes the default"),
            None if is_open => keys.push("Enter alone leaves it open"),
            _ => {}
        }
        let keys = keys.join("; ");
        let above = (!keys.is_empty()).then(|| Line::of(Role::Dim, &keys).truncate(columns));
        (above.into_iter().chain([line]).collect(), column)
    }
}
