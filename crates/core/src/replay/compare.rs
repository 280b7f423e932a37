//! Compares what a run made with what was recorded.

use std::collections::HashMap;

use charla_proto::{Fact, Record};
use serde_json::Value;

use super::Difference;
use super::script::TurnScript;

/// A fact's place that does not depend on how the calls of one step overtook one another: the step, and in
/// it the model's content, then call by call, then the end.
type Place = (usize, usize);

/// The first difference between recorded and made facts. A turn that was interrupted may have gone on by
/// itself for a moment longer: then, what was made beyond the recording does not count.
pub(super) fn compare(
    script: &TurnScript,
    expected: &[Fact],
    got: &[Fact],
    open: bool,
) -> Result<(), Box<Difference>> {
    let expected = ordered(expected);
    let mut got = ordered(got);
    if open {
        let mut room = counts(&expected);
        got.retain(|(place, _)| match room.get_mut(place) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        });
    }
    for index in 0..expected.len().max(got.len()) {
        let (recorded, made) = (expected.get(index), got.get(index));
        let same = match (recorded, made) {
            (Some((_, recorded)), Some((_, made))) => plain(recorded) == as_recorded(plain(made), recorded),
            _ => false,
        };
        if !same {
            let step = recorded.or(made).map_or(0, |((step, _), _)| *step);
            let (recorded, made) = (recorded.map(|(_, fact)| *fact), made.map(|(_, fact)| *fact));
            return Err(Box::new(difference(script.turn, step, recorded, made)));
        }
    }
    Ok(())
}

/// The recorded facts that a run which made `count` facts should have made.
pub(super) fn until(recorded: &[Fact], count: usize) -> Vec<Fact> {
    ordered(recorded).into_iter().take(count).map(|(_, fact)| fact.clone()).collect()
}

/// True when everything recorded has been made, as far as places tell.
pub(super) fn covers(made: &[Fact], recorded: &[Fact]) -> bool {
    let there = counts(&ordered(made));
    counts(&ordered(recorded)).iter().all(|(place, count)| there.get(place).is_some_and(|made| made >= count))
}

fn counts(facts: &[(Place, &Fact)]) -> HashMap<Place, usize> {
    let mut counts = HashMap::new();
    for (place, _) in facts {
        *counts.entry(*place).or_insert(0) += 1;
    }
    counts
}

fn ordered(facts: &[Fact]) -> Vec<(Place, &Fact)> {
    let mut step = 0;
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut approvals: HashMap<&str, &str> = HashMap::new();
    let mut ordered = Vec::with_capacity(facts.len());
    for fact in facts {
        let call = match fact {
            Fact::ModelContent(said) => {
                step += 1;
                let ids = said.content.function_calls().filter_map(|call| call.id.as_deref());
                calls = ids.zip(1..).collect();
                None
            }
            Fact::CallAsked(asked) => {
                approvals.insert(&asked.approval, &asked.call);
                Some(asked.call.as_str())
            }
            Fact::ApprovalAnswered(answered) => approvals.get(answered.approval.as_str()).copied(),
            Fact::CallStarted(started) => Some(started.call.as_str()),
            Fact::CallEnded(ended) => Some(ended.call.as_str()),
            Fact::TurnEnded(_) => Some(""),
            _ => None,
        };
        let rank = call.map_or(0, |call| calls.get(call).copied().unwrap_or(usize::MAX));
        ordered.push(((step, rank), fact));
    }
    ordered.sort_by_key(|(place, _)| *place);
    ordered
}

/// A fact without the ids that every run makes up anew.
fn plain(fact: &Fact) -> Fact {
    let mut fact = fact.clone();
    match &mut fact {
        Fact::CallAsked(asked) => asked.approval.clear(),
        Fact::ApprovalAnswered(answered) => answered.approval.clear(),
        _ => {}
    }
    fact
}

/// A fact as journals of version 1 have it, where the recorded one comes from such: without kinds of errors.
fn as_recorded(mut made: Fact, recorded: &Fact) -> Fact {
    if let (Fact::CallEnded(made), Fact::CallEnded(recorded)) = (&mut made, recorded)
        && recorded.error.is_none()
    {
        made.error = None;
    }
    made
}

fn difference(turn: u64, step: usize, expected: Option<&Fact>, got: Option<&Fact>) -> Difference {
    let what = match (expected, got) {
        (Some(expected), Some(got)) if expected.kind() == got.kind() => {
            format!("the record `{}` has other content", expected.kind())
        }
        (Some(expected), Some(got)) => {
            format!("`{}` is recorded, `{}` happened", expected.kind(), got.kind())
        }
        (Some(expected), None) => format!("`{}` is recorded and did not happen", expected.kind()),
        (None, Some(got)) => format!("`{}` happened and is not recorded", got.kind()),
        (None, None) => String::new(),
    };
    Difference { turn, step, what, expected: to_json(expected), got: to_json(got) }
}

fn to_json(fact: Option<&Fact>) -> Value {
    let Some(fact) = fact else { return Value::Null };
    let mut value = serde_json::to_value(Record::new(0, 0, plain(fact))).unwrap_or(Value::Null);
    if let Some(fields) = value.as_object_mut() {
        for key in ["seq", "at", "approval"] {
            fields.shift_remove(key);
        }
    }
    value
}
