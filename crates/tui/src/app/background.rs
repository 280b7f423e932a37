//! What stands behind the text: the terminal is asked for its colour, and its answer is found among the keys.
//!
//! Terminals answer on the way that keys come (OSC 11), so that an answer looks like typing: Alt-], then characters. What
//! begins so is held until it is an answer or cannot be one; then it was typed, and goes its way.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::theme::Background;

/// Asks for the colour.
pub const QUESTION: &str = "\u{1b}]11;?\u{1b}\\";
/// How long after the question an answer is looked for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the next character of an answer may take.
const PIECE: Duration = Duration::from_millis(100);
/// What every answer begins with, and how long one can be.
const BEGINNING: &str = "11;rgb";
const LONGEST: usize = 40;
/// How many digits a colour's part has.
const DIGITS: RangeInclusive<u32> = 1..=4;

/// What a key was.
#[derive(Debug, PartialEq)]
pub enum Heard {
    /// Perhaps a part of an answer: it is held.
    Held,
    /// Typed, together with what was held before it.
    Typed(Vec<KeyEvent>),
    /// The end of the answer.
    Answer(Background),
}

/// Looks for the answer.
#[derive(Debug)]
pub struct Listening {
    until: Instant,
    held: Vec<KeyEvent>,
    last: Instant,
}

impl Listening {
    /// The question was asked just now.
    pub fn new(now: Instant) -> Self {
        Self { until: now + PATIENCE, held: Vec::new(), last: now }
    }

    /// True when no answer is expected any more.
    pub fn is_over(&self, now: Instant) -> bool {
        self.held.is_empty() && now >= self.until
    }

    /// When what is held counts as typed.
    pub fn gives_up_at(&self) -> Option<Instant> {
        (!self.held.is_empty()).then(|| self.last + PIECE)
    }

    /// What is held, as typed.
    pub fn give_up(&mut self) -> Vec<KeyEvent> {
        std::mem::take(&mut self.held)
    }

    /// Takes a key.
    pub fn take(&mut self, key: KeyEvent, now: Instant) -> Heard {
        self.held.push(key);
        self.last = now;
        let Some(text) = self.text() else { return Heard::Typed(self.give_up()) };
        let whole = text.strip_suffix('\u{7}').or_else(|| text.strip_suffix("\u{1b}\\"));
        match whole.map(colour) {
            Some(Some(background)) => {
                self.held.clear();
                Heard::Answer(background)
            }
            None if is_beginning(&text) => Heard::Held,
            _ => Heard::Typed(self.give_up()),
        }
    }

    /// What is held, as the terminal wrote it, behind `ESC ]`; nothing where it does not begin so.
    fn text(&self) -> Option<String> {
        let written: Option<String> = self.held.iter().map(written).collect();
        let written = written?;
        match written.as_str() {
            "\u{1b}" => Some(String::new()),
            written => written.strip_prefix("\u{1b}]").map(str::to_owned),
        }
    }
}

/// The bytes that a key came of.
fn written(key: &KeyEvent) -> Option<String> {
    match (key.code, key.modifiers.difference(KeyModifiers::SHIFT)) {
        (KeyCode::Esc, KeyModifiers::NONE) => Some("\u{1b}".to_owned()),
        (KeyCode::Char('g'), KeyModifiers::CONTROL) => Some("\u{7}".to_owned()),
        (KeyCode::Char(c), KeyModifiers::ALT) => Some(format!("\u{1b}{c}")),
        (KeyCode::Char(c), KeyModifiers::NONE) => Some(c.to_string()),
        _ => None,
    }
}

fn is_beginning(text: &str) -> bool {
    let body = text.strip_suffix('\u{1b}').unwrap_or(text);
    let is_colour = |c: char| c.is_ascii_hexdigit() || "a:/".contains(c);
    match body.strip_prefix(BEGINNING) {
        Some(rest) => rest.len() <= LONGEST && rest.chars().all(is_colour),
        None => body == text && BEGINNING.starts_with(body),
    }
}

/// The background of `11;rgb:RRRR/GGGG/BBBB`.
fn colour(text: &str) -> Option<Background> {
    let values = text.strip_prefix("11;rgb:").or_else(|| text.strip_prefix("11;rgba:"))?;
    let mut parts = values.split('/').map(|part| {
        let digits = u32::try_from(part.len()).ok().filter(|digits| DIGITS.contains(digits))?;
        let value = u32::from_str_radix(part, 16).ok()?;
        u8::try_from(value * 255 / (16_u32.pow(digits) - 1)).ok()
    });
    let mut next = || parts.next().flatten();
    Some(Background::of(next()?, next()?, next()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(c: char) -> KeyEvent {
        match c {
            '\u{1b}' => KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE),
            '\u{7}' => KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL),
            c => KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE),
        }
    }

    /// The keys of what a terminal writes; `ESC` and what follows may come in one or apart.
    fn keys(text: &str, apart: bool) -> Vec<KeyEvent> {
        let mut keys = Vec::new();
        let mut letters = text.chars();
        while let Some(c) = letters.next() {
            match (c, apart) {
                ('\u{1b}', false) => {
                    let next = letters.next().unwrap();
                    keys.push(KeyEvent::new(KeyCode::Char(next), KeyModifiers::ALT));
                }
                _ => keys.push(key(c)),
            }
        }
        keys
    }

    fn heard(keys: &[KeyEvent]) -> (Vec<KeyEvent>, Option<Background>) {
        let now = Instant::now();
        let mut listening = Listening::new(now);
        let (mut typed, mut answer) = (Vec::new(), None);
        for key in keys {
            match listening.take(*key, now) {
                Heard::Held => {}
                Heard::Typed(keys) => typed.extend(keys),
                Heard::Answer(background) => answer = Some(background),
            }
        }
        typed.extend(listening.give_up());
        (typed, answer)
    }

    #[test]
    fn answers_are_understood_however_they_come() {
        for (text, background) in [
            ("\u{1b}]11;rgb:1e1e/1e1e/2e2e\u{1b}\\", Background::Dark),
            ("\u{1b}]11;rgb:ffff/FFFF/ffff\u{7}", Background::Light),
            ("\u{1b}]11;rgb:ff/fa/e0\u{7}", Background::Light),
            ("\u{1b}]11;rgba:0000/0000/0000/ffff\u{1b}\\", Background::Dark),
        ] {
            for apart in [false, true] {
                assert_eq!(heard(&keys(text, apart)), (vec![], Some(background)), "{text:?} {apart}");
            }
        }
    }

    #[test]
    fn what_no_terminal_answers_was_typed() {
        for text in
            ["\u{1b}]11;rgb:fffffff/0/0\u{7}", "\u{1b}]11;rgb:ffffffff/0/0\u{7}", "\u{1b}]11;rgb://\u{7}"]
        {
            assert_eq!(heard(&keys(text, false)), (keys(text, false), None), "{text:?}");
        }
    }

    #[test]
    fn what_was_typed_before_and_after_an_answer_stays() {
        let all = [keys("ab", false), keys("\u{1b}]11;rgb:0/0/0\u{7}", false), keys("cd", false)].concat();
        let (typed, answer) = heard(&all);
        assert_eq!((typed, answer), (keys("abcd", false), Some(Background::Dark)));
    }

    proptest! {
        #[test]
        fn no_key_is_lost_that_is_no_answer(text in "(\u{1b}?[]1;rgb:/a\\\\\u{7}\u{1b}x]){0,30}") {
            let all = keys(&text, true);
            let (typed, answer) = heard(&all);
            if answer.is_none() {
                prop_assert_eq!(typed, all);
            }
        }
    }
}
