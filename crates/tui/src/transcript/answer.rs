//! What the model says in the step under way: thoughts, then words, as they stream in.

use std::collections::VecDeque;
use std::time::Instant;

use charla_terminal::wording;

use crate::markdown::{Form, Layout, Stream};
use crate::text::{Line, Role};

/// Rows of thoughts that are shown while they come.
const THOUGHT_ROWS: usize = 6;
/// No more of a thought is looked at for its last rows.
const THOUGHT_TAIL: usize = 4000;

/// The running step. Rows stay live as long as they fit, so that a failed attempt can be withdrawn.
pub struct Answer {
    layout: Layout,
    /// All the words so far.
    text: String,
    stream: Stream,
    /// Rows that never change, still live.
    held: VecDeque<Line>,
    /// Rows of this step that are in the scrollback already.
    spilled: usize,
    thoughts: Thoughts,
    /// Pieces were lost on the way: the record has the whole.
    has_gaps: bool,
}

#[derive(Default)]
struct Thoughts {
    text: String,
    subject: Option<String>,
    began: Option<Instant>,
    /// When words followed.
    ended: Option<Instant>,
}

impl Answer {
    /// A step that has said nothing yet.
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            text: String::new(),
            stream: Stream::new(layout),
            held: VecDeque::new(),
            spilled: 0,
            thoughts: Thoughts::default(),
            has_gaps: false,
        }
    }

    /// True when nothing was said or thought.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.thoughts.text.is_empty()
    }

    /// Words come in.
    pub fn say(&mut self, piece: &str, now: Instant) {
        self.thoughts.ended.get_or_insert(now);
        self.text.push_str(piece);
        self.stream.push(piece);
        self.held.extend(self.stream.finished());
    }

    /// These are all the words.
    pub fn say_all(&mut self, words: &str, now: Instant) {
        if self.text != words {
            self.text.clear();
            self.stream = Stream::new(self.layout);
            self.held.clear();
            self.say(words, now);
        }
    }

    /// A thought comes in, or all of them.
    pub fn think(&mut self, piece: &str, subject: Option<&str>, is_piece: bool, now: Instant) {
        let thoughts = &mut self.thoughts;
        if !is_piece {
            thoughts.text.clear();
        }
        thoughts.began.get_or_insert(now);
        thoughts.text.push_str(piece);
        if let Some(subject) = subject {
            thoughts.subject = Some(subject.to_owned());
        }
    }

    /// Pieces were lost on the way.
    pub fn lose(&mut self) {
        self.has_gaps = true;
    }

    /// The attempt failed: what it showed no longer counts. What has left the screen cannot be taken back and is marked.
    pub fn withdraw(&mut self) -> Vec<Line> {
        let spilled = self.spilled;
        *self = Self::new(self.layout);
        match spilled {
            0 => Vec::new(),
            _ => vec![Line::of(Role::Warning, "── withdrawn: the attempt that said this failed ──")],
        }
    }

    /// Rows that no longer fit on the screen: so many, or all that never change.
    pub fn spill(&mut self, rows: usize, shows_thoughts: bool, now: Instant) -> Vec<Line> {
        let count = rows.min(self.held.len());
        let mut lines = match (count, self.spilled) {
            (1.., 0) => self.thoughts.summary(shows_thoughts, self.layout.columns, now),
            _ => Vec::new(),
        };
        self.spilled += count;
        lines.extend(self.held.drain(..count));
        lines
    }

    /// The rows that never change, as they stand on the screen.
    pub fn settled(&self, shows_thoughts: bool, now: Instant) -> Vec<Line> {
        let thoughts = match self.spilled {
            0 => self.thoughts.summary(shows_thoughts, self.layout.columns, now),
            _ => Vec::new(),
        };
        // Thoughts that are shown whole are so at the end alone.
        match thoughts.len() > 1 {
            true => Vec::new(),
            false => thoughts.into_iter().chain(self.held.iter().cloned()).collect(),
        }
    }

    /// So many of these stay where they are; the last of them.
    pub fn leave(&mut self, count: usize, shows_thoughts: bool, now: Instant) -> Option<Line> {
        let before = self.settled(shows_thoughts, now).len().saturating_sub(self.held.len());
        self.spilled += count;
        self.held.drain(..count.saturating_sub(before)).next_back()
    }

    /// The step is over, and these were its words, or those that came: all its rows, for good. The next step begins.
    pub fn end(&mut self, words: Option<&str>, shows_thoughts: bool, now: Instant) -> Vec<Line> {
        let mut lines = match self.spilled {
            0 => self.thoughts.summary(shows_thoughts, self.layout.columns, now),
            _ => Vec::new(),
        };
        let words = words.filter(|words| self.text != *words);
        if self.has_gaps && self.spilled > 0 && words.is_some() {
            lines.push(Line::of(Role::Warning, "── some of this was lost on the way; all of it again ──"));
            self.spilled = 0;
        }
        if let (0, Some(words)) = (self.spilled, words) {
            self.say_all(words, now);
        }
        lines.extend(self.held.drain(..));
        let ended = std::mem::replace(self, Self::new(self.layout));
        lines.extend(ended.stream.end());
        lines
    }

    /// The rows that are still live.
    pub fn live(&self, shows_thoughts: bool, now: Instant) -> Vec<Line> {
        let mut lines = match self.spilled {
            0 => self.thoughts.live(shows_thoughts && self.text.is_empty(), self.layout.columns, now),
            _ => Vec::new(),
        };
        lines.extend(self.held.iter().cloned());
        lines.extend(self.stream.tail());
        lines
    }

    /// The terminal has another width: what is still to come is laid out for it.
    pub fn resize(&mut self, columns: usize, now: Instant) {
        self.layout.columns = columns;
        if self.spilled > 0 {
            // The beginning is in the scrollback: the rows that are left are broken anew, and the rest goes on behind them.
            self.stream.resize(self.layout);
            let held = std::mem::take(&mut self.held);
            self.held = held.iter().flat_map(|line| line.wrap(columns)).collect();
            return;
        }
        self.lay_out_anew(now);
    }

    /// Who speaks writes in this form. What has left the screen stays as it is.
    pub fn set_form(&mut self, form: Form, now: Instant) {
        if self.layout.form != form && self.spilled == 0 {
            self.layout.form = form;
            self.lay_out_anew(now);
        }
    }

    fn lay_out_anew(&mut self, now: Instant) {
        let words = std::mem::take(&mut self.text);
        self.stream = Stream::new(self.layout);
        self.held.clear();
        if !words.is_empty() {
            self.say(&words, now);
        }
    }
}

