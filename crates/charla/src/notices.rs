//! How the library says something beside its results.

use crate::failure::joined;
use crate::hint::Hint;

/// Takes what a person should know while a session is opened or a model is asked.
pub trait Notices: Send {
    /// Good to know.
    fn note(&mut self, notice: &Notice);

    /// It may matter.
    fn warning(&mut self, notice: &Notice);

    /// Something takes long. Each report replaces the one before it.
    fn progress(&mut self, progress: Progress<'_>);

    /// Nothing takes long any more.
    fn progress_done(&mut self);
}

/// What is said, and what to do about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// The words; empty when the hint says all.
    pub text: String,
    /// What to do.
    pub hint: Option<Hint>,
}

/// How far something has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The present state, for somebody who watches.
    pub state: &'a str,
    /// A line for a log, when something new has begun.
    pub began: Option<&'a str>,
}

impl Notice {
    /// Words with advice.
    pub fn with_hint(text: impl Into<String>, hint: Hint) -> Self {
        Self { text: text.into(), hint: Some(hint) }
    }

    /// What is said and what to do about it, with the advice in the words of a front end.
    pub fn explained_by(&self, words: impl FnOnce(&Hint) -> String) -> String {
        joined(&self.text, self.hint.as_ref().map(words))
    }
}

impl From<String> for Notice {
    fn from(text: String) -> Self {
        Self { text, hint: None }
    }
}

impl From<&str> for Notice {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

/// Keeps notes and warnings for later; progress passes by.
impl Notices for Vec<Notice> {
    fn note(&mut self, notice: &Notice) {
        self.push(notice.clone());
    }

    fn warning(&mut self, notice: &Notice) {
        self.push(notice.clone());
    }

    fn progress(&mut self, _: Progress<'_>) {}

    fn progress_done(&mut self) {}
}
