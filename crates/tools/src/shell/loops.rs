//! Loops over words that are written out: `for b in main next; do git log "$b"; done`.
//!
//! Their variable is the one kind whose values are known before the line runs, as long as nothing else sets it.

use charla_proto::{Effect, Word};

use super::syntax::{RawWord, Simple};

/// A command that would be listed more often is left as it is written.
const MOST: usize = 32;

/// A loop's variable, and the values that it takes.
pub(super) struct Loop {
    name: String,
    values: Vec<Word>,
}

/// A variable with one of its values.
pub(super) type Binding<'a> = (&'a str, &'a Word);

impl Loop {
    /// Absent where a value is only known to the shell.
    pub(super) fn new(name: &str, values: Vec<Word>) -> Option<Self> {
        // In a word that is not quoted, a value is split and matched again.
        let whole = |c: char| c.is_ascii_alphanumeric() || "_-./~^@:=%+,".contains(c);
        let plain =
            |word: &Word| word.known().is_some_and(|text| !text.is_empty() && text.chars().all(whole));
        let listed = (1..=MOST).contains(&values.len()) && values.iter().all(plain);
        listed.then(|| Self { name: name.to_owned(), values })
    }

    /// True for a word that is this variable and nothing else.
    fn is_meant_by(&self, word: &RawWord) -> bool {
        let bare = word.source.trim_matches('"');
        let quotes = word.source.len() - bare.len();
        let name = bare.strip_prefix('$').unwrap_or_default();
        let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
        matches!(quotes, 0 | 2) && name == self.name
    }
}

/// Every way to give the variables values that a command uses; one without any where it uses none, or too many.
pub(super) fn bindings<'a>(loops: &'a [Loop], simple: &Simple) -> Vec<Vec<Binding<'a>>> {
    let mut all: Vec<Vec<Binding<'a>>> = vec![Vec::new()];
    for (index, known) in loops.iter().enumerate() {
        let inner = loops.iter().skip(index + 1).any(|other| other.name == known.name);
        if inner || !simple.words.iter().any(|word| known.is_meant_by(word)) {
            continue;
        }
        let with = |begun: &Vec<Binding<'a>>, value: &'a Word| {
            let mut bound = begun.clone();
            bound.push((&known.name, value));
            bound
        };
        all = all.iter().flat_map(|begun| known.values.iter().map(|value| with(begun, value))).collect();
        if all.len() > MOST {
            return vec![Vec::new()];
        }
    }
    all
}

/// The value of a word that is a bound variable.
pub(super) fn bound(word: &RawWord, bindings: &[Binding<'_>]) -> Option<Word> {
    let meant =
        |(name, _): &&Binding<'_>| Loop { name: (*name).to_owned(), values: Vec::new() }.is_meant_by(word);
    bindings.iter().find(meant).map(|(_, value)| (*value).clone())
}

/// True when nothing but the loops themselves sets the variables of `loops`, by the effects of the whole line.
pub(super) fn are_settled(loops: &[String], effects: &[Effect]) -> bool {
    let sets = |name: &String| {
        let own = |effect: &&Effect| matches!(effect, Effect::Env { name: set, .. } if set == name);
        effects.iter().filter(own).count() > loops.iter().filter(|other| *other == name).count()
    };
    let unsets = |effect: &Effect| match effect {
        Effect::Exec { words, .. } => words.first().and_then(Word::known) == Some("unset"),
        _ => false,
    };
    !loops.iter().any(sets) && (loops.is_empty() || !effects.iter().any(unsets))
}
