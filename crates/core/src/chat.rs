//! The chat: what was said, and what of it is sent.

use std::sync::Arc;

use charla_proto::{Content, FunctionResponse, Part, PartKind, Role};

/// What a call is told that never got its answer.
pub const NO_RESULT: &str = "This call has no result: it was interrupted. It may or may not have taken effect; check before repeating it.";

/// The curated history of a conversation: what is sent. The comprehensive one is the fold's.
///
/// Model contents with nothing in them are left out (the user's words stay), neighbours of one role are one
/// content, and every call has exactly one response right after it. It is kept up to date as contents arrive;
/// contents that did not change keep their identity, so that codecs may remember what they have encoded.
#[derive(Clone, Debug, Default)]
pub struct Chat {
    curated: Vec<Arc<Content>>,
}

impl Chat {
    /// A chat of these contents.
    pub fn new(contents: impl IntoIterator<Item = Arc<Content>>) -> Self {
        let mut chat = Self::default();
        for content in contents {
            chat.push(content);
        }
        chat
    }

    /// Records one more content.
    pub fn push(&mut self, content: Arc<Content>) {
        if content.role == Role::Model && !content.is_valid() {
            return;
        }
        if content.role == Role::User && content.parts.is_empty() {
            return;
        }
        self.answer_open_calls(&content);
        match self.curated.last_mut() {
            Some(last) if last.role == content.role && mergeable(last, &content) => {
                let merged = Arc::make_mut(last);
                merged.parts.extend(content.parts.iter().cloned());
                if merged.role == Role::User {
                    // Results come first: wires want them right after the calls.
                    merged.parts.sort_by_key(|part| part.as_function_response().is_none());
                }
            }
            _ => self.curated.push(content),
        }
    }

    /// For programs that embed this: takes over a history that a provider kept while it called functions by itself: only what goes
    /// beyond the curated history is new. `before` is how many contents the request had.
    pub fn take_over(&mut self, history: Vec<Content>, before: usize) {
        for content in history.into_iter().skip(before) {
            self.push(Arc::new(content));
        }
    }

    /// What is sent, with calls that are still open answered as interrupted.
    pub fn curated(&self) -> Vec<Arc<Content>> {
        let mut contents = self.curated.clone();
        if let Some(last) = contents.last()
            && last.role == Role::Model
            && let Some(answer) = missing_responses(last, None)
        {
            contents.push(Arc::new(answer));
        }
        contents
    }

    /// Before a content that does not answer the open calls, answers them.
    fn answer_open_calls(&mut self, next: &Content) {
        let Some(last) = self.curated.last() else { return };
        if last.role == Role::Model
            && next.role == Role::User
            && let Some(missing) = missing_responses(last, Some(next))
        {
            self.curated.push(Arc::new(missing));
        }
    }
}

/// Model contents keep their origin: only contents of one origin become one.
fn mergeable(last: &Content, next: &Content) -> bool {
    last.origin == next.origin
}

/// A content with responses for the calls of `calls` that `answers` leaves out.
fn missing_responses(calls: &Content, answers: Option<&Content>) -> Option<Content> {
    let answered = |id: Option<&str>| {
        let mut responses = answers.into_iter().flat_map(Content::function_responses);
        responses.any(|response| response.id.as_deref() == id)
    };
    let missing = calls.parts.iter().filter_map(|part| match &part.kind {
        PartKind::FunctionCall(call) if !answered(call.id.as_deref()) => {
            let response = FunctionResponse::error("", "", NO_RESULT).answering(call);
            Some(Part::function_response(response))
        }
        _ => None,
    });
    let parts: Vec<Part> = missing.collect();
    (!parts.is_empty()).then(|| Content::new(Role::User, parts))
}

#[cfg(test)]
mod tests {
    use charla_proto::FunctionCall;
    use serde_json::Map;

    use super::*;

    fn call(id: &str) -> Part {
        Part::function_call(FunctionCall::new(id, "tool", Map::new()))
    }

    fn model(parts: Vec<Part>) -> Arc<Content> {
        Arc::new(Content::new(Role::Model, parts))
    }

    fn user(text: &str) -> Arc<Content> {
        Arc::new(Content::user(text))
    }

    #[test]
    fn an_empty_answer_is_left_out_and_the_users_words_stay() {
        let chat = Chat::new([user("one"), model(vec![Part::thought("hm")]), user("two")]);
        let curated = chat.curated();
        assert_eq!(curated.len(), 1);
        assert_eq!(curated[0].text(), "onetwo");
    }

    #[test]
    fn a_call_without_a_result_is_answered_as_interrupted_wherever_it_stands() {
        let chat = Chat::new([user("go"), model(vec![call("1"), call("2")])]);
        let curated = chat.curated();
        let ids: Vec<_> = curated[2].function_responses().map(|r| r.id.as_deref().unwrap()).collect();
        assert_eq!(ids, ["1", "2"]);
        let answered = Part::function_response(FunctionResponse::output("2", "tool", "ok"));
        let chat = Chat::new([
            user("go"),
            model(vec![call("1"), call("2")]),
            Arc::new(Content::new(Role::User, vec![answered])),
            user("and now?"),
        ]);
        let curated = chat.curated();
        assert_eq!(curated.len(), 3);
        assert_eq!(curated[2].function_responses().count(), 2);
        assert_eq!(curated[2].parts.last().unwrap().as_text(), Some("and now?"));
    }

    #[test]
    fn contents_that_do_not_change_keep_their_identity() {
        let first = user("one");
        let mut chat = Chat::new([first.clone(), model(vec![Part::text("a")])]);
        chat.push(user("two"));
        assert!(Arc::ptr_eq(&chat.curated()[0], &first));
    }

    #[test]
    fn a_history_taken_over_adds_only_what_is_new() {
        let mut chat = Chat::new([user("go")]);
        let history =
            vec![Content::user("go"), Content::new(Role::Model, vec![call("1")]), Content::model("done")];
        chat.take_over(history, 1);
        assert_eq!(chat.curated().len(), 3);
    }
}
