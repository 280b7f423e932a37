//! What the server counts, in the text form that Prometheus reads.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Answers by the first digit of their status.
    answers: [AtomicU64; 6],
    connections: Arc<AtomicU64>,
    streams: Arc<AtomicU64>,
}

/// One more of something that is open. Dropped, one less.
pub(crate) struct Open(Arc<AtomicU64>);

impl Open {
    fn of(count: &Arc<AtomicU64>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(crate) fn connection(&self) -> Open {
        Open::of(&self.connections)
    }

    pub(crate) fn stream(&self) -> Open {
        Open::of(&self.streams)
    }

    pub(crate) fn answered(&self, status: u16) {
        if let Some(count) = self.answers.get(usize::from(status / 100)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All counts, with those that are known elsewhere.
    pub(crate) fn text(&self, running: usize, waiting: usize) -> String {
        let mut text = String::from("# TYPE charla_http_responses_total counter\n");
        for (class, count) in self.answers.iter().enumerate().skip(1) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(text, "charla_http_responses_total{{class=\"{class}xx\"}} {count}");
        }
        let gauges = [
            ("charla_http_connections", self.connections.load(Ordering::Relaxed)),
            ("charla_event_streams", self.streams.load(Ordering::Relaxed)),
            ("charla_sessions_running", running as u64),
            ("charla_approvals_waiting", waiting as u64),
        ];
        for (name, value) in gauges {
            let _ = writeln!(text, "# TYPE {name} gauge\n{name} {value}");
        }
        text
    }
}
