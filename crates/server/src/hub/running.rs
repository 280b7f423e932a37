//! A session that runs here, and who looks at it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use charla::{Notice, OpenedSession};
use charla_proto::Phase;

/// How long a session stays open here when nobody looks at it and nothing runs.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// A session that runs here.
pub(crate) struct Running {
    pub(crate) session: OpenedSession,
    /// What was said while it was opened.
    pub(crate) notices: Vec<String>,
    watchers: AtomicUsize,
    used: Mutex<Instant>,
}

/// Somebody looks at a session. Dropped, they no longer do.
pub(crate) struct Watcher(Arc<Running>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.touch();
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Running {
    pub(super) fn new(session: OpenedSession, notices: &[Notice]) -> Self {
        let notices = notices.iter().map(|notice| notice.text.clone()).filter(|text| !text.is_empty());
        Self {
            session,
            notices: notices.collect(),
            watchers: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn watch(self: &Arc<Self>) -> Watcher {
        self.watchers.fetch_add(1, Ordering::Relaxed);
        Watcher(self.clone())
    }

    /// Whether somebody looks at it, and when it was used last: what is least of all goes first.
    pub(super) fn last_use(&self) -> (bool, Instant) {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        (self.watchers.load(Ordering::Relaxed) > 0, used)
    }

    pub(super) async fn is_idle(&self) -> bool {
        let (watched, used) = self.last_use();
        !watched && used.elapsed() >= IDLE && self.rests().await
    }

    /// True while nothing of it runs or waits for somebody.
    pub(super) async fn rests(&self) -> bool {
        let phase = self.session.handle.snapshot().await.map(|(snapshot, _)| snapshot.phase);
        matches!(phase, None | Some(Phase::Idle | Phase::Open))
    }
}
