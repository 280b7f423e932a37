//! What the model is told of the conversation so far.
//!
//! It answers each request for itself, and takes what stands before it for a pattern: a call that failed is made again and
//! again. So of earlier requests only the last short ones are told, in the form of the examples, and neither failures nor what
//! tools returned. That also keeps a request small, however long the conversation is: it reads a hundred tokens in a second.

use std::sync::Arc;

use charla_proto::{Content, FunctionCall, Role};

use super::{Vocabulary, is_asking};

/// How many earlier requests are told.
const MOST: usize = 4;
/// Bytes of a request or an answer above which it is left out.
const SHORT: usize = 300;

/// The last requests before this one, each with what was done about it.
pub(super) fn shown(vocabulary: &Vocabulary, contents: &[Arc<Content>]) -> Vec<Arc<Content>> {
    let mut turns: Vec<[Arc<Content>; 2]> = Vec::new();
    let mut end = contents.len();
    while turns.len() < MOST
        && let Some(begin) = contents.iter().take(end).rposition(|content| is_asking(content))
    {
        turns.extend(contents.get(begin..end).and_then(|turn| exchange(vocabulary, turn)));
        end = begin;
    }
    turns.into_iter().rev().flatten().collect()
}

/// A request and its answer; `None` when there is nothing to learn from it.
fn exchange(vocabulary: &Vocabulary, turn: &[Arc<Content>]) -> Option<[Arc<Content>; 2]> {
    let question = turn.first()?.text();
    let answer = match turn.iter().find_map(|content| content.function_calls().next()) {
        Some(call) if succeeded(turn) => spoken(vocabulary, call)?,
        Some(_) => return None,
        None => turn.iter().rfind(|content| content.role == Role::Model)?.text(),
    };
    let is_short = |text: &str| !text.trim().is_empty() && text.len() <= SHORT;
    (is_short(&question) && is_short(&answer))
        .then(|| [Content::user(question), Content::model(answer)].map(Arc::new))
}

fn succeeded(turn: &[Arc<Content>]) -> bool {
    let mut results = turn.iter().flat_map(|content| content.function_responses()).peekable();
    results.peek().is_some() && results.all(|result| !result.is_error())
}

fn spoken(vocabulary: &Vocabulary, call: &FunctionCall) -> Option<String> {
    let word = vocabulary.word(&call.name)?;
    Some(word.call(call.args.get(word.argument)?.as_str()?))
}

#[cfg(test)]
mod tests {
    use charla_proto::{FunctionDeclaration, FunctionResponse, GenerateRequest, Part, Tool};
    use serde_json::{Map, json};

    use super::*;

    fn call(tool: &str, key: &str, argument: &str) -> Content {
        let arguments = Map::from_iter([(key.to_owned(), json!(argument))]);
        Content::new(Role::Model, vec![Part::function_call(FunctionCall::new("1", tool, arguments))])
    }

    fn result(response: FunctionResponse) -> Content {
        Content::new(Role::User, vec![Part::function_response(response)])
    }

    /// The texts of what is sent after the examples.
    fn sent(contents: Vec<Content>) -> Vec<String> {
        let tools = ["list_directory", "read_file"].map(|name| {
            Arc::new(FunctionDeclaration { name: name.to_owned(), ..FunctionDeclaration::default() })
        });
        let of = |contents: Vec<Content>| {
            let request = GenerateRequest {
                contents: contents.into_iter().map(Arc::new).collect(),
                tools: vec![Tool::functions(tools.to_vec())],
                ..GenerateRequest::default()
            };
            Vocabulary::of(&request).0.contents
        };
        let alone = of(contents.last().cloned().into_iter().collect()).len() - 1;
        of(contents).iter().skip(alone).map(|content| content.text()).collect()
    }

    #[test]
    fn an_earlier_call_is_told_as_the_examples_tell_it_and_its_result_is_not() {
        let found = FunctionResponse::output("1", "list_directory", "harbour.rs\n".repeat(5000));
        let sent = sent(vec![
            Content::user("List src"),
            call("list_directory", "dir_path", "src"),
            result(found),
            Content::model("harbour.rs"),
            Content::user("Thanks"),
        ]);
        let called =
            "<tool_call>\n{\"name\": \"list\", \"arguments\": {\"dir_path\": \"src\"}}\n</tool_call>";
        assert_eq!(sent, ["List src", called, "Thanks"]);
    }

    #[test]
    fn a_call_that_failed_is_no_pattern_to_follow() {
        let failed = FunctionResponse::error("1", "list_directory", "notes.txt is a file");
        let sent = sent(vec![
            Content::user("Hello"),
            Content::model("Hello!"),
            Content::user("Show notes.txt"),
            call("list_directory", "dir_path", "notes.txt"),
            result(failed),
            Content::model("notes.txt is a file"),
            Content::user("Show notes.txt"),
        ]);
        assert_eq!(sent, ["Hello", "Hello!", "Show notes.txt"]);
    }

    #[test]
    fn a_long_conversation_costs_no_more_than_a_short_one() {
        let mut contents = vec![Content::user("A pasted text. ".repeat(2000)), Content::model("I see.")];
        for number in 0..100 {
            contents.push(Content::user(format!("Question {number}")));
            contents.push(Content::model(format!("Answer {number}")));
        }
        contents.push(Content::user("And now?"));
        let sent = sent(contents);
        assert_eq!(sent.len(), 2 * MOST + 1);
        assert_eq!(sent.first().map(String::as_str), Some("Question 96"));
    }
}
