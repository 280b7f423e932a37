//! What a user's sessions have cost, by the model of each answer.
//!
//! Journals are read once: what was written since is added. Each request reads a few at most, the latest first, and tells how many are left.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::SystemTime;

use charla::models::Prices;
use charla::session::{Spending, Spent};
use charla::trust::TrustDemand;
use charla_proto::SessionSummary;
use serde::Serialize;
use tokio::sync::Mutex;

use crate::hub::Hub;
use crate::problem::Problem;

/// How many journals one request reads.
pub(crate) const READ: usize = 200;

/// What is known of one user's sessions.
#[derive(Default)]
pub(crate) struct Spendings {
    known: Mutex<HashMap<String, Known>>,
}

struct Known {
    modified: SystemTime,
    began: SystemTime,
    size: u64,
    spending: Spending,
}

impl Known {
    fn is_current(&self, summary: &SessionSummary) -> bool {
        (self.modified, self.began, self.size) == (summary.modified, summary.began, summary.size)
    }

    /// What counts of it for a journal that has grown; another one of the same id begins anew.
    fn to_go_on_with(&self, summary: &SessionSummary) -> Spending {
        match self.began == summary.began && self.size <= summary.size {
            true => self.spending.clone(),
            false => Spending::default(),
        }
    }
}

/// What a user has spent, as far as it is counted.
#[derive(Default)]
pub(crate) struct Bill {
    pub(crate) total: Spent,
    pub(crate) models: BTreeMap<String, Spent>,
    /// The latest sessions first.
    pub(crate) sessions: Vec<SessionBill>,
    /// How many sessions are not read yet.
    pub(crate) unread: usize,
}

/// What one session has cost.
#[derive(Serialize)]
pub(crate) struct SessionBill {
    session: String,
    title: String,
    /// The model that answered last.
    model: String,
    spent: Spent,
    models: Vec<ModelBill>,
}

/// What one model has cost.
#[derive(Serialize)]
pub(crate) struct ModelBill {
    model: String,
    spent: Spent,
}

/// The bill of each model, as it is told.
pub(crate) fn told(models: BTreeMap<String, Spent>) -> Vec<ModelBill> {
    models.into_iter().map(|(model, spent)| ModelBill { model, spent }).collect()
}

impl Spendings {
    /// Counts what the user's sessions have cost. Reads as many journals as `left` says, which is less afterwards.
    pub(crate) async fn bill(&self, hub: &Hub, left: &mut usize) -> Result<Bill, Problem> {
        let charla = hub.charla();
        let prices = Prices::new(&charla.settings(Vec::new(), &TrustDemand::default())?.settings);
        let sessions = charla.sessions()?;
        // What agents spend is told by the calls that they work for.
        let list = sessions.list().await?.sessions.into_iter();
        let list: Vec<_> = list.filter(|summary| summary.started.agent.is_none()).collect();
        let mut known = self.known.lock().await;
        let listed: HashSet<&str> = list.iter().map(|summary| summary.session.as_str()).collect();
        known.retain(|id, _| listed.contains(id.as_str()));
        let mut bill = Bill::default();
        for summary in list {
            let last = known.get(&summary.session);
            if !last.is_some_and(|last| last.is_current(&summary)) {
                if *left == 0 {
                    bill.unread += 1;
                    continue;
                }
                *left -= 1;
                let last = last.map(|last| last.to_go_on_with(&summary)).unwrap_or_default();
                // Removed since it was listed, or without a beginning: it has cost nothing that is known.
                let Ok(spending) = sessions.spending(&summary.session, last).await else { continue };
                let SessionSummary { modified, began, size, .. } = summary;
                known.insert(summary.session.clone(), Known { modified, began, size, spending });
            }
            if let Some(counted) = known.get(&summary.session) {
                bill.add(summary, counted.spending.by_model(&prices));
            }
        }
        Ok(bill)
    }
}

impl Bill {
    fn add(&mut self, summary: SessionSummary, models: BTreeMap<String, Spent>) {
        let mut spent = Spent::default();
        for (model, more) in &models {
            add(&mut spent, more);
            add(&mut self.total, more);
            add(self.models.entry(model.clone()).or_default(), more);
        }
        let SessionSummary { session, title, model, .. } = summary;
        self.sessions.push(SessionBill { session, title, model, spent, models: told(models) });
    }
}

fn add(sum: &mut Spent, more: &Spent) {
    sum.input_tokens = sum.input_tokens.saturating_add(more.input_tokens);
    sum.output_tokens = sum.output_tokens.saturating_add(more.output_tokens);
    sum.cost_usd = match (sum.cost_usd, more.cost_usd) {
        (Some(so_far), Some(cost)) => Some(so_far + cost),
        (so_far, cost) => so_far.or(cost),
    };
}
