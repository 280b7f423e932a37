//! Where in a text a request points: a line counts by the words of the request that it and what it stands under have.

use std::collections::BTreeSet;

use serde_json::Value;

use super::conversation::Turn;

/// Words of requests that do not say what they are about.
const EMPTY: &str = "a about according also an and any are at be begin by called can change check could did do does each end \
    every file files find first for from function functions get give has have heading how i in into is it its know last let \
    line lines long look make many may me much must my need now of ok on or our out please pls print put read say says section \
    sections see set should show tell that the there these this title to too turn up us use used uses value want was we were \
    what whats when where which who whom whose why will with would you your";
/// Characters of a longer word that tell it in its other forms.
const STEM: usize = 5;
/// So many lines at most are shown in place of an answer.
const FEW: usize = 3;
/// What a word counts in a value: requests name keys.
const IN_VALUE: f64 = 0.25;
/// Words of a line at most that may be a heading.
const HEADING: usize = 5;

/// A text's lines, weighed by a request.
pub(super) struct Place<'a> {
    lines: Vec<&'a str>,
    weights: Vec<f64>,
}

impl<'a> Place<'a> {
    /// The lines of a text under a turn's request, without these words of it.
    pub(super) fn new(turn: &Turn, text: &'a str, without: &str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let stems = stems(turn, without);
        let known = words(text);
        let is_known = |stem: &String| known.iter().any(|word| word.starts_with(stem.as_str()));
        // Where the request has words that stand nowhere, a name alone does not tell which of its lines is meant.
        let contexts = contexts(&lines, stems.iter().all(is_known));
        let mut weights = vec![0.0; lines.len()];
        for stem in stems {
            let has = |words: &[String]| words.iter().any(|word| word.starts_with(&stem));
            let share = |(at, context): (usize, &Vec<String>)| {
                let value = value_of(lines[at]).map(words).unwrap_or_default();
                match (has(context), has(&value)) {
                    (true, _) => Some((at, 1.0)),
                    (false, true) => Some((at, IN_VALUE)),
                    (false, false) => None,
                }
            };
            let having: Vec<(usize, f64)> = contexts.iter().enumerate().filter_map(share).collect();
            for (at, share) in &having {
                // A word that few lines have tells more.
                weights[*at] += share / having.len() as f64;
            }
        }
        Self { lines, weights }
    }

    pub(super) fn weight(&self, at: usize) -> f64 {
        self.weights.get(at).copied().unwrap_or_default()
    }

    /// The weight of the line that the request points to most.
    pub(super) fn most(&self) -> f64 {
        self.weights.iter().copied().fold(0.0, f64::max)
    }

    /// The lines that the request points to most; none where there are many of them.
    pub(super) fn best(&self) -> Vec<&'a str> {
        let most = self.most();
        let is_best = |(_, weight): &(&&str, &f64)| most > 0.0 && **weight >= most;
        let best: Vec<&str> =
            self.lines.iter().zip(&self.weights).filter(is_best).map(|(line, _)| line.trim()).collect();
        if best.len() > FEW { Vec::new() } else { best }
    }

    /// The place of a line, whatever stands around it: where there are several, the one that the request points to most.
    pub(super) fn find(&self, line: &str) -> Option<usize> {
        let wanted = bare(line);
        let found = (0..self.lines.len()).filter(|at| bare(self.lines[*at]) == wanted);
        found.max_by(|one, other| self.weight(*one).total_cmp(&self.weight(*other)))
    }

    /// True when the request does not clearly point elsewhere, nor to another line with this key.
    pub(super) fn fits(&self, at: usize) -> bool {
        let key = key_of(self.lines[at]);
        let like = (0..self.lines.len()).filter(|other| key.is_some() && key_of(self.lines[*other]) == key);
        self.weight(at) * 2.0 >= self.most()
            && like.fold(0.0, |most, other| self.weight(other).max(most)) <= self.weight(at)
    }
}

/// A line without its mark, its comma and how its words are spaced.
fn bare(line: &str) -> String {
    let line = line.trim().trim_start_matches(['-', '*', ' ']).trim_end_matches(',');
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginnings of the words that say what a request is about; those of the calls, such as a file's name, do not count.
pub(super) fn stems(turn: &Turn, without: &str) -> BTreeSet<String> {
    let called = turn.steps.iter().flat_map(|step| words(&Value::from(step.call.args.clone()).to_string()));
    let passed_over: BTreeSet<String> = called.chain(EMPTY.split_whitespace().map(str::to_owned)).collect();
    let without: BTreeSet<String> = words(without).iter().map(|word| stem(word)).collect();
    let about = words(&turn.said).into_iter().filter(|word| !passed_over.contains(word));
    about.map(|word| stem(&word)).filter(|stem| stem.len() > 1 && !without.contains(stem)).collect()
}

fn stem(word: &str) -> String {
    let short = word.strip_suffix('s').filter(|short| short.len() > 2).unwrap_or(word);
    short.chars().take(STEM).collect()
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

/// For each line its words and those of what it stands under: lines that are indented less, the title of its section, and the
/// name of the thing that it belongs to, which is the value that comes first.
fn contexts(lines: &[&str], with_names: bool) -> Vec<Vec<String>> {
    let (mut title, mut above) = (Vec::new(), Vec::<(usize, Vec<String>)>::new());
    let (mut name, mut before) = ((0, Vec::new()), "");
    let mut contexts = vec![Vec::new(); lines.len()];
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let own = key_of(line).unwrap_or_else(|| words(line));
        if line.starts_with(['[', '#', ';']) || is_heading(lines, at) {
            above.clear();
            title.clone_from(&own);
            name.1.clear();
        }
        if depth(line) < name.0 {
            name.1.clear();
        }
        if with_names && begins_thing(before, line) {
            name = (depth(line), words(value_of(line).unwrap_or_default()));
        }
        above.retain(|(over, _)| *over < depth(line));
        let around = above.iter().flat_map(|(_, words)| words).chain(&title).chain(&name.1);
        contexts[at] = around.chain(&own).cloned().collect();
        above.push((depth(line), own));
        before = line;
    }
    contexts
}

/// True for the first line of an item, or of what is indented under the line before.
fn begins_thing(before: &str, line: &str) -> bool {
    let is_item = |line: &str| line.trim_start().starts_with("- ");
    is_item(line) || before.starts_with("[[") || (depth(before) < depth(line) && !is_item(before))
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The words of a line's key.
fn key_of(line: &str) -> Option<Vec<String>> {
    value_of(line).and_then(|value| line.strip_suffix(value)).map(words)
}

/// The value of a line that sets one: `port: 80`, `PORT=80`.
pub(super) fn value_of(line: &str) -> Option<&str> {
    let (key, value) = line.split_once([':', '='])?;
    let is_key = (1..=HEADING).contains(&key.split_whitespace().count());
    (is_key && !value.trim().is_empty()).then_some(value)
}

/// A few words alone on a line after an empty one.
fn is_heading(lines: &[&str], at: usize) -> bool {
    let is_first =
        at.checked_sub(1).and_then(|above| lines.get(above)).is_none_or(|line| line.trim().is_empty());
    let is_bare = |line: &&str| !line.starts_with(' ') && !line.contains(['=', '|', ',', '.', ';']);
    is_first && lines.get(at).is_some_and(|line| is_bare(line) && line.split_whitespace().count() <= HEADING)
}
