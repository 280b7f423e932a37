//! Whether sessions can be read: looked at once in a while, however often anybody asks.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long what was seen holds.
const HOLDS: Duration = Duration::from_secs(1);

/// What was seen last, and when. Those who ask while somebody looks wait for what is seen.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    seen: Mutex<Option<(Instant, bool)>>,
}

impl Probe {
    /// What was seen a moment ago; else what `look` sees now.
    pub(crate) async fn is_fine(&self, look: impl Future<Output = bool>) -> bool {
        let mut seen = self.seen.lock().await;
        if let Some((_, fine)) = seen.filter(|(at, _)| at.elapsed() < HOLDS) {
            return fine;
        }
        let fine = look.await;
        *seen = Some((Instant::now(), fine));
        fine
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn however_many_ask_one_looks_and_after_a_while_again() {
        let (probe, looks) = (Probe::default(), AtomicUsize::new(0));
        let look = || async {
            looks.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(HOLDS / 10).await;
            true
        };
        let asked = futures_util::future::join_all((0..100).map(|_| probe.is_fine(look()))).await;
        assert!(asked.into_iter().all(|fine| fine));
        assert_eq!(looks.load(Ordering::Relaxed), 1);
        tokio::time::advance(HOLDS).await;
        assert!(!probe.is_fine(async { false }).await);
        assert!(!probe.is_fine(look()).await, "it is known for a moment");
    }
}
