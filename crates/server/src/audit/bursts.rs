//! Attempts to sign in that are refused unheard: counted, so that the log tells of all of them in one entry for each burst.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Entry;

/// A burst is over when nothing more came for this long.
const QUIET: Duration = Duration::from_secs(10);
/// One that does not end is told of as often as this.
const LONGEST: Duration = Duration::from_secs(60);
/// From how many addresses bursts are told apart at once.
const APART: usize = 1024;
/// Where the others come from.
const ELSEWHERE: &str = "other addresses";

/// From where, and what was wanted.
type Key = (String, String);

/// Bursts that are not in the log yet.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    open: Mutex<HashMap<Key, Burst>>,
}

/// What was refused one after the other.
#[derive(Debug)]
pub(super) struct Burst {
    key: Key,
    /// The first of them.
    first: Entry,
    refused: u64,
    since: Instant,
    last: Instant,
}

impl Burst {
    /// As the log tells it.
    pub(super) fn entry(&self) -> Entry {
        let mut entry = self.first.clone();
        entry.about.insert("refused".to_owned(), self.refused.into());
        entry
    }

    fn is_over(&self, now: Instant) -> bool {
        let quiet = now.saturating_duration_since(self.last) >= QUIET;
        quiet || now.saturating_duration_since(self.since) >= LONGEST
    }
}

impl Bursts {
    fn open(&self) -> MutexGuard<'_, HashMap<Key, Burst>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one that was refused; `from` is the address or the network that its burst is known by.
    pub(super) fn count(&self, from: &str, entry: Entry, now: Instant) {
        let mut open = self.open();
        let key = (from.to_owned(), entry.what.clone());
        let (key, entry) = match open.len() < APART || open.contains_key(&key) {
            true => (key, entry),
            false => ((ELSEWHERE.to_owned(), key.1), Entry { from: ELSEWHERE.to_owned(), ..entry }),
        };
        let burst =
            open.entry(key.clone()).or_insert(Burst { key, first: entry, refused: 0, since: now, last: now });
        burst.refused += 1;
        burst.last = now;
    }

    /// Takes those out that are over.
    pub(super) fn take_over(&self, now: Instant) -> Vec<Burst> {
        self.open().extract_if(|_, burst| burst.is_over(now)).map(|(_, burst)| burst).collect()
    }

    /// Takes all of them out, when the server ends.
    pub(super) fn take_all(&self) -> Vec<Burst> {
        self.open().drain().map(|(_, burst)| burst).collect()
    }

    /// Keeps one that could not be written.
    pub(super) fn put_back(&self, burst: Burst) {
        let mut open = self.open();
        let refused = burst.refused;
        let known = open.entry(burst.key.clone()).or_insert(Burst { refused: 0, ..burst });
        known.refused += refused;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn entry(from: &str) -> Entry {
        Entry { who: String::new(), from: from.into(), what: "sign_in".into(), about: Map::new() }
    }

    fn told(bursts: &[Burst]) -> Vec<(String, u64)> {
        let told = bursts.iter().map(Burst::entry);
        told.map(|entry| (entry.from, entry.about["refused"].as_u64().unwrap())).collect()
    }

    #[test]
    fn a_burst_is_one_entry_with_its_number_once_it_is_over() {
        let (bursts, start) = (Bursts::default(), Instant::now());
        (0..5).for_each(|_| bursts.count("a", entry("a"), start));
        bursts.count("b", entry("b"), start + QUIET / 2);
        assert!(bursts.take_over(start + QUIET / 2).is_empty());
        assert_eq!(told(&bursts.take_over(start + QUIET)), [("a".to_owned(), 5)]);
        assert_eq!(told(&bursts.take_all()), [("b".to_owned(), 1)]);
        assert!(bursts.take_all().is_empty());
    }

    #[test]
    fn one_that_does_not_end_is_told_of_all_the_same_and_one_that_is_not_written_is_not_lost() {
        let (bursts, start) = (Bursts::default(), Instant::now());
        (0..=60).for_each(|second| bursts.count("a", entry("a"), start + Duration::from_secs(second)));
        let over = bursts.take_over(start + LONGEST);
        assert_eq!(told(&over), [("a".to_owned(), 61)]);
        bursts.count("a", entry("a"), start + LONGEST);
        over.into_iter().for_each(|burst| bursts.put_back(burst));
        assert_eq!(told(&bursts.take_all()), [("a".to_owned(), 62)]);
    }

    #[test]
    fn however_many_addresses_there_are_few_are_told_apart_and_all_are_counted() {
        let (bursts, now) = (Bursts::default(), Instant::now());
        (0..3 * APART).for_each(|number| bursts.count(&number.to_string(), entry("x"), now));
        let told = told(&bursts.take_all());
        assert!(told.len() <= APART + 1, "{}", told.len());
        assert_eq!(told.iter().map(|(_, refused)| refused).sum::<u64>(), 3 * APART as u64);
    }
}
