//! What the answers of a session have cost, read off its records.

use std::time::Duration;

use charla::models::Prices;
use charla_core::session::SessionHandle;
use charla_proto::{Fact, SessionEvent, UsageMetadata};

use crate::commands::Tally;
use crate::text::Line;

/// How long records of a session may take to come.
const PATIENCE: Duration = Duration::from_secs(3);

/// What answers have cost so far.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    prices: Prices,
    /// Who answers, where an answer does not say so itself.
    model: String,
    usage: UsageMetadata,
    cost: Option<f64>,
    by_model: Tally,
}

impl Spent {
    /// Nothing yet, at these prices.
    pub fn new(prices: Prices) -> Self {
        Self { prices, ..Self::default() }
    }

    /// Of a session's records up to this one. What does not come soon is done without.
    pub async fn until(session: &SessionHandle, last: u64, prices: Prices) -> Self {
        let mut spent = Self::new(prices);
        if last > 0 {
            let _ = tokio::time::timeout(PATIENCE, spent.read(session, last)).await;
        }
        spent
    }

    async fn read(&mut self, session: &SessionHandle, last: u64) {
        let Some(mut events) = session.subscribe_from(0).await else { return };
        while let Some(event) = events.recv().await {
            let SessionEvent::Record(record) = event else { continue };
            if record.seq <= last {
                self.take(&record.fact);
            }
            if record.seq >= last {
                return;
            }
        }
    }

    /// Nothing yet, at the same prices; this model answers.
    pub fn anew(&self, model: &str) -> Self {
        Self { prices: self.prices.clone(), model: model.to_owned(), ..Self::default() }
    }

    /// A fact became known.
    pub fn take(&mut self, fact: &Fact) {
        match fact {
            Fact::SessionStarted(started) => self.model.clone_from(&started.model),
            Fact::ModelChanged(changed) => self.model.clone_from(&changed.model),
            Fact::ModelContent(said) => {
                if let Some(usage) = &said.usage {
                    let origin = said.content.origin.as_ref();
                    let model = origin.map_or_else(|| self.model.clone(), |origin| origin.name());
                    self.pay(&model, usage);
                }
            }
            // Agents of a call were answered, too.
            Fact::CallEnded(ended) | Fact::ClientCallEnded(ended) => {
                for spent in &ended.spent {
                    self.pay(&spent.model(&self.model), &spent.usage);
                }
            }
            Fact::Sampled(sampled) => self.pay_somebody(sampled.usage.as_ref()),
            Fact::Compressed(compressed) => self.pay_somebody(compressed.usage.as_ref()),
            Fact::CompressionFailed(failed) => self.pay_somebody(failed.usage.as_ref()),
            _ => {}
        }
    }

    /// More was spent before.
    pub fn add(&mut self, earlier: &Self) {
        self.usage.add(&earlier.usage);
        self.by_model.join(&earlier.by_model);
        if let Some(cost) = earlier.cost {
            *self.cost.get_or_insert(0.0) += cost;
        }
    }

    fn pay_somebody(&mut self, usage: Option<&UsageMetadata>) {
        if let Some(usage) = usage {
            self.pay(&self.model.clone(), usage);
        }
    }

    fn pay(&mut self, model: &str, usage: &UsageMetadata) {
        self.usage.add(usage);
        self.by_model.add(model, usage);
        if let Some(cost) = self.prices.of(model, usage) {
            *self.cost.get_or_insert(0.0) += cost;
        }
    }

    /// All tokens.
    pub fn usage(&self) -> &UsageMetadata {
        &self.usage
    }

    /// In dollars, as far as prices are known.
    pub fn cost(&self) -> Option<f64> {
        self.cost
    }

    /// A row for each model.
    pub fn lines(&self) -> Vec<Line> {
        self.by_model.lines(&self.prices)
    }
}
