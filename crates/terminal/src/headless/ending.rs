//! Endings that are no answer.

use charla::{Failure, FailureKind};
use charla_proto::{LlmErrorKind, TurnEnd};

use crate::exit::code;
use crate::wording;

/// A turn that ended by itself.
pub(super) fn stopped(end: TurnEnd, detail: &str) -> Failure {
    let (kind, hint) = match end {
        TurnEnd::StepLimit => (FailureKind::Limit, "raise --max-turns, or give it less to do at once"),
        TurnEnd::TokenLimit => (FailureKind::Limit, "raise --max-tokens or the setting `limits.maxTokens`"),
        TurnEnd::CostLimit => (FailureKind::Limit, "raise --max-cost or the setting `limits.maxCost`"),
        TurnEnd::Blocked => {
            (FailureKind::Model(LlmErrorKind::Blocked), "rephrase the request, or use another model")
        }
        TurnEnd::SchemaMismatch => {
            let hint = "try another model with -m, or a simpler schema";
            (FailureKind::Model(LlmErrorKind::OutputSchema), hint)
        }
        _ => (FailureKind::Limit, "try again with other words, or use another model with -m"),
    };
    let message = match kind {
        FailureKind::Limit => format!("the turn was ended: {detail}"),
        _ => detail.to_owned(),
    };
    Failure::new(kind, message).with_hint(hint)
}

/// A hook ended a turn whose answer was to have a form.
pub(super) fn formless(why: &str) -> Failure {
    let message = format!("there is no answer to fit the schema: {why}");
    Failure::new(FailureKind::Model(LlmErrorKind::OutputSchema), message)
}

/// The error object of the JSON formats.
pub(super) fn error_json(failure: &Failure) -> serde_json::Value {
    let mut error = serde_json::json!({
        "type": failure.kind.name(),
        "code": code(failure.kind),
        "message": failure.message,
    });
    let hint = failure.hint.as_ref().and_then(wording::hint);
    if let (Some(hint), Some(object)) = (hint, error.as_object_mut()) {
        object.insert("hint".to_owned(), hint.into());
    }
    error
}
