//! How well a path suits what was typed.

/// A letter at the beginning of a word.
const BEGINS: i32 = 8;
/// A letter right behind the one before.
const FOLLOWS: i32 = 6;
/// A letter in the file's own name.
const IN_NAME: i32 = 3;
/// All that was typed, in one piece, at the beginning of the file's own name.
const NAME_BEGINS: i32 = 30;
/// A letter that is left out between two that suit.
const LEFT_OUT: i32 = 1;

/// What was typed, made ready for many paths. Case matters once a capital was typed.
pub struct Query {
    letters: Vec<u8>,
    exact: bool,
}

impl Query {
    pub fn new(typed: &str) -> Self {
        let exact = typed.chars().any(char::is_uppercase);
        Self { letters: typed.bytes().collect(), exact }
    }

    fn same(&self, letter: u8, wanted: u8) -> bool {
        if self.exact { letter == wanted } else { letter.eq_ignore_ascii_case(&wanted) }
    }

    /// Higher is better; nothing for a path that does not have the letters in their order.
    pub fn score(&self, path: &str) -> Option<i32> {
        let path = path.as_bytes();
        if self.letters.is_empty() {
            let depth = path.iter().filter(|byte| **byte == b'/').count();
            return i32::try_from(depth).ok().map(|depth| -depth);
        }
        let (start, end) = self.shortest(path)?;
        let name = name_start(path);
        // Where the letters also suit the name alone, the name is what was meant.
        let (start, end) = match start < name && !self.letters.contains(&b'/') {
            true => self
                .shortest(path.get(name..)?)
                .map_or((start, end), |(start, end)| (start + name, end + name)),
            false => (start, end),
        };
        Some(self.points(path, start, end, name))
    }

    /// The letters in their order: the first place where they end, and the last one from which they lead there.
    fn shortest(&self, path: &[u8]) -> Option<(usize, usize)> {
        let mut wanted = self.letters.iter();
        let mut next = wanted.next()?;
        let mut end = 0;
        loop {
            end += path.get(end..)?.iter().position(|letter| self.same(*letter, *next))? + 1;
            match wanted.next() {
                Some(letter) => next = letter,
                None => break,
            }
        }
        let mut start = end;
        for letter in self.letters.iter().rev() {
            start = path.get(..start)?.iter().rposition(|other| self.same(*other, *letter))?;
        }
        Some((start, end))
    }

    fn points(&self, path: &[u8], start: usize, end: usize, name: usize) -> i32 {
        let mut wanted = self.letters.iter().peekable();
        let (mut points, mut follows) = (0, false);
        for at in start..end {
            let letter = path.get(at).copied().unwrap_or_default();
            if wanted.next_if(|wanted| self.same(letter, **wanted)).is_some() {
                let before = at.checked_sub(1).and_then(|at| path.get(at).copied());
                points += i32::from(begins_word(before, letter)) * BEGINS;
                points += i32::from(follows) * FOLLOWS;
                points += i32::from(at >= name) * IN_NAME;
                follows = true;
            } else {
                points -= LEFT_OUT;
                follows = false;
            }
        }
        if start == name && end - start == self.letters.len() {
            points += NAME_BEGINS;
        }
        points
    }
}

/// Where the last part of a path begins; a folder ends with a slash of its own.
fn name_start(path: &[u8]) -> usize {
    let inner = path.strip_suffix(b"/").unwrap_or(path);
    inner.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1)
}

fn begins_word(before: Option<u8>, letter: u8) -> bool {
    match before {
        None => true,
        Some(before) => {
            b"/_-. ".contains(&before) || before.is_ascii_lowercase() && letter.is_ascii_uppercase()
        }
    }
}
