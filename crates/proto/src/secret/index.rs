//! The list by the letter an entry ends in: a path is compared with the few entries that end as it does.

use super::ends_in;
use super::list::{FILES, FOLDERS};

/// Entries in the order of their last letters.
pub(super) struct ByEnd<const N: usize>([Entry; N]);

/// An entry of the list.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    text: &'static str,
    /// It is one name, without a wildcard.
    plain: bool,
}

impl Entry {
    const fn of(text: &'static str) -> Self {
        let mut at = 0;
        while at < text.len() && !matches!(text.as_bytes()[at], b'*' | b'/') {
            at += 1;
        }
        Self { text, plain: at == text.len() }
    }

    const fn end(&self) -> u8 {
        match self.text.as_bytes().last() {
            Some(letter) => *letter,
            None => 0,
        }
    }

    /// True when the last parts of a path are those of the entry.
    pub(super) fn ends(&self, parts: &[&str]) -> bool {
        match self.plain {
            true => parts.last() == Some(&self.text),
            false => ends_in(parts, self.text),
        }
    }
}

pub(super) static FILES_BY_END: ByEnd<{ FILES.len() }> = ByEnd::of(FILES);
pub(super) static FOLDERS_BY_END: ByEnd<{ FOLDERS.len() }> = ByEnd::of(FOLDERS);

impl<const N: usize> ByEnd<N> {
    const fn of(entries: &[&'static str]) -> Self {
        let mut sorted = [Entry::of(""); N];
        let mut taken = 0;
        while taken < N {
            let (mut at, entry) = (taken, Entry::of(entries[taken]));
            while at > 0 && sorted[at - 1].end() > entry.end() {
                sorted[at] = sorted[at - 1];
                at -= 1;
            }
            sorted[at] = entry;
            taken += 1;
        }
        Self(sorted)
    }

    /// The entries that may match the name: those that end in its last letter, and those that end in any text.
    pub(super) fn may_match(&self, name: &str) -> impl Iterator<Item = &Entry> {
        const ANY: u8 = b'*';
        let letter = name.as_bytes().last().filter(|letter| **letter != ANY);
        let own = letter.map_or(&[][..], |letter| self.ending_in(*letter));
        own.iter().chain(self.ending_in(ANY))
    }

    fn ending_in(&self, letter: u8) -> &[Entry] {
        let from = self.0.partition_point(|entry| entry.end() < letter);
        let to = self.0.partition_point(|entry| entry.end() <= letter);
        self.0.get(from..to).unwrap_or_default()
    }
}
