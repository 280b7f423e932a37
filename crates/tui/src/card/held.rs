//! A letter that answers, held back until nothing follows it: whoever types a word means the word.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How long nothing must follow a letter that answers.
pub const HOLD: Duration = Duration::from_millis(250);

/// The words that answer as their first letter does.
const WORDS: [&str; 2] = ["yes", "no"];

/// The character that a key writes.
pub fn letter(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(c),
        _ => None,
    }
}

/// What was typed, and may be an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    keys: Vec<KeyEvent>,
    until: Instant,
}

impl Held {
    /// A letter that was just typed.
    pub fn new(key: KeyEvent, now: Instant) -> Self {
        Self { keys: vec![key], until: now + HOLD }
    }

    /// When nothing has followed it for long enough.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// One more key; true while that may become a word that answers.
    pub fn take(&mut self, key: KeyEvent, now: Instant) -> bool {
        self.keys.push(key);
        self.until = now + HOLD;
        let typed = self.typed();
        WORDS.iter().any(|word| word.starts_with(&typed))
    }

    /// What was typed.
    pub fn typed(&self) -> String {
        self.keys.iter().filter_map(|key| letter(*key)).collect()
    }

    /// The key that answers; nothing where the rest of the word is missing.
    pub fn answer(&self) -> Option<KeyEvent> {
        let is_whole = self.keys.len() == 1 || WORDS.contains(&self.typed().as_str());
        self.keys.first().copied().filter(|_| is_whole)
    }

    /// The keys, for whom they were meant.
    pub fn into_keys(self) -> Vec<KeyEvent> {
        self.keys
    }
}
