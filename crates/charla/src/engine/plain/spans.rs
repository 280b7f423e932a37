//! What an argument may be: words of the request.

use super::examples;

/// As many words of the user's, one after the other, may be an argument.
const WORDS: usize = 8;
/// A longer request is a text to work on; of that, single words are offered.
const SHORT: usize = 40;
/// The grammar must stay small: the engine tries each value at each step.
const MOST: usize = 400;
/// Bytes of a value. What is longer is pasted, and neither a name nor a command.
const LONGEST: usize = 300;

/// Runs of the request's words. Empty when there is nothing to choose from; then anything may be written.
pub(super) fn of(request: &str) -> Vec<String> {
    let mut spans = Vec::new();
    let words: Vec<&str> = request.split_whitespace().collect();
    let longest = if words.len() <= SHORT { WORDS } else { 1 };
    // "List", "cat": what to do, not what to do it with.
    let first = usize::from(words.first().is_some_and(|word| examples::begin_with(word)));
    for start in first..words.len() {
        for run in (1..=longest).map_while(|length| words.get(start..start + length)) {
            let run = run.join(" ");
            add(bare(&run), &mut spans);
            add(run.trim_end_matches(['?', '!', '.', ',', ':', ';']), &mut spans);
        }
    }
    spans
}

/// Without what belongs to the sentence.
fn bare(run: &str) -> &str {
    run.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | '?' | '!' | ',' | ':' | ';' | '(' | ')'))
}

fn add(span: &str, spans: &mut Vec<String>) {
    let fits = !span.is_empty() && span.len() <= LONGEST && spans.len() < MOST;
    if fits && !spans.iter().any(|known| known == span) {
        spans.push(span.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_words_are_offered_without_the_signs_around_them() {
        let spans = of("Find \"access denied\" in src/api, please!");
        for span in ["access denied", "src/api", "please", "in src/api"] {
            assert!(spans.iter().any(|known| known == span), "{span} in {spans:?}");
        }
        assert!(!spans.iter().any(|span| span == "please!" || span.starts_with("Find")), "{spans:?}");
    }

    #[test]
    fn a_long_text_gives_few_choices_and_an_empty_one_none() {
        let long: Vec<String> = (0..10_000).map(|number| format!("word{number}")).collect();
        let spans = of(&long.join(" "));
        assert_eq!(spans.len(), MOST);
        assert!(!spans.iter().any(|span| span.contains(' ')));
        assert!(of("").is_empty() && of("List").is_empty());
    }

    #[test]
    fn pasted_text_without_blanks_is_not_offered() {
        let pasted = "x".repeat(20_000);
        assert_eq!(of(&format!("Explain {pasted} please")), ["Explain", "please"]);
        assert!(of(&pasted).is_empty());
    }
}
