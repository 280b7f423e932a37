//! Figures: what is counted, by the names of the conventions for generative AI, and added up between two requests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::encode::{Attributes, nanoseconds, point_attributes};

/// So many series are kept; what more there were is not counted.
const MOST_SERIES: usize = 1000;

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Instrument {
    TokenUsage,
    OperationDuration,
    TimeToFirstChunk,
    TurnDuration,
    ToolDuration,
}

impl Instrument {
    pub(super) const ALL: [Self; 5] = [
        Self::TokenUsage,
        Self::OperationDuration,
        Self::TimeToFirstChunk,
        Self::TurnDuration,
        Self::ToolDuration,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TokenUsage => "gen_ai.client.token.usage",
            Self::OperationDuration => "gen_ai.client.operation.duration",
            Self::TimeToFirstChunk => "gen_ai.client.operation.time_to_first_chunk",
            Self::TurnDuration => "gen_ai.invoke_agent.duration",
            Self::ToolDuration => "gen_ai.execute_tool.duration",
        }
    }

    fn unit(self) -> &'static str {
        if self == Self::TokenUsage { "{token}" } else { "s" }
    }

    fn about(self) -> &'static str {
        match self {
            Self::TokenUsage => "Tokens of requests and answers.",
            Self::OperationDuration => "How long a model took to answer, retries included.",
            Self::TimeToFirstChunk => "How long the first piece of an answer took.",
            Self::TurnDuration => "How long a turn took, from the prompt to its end.",
            Self::ToolDuration => "How long a tool ran.",
        }
    }

    /// The upper bounds that the conventions advise.
    fn bounds(self) -> &'static [f64] {
        match self {
            Self::TokenUsage => &[
                1.0,
                4.0,
                16.0,
                64.0,
                256.0,
                1024.0,
                4096.0,
                16384.0,
                65536.0,
                262_144.0,
                1_048_576.0,
                4_194_304.0,
                16_777_216.0,
                67_108_864.0,
            ],
            Self::TurnDuration => &[0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
            _ => &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
        }
    }
}

/// How figures are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Temporality {
    /// From one request to the next.
    Delta,
    /// From the session's beginning on.
    Cumulative,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measurement {
    pub instrument: Instrument,
    pub value: f64,
    pub attributes: Attributes,
}

/// Figures of one series, added up.
struct Histogram {
    attributes: Attributes,
    counts: Vec<u64>,
    sum: f64,
    least: f64,
    most: f64,
}

/// All figures since the last request, or since the beginning.
pub(super) struct Metrics {
    temporality: Temporality,
    since: u64,
    series: BTreeMap<(Instrument, String), Histogram>,
    /// There are figures that were not told.
    is_new: bool,
}

impl Metrics {
    pub(super) fn new(temporality: Temporality, now: u64) -> Self {
        Self { temporality, since: now, series: BTreeMap::new(), is_new: false }
    }

    /// Adds a figure.
    pub(super) fn add(&mut self, measurement: Measurement) {
        let Measurement { instrument, value, attributes } = measurement;
        let bounds = instrument.bounds();
        let key = (instrument, attributes.key());
        if self.series.len() >= MOST_SERIES && !self.series.contains_key(&key) {
            return;
        }
        let histogram = self.series.entry(key).or_insert_with(|| Histogram {
            attributes,
            counts: vec![0; bounds.len() + 1],
            sum: 0.0,
            least: value,
            most: value,
        });
        let bucket = bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len());
        if let Some(count) = histogram.counts.get_mut(bucket) {
            *count += 1;
        }
        histogram.sum += value;
        (histogram.least, histogram.most) = (histogram.least.min(value), histogram.most.max(value));
        self.is_new = true;
    }

    /// True when nothing is to be told.
    pub(super) fn is_told(&self) -> bool {
        !self.is_new
    }

    /// What was told counts no more, or is not told again by itself.
    pub(super) fn told(&mut self, now: u64) {
        self.is_new = false;
        if self.temporality == Temporality::Delta {
            self.series.clear();
            self.since = now;
        }
    }

    /// All figures as collectors read them.
    pub(super) fn json(&self, now: u64) -> Vec<Value> {
        let temporality = match self.temporality {
            Temporality::Delta => 1,
            Temporality::Cumulative => 2,
        };
        let metric = |instrument: Instrument| {
            let series = self.series.iter().filter(|((known, _), _)| *known == instrument);
            let points: Vec<Value> =
                series.map(|(_, histogram)| histogram.json(instrument, self.since, now)).collect();
            (!points.is_empty()).then(|| {
                json!({
                    "name": instrument.name(),
                    "unit": instrument.unit(),
                    "description": instrument.about(),
                    "histogram": { "aggregationTemporality": temporality, "dataPoints": points },
                })
            })
        };
        Instrument::ALL.into_iter().filter_map(metric).collect()
    }
}

