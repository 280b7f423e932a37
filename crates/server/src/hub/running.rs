//! A session that runs here, and who looks at it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use charla::{Notice, OpenedSession};
use charla_proto::{CancelTarget, Command, Phase};

/// How long a session stays open here when nobody looks at it and nothing runs.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// How often it is looked whether a session that is stopped rests.
const LOOK: Duration = Duration::from_millis(50);
/// Who stops the sessions of somebody who may ask nothing any more.
const ADMIN: &str = "admin";

/// A session that runs here.
pub(crate) struct Running {
    pub(crate) session: OpenedSession,
    /// What was said while it was opened.
    pub(crate) notices: Vec<String>,
    watchers: AtomicUsize,
    used: Mutex<Instant>,
    is_stopped: AtomicBool,
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
            is_stopped: AtomicBool::new(false),
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

    /// Ends it now, in a task of its own.
    pub(super) fn stop(self: &Arc<Self>, user: &str) {
        if !self.is_stopped.swap(true, Ordering::Relaxed) {
            let (running, user) = (self.clone(), user.to_owned());
            tokio::spawn(async move { running.stopped(&user).await });
        }
    }

    /// Withdraws what waits and stops what runs, again as long as something was let in meanwhile: a session that is only closed says
    /// first what waits.
    async fn stopped(&self, user: &str) {
        while let Some((snapshot, _)) = self.session.handle.snapshot().await {
            for queued in snapshot.queue {
                self.cancel(CancelTarget::Prompt(queued.id), ADMIN).await;
            }
            self.cancel(CancelTarget::Turn, ADMIN).await;
            // With the calls that the user makes themselves.
            self.cancel(CancelTarget::Mine, user).await;
            if self.rests().await {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        self.session.close().await;
    }

    async fn cancel(&self, target: CancelTarget, by: &str) {
        // Refused, it is over already.
        let _ = self.session.send(Command::Cancel { target }, by).await;
    }
}
