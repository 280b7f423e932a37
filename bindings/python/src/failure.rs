//! Failures as the package's exceptions are made from.

use charla::{Failure, Notice};
use serde_json::{Value, json};

use crate::hints::words;

/// A failure as JSON: `kind`, `message`, `hint`.
pub(crate) fn told(failure: &Failure) -> String {
    value(failure).to_string()
}

/// The same as a value.
pub(crate) fn value(failure: &Failure) -> Value {
    let hint = failure.hint.as_ref().map(words);
    json!({"kind": failure.kind.name(), "message": failure.message, "hint": hint})
}

/// A notice in one line.
pub(crate) fn notice(notice: &Notice) -> String {
    notice.explained_by(words)
}
