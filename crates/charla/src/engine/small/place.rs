//! Where in a text a request points: a line counts by the words of the request that it and what it stands under have. The cells of
//! a row count like lines, by the heads of their columns.

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
/// So many lines at most are shown in place of an answer.
const FEW: usize = 3;
/// What a word counts in a value: requests name keys.
const IN_VALUE: f64 = 0.25;
/// Words of a line at most that may be a heading.
const HEADING: usize = 5;

/// A line, or a cell of a table.
pub(super) struct Line<'a> {
    /// Which line of the text it is, or stands in.
    pub(super) at: usize,
    pub(super) text: &'a str,
    /// The words of its key, of all of it where it sets no value.
    pub(super) key: Vec<String>,
    /// The words of what it stands under: lines that are indented less, the title of its section.
    pub(super) under: Vec<String>,
    /// The words of the name of the thing that it belongs to.
    pub(super) name: Vec<String>,
    /// The words of the value that it sets.
    pub(super) value: Vec<String>,
}

impl Line<'_> {
    /// What a word of a request counts here.
    fn share(&self, stem: &str, by_name: bool) -> f64 {
        let has = |words: &[String]| words.iter().any(|word| is_form(word, stem));
        let is_about = has(&self.key) || has(&self.under) || (by_name && has(&self.name));
        if is_about { 1.0 } else { f64::from(u8::from(has(&self.value))) * IN_VALUE }
    }
}

/// The lines of a text, weighed by a request.
pub(super) struct Place<'a> {
    pub(super) lines: Vec<Line<'a>>,
    weights: Vec<f64>,
    /// The request has words that say what it is about.
    is_told: bool,
}

impl<'a> Place<'a> {
    /// The lines of a text under a turn's request, without these words of it.
    pub(super) fn new(turn: &Turn, text: &'a str, without: &str) -> Self {
        Self::weighed(turn, lines(text), without)
    }

    pub(super) fn weighed(turn: &Turn, lines: Vec<Line<'a>>, without: &str) -> Self {
        let stems = stems(turn, without);
        // Where the request has words that stand nowhere, a name alone does not tell which of its lines is meant.
        let by_name = stems.iter().all(|stem| lines.iter().any(|line| line.share(stem, true) > 0.0));
        let mut weights = vec![0.0; lines.len()];
        for stem in &stems {
            let shares: Vec<f64> = lines.iter().map(|line| line.share(stem, by_name)).collect();
            // A word that few lines have tells more.
            let having = shares.iter().filter(|share| **share > 0.0).count().max(1) as f64;
            weights.iter_mut().zip(shares).for_each(|(weight, share)| *weight += share / having);
        }
        Self { lines, weights, is_told: !stems.is_empty() }
    }

    /// The lines of the text, the ones that the request points to most first.
    pub(super) fn ranked(&self) -> Vec<usize> {
        let mut ranked: Vec<usize> = (0..self.lines.len()).collect();
        ranked.sort_by(|one, other| self.weights[*other].total_cmp(&self.weights[*one]));
        ranked.into_iter().map(|place| self.lines[place].at).collect()
    }

    /// The weight of the line that the request points to most.
    pub(super) fn most(&self) -> f64 {
        self.weights.iter().copied().fold(0.0, f64::max)
    }

