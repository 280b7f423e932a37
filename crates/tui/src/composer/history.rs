//! What was sent before: going through it, and searching it.

use super::{INDENT, View};
use crate::text::{Line, Role};

/// Earlier messages, the latest last.
#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<String>,
    /// Which entry is shown, and what was written before the first one was.
    shown: Option<(usize, String)>,
}

impl History {
    /// The messages that were kept, the latest last.
    pub fn new(entries: Vec<String>) -> Self {
        let mut history = Self::default();
        entries.into_iter().for_each(|entry| history.add(entry));
        history
    }

    /// Adds a message; one that was sent twice in a row is there once.
    pub fn add(&mut self, entry: String) {
        self.shown = None;
        if !entry.trim().is_empty() && self.entries.last() != Some(&entry) {
            self.entries.push(entry);
        }
    }

    /// The text is edited from here: going back begins with the latest again.
    pub fn leave(&mut self) {
        self.shown = None;
    }

    /// The message before the one that is shown; `written` comes back at the end of the way.
    pub fn older(&mut self, written: &str) -> Option<&str> {
        let (at, draft) = match self.shown.take() {
            Some((at, draft)) => (at.saturating_sub(1), draft),
            None => (self.entries.len().checked_sub(1)?, written.to_owned()),
        };
        self.shown = Some((at, draft));
        self.entries.get(at).map(String::as_str)
    }

    /// The message after the one that is shown, at last what had been written.
    pub fn newer(&mut self) -> Option<String> {
        let (at, draft) = self.shown.take()?;
        match self.entries.get(at + 1) {
            Some(entry) => {
                self.shown = Some((at + 1, draft));
                Some(entry.clone())
            }
            None => Some(draft),
        }
    }

    /// The latest message before number `before` that has a text in it, in whatever case.
    fn find(&self, text: &str, before: usize) -> Option<(usize, &str)> {
        let wanted = text.to_lowercase();
        let earlier = self.entries.get(..before.min(self.entries.len()))?;
        let at = earlier.iter().rposition(|entry| entry.to_lowercase().contains(&wanted))?;
        earlier.get(at).map(|entry| (at, entry.as_str()))
    }
}

/// A search that is going on.
#[derive(Clone, Debug, Default)]
pub struct Search {
    query: String,
    /// The entry that was found.
    found: Option<usize>,
}

impl Search {
    /// What was found.
    pub fn found<'a>(&self, history: &'a History) -> Option<&'a str> {
        history.entries.get(self.found?).map(String::as_str)
    }

    /// Searches for more.
    pub fn push(&mut self, c: char, history: &History) {
        self.query.push(c);
        let before = self.found.map_or(usize::MAX, |at| at + 1);
        self.look(history, before);
    }

    /// Searches for less.
    pub fn pop(&mut self, history: &History) {
        self.query.pop();
        self.look(history, usize::MAX);
    }

    /// An older one.
    pub fn older(&mut self, history: &History) {
        if let Some((at, _)) = history.find(&self.query, self.found.unwrap_or(usize::MAX)) {
            self.found = Some(at);
        }
    }

    /// The search and what it found.
    pub fn view(&self, history: &History, columns: usize) -> View {
        let label = format!("search: {}", self.query);
        let found = self.found(history);
        let role = if found.is_none() && !self.query.is_empty() { Role::Warning } else { Role::Accent };
        let line = Line::of(role, &label);
        let column = line.width().min(columns.saturating_sub(1));
        let mut lines = vec![line.truncate(columns)];
        if let Some(found) = found {
            let first = found.lines().next().unwrap_or_default();
            lines.push(Line::plain(INDENT).then(Line::plain(first)).truncate(columns));
        }
        View { lines, cursor: (0, column) }
    }

    fn look(&mut self, history: &History, before: usize) {
        self.found = match self.query.is_empty() {
            true => None,
            false => history.find(&self.query, before).map(|(at, _)| at),
        };
    }
}
