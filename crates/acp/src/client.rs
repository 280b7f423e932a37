//! What the editor says it can do.

use serde_json::Value;

/// What the editor can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Client {
    /// It gives the text of files, unsaved changes included.
    pub(crate) reads: bool,
    /// It writes files.
    pub(crate) writes: bool,
    /// It shows forms.
    pub(crate) forms: bool,
    /// It shows notices.
    pub(crate) notices: bool,
    /// It shows in its terminals what commands of ours print.
    pub(crate) screens: bool,
}

impl Client {
    /// By the parameters of `initialize`. What is not said is not there.
    pub(crate) fn of(params: &Value) -> Self {
        let at = |place: &str| params.pointer(&format!("/clientCapabilities/{place}"));
        let is_true = |place: &str| at(place).and_then(Value::as_bool).unwrap_or_default();
        let is_there = |place: &str| at(place).is_some_and(Value::is_object);
        Self {
            reads: is_true("fs/readTextFile"),
            writes: is_true("fs/writeTextFile"),
            forms: is_there("elicitation/form"),
            notices: is_there("session/notices"),
            screens: is_true("_meta/terminal_output"),
        }
    }
}