    /// The lines of the text that the request points to most; none where there are many of them.
    pub(super) fn best(&self) -> BTreeSet<usize> {
        let most = self.most();
        let is_best = |(_, weight): &(&Line<'_>, &f64)| most > 0.0 && **weight >= most;
        let best: BTreeSet<usize> =
            self.lines.iter().zip(&self.weights).filter(is_best).map(|(line, _)| line.at).collect();
        if best.len() > FEW { BTreeSet::new() } else { best }
    }

    /// The one of these lines that the request points to most.
    pub(super) fn find(&self, is_it: impl Fn(&Line<'_>) -> bool) -> Option<usize> {
        let found = (0..self.lines.len()).filter(|place| is_it(&self.lines[*place]));
        found.max_by(|one, other| self.weights[*one].total_cmp(&self.weights[*other]))
    }

    /// The same of those that say this, whatever stands around it.
    pub(super) fn find_text(&self, text: &str) -> Option<usize> {
        let wanted = bare(text);
        self.find(|line| bare(line.text) == wanted)
    }

    /// True when the request does not clearly point elsewhere, nor to another line with this key.
    pub(super) fn fits(&self, place: usize) -> bool {
        let (line, weight) = (&self.lines[place], self.weights[place]);
        let is_like = |other: &Line<'_>| !other.value.is_empty() && other.key == line.key;
        let like = self.lines.iter().zip(&self.weights).filter(|(other, _)| is_like(other));
        weight * 2.0 >= self.most()
            && (line.value.is_empty() || like.into_iter().all(|(_, other)| *other <= weight))
    }

    /// The same of a line that an answer names; where the request's words stand nowhere, a value is not what it asks for.
    pub(super) fn is_meant(&self, place: usize) -> bool {
        let is_known = self.most() > 0.0 || !self.is_told || self.lines[place].value.is_empty();
        is_known && self.fits(place)
    }
}

/// A line without its mark, its comma and how its words are spaced.
fn bare(line: &str) -> String {
    flat(line.trim().trim_start_matches(['-', '*', ' ']).trim_end_matches(','))
}

/// A text on one line: a sentence may be broken into lines.
pub(super) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginnings of the words that say what a request is about; those of the calls, such as a file's name, do not count.
fn stems(turn: &Turn, without: &str) -> BTreeSet<String> {
    let called = turn.steps.iter().flat_map(|(call, _)| words(&Value::from(call.args.clone()).to_string()));
    let passed_over: BTreeSet<String> = called.chain(EMPTY.split_whitespace().map(str::to_owned)).collect();
    let without: BTreeSet<String> = words(without).iter().map(|word| stem(word)).collect();
    let about = words(&turn.said).into_iter().filter(|word| !passed_over.contains(word));
    about.map(|word| stem(&word)).filter(|stem| !without.contains(stem)).collect()
}

pub(super) fn stem(word: &str) -> String {
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

/// The lines of a text that are not empty. The name of a thing is the value that comes first.
fn lines(text: &str) -> Vec<Line<'_>> {
    // What the next lines stand under, by its depth, and whether it is a name.
    let mut above = Vec::<(isize, bool, Vec<String>)>::new();
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (at, text) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let (key, value) = key_and_value(text);
        let (depth, before) = (depth(text), lines.last());
        let is_apart = before.is_none_or(|before| before.at + 1 < at);
        if text.starts_with(['[', '#', ';']) || (is_apart && is_heading(text)) {
            above = vec![(-1, false, key.clone())];
        }
        if begins_thing(before.map_or("", |before| before.text), text) {
            above.retain(|(over, is_name, _)| !is_name || *over < depth - 1);
            above.push((depth - 1, true, value.clone()));
        }
        above.retain(|(over, ..)| *over < depth);
        let words = |of_name: bool| {
            let above = above.iter().filter(|(_, is_name, _)| *is_name == of_name);
            above.flat_map(|(.., words)| words.clone()).collect()
        };
        lines.push(Line { at, text, under: words(false), name: words(true), key: key.clone(), value });
        above.push((depth, false, key));
    }
    lines
}

/// True for the first line of an item, or of what is indented under the line before.
fn begins_thing(before: &str, line: &str) -> bool {
    let is_item = |line: &str| line.trim_start().starts_with("- ");
    is_item(line) || before.starts_with("[[") || (depth(before) < depth(line) && !is_item(before))
}

fn depth(line: &str) -> isize {
    (line.len() - line.trim_start().len()).cast_signed()
}

/// The words of the key and of the value of a line that sets one: `port: 80`, `PORT=80`. Of others all is the key.
fn key_and_value(line: &str) -> (Vec<String>, Vec<String>) {
    let is_set = |(key, value): &(&str, &str)| {
        (1..=HEADING).contains(&key.split_whitespace().count()) && !value.trim().is_empty()
    };
    match line.split_once([':', '=']).filter(is_set) {
        Some((key, value)) => (words(key), words(value)),
        None => (words(line), Vec::new()),
    }
}

/// A few words alone on a line.
fn is_heading(line: &str) -> bool {
    let is_bare = !line.starts_with(' ') && !line.contains(['=', '|', ',', '.', ';']);
    is_bare && line.split_whitespace().count() <= HEADING
}
