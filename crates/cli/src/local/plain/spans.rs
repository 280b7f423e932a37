//! The words that an argument may be made of.

use std::sync::Arc;

use charla_proto::Content;

use super::examples;

/// As many words of the user's, one after the other, may be an argument.
const WORDS: usize = 8;
/// A longer request is a text to work on; of that, single words are offered.
const SHORT: usize = 40;
/// The grammar must stay small: the engine tries each value at each step.
const MOST: usize = 400;

/// What was said since the user last asked: runs of the request's words, and the words of tools' results.
/// Empty when there is nothing to choose from; then anything may be written.
pub(super) fn of(contents: &[Arc<Content>]) -> Vec<String> {
    let mut spans = Vec::new();
    if let Some(question) = contents.first() {
        runs(&question.text(), &mut spans);
    }
    let results = contents.iter().flat_map(|content| content.function_responses());
    for result in results.map(charla_proto::FunctionResponse::to_text) {
        result.split_whitespace().for_each(|word| add(bare(word), &mut spans));
    }
    spans
}

fn runs(text: &str, spans: &mut Vec<String>) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let longest = if words.len() <= SHORT { WORDS } else { 1 };
    // "List", "cat": what to do, not what to do it with.
    let first = usize::from(words.first().is_some_and(|word| examples::begin_with(word)));
    for start in first..words.len() {
        for run in (1..=longest).map_while(|length| words.get(start..start + length)) {
            let run = run.join(" ");
            add(bare(&run), spans);
            add(run.trim_end_matches(['?', '!', '.', ',', ':', ';']), spans);
        }
    }
}

/// Without what belongs to the sentence.
fn bare(run: &str) -> &str {
    run.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | '?' | '!' | ',' | ':' | ';' | '(' | ')'))
}

fn add(span: &str, spans: &mut Vec<String>) {
    if !span.is_empty() && spans.len() < MOST && !spans.iter().any(|known| known == span) {
        spans.push(span.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use charla_proto::{FunctionResponse, Part, Role};

    use super::*;

    fn of_texts(question: &str, result: &str) -> Vec<String> {
        let result = Part::function_response(FunctionResponse::output("1", "list_directory", result));
        of(&[Arc::new(Content::user(question)), Arc::new(Content::new(Role::User, vec![result]))])
    }

    #[test]
    fn runs_of_words_are_offered_without_the_signs_around_them() {
        let spans = of_texts("Find \"access denied\" in src/api, please!", "");
        for span in ["access denied", "src/api", "please", "in src/api"] {
            assert!(spans.iter().any(|known| known == span), "{span} in {spans:?}");
        }
        assert!(!spans.iter().any(|span| span == "please!" || span.starts_with("Find")), "{spans:?}");
    }

    #[test]
    fn what_a_tool_returned_may_be_used_next() {
        assert!(of_texts("Read the first file", "a.rs\nb.rs").contains(&"b.rs".to_owned()));
    }

    #[test]
    fn a_long_text_gives_few_choices_and_an_empty_one_none() {
        let long: Vec<String> = (0..10_000).map(|number| format!("word{number}")).collect();
        let spans = of_texts(&long.join(" "), "");
        assert_eq!(spans.len(), MOST);
        assert!(!spans.iter().any(|span| span.contains(' ')));
        assert!(of_texts("", "").is_empty());
    }
}
