//! Not too many requests to one host.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const REQUESTS: usize = 10;
const WINDOW: Duration = Duration::from_secs(60);

/// Counts the requests of the last minute by host.
#[derive(Debug, Default)]
pub(super) struct Rates {
    hosts: Mutex<HashMap<String, VecDeque<Instant>>>,
}

impl Rates {
    /// Counts a request, or says how long to wait when there were too many.
    pub(super) fn take(&self, host: &str) -> Result<(), Duration> {
        let now = Instant::now();
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.retain(|_, times| {
            times.retain(|time| now.duration_since(*time) < WINDOW);
            !times.is_empty()
        });
        let times = hosts.entry(host.to_owned()).or_default();
        match times.front() {
            Some(first) if times.len() >= REQUESTS => Err(WINDOW - now.duration_since(*first)),
            _ => {
                times.push_back(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ten_a_minute_and_host() {
        let rates = Rates::default();
        assert!((0..10).all(|_| rates.take("a").is_ok()));
        assert_eq!(rates.take("a"), Err(WINDOW));
        assert_eq!(rates.take("b"), Ok(()));
        tokio::time::advance(WINDOW).await;
        assert_eq!(rates.take("a"), Ok(()));
    }
}
