//! The identity of calls: made here, one for each call of a session.
//!
//! Servers name calls as they like: the same in every answer, two alike in one, not at all. An approval, a mark and a
//! result are for one call, so none of them goes by such a name. It is kept beside and sent back.

use std::collections::HashSet;
use std::sync::Arc;

use charla_proto::{Content, Conversation, FunctionCall, OWN_CALL_ID, PartKind};

/// The longest name that is kept. Some servers keep data in it, a thought's signature for one.
const LONGEST: usize = 16 * 1024;

/// Whose ids the calls of an answer get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallIds {
    /// The session's own.
    #[default]
    Own,
    /// Those they have: the answer comes from a journal.
    AsRecorded,
}

impl CallIds {
    /// Names the calls of an answer that comes next in a conversation.
    pub(super) fn name(self, answer: &mut Arc<Content>, conversation: &Conversation) {
        if self == CallIds::Own && answer.function_calls().next().is_some() {
            let seq = conversation.seq.saturating_add(1);
            name_calls(Arc::make_mut(answer), seq, &conversation.contents);
        }
    }
}

/// Gives the calls of an answer that becomes record `seq` ids of their own. What the server called them stays beside
/// where it can be sent back: one call's name, of a reasonable length, in characters that can be seen.
fn name_calls(content: &mut Content, seq: u64, earlier: &[(u64, Arc<Content>)]) {
    let is_known = |given: &str| {
        let mut calls = earlier.iter().flat_map(|(_, content)| content.function_calls());
        calls.any(|call| sent_id(call) == Some(given))
    };
    let mut taken: HashSet<String> = HashSet::new();
    let calls = content.parts.iter_mut().filter_map(|part| match &mut part.kind {
        PartKind::FunctionCall(call) => Some(call),
        _ => None,
    });
    for (call, number) in calls.zip(1..) {
        let given = call.id.take().filter(|given| is_usable(given));
        call.given_id = given.filter(|given| !is_known(given) && taken.insert(given.clone()));
        call.id = Some(format!("{OWN_CALL_ID}{seq}_{number}"));
    }
}

fn sent_id(call: &FunctionCall) -> Option<&str> {
    call.given_id.as_deref().or(call.id.as_deref())
}

fn is_usable(given: &str) -> bool {
    let fits = !given.is_empty() && given.len() <= LONGEST;
    fits && !given.starts_with(OWN_CALL_ID) && given.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use charla_proto::{Part, Role};
    use serde_json::Map;

    use super::*;

    fn answer(ids: &[&str]) -> Content {
        let call = |id: &&str| Part::function_call(FunctionCall::new(*id, "shell", Map::new()));
        Content::new(Role::Model, ids.iter().map(call).collect())
    }

    fn named(ids: &[&str], seq: u64, earlier: &[(u64, Arc<Content>)]) -> (Content, Vec<Option<String>>) {
        let mut content = answer(ids);
        name_calls(&mut content, seq, earlier);
        let given = content.function_calls().map(|call| call.given_id.clone()).collect();
        (content, given)
    }

    #[test]
    fn every_call_of_a_session_has_an_id_of_its_own() {
        let (first, _) = named(&["call_0", "call_0", ""], 3, &[]);
        let (second, _) = named(&["call_0", "charla_3_1"], 9, &[(3, Arc::new(first.clone()))]);
        let ids: Vec<&str> = [&first, &second]
            .into_iter()
            .flat_map(Content::function_calls)
            .map(|call| call.id.as_deref().unwrap())
            .collect();
        assert_eq!(ids, ["charla_3_1", "charla_3_2", "charla_3_3", "charla_9_1", "charla_9_2"]);
    }

    #[test]
    fn what_a_server_called_one_call_is_kept_and_what_it_cannot_be_told_is_not() {
        let long = "x".repeat(1 << 20);
        let (first, given) = named(&["a.b:0", "a.b:0", "", "two words", "charla_9_9", &long], 3, &[]);
        assert_eq!(given, [Some("a.b:0".to_owned()), None, None, None, None, None]);
        let old = Arc::new(answer(&["old"]));
        let (_, given) = named(&["a.b:0", "old", "new"], 5, &[(2, old), (3, Arc::new(first))]);
        assert_eq!(given, [None, None, Some("new".to_owned())]);
    }
}