impl Thoughts {
    fn head(&self, word: &str, now: Instant) -> Line {
        let until = self.ended.unwrap_or(now);
        let time = self
            .began
            .map(|began| wording::elapsed(until.saturating_duration_since(began)))
            .unwrap_or_default();
        let about = self.subject.as_ref().map(|subject| format!(": {subject}")).unwrap_or_default();
        Line::of(Role::Dim, &format!("∴ {word} {time}{about}"))
    }

    fn live(&self, is_open: bool, columns: usize, now: Instant) -> Vec<Line> {
        if self.text.trim().is_empty() {
            return Vec::new();
        }
        let word = if self.ended.is_some() { "thought for" } else { "thinking" };
        let mut lines = vec![self.head(word, now).truncate(columns)];
        if is_open {
            let from = self.text.char_indices().rev().nth(THOUGHT_TAIL).map_or(0, |(at, _)| at);
            let rows = rows(self.text.get(from..).unwrap_or_default(), columns);
            lines.extend(rows.into_iter().rev().take(THOUGHT_ROWS).rev());
        }
        lines
    }

    /// What stays of them: all, or one row.
    fn summary(&self, shows_all: bool, columns: usize, now: Instant) -> Vec<Line> {
        if self.text.trim().is_empty() {
            return Vec::new();
        }
        let mut lines = vec![self.head("thought for", now).truncate(columns)];
        if shows_all {
            lines.extend(rows(&self.text, columns));
        }
        lines
    }
}

fn rows(text: &str, columns: usize) -> Vec<Line> {
    let margin = Line::of(Role::Border, "  ┆ ");
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.flat_map(|line| Line::of(Role::Dim, line).wrap_behind(columns, &margin, &margin)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step in so many columns.
    fn answer(columns: usize) -> Answer {
        Answer::new(Layout { columns, links: true, form: Form::Markdown })
    }

    fn widest(lines: &[Line]) -> usize {
        lines.iter().map(Line::width).max().unwrap_or(0)
    }

    #[test]
    fn an_answer_after_a_resize_is_laid_out_for_the_new_width() {
        let now = Instant::now();
        let mut answer = answer(40);
        answer.resize(80, now);
        answer.say(&"word ".repeat(40), now);
        let lines = answer.end(None, false, now);
        assert!(widest(&lines) > 70, "{lines:?}");
    }

    #[test]
    fn rows_that_are_left_where_they_stand_are_not_said_again() {
        let now = Instant::now();
        let mut answer = answer(80);
        answer.say("one\n\ntwo\n\nthree", now);
        let settled = answer.settled(false, now);
        assert_eq!(settled, answer.live(false, now)[..settled.len()]);
        answer.leave(settled.len(), false, now);
        answer.resize(40, now);
        let rest: Vec<String> = answer.end(None, false, now).iter().map(Line::text).collect();
        assert_eq!(rest.join("").trim(), "three");
    }

    #[test]
    fn what_follows_rows_in_the_scrollback_is_laid_out_for_the_new_width() {
        let now = Instant::now();
        let mut answer = answer(80);
        answer.say(&format!("{}\n\n", "word ".repeat(100)), now);
        assert!(!answer.spill(2, false, now).is_empty());
        answer.resize(40, now);
        assert!(widest(&answer.live(false, now)) <= 40);
        answer.say("| one | two |\n|---|---|\n", now);
        answer.say(&format!("| {} | {} |\n\nEnd.", "first ".repeat(8), "second ".repeat(8)), now);
        let lines = answer.end(None, false, now);
        assert!(widest(&lines) <= 40, "{lines:?}");
        assert_eq!(lines.iter().map(|line| line.text().matches("word").count()).sum::<usize>(), 100 - 32);
    }

    #[test]
    fn a_text_that_is_no_markdown_is_shown_to_the_letter() {
        let now = Instant::now();
        let text = "__init__.py\n* a *  b\n\n\n    # not a heading\n1. | x |\n```\n> q <b>";
        let mut answer = answer(40);
        // It may be known late who speaks.
        answer.say("__init__.py\n* a", now);
        answer.set_form(Form::Plain, now);
        let shown: Vec<String> = answer.end(Some(text), false, now).iter().map(Line::text).collect();
        assert_eq!(shown.join("\n"), text);
        // The next step is the same model's.
        answer.say("**kwargs", now);
        assert_eq!(answer.end(None, false, now)[0].text(), "**kwargs");
    }
}
