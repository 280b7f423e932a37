//! Reading from the left in a text that may still grow.

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Whatever follows, this is no call.
    No,
    /// What follows decides.
    More,
    /// The text is over before the call is.
    Cut,
}

/// What a reading step gives.
pub(super) type Read<T> = Result<T, Stop>;

/// A place in a text.
///
/// Every step is decided by the text before its end alone, so a text read in pieces and the same text
/// read whole come to the same result: a step either holds for every continuation or asks for more.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    ended: bool,
}

impl<'a> Cursor<'a> {
    /// The beginning of `text`; `ended` says that it will not grow.
    pub(super) fn new(text: &'a str, ended: bool) -> Self {
        Self { text, at: 0, ended }
    }

    /// How much was read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// What was read since `start`.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Everything from `start` on, read or not.
    pub(super) fn all_since(&self, start: usize) -> &'a str {
        self.text.get(start..).unwrap_or_default()
    }

    /// Moves on by `bytes`.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.text.len());
    }

    /// Goes to the end of the text.
    pub(super) fn skip_all(&mut self) {
        self.at = self.text.len();
    }

    /// The end of the known text was reached.
    pub(super) fn out(&self) -> Stop {
        if self.ended { Stop::Cut } else { Stop::More }
    }

    /// The next character.
    pub(super) fn peek(&self) -> Read<char> {
        self.rest().chars().next().ok_or_else(|| self.out())
    }

    /// Skips white space, line ends included.
    pub(super) fn space(&mut self) {
        self.skip(self.rest().len() - self.rest().trim_start().len());
    }

    /// True, and past it, when `word` comes next.
    pub(super) fn take(&mut self, word: &str) -> Read<bool> {
        let rest = self.rest();
        if rest.starts_with(word) {
            self.skip(word.len());
            return Ok(true);
        }
        if word.starts_with(rest) {
            return Err(self.out());
        }
        Ok(false)
    }

    /// Past `word`, which must come next.
    pub(super) fn expect(&mut self, word: &str) -> Read<()> {
        if self.take(word)? { Ok(()) } else { Err(Stop::No) }
    }

    /// Past the first of `words` that comes next, and which it was. An earlier word that might still come
    /// is waited for.
    pub(super) fn take_any(&mut self, words: &[&'static str]) -> Read<Option<&'static str>> {
        let mut waiting = None;
        for word in words {
            match self.take(word) {
                Ok(true) => return Ok(Some(word)),
                Ok(false) => {}
                Err(stop) => waiting = Some(stop),
            }
        }
        waiting.map_or(Ok(None), Err)
    }

    /// The text before the next `word`, and past it.
    pub(super) fn until(&mut self, word: &str) -> Read<&'a str> {
        let Some((before, _)) = self.rest().split_once(word) else { return Err(self.out()) };
        self.skip(before.len() + word.len());
        Ok(before)
    }

    /// A tool's name: letters, digits, `_`, `-`, `.` and `:`. May be empty.
    pub(super) fn name(&mut self) -> Read<&'a str> {
        let rest = self.rest();
        let part_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let name = rest.split(|c| !part_of_name(c)).next().unwrap_or_default();
        if name.len() == rest.len() {
            return Err(self.out());
        }
        self.skip(name.len());
        Ok(name)
    }
}
