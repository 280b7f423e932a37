//! What the wire demands of every request, whatever the conversation was.

use proptest::prelude::*;

use super::*;
use crate::history;

fn of_kind<'a>(message: &'a Value, kind: &'static str) -> impl Iterator<Item = &'a Value> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter(move |block| block["type"] == kind)
}

fn ids(message: &Value, kind: &'static str, key: &'static str) -> Vec<String> {
    of_kind(message, kind).map(|block| block[key].as_str().unwrap_or_default().to_owned()).collect()
}

proptest! {
    #[test]
    fn any_prepared_history_makes_a_request_the_server_takes(
        contents in prop::collection::vec(history::properties::content(), 1..9),
    ) {
        let target = history::properties::target();
        let mut contents = history::prepare(&contents, &target).into_owned();
        contents.push(Arc::new(Content::user("and now?")));
        let contents = history::prepare(&contents, &target).into_owned();
        let request = GenerateRequest::new("claude", contents);
        let body = encode(&request, &target);
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        prop_assert!(body.to_string().matches("cache_control").count() <= 4);
        let mut called = Vec::new();
        for (n, message) in messages.iter().enumerate() {
            prop_assert_eq!(&message["role"], if n % 2 == 0 { "user" } else { "assistant" });
            let blocks = message["content"].as_array().map_or(0, Vec::len);
            prop_assert!(blocks > 0);
            let answered = ids(message, "tool_result", "tool_use_id");
            prop_assert_eq!(&called, &answered);
            for (at, block) in message["content"].as_array().into_iter().flatten().enumerate() {
                prop_assert_eq!(at < answered.len(), block["type"] == "tool_result");
                prop_assert_ne!(block["text"].as_str().map(str::trim), Some(""));
            }
            called = ids(message, "tool_use", "id");
        }
        prop_assert_eq!(&messages[messages.len() - 1]["role"], "user");
    }
}
