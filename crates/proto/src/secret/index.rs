//! The list by the letter an entry ends in: a path is compared with the few entries that end as it does.

use super::list::{FILES, FOLDERS};

/// Entries in the order of their last letters.
pub(super) struct ByEnd<const N: usize>([&'static str; N]);

pub(super) static FILES_BY_END: ByEnd<{ FILES.len() }> = ByEnd::of(FILES);
pub(super) static FOLDERS_BY_END: ByEnd<{ FOLDERS.len() }> = ByEnd::of(FOLDERS);

impl<const N: usize> ByEnd<N> {
    const fn of(entries: &[&'static str]) -> Self {
        let mut sorted = [""; N];
        let mut taken = 0;
        while taken < N {
            let mut at = taken;
            while at > 0 && end(sorted[at - 1]) > end(entries[taken]) {
                sorted[at] = sorted[at - 1];
                at -= 1;
            }
            sorted[at] = entries[taken];
            taken += 1;
        }
        Self(sorted)
    }

    /// The entries that may match the name: those that end in its last letter, and those that end in any text.
    pub(super) fn may_match(&self, name: &str) -> impl Iterator<Item = &'static str> {
        const ANY: u8 = b'*';
        let letter = name.as_bytes().last().filter(|letter| **letter != ANY);
        let own = letter.map_or(&[][..], |letter| self.ending_in(*letter));
        own.iter().chain(self.ending_in(ANY)).copied()
    }

    fn ending_in(&self, letter: u8) -> &[&'static str] {
        let from = self.0.partition_point(|entry| end(entry) < letter);
        let to = self.0.partition_point(|entry| end(entry) <= letter);
        self.0.get(from..to).unwrap_or_default()
    }
}

const fn end(entry: &str) -> u8 {
    match entry.as_bytes().last() {
        Some(letter) => *letter,
        None => 0,
    }
}
