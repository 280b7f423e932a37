//! How a turn ended, where that is not plain from its answer.

use charla::Failure;
use charla_proto::{LlmError, TurnEnd, TurnEnded};
use charla_terminal::wording;

use crate::text::{Line, Role};

/// What stands below what was cut off.
pub const INTERRUPTED: &str = "⊘ interrupted: it stopped here";

/// The rows that say it.
pub fn lines(ended: &TurnEnded, failure: Option<&LlmError>, columns: usize) -> Vec<Line> {
    let detail = ended.detail.as_deref().unwrap_or_default();
    let (role, words) = match ended.end {
        TurnEnd::Finished => return Vec::new(),
        TurnEnd::Truncated => {
            (Role::Warning, "the answer was cut at the output limit (`model.maxOutputTokens`)".to_owned())
        }
        TurnEnd::Cancelled => (Role::Warning, INTERRUPTED.to_owned()),
        TurnEnd::Withdrawn => {
            (Role::Warning, "stopped before an answer: the prompt is taken back".to_owned())
        }
        TurnEnd::Error => return failed(failure, detail, columns),
        TurnEnd::StepLimit => (Role::Warning, with("the turn reached its limit of steps", detail)),
        TurnEnd::TokenLimit => (Role::Warning, with("the turn reached its limit of tokens", detail)),
        TurnEnd::CostLimit => (Role::Warning, with("the turn reached its limit of cost", detail)),
        TurnEnd::Loop => (Role::Warning, with("the model went in circles", detail)),
        TurnEnd::Blocked => (Role::Warning, with("the provider's filter stopped the answer", detail)),
        TurnEnd::HookStopped | TurnEnd::HookBlocked => (Role::Warning, detail.to_owned()),
        _ => (Role::Warning, with("the turn ended early", detail)),
    };
    Line::of(role, &words).wrap(columns)
}

fn with(words: &str, detail: &str) -> String {
    if detail.is_empty() { words.to_owned() } else { format!("{words}: {detail}") }
}

fn failed(failure: Option<&LlmError>, detail: &str, columns: usize) -> Vec<Line> {
    let message = failure.map_or_else(|| detail.to_owned(), ToString::to_string);
    let mut lines = Line::of(Role::Failure, &format!("error: {message}")).wrap(columns);
    let hint = failure.and_then(|error| Failure::from(error).hint).and_then(|hint| wording::hint(&hint));
    if let Some(hint) = hint {
        for line in hint.lines() {
            let first = Line::of(Role::Dim, "  hint: ");
            lines.extend(Line::plain(line).wrap_behind(columns, &first, &Line::plain("        ")));
        }
    }
    lines
}
