//! How turns end, and why a session's task does.

use charla_proto::{FinishReason, Hint, JournalError, LlmError, LlmErrorKind, TurnEnd};

use crate::exchange::REPEATED;

/// How a turn ends, before it is recorded as `turn_ended`.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) end: TurnEnd,
    pub(super) detail: Option<String>,
    pub(super) error: Option<LlmError>,
    pub(super) by: Option<String>,
}

/// Why a session's task ends.
pub(super) enum Stop {
    /// The journal failed: subscribers know; nothing more may be done.
    Journal,
    /// Nobody can answer what it waits for. The turn stays open for another process.
    Abandoned,
}

impl Ending {
    /// The ending of a turn with an answer, whole or cut.
    pub(super) fn of_words(finish: &FinishReason) -> Self {
        match finish {
            FinishReason::MaxTokens | FinishReason::Pause => TurnEnd::Truncated.into(),
            _ => TurnEnd::Finished.into(),
        }
    }

    /// How an answer without calls ends a turn by itself; nothing when it is an answer.
    pub(super) fn of_answer(finish: &FinishReason, text: &str) -> Option<Self> {
        let empty = text.trim().is_empty();
        let invalid = |message: &str, hint: Hint| {
            Some(LlmError::new(LlmErrorKind::InvalidStream, message).with_hint(hint).into())
        };
        match finish {
            FinishReason::Safety | FinishReason::Recitation => {
                let detail = Some(format!("the provider stopped the answer ({finish})"));
                Some(Ending { detail, ..TurnEnd::Blocked.into() })
            }
            FinishReason::Other(name) if name == REPEATED => {
                let detail = Some("the answer said the same again and again".to_owned());
                Some(Ending { detail, ..TurnEnd::Loop.into() })
            }
            FinishReason::MalformedFunctionCall | FinishReason::UnexpectedToolCall => invalid(
                &format!("the model tried to call a tool, but none was offered ({finish})"),
                Hint::Retry,
            ),
            FinishReason::MaxTokens if empty => {
                invalid("the model used up its output limit before it answered", Hint::RaiseOutputLimit)
            }
            _ if empty => invalid("the model gave an empty answer", Hint::Retry),
            _ => None,
        }
    }
}

impl From<TurnEnd> for Ending {
    fn from(end: TurnEnd) -> Self {
        Self { end, detail: None, error: None, by: None }
    }
}

impl From<LlmError> for Ending {
    fn from(error: LlmError) -> Self {
        Self { error: Some(error), ..TurnEnd::Error.into() }
    }
}

impl From<JournalError> for Stop {
    fn from(_: JournalError) -> Self {
        Stop::Journal
    }
}