impl Histogram {
    fn json(&self, instrument: Instrument, since: u64, now: u64) -> Value {
        let counts: Vec<String> = self.counts.iter().map(u64::to_string).collect();
        json!({
            "attributes": point_attributes(&self.attributes),
            "startTimeUnixNano": nanoseconds(since),
            "timeUnixNano": nanoseconds(now),
            "count": self.counts.iter().sum::<u64>().to_string(),
            "sum": self.sum,
            "min": self.least,
            "max": self.most,
            "bucketCounts": counts,
            "explicitBounds": instrument.bounds(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(value: f64, tool: &str) -> Measurement {
        let attributes = Attributes::default().with("gen_ai.tool.name", tool);
        Measurement { instrument: Instrument::ToolDuration, value, attributes }
    }

    #[test]
    fn figures_of_one_series_are_added_up_and_told_once() {
        let mut metrics = Metrics::new(Temporality::Delta, 5);
        for (value, tool) in [(0.01, "a"), (0.011, "a"), (1000.0, "a"), (1.0, "b")] {
            metrics.add(measured(value, tool));
        }
        let told = metrics.json(9);
        assert_eq!(told.len(), 1, "only what was counted: {told:?}");
        let point = &told[0]["histogram"]["dataPoints"][0];
        assert_eq!(
            (&point["count"], &point["min"], &point["max"]),
            (&json!("3"), &json!(0.01), &json!(1000.0))
        );
        let counts = point["bucketCounts"].as_array().unwrap();
        assert_eq!(
            (counts.len(), &counts[0], &counts[1], &counts[14]),
            (15, &json!("1"), &json!("1"), &json!("1"))
        );
        assert_eq!(point["startTimeUnixNano"], "5000000");
        metrics.told(9);
        assert!(metrics.is_told() && metrics.json(10).is_empty());
        metrics.add(measured(1.0, "a"));
        assert_eq!(metrics.json(12)[0]["histogram"]["dataPoints"][0]["startTimeUnixNano"], "9000000");
    }

    #[test]
    fn sums_go_on_where_they_are_wanted() {
        let mut metrics = Metrics::new(Temporality::Cumulative, 5);
        for _ in 0..2 {
            metrics.add(measured(1.0, "a"));
            metrics.told(9);
        }
        let histogram = &metrics.json(12)[0]["histogram"];
        assert_eq!(histogram["aggregationTemporality"], 2);
        let point = &histogram["dataPoints"][0];
        assert_eq!((&point["count"], &point["startTimeUnixNano"]), (&json!("2"), &json!("5000000")));
    }

    #[test]
    fn names_without_end_take_no_memory_without_end() {
        let mut metrics = Metrics::new(Temporality::Delta, 0);
        (0..MOST_SERIES + 10).for_each(|n| metrics.add(measured(1.0, &n.to_string())));
        assert_eq!(metrics.series.len(), MOST_SERIES);
    }
}
