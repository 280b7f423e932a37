//! Many sessions on few threads, with a disk that takes its time.

use std::fs::File;
use std::io;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::*;
use crate::syncs::Syncs;

/// How long a sync waits for what the test wants to see before it fails the append.
const LONG: Duration = Duration::from_secs(30);

/// A disk that holds on to syncs.
struct SlowDisk {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl SlowDisk {
    const fn new() -> Self {
        Self { state: Mutex::new((0, false)), changed: Condvar::new() }
    }

    /// Waits until `count` syncs are here at once, or until the disk was let go.
    fn sync(&self, count: usize) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        let waiting = |state: &mut (usize, bool)| state.0 < count && !state.1;
        let (mut state, waited) = self.changed.wait_timeout_while(state, LONG, waiting).unwrap();
        if waited.timed_out() {
            state.1 = true;
            self.changed.notify_all();
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }

    fn let_go(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

fn slow_store(sync: fn(&File) -> io::Result<()>) -> (tempfile::TempDir, Store) {
    let (folder, mut store) = store();
    store.syncs = Syncs::with(sync);
    (folder, store)
}

async fn session(store: Store, id: String) -> Result<(), JournalError> {
    let mut owned = SessionStore::create(&store, &[first(&id)]).await?;
    owned.journal.append(&[prompt(2, "hello")]).await
}

#[test]
fn a_thousand_sessions_that_wait_for_the_disk_hold_up_nobody() {
    static DISK: SlowDisk = SlowDisk::new();
    // More descriptors than systems give by default.
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let (_folder, store) = slow_store(|_| DISK.sync(usize::MAX));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let sessions: Vec<_> =
        (0..1000).map(|n| runtime.spawn(session(store.clone(), format!("s{n}")))).collect();
    // The disk keeps every sync. Still all sessions write, clocks go on, and sessions can be listed and read.
    let others = runtime.spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let listed = SessionStore::list(&store).await.unwrap().sessions;
            if listed.iter().filter(|session| session.has_turns).count() == 1000 {
                return SessionStore::fold(&store, "s999").await.unwrap().seq;
            }
        }
    });
    assert_eq!(runtime.block_on(others).unwrap(), 2);
    assert!(
        sessions.iter().all(|session| !session.is_finished()),
        "nothing is acknowledged before it is durable"
    );
    DISK.let_go();
    for session in sessions {
        runtime.block_on(session).unwrap().unwrap();
    }
}

#[test]
fn sessions_wait_for_the_disk_side_by_side() {
    static DISK: SlowDisk = SlowDisk::new();
    let (_folder, store) = slow_store(|_| DISK.sync(8));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sessions: Vec<_> = (0..8).map(|n| runtime.spawn(session(store.clone(), format!("s{n}")))).collect();
    for session in sessions {
        runtime.block_on(session).unwrap().unwrap();
    }
}

/// Where there is one session, its own thread waits for the disk.
#[test]
fn one_session_alone_starts_no_threads_and_keeps_the_same() {
    thread_local!(static HERE: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
    let (_folder, mut store) = store();
    let counted: fn(&File) -> io::Result<()> = |_| {
        HERE.set(HERE.get() + 1);
        Ok(())
    };
    store.syncs = Syncs::with(counted);
    let store = store.alone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(session(store.clone(), "a".to_owned())).unwrap();
    assert!(HERE.get() > 0, "the disk was waited for elsewhere");
    let kept = runtime.block_on(SessionStore::own(&store, "a")).unwrap().conversation;
    assert_eq!(kept.seq, 2);
}
