//! What a session has cost, by the model of each answer.

use std::collections::BTreeMap;

use charla_proto::{Fact, Record, UsageMetadata};
use futures_util::TryStreamExt;

use super::error::SessionError;
use super::store::Sessions;
use super::story::Spent;
use crate::models::Prices;

/// What a session has used, model by model. It grows with the session's records: those it has seen are not read again.
///
/// What was copied with a fork, or came from elsewhere, was paid for there and does not count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spending {
    /// The last record it has seen.
    seq: u64,
    /// Who is asked, where an answer does not say who gave it.
    model: String,
    /// When the session was forked from another one.
    forked_at: Option<u64>,
    imported_up_to: Option<u64>,
    used: BTreeMap<String, UsageMetadata>,
}

impl Spending {
    /// Takes in one more record.
    pub fn apply(&mut self, record: &Record) {
        self.seq = record.seq;
        match &record.fact {
            Fact::SessionStarted(started) => {
                self.model.clone_from(&started.model);
                self.forked_at = started.parent.as_ref().map(|_| record.at);
                self.imported_up_to = started.imported_up_to;
            }
            Fact::ModelContent(said) => {
                if let Some(origin) = &said.content.origin {
                    self.model = origin.name();
                }
                self.add(record, None, said.usage.as_ref());
            }
            Fact::ModelChanged(changed) => self.model.clone_from(&changed.model),
            Fact::Compressed(compressed) => self.add(record, None, compressed.usage.as_ref()),
            Fact::CompressionFailed(failed) => self.add(record, Some(&failed.model), failed.usage.as_ref()),
            Fact::Sampled(sampled) => self.add(record, None, sampled.usage.as_ref()),
            Fact::CallEnded(ended) | Fact::ClientCallEnded(ended) => {
                for spent in &ended.spent {
                    let model = spent.model(&self.model);
                    self.add(record, Some(&model), Some(&spent.usage));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, record: &Record, model: Option<&str>, usage: Option<&UsageMetadata>) {
        let is_copied = self.forked_at.is_some_and(|forked_at| record.at < forked_at);
        let Some(usage) = usage.filter(|_| !is_copied && self.imported_up_to < Some(record.seq)) else {
            return;
        };
        let model = model.filter(|model| !model.is_empty()).unwrap_or(&self.model).to_owned();
        self.used.entry(model).or_default().add(usage);
    }

    /// What each model cost, by these prices.
    pub fn by_model(&self, prices: &Prices) -> BTreeMap<String, Spent> {
        let cost = |(model, usage): (&String, &UsageMetadata)| {
            let mut spent = Spent::default();
            spent.add(model, usage, prices);
            (model.clone(), spent)
        };
        self.used.iter().map(cost).collect()
    }
}

impl Sessions {
    /// What a session has cost, going on from what is known.
    pub async fn spending(&self, id: &str, known: Spending) -> Result<Spending, SessionError> {
        let mut records = self.stream_after(id, known.seq);
        let mut spending = known;
        while let Some(record) = records.try_next().await? {
            spending.apply(&record);
        }
        Ok(spending)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(value: serde_json::Value) -> Record {
        serde_json::from_value(value).unwrap()
    }

    fn started(more: serde_json::Value) -> Record {
        let mut first = json!({"seq": 1, "at": 100, "kind": "session_started", "version": 1, "session": "s", "cwd": "/w", "model": "openai/gpt-4.1"});
        first.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record(first)
    }

    fn answered(seq: u64, at: u64, model: &str) -> Record {
        record(json!({
            "seq": seq, "at": at, "kind": "model_content", "turn": 1,
            "content": {"role": "model", "parts": [{"text": "x"}], "origin": {"provider": "openai", "wire": "openai-chat", "model": model}},
            "usage": {"promptTokenCount": 10, "candidatesTokenCount": 2},
        }))
    }

    fn counted(records: &[Record]) -> Vec<(String, u64)> {
        let mut spending = Spending::default();
        records.iter().for_each(|record| spending.apply(record));
        let by_model = spending.by_model(&Prices::default());
        by_model.into_iter().map(|(model, spent)| (model, spent.input_tokens)).collect()
    }

    #[test]
    fn each_answer_is_charged_to_the_model_that_gave_it() {
        let records =
            [started(json!({})), answered(2, 101, "a"), answered(3, 102, "b"), answered(4, 103, "a")];
        assert_eq!(counted(&records), [("openai/a".to_owned(), 20), ("openai/b".to_owned(), 10)]);
    }

    #[test]
    fn what_a_fork_copied_and_what_came_from_elsewhere_was_paid_there() {
        let fork = [started(json!({"parent": ["p", 3]})), answered(3, 50, "a"), answered(5, 101, "b")];
        assert_eq!(counted(&fork), [("openai/b".to_owned(), 10)]);
        let moved = [started(json!({"imported_up_to": 3})), answered(3, 101, "a"), answered(5, 102, "b")];
        assert_eq!(counted(&moved), [("openai/b".to_owned(), 10)]);
    }
}
