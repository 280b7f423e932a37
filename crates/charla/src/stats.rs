//! What a run cost: requests, errors, time and tokens of each model, calls of each tool.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use charla_proto::{Spent, UsageMetadata};
use serde_json::{Value, json};

use crate::models::Prices;

/// Counts of a run.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    models: BTreeMap<String, ModelStats>,
    /// By tool: calls that succeeded, and calls that did not.
    tools: BTreeMap<String, (u64, u64)>,
    /// Lines that calls added to files, and lines that they took away.
    lines: (u64, u64),
    current: Option<(String, Instant)>,
}

#[derive(Clone, Debug, Default)]
struct ModelStats {
    requests: u64,
    errors: u64,
    latency: Duration,
    usage: UsageMetadata,
}

impl Stats {
    /// An attempt begins with this model, at `when`.
    pub fn attempt(&mut self, model: &str, when: Instant) {
        self.current = Some((model.to_owned(), when));
    }

    /// The model that is asked now.
    pub fn current_model(&self) -> Option<&str> {
        self.current.as_ref().map(|(model, _)| model.as_str())
    }

    /// The model is asked again, from `when` on.
    pub fn restart(&mut self, when: Instant) {
        if let Some((_, began)) = &mut self.current {
            *began = when;
        }
    }

    /// A call ended.
    pub fn called(&mut self, tool: &str, success: bool) {
        let (good, bad) = self.tools.entry(tool.to_owned()).or_default();
        *(if success { good } else { bad }) += 1;
    }

    /// A call changed a file, as this unified diff says.
    pub fn changed(&mut self, diff: &str) {
        let (added, removed) = &mut self.lines;
        // What stands before the first part names the files.
        let changes = diff.lines().skip_while(|line| !line.starts_with("@@"));
        for line in changes {
            match line.as_bytes().first() {
                Some(b'+') => *added += 1,
                Some(b'-') => *removed += 1,
                _ => {}
            }
        }
    }

    /// The attempt failed.
    pub fn failed(&mut self) {
        if let Some(model) = self.finish_request() {
            model.errors += 1;
        }
    }

    /// The attempt brought an answer.
    pub fn answered(&mut self, usage: Option<&UsageMetadata>) {
        if let Some(model) = self.finish_request()
            && let Some(usage) = usage
        {
            model.usage.add(usage);
        }
    }

    /// Other sessions worked for a call, and spent this.
    pub fn spent(&mut self, spent: &[Spent]) {
        for spent in spent {
            let model = spent.model(self.current_model().unwrap_or_default());
            self.models.entry(model).or_default().usage.add(&spent.usage);
        }
    }

    fn finish_request(&mut self) -> Option<&mut ModelStats> {
        let (model, began) = self.current.as_mut()?;
        let stats = self.models.entry(model.clone()).or_default();
        stats.requests += 1;
        let now = Instant::now();
        // A retry's wait has set the beginning into the future: what ends before took no time.
        stats.latency += now.saturating_duration_since(*began);
        *began = now;
        Some(stats)
    }

    /// US dollars for everything whose price is known; nothing where none is.
    pub fn cost(&self, prices: &Prices) -> Option<f64> {
        let costs = self.models.iter().filter_map(|(model, stats)| prices.of(model, &stats.usage));
        costs.reduce(|sum, cost| sum + cost)
    }

    /// The JSON form, with the names scripts for Gemini CLI know.
    pub fn to_json(&self, prices: &Prices) -> Value {
        let models: serde_json::Map<String, Value> = self
            .models
            .iter()
            .map(|(name, stats)| (name.clone(), stats.to_json(prices.of(name, &stats.usage))))
            .collect();
        let (good, bad) = self.tools.values().fold((0, 0), |(a, b), (good, bad)| (a + good, b + bad));
        let by_name: serde_json::Map<String, Value> = self
            .tools
            .iter()
            .map(|(name, (good, bad))| {
                (name.clone(), json!({ "count": good + bad, "success": good, "fail": bad }))
            })
            .collect();
        let (added, removed) = self.lines;
        let mut stats = json!({
            "models": models,
            "files": { "totalLinesAdded": added, "totalLinesRemoved": removed },
            "tools": { "totalCalls": good + bad, "totalSuccess": good, "totalFail": bad, "byName": by_name },
        });
        put_cost(&mut stats, self.cost(prices));
        stats
    }
}

impl ModelStats {
    fn to_json(&self, cost: Option<f64>) -> Value {
        let usage = &self.usage;
        let mut stats = json!({
            "api": {
                "totalRequests": self.requests,
                "totalErrors": self.errors,
                "totalLatencyMs": u64::try_from(self.latency.as_millis()).unwrap_or(u64::MAX),
            },
            "tokens": {
                "prompt": usage.prompt_token_count.unwrap_or(0),
                "candidates": usage.candidates_token_count.unwrap_or(0),
                "total": usage.total(),
                "cached": usage.cached_content_token_count.unwrap_or(0),
                "thoughts": usage.thoughts_token_count.unwrap_or(0),
            },
        });
        put_cost(&mut stats, cost);
        stats
    }
}

/// A price that is not known is not zero: then there is no figure. Digits beyond a millionth are noise.
fn put_cost(stats: &mut Value, cost: Option<f64>) {
    if let (Value::Object(fields), Some(cost)) = (stats, cost) {
        fields.insert("costUsd".to_owned(), json!((cost * 1e6).round() / 1e6));
    }
}
