//! A subscriber's end: every record once and in order, deltas while they keep up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::Record;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::SessionEvent;

/// How many records are kept for subscribers that lag; one that lags more reads the journal.
const KEPT: usize = 4096;

/// The last records, shared by the session and its subscribers. Locked only to push or copy pointers.
#[derive(Clone, Default)]
pub(super) struct Recent(Arc<Mutex<VecDeque<Arc<Record>>>>);

impl Recent {
    pub(super) fn push(&self, record: Arc<Record>) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() == KEPT {
            records.pop_front();
        }
        records.push_back(record);
    }

    fn after(&self, seq: u64) -> Vec<Arc<Record>> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let from = records.partition_point(|record| record.seq <= seq);
        records.range(from..).cloned().collect()
    }

    pub(super) fn last(&self) -> u64 {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.back().map_or(0, |record| record.seq)
    }
}

/// Receives a session's events.
pub struct Subscription {
    events: broadcast::Receiver<SessionEvent>,
    recent: Recent,
    waiting: VecDeque<SessionEvent>,
    seen: u64,
}

impl Subscription {
    pub(super) fn new(events: broadcast::Receiver<SessionEvent>, recent: Recent) -> Self {
        let seen = recent.last();
        Self { events, recent, waiting: VecDeque::new(), seen }
    }

    /// The next event; `None` when the session has ended. A subscriber that was too slow is told by
    /// [`SessionEvent::Missed`] that deltas are lost; records are not. Safe to drop and call again.
    pub async fn recv(&mut self) -> Option<SessionEvent> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            match self.events.recv().await {
                Ok(SessionEvent::Record(record)) if record.seq <= self.seen => {}
                Ok(SessionEvent::Record(record)) => {
                    self.seen = record.seq;
                    return Some(SessionEvent::Record(record));
                }
                Ok(event) => return Some(event),
                Err(RecvError::Lagged(_)) => {
                    self.waiting.push_back(SessionEvent::Missed);
                    for record in self.recent.after(self.seen) {
                        self.seen = record.seq;
                        self.waiting.push_back(SessionEvent::Record(record));
                    }
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
