//! What holds for agents while they work: their caller's mode as it is now, and what all of them may spend together.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use charla_core::session::Subscription;
use charla_proto::{ApprovalMode, Fact, SessionEvent, Spent, UsageMetadata};
use tokio::sync::watch;

use crate::models::Prices;
use crate::settings::Settings;

/// The bounds of a session's agents.
pub(super) struct AgentBounds {
    tokens: Option<u64>,
    dollars: Option<f64>,
    prices: Prices,
    mode: watch::Sender<ApprovalMode>,
    spending: Mutex<Spending>,
}

/// What the caller's turn has cost, and what the agents that work for it have, by the calls that they work for.
#[derive(Default)]
struct Spending {
    own: Cost,
    agents: HashMap<String, Cost>,
}

#[derive(Clone, Copy, Default)]
struct Cost {
    tokens: u64,
    dollars: f64,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.dollars += other.dollars;
    }
}

impl AgentBounds {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            tokens: settings.limits.max_tokens,
            dollars: settings.limits.max_cost,
            prices: Prices::new(settings),
            // Whatever the caller allows, until it is heard of.
            mode: watch::Sender::new(ApprovalMode::Yolo),
            spending: Mutex::default(),
        }
    }

    /// Follows the caller until it ends.
    pub(super) async fn follow(&self, mut caller: Subscription) {
        while let Some(event) = caller.recv().await {
            if let SessionEvent::Record(record) = event {
                self.note(&record.fact);
            }
        }
    }

    fn note(&self, fact: &Fact) {
        let mut spending = self.spending.lock().unwrap_or_else(PoisonError::into_inner);
        match fact {
            Fact::ModeChanged(changed) => drop(self.mode.send_replace(changed.mode)),
            Fact::TurnStarted(_) => *spending = Spending::default(),
            Fact::ModelContent(said) => {
                if let Some(usage) = said.usage.clone() {
                    let spent = Spent { origin: said.content.origin.clone(), usage };
                    spending.own.add(self.cost("", &spent));
                }
            }
            // From now on the call itself says what its agent spent.
            Fact::CallEnded(ended) => {
                spending.agents.remove(&ended.call);
                ended.spent.iter().for_each(|spent| spending.own.add(self.cost("", spent)));
            }
            _ => {}
        }
    }

    fn cost(&self, model: &str, spent: &Spent) -> Cost {
        let dollars = self.prices.of(&spent.model(model), &spent.usage).unwrap_or_default();
        Cost { tokens: spent.usage.total(), dollars }
    }

    /// The caller's mode, as it changes.
    pub(super) fn mode(&self) -> watch::Receiver<ApprovalMode> {
        self.mode.subscribe()
    }

    /// An agent spent this for a call. Why it goes no further, where its caller's limits are reached by all of them together.
    pub(super) fn spent(&self, call: &str, model: &str, usage: &UsageMetadata) -> Option<String> {
        let cost = self.cost(model, &Spent { origin: None, usage: usage.clone() });
        let mut spending = self.spending.lock().unwrap_or_else(PoisonError::into_inner);
        spending.agents.entry(call.to_owned()).or_default().add(cost);
        let mut all = spending.own;
        spending.agents.values().for_each(|cost| all.add(*cost));
        if let Some(most) = self.tokens.filter(|most| all.tokens >= *most) {
            return Some(format!("its caller's limit of {most} tokens is reached"));
        }
        let most = self.dollars.filter(|most| all.dollars >= *most)?;
        Some(format!("its caller's limit of {most} US dollars is reached"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(tokens: u64) -> UsageMetadata {
        UsageMetadata { total_token_count: Some(tokens), ..UsageMetadata::default() }
    }

    #[test]
    fn agents_that_work_at_once_share_what_is_left() {
        let mut settings = Settings::default();
        settings.limits.max_tokens = Some(100);
        let bounds = AgentBounds::new(&settings);
        assert_eq!(bounds.spent("a", "m", &usage(40)), None);
        assert_eq!(bounds.spent("b", "m", &usage(40)), None);
        assert!(bounds.spent("a", "m", &usage(20)).unwrap().contains("100 tokens"));
        // The next turn begins anew.
        let prompt = std::sync::Arc::new(charla_proto::Content::user("x"));
        let started = charla_proto::TurnStarted { turn: 2, prompt, id: "p".into(), by: "u".into() };
        bounds.note(&Fact::TurnStarted(started));
        assert_eq!(bounds.spent("c", "m", &usage(99)), None);
        assert!(AgentBounds::new(&Settings::default()).spent("a", "m", &usage(u64::MAX)).is_none());
    }
}
