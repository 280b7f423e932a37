//! The rest of a word whose first letter was an answer: whoever types "yes" or "no" means nothing by what follows the letter.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};

/// How long the next letter may take.
const PAUSE: Duration = Duration::from_millis(500);

/// What may still be typed of such a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct RestOfWord {
    rest: &'static str,
    until: Option<Instant>,
}

impl RestOfWord {
    /// What may follow what was typed.
    pub fn behind(typed: &str, now: Instant) -> Self {
        let rest = match typed {
            "y" => "es",
            "n" => "o",
            "yes" | "no" => "",
            _ => return Self::default(),
        };
        Self { rest, until: Some(now + PAUSE) }
    }

    /// True when the key belongs to the word. Anything else ends it.
    pub fn takes(&mut self, key: KeyEvent, now: Instant) -> bool {
        let Some(until) = self.until.take() else { return false };
        let (mut letters, is_soon) = (self.rest.chars(), now < until);
        match key.code {
            // It ends the word, if there was more of it than the letter.
            KeyCode::Enter => is_soon && self.rest.is_empty(),
            KeyCode::Char(c) if is_soon && letters.next() == Some(c) => {
                *self = Self { rest: letters.as_str(), until: Some(now + PAUSE) };
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    fn key(c: char) -> KeyEvent {
        let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    /// What of the keys behind an answer goes elsewhere.
    fn left(answer: &str, keys: &str, pause: Duration) -> String {
        let now = Instant::now();
        let mut rest = RestOfWord::behind(answer, now);
        let times = (1..).map(|count| now + pause * count);
        keys.chars().zip(times).filter(|(c, now)| !rest.takes(key(*c), *now)).map(|(c, _)| c).collect()
    }

    #[test]
    fn the_rest_of_a_word_is_no_message() {
        let soon = Duration::from_millis(50);
        assert_eq!(left("n", "o\nwhy", soon), "why");
        assert_eq!(left("y", "es\n", soon), "");
        assert_eq!(left("y", "\n", soon), "\n");
        assert_eq!(left("n", "never", soon), "never");
        assert_eq!(left("n", "oh", soon), "h");
        assert_eq!(left("n", "o", Duration::from_secs(1)), "o");
        assert_eq!(left("a", "es", soon), "es");
        assert_eq!(left("yes", "\nes", soon), "es");
    }
}
