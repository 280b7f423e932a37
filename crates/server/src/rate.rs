//! How often somebody may ask: a bucket for each, which fills with time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How many are remembered; above that, those whose bucket is full are forgotten.
const REMEMBERED: usize = 4096;

/// A limit for each of many.
pub(crate) struct Rate<K> {
    burst: f64,
    per_second: f64,
    buckets: Mutex<HashMap<K, (f64, Instant)>>,
}

impl<K: Eq + Hash> Rate<K> {
    /// At most `burst` at once and `per_second` on average.
    pub(crate) fn new(burst: f64, per_second: f64) -> Self {
        Self { burst, per_second, buckets: Mutex::default() }
    }

    /// Takes one, if there is one.
    pub(crate) fn take(&self, who: K, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = |left: f64, since: Instant| {
            (left + now.saturating_duration_since(since).as_secs_f64() * self.per_second).min(self.burst)
        };
        if buckets.len() >= REMEMBERED {
            buckets.retain(|_, (left, since)| filled(*left, *since) < self.burst);
        }
        let (left, since) = buckets.entry(who).or_insert((self.burst, now));
        *left = filled(*left, *since);
        *since = now;
        let enough = *left >= 1.0;
        if enough {
            *left -= 1.0;
        }
        enough
    }

    /// Puts one back that was taken and does not count.
    pub(crate) fn give_back(&self, who: &K) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((left, _)) = buckets.get_mut(who) {
            *left = (*left + 1.0).min(self.burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_with_time_for_each_alone() {
        let rate = Rate::new(2.0, 1.0);
        let start = Instant::now();
        assert_eq!([(); 3].map(|()| rate.take("a", start)), [true, true, false]);
        assert!(rate.take("b", start));
        assert!(rate.take("a", start + Duration::from_secs(1)));
        assert!(!rate.take("a", start + Duration::from_secs(1)));
        rate.give_back(&"a");
        rate.give_back(&"nobody");
        assert!(rate.take("a", start + Duration::from_secs(1)));
        let later = start + Duration::from_secs(60);
        assert_eq!([(); 3].map(|()| rate.take("a", later)), [true, true, false]);
    }
}
