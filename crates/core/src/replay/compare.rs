//! Compares what a run made with what was recorded.

use charla_proto::{Fact, Record};
use serde_json::Value;

use super::Difference;

/// Drops from what was made that which an older version did not record.
pub(super) fn as_recorded(mut made: Fact, recorded: &Fact) -> Fact {
    match (&mut made, recorded) {
        (Fact::TurnStarted(made), Fact::TurnStarted(recorded)) if recorded.by.is_empty() => made.by.clear(),
        (Fact::CallStarted(made), Fact::CallStarted(recorded)) => {
            keep(&mut made.rule, &recorded.rule);
            // Nothing is looked at on this machine's disk.
            made.changes.clone_from(&recorded.changes);
        }
        (Fact::CallEnded(made), Fact::CallEnded(recorded)) => keep(&mut made.error, &recorded.error),
        (Fact::TurnEnded(made), Fact::TurnEnded(recorded)) => keep(&mut made.by, &recorded.by),
        (Fact::ModeChanged(made), Fact::ModeChanged(recorded)) => keep(&mut made.by, &recorded.by),
        (Fact::ModelChanged(made), Fact::ModelChanged(recorded)) => keep(&mut made.by, &recorded.by),
        _ => {}
    }
    made
}

/// Drops what has no counterpart.
fn keep<T>(made: &mut Option<T>, recorded: &Option<T>) {
    if recorded.is_none() {
        *made = None;
    }
}

pub(super) fn difference(turn: u64, step: usize, expected: &Fact, got: Option<&Fact>) -> Difference {
    let what = match got {
        Some(got) if expected.kind() == got.kind() => {
            format!("the record `{}` has other content", expected.kind())
        }
        Some(got) => format!("`{}` is recorded, `{}` happened", expected.kind(), got.kind()),
        None => format!("`{}` is recorded and did not happen", expected.kind()),
    };
    Difference { turn, step, what, expected: to_json(Some(expected)), got: to_json(got) }
}

fn to_json(fact: Option<&Fact>) -> Value {
    let Some(fact) = fact else { return Value::Null };
    let mut value = serde_json::to_value(Record::new(0, 0, fact.clone())).unwrap_or(Value::Null);
    if let Some(fields) = value.as_object_mut() {
        for key in ["seq", "at"] {
            fields.shift_remove(key);
        }
    }
    value
}
