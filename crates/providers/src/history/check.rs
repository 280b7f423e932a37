//! Tells what is fit to be sent as it is.

use std::collections::HashSet;
use std::sync::Arc;

use charla_proto::{Content, FunctionCall, Part, PartKind, Role};

use crate::endpoint::Target;
use crate::wire::CallId;

/// True when nothing has to change.
pub(super) fn is_fit(contents: &[Arc<Content>], target: &Target) -> bool {
    let mut ids = Vec::with_capacity(contents.len());
    let mut previous: Option<&Content> = None;
    for content in contents {
        let fits = match content.role {
            Role::User => {
                previous.is_none_or(|previous| previous.role == Role::Model)
                    && content.function_calls().next().is_none()
                    && answers(content, previous.into_iter().flat_map(Content::function_calls))
            }
            Role::Model => {
                previous.is_some_and(|previous| previous.role == Role::User)
                    && content.function_responses().next().is_none()
                    && content.function_calls().all(|call| named(call).map(|id| ids.push(id)).is_some())
            }
        };
        if !fits || !is_sendable(content, target) {
            return false;
        }
        previous = Some(content);
    }
    are_distinct(&ids)
        && previous.is_none_or(|last| last.role == Role::User || last.function_calls().next().is_none())
}

/// True when no two are the same. That their ends differ is seen soonest.
fn are_distinct(ids: &[&str]) -> bool {
    let end = |id: &&str| id.bytes().rev().take(8).fold(0, |end: u64, byte| end << 8 | u64::from(byte));
    let mut ends: Vec<u64> = ids.iter().map(end).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut seen = HashSet::new();
    ends.len() == ids.len() || ids.iter().all(|id| seen.insert(*id))
}

/// What a call is called when it is sent, where it has a name.
pub(super) fn named(call: &FunctionCall) -> Option<&str> {
    CallId::from(call).sent(|_| true)
}

/// True when the content begins with exactly one response for each of the calls, in order, and has no
/// other response.
pub(super) fn answers<'a>(content: &Content, calls: impl Iterator<Item = &'a FunctionCall>) -> bool {
    let mut parts = content.parts.iter();
    for call in calls {
        let answered = parts.next().and_then(Part::as_function_response).is_some_and(|response| {
            response.id.is_some()
                && (&response.id, &response.given_id, &response.name)
                    == (&call.id, &call.given_id, &call.name)
        });
        if !answered {
            return false;
        }
    }
    parts.all(|part| part.as_function_response().is_none())
}

/// True when the content carries something that this target can be sent: words, a call, a response,
/// media, or opaque data it has made itself.
pub(super) fn is_sendable(content: &Content, target: &Target) -> bool {
    let own = |part: &Part| matches!(part.kind, PartKind::Opaque(_)) || part.thought_signature.is_some();
    content.is_valid() || (target.made(content) && content.parts.iter().any(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_apart_by_all_of_their_letters() {
        for distinct in
            [&[][..], &["a"], &["a", "b"], &["call_0", "call_1"], &["1-same-ending", "2-same-ending"]]
        {
            assert!(are_distinct(distinct), "{distinct:?}");
        }
        for same in [&["a", "a"][..], &["1-same-ending", "2-same-ending", "1-same-ending"], &["", ""]] {
            assert!(!are_distinct(same), "{same:?}");
        }
    }
}
