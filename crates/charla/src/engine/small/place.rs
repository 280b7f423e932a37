//! Where in a text a request points: a line counts by the words of the request that it has.

use std::collections::BTreeSet;

use serde_json::Value;

use super::conversation::Turn;

/// Words of requests that do not say what they are about.
const EMPTY: &str = "a about according also an and any are at be begin by called can change check could d did do does each end \
    every file files find first for from function functions get give has have heading how i in into is it its know last let \
    line lines ll long look m make many may me much must my need now of ok on or our out please pls print put re read s say \
    says section sections see set should show t tell that the there these this title to too turn up us use used uses value ve \
    want was we were what whats when where which who whom whose why will with would you your";
/// Characters of a longer word that tell it in its other forms.
const STEM: usize = 5;

/// What each line of a text weighs under a turn's request, without these words of it. A word that few lines have tells more.
pub(super) fn weights(turn: &Turn, text: &str, without: &str) -> Vec<f64> {
    let lines: Vec<Vec<String>> = text.lines().map(words).collect();
    let mut weights = vec![0.0; lines.len()];
    for stem in stems(turn, without) {
        let has = |line: &Vec<String>| line.iter().any(|word| is_form(word, &stem));
        let having: Vec<usize> = (0..lines.len()).filter(|at| has(&lines[*at])).collect();
        having.iter().for_each(|at| weights[*at] += 1.0 / having.len() as f64);
    }
    weights
}

/// True when a request says what it is about, and none of that stands in the text.
pub(super) fn points_nowhere(turn: &Turn, text: &str) -> bool {
    !stems(turn, "").is_empty() && weights(turn, text, "").iter().all(|weight| *weight == 0.0)
}

/// The beginnings of the words that say what a request is about; those of the calls, such as a file's name, do not count.
fn stems(turn: &Turn, without: &str) -> BTreeSet<String> {
    let called = turn.steps.iter().flat_map(|(call, _)| words(&Value::from(call.args.clone()).to_string()));
    let passed_over: BTreeSet<String> = called.chain(EMPTY.split_whitespace().map(str::to_owned)).collect();
    let without: BTreeSet<String> = words(without).iter().map(|word| stem(word)).collect();
    let about = words(&turn.said).into_iter().filter(|word| !passed_over.contains(word));
    about.map(|word| stem(&word)).filter(|stem| !without.contains(stem)).collect()
}

fn stem(word: &str) -> String {
    let short = word.strip_suffix('s').filter(|short| short.len() > 2).unwrap_or(word);
    short.chars().take(STEM).collect()
}

fn is_form(word: &str, stem: &str) -> bool {
    word == stem || (stem.len() > 1 && word.starts_with(stem))
}

/// The words of a text in small letters; `maxRetries` and `max_retries` are two.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase());
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}
