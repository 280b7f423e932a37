//! What the server counts, in the text form that Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Answers by the first digit of their status.
    answers: [AtomicU64; 6],
    connections: Arc<AtomicU64>,
    streams: Arc<AtomicU64>,
    /// By user and model.
    spent: Mutex<BTreeMap<(String, String), Spent>>,
}

/// What answers cost.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    input: u64,
    output: u64,
    usd: f64,
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

    /// Counts what an answer cost: tokens that were read, and written.
    pub(crate) fn spent(&self, user: &str, model: &str, [input, output]: [u64; 2], usd: f64) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = spent.entry((user.to_owned(), model.to_owned())).or_default();
        spent.input = spent.input.saturating_add(input);
        spent.output = spent.output.saturating_add(output);
        spent.usd += usd;
    }

    fn spendings(&self, text: &mut String) {
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str("# TYPE charla_tokens_total counter\n# TYPE charla_cost_usd_total counter\n");
        for ((user, model), Spent { input, output, usd }) in spent.iter() {
            let who = format!("user=\"{}\",model=\"{}\"", label(user), label(model));
            let _ = writeln!(text, "charla_tokens_total{{{who},kind=\"input\"}} {input}");
            let _ = writeln!(text, "charla_tokens_total{{{who},kind=\"output\"}} {output}");
            let _ = writeln!(text, "charla_cost_usd_total{{{who}}} {usd}");
        }
    }

    /// All counts, with those that are known elsewhere, where they are.
    pub(crate) fn text(&self, running: usize, waiting: Option<usize>) -> String {
        let mut text = String::from("# TYPE charla_http_responses_total counter\n");
        for (class, count) in self.answers.iter().enumerate().skip(1) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(text, "charla_http_responses_total{{class=\"{class}xx\"}} {count}");
        }
        let gauges = [
            ("charla_http_connections", Some(self.connections.load(Ordering::Relaxed))),
            ("charla_event_streams", Some(self.streams.load(Ordering::Relaxed))),
            ("charla_sessions_running", Some(running as u64)),
            ("charla_approvals_waiting", waiting.map(|waiting| waiting as u64)),
        ];
        for (name, value) in gauges.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            let _ = writeln!(text, "# TYPE {name} gauge\n{name} {value}");
        }
        self.spendings(&mut text);
        text
    }
}

/// A text as a label's value.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
