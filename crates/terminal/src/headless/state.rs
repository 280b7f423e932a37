//! What is known of a run so far.

use charla::Stats;
use charla::models::Prices;
use charla::session::bare_json;
use charla_proto::{CompressionReport, CompressionStatus, CompressionTrigger, FinishReason, TurnEnd};
use serde_json::{Value, json};

use super::sources::Sources;

/// How a turn was stopped.
pub(super) struct Stopped {
    pub end: TurnEnd,
    /// In words.
    pub why: String,
}

/// What every renderer knows of the run.
pub(super) struct RunState {
    pub session_id: String,
    /// `provider/model` asked for; empty until it is known.
    pub model: String,
    /// The answer of the current attempt.
    pub text: String,
    /// The answer was asked for as JSON: what stands around it is left out.
    pub wants_json: bool,
    /// Why the answer ended.
    pub finish_reason: Option<FinishReason>,
    /// How the turn was stopped before its answer was good.
    pub stopped: Option<Stopped>,
    /// What the answer rests on.
    pub sources: Sources,
    /// Calls that nobody was there to approve: what they would have done, and whether that is an edit.
    pub unapproved: Vec<(String, bool)>,
    /// What came of compressions.
    pub compressions: Vec<CompressionReport>,
    /// A summary is on its way.
    summing: bool,
    pub stats: Stats,
    /// What that costs.
    pub prices: Prices,
}

impl RunState {
    /// Nothing has happened yet.
    pub fn new(session_id: String) -> Self {
        Self {
            session_id,
            model: String::new(),
            text: String::new(),
            wants_json: false,
            finish_reason: None,
            stopped: None,
            sources: Sources::default(),
            unapproved: Vec::new(),
            compressions: Vec::new(),
            summing: false,
            stats: Stats::default(),
            prices: Prices::default(),
        }
    }

    /// True where what was said last is, or holds, one JSON value.
    pub fn has_json(&self) -> bool {
        serde_json::from_str::<Value>(bare_json(&self.text)).is_ok()
    }

    /// A summary is asked for.
    pub fn summary_begins(&mut self) {
        // Another one began before this one was told to have ended: this one failed.
        if std::mem::replace(&mut self.summing, true) {
            self.stats.failed();
        }
    }

    /// A summary is a request like any other; what else a report tells of cost nothing.
    pub fn summary_ended(&mut self, report: &CompressionReport) {
        if std::mem::take(&mut self.summing) {
            match report.status {
                CompressionStatus::Failed | CompressionStatus::Cancelled => self.stats.failed(),
                _ => self.stats.answered(report.usage.as_ref()),
            }
        }
        self.compressions.push(report.clone());
    }

    /// The turn was stopped, and how: no failure where hooks did it, but no answer either.
    pub fn tell_stop(&self, document: &mut Value) {
        if let (Some(Stopped { end, why }), Some(fields)) = (&self.stopped, document.as_object_mut()) {
            fields.insert("stopped".to_owned(), json!(end));
            fields.insert("reason".to_owned(), json!(why));
        }
    }

    /// The run was asked to compress or restore: no model is asked for an answer.
    pub fn is_about_compression(&self) -> bool {
        self.compressions.last().is_some_and(|report| report.trigger == CompressionTrigger::Manual)
    }
}
