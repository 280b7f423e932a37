//! Notices when a model says the same over and over.

/// A phrase that comes so often in a row is not meant.
const TIMES: usize = 3;
/// Bytes that a phrase has at least; shorter ones are rulers and indentation.
const SHORTEST: usize = 12;

/// The text of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Said(String);

impl Said {
    /// Adds more of it. True when it ends in a phrase that came three times in a row.
    pub(super) fn repeats_itself(&mut self, more: &str) -> bool {
        self.0.push_str(more);
        let text = self.0.as_bytes();
        (SHORTEST..=text.len() / TIMES).any(|length| {
            let mut phrases = text.rchunks_exact(length).take(TIMES);
            let Some(last) = phrases.next() else { return false };
            phrases.all(|phrase| phrase == last) && has_words(last)
        })
    }
}

fn has_words(phrase: &[u8]) -> bool {
    phrase.iter().filter(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()).count() >= SHORTEST / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeats(text: &str) -> bool {
        let mut said = Said::default();
        text.split_inclusive(' ').any(|piece| said.repeats_itself(piece))
    }

    #[test]
    fn a_phrase_three_times_in_a_row_is_noticed() {
        assert!(repeats(&"The sea is salty. ".repeat(3)));
        assert!(repeats(&format!("Well. {}", "je ne sais pas, ".repeat(4))));
        assert!(repeats(&"海是咸的。因为 ".repeat(3)));
    }

    #[test]
    fn rulers_tables_and_likeness_are_not() {
        assert!(!repeats(&"The sea is salty. ".repeat(2)));
        assert!(!repeats(&"-".repeat(200)));
        assert!(!repeats(&format!("{}|\n", "| --- ".repeat(20))));
        assert!(!repeats("one line of a list\ntwo line of a list\nthree line of a list\n"));
    }
}
