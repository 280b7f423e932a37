//! What a user may spend in a day, and has spent.

use serde::{Deserialize, Serialize};

const DAY: u64 = 24 * 3600;

/// What may be spent in a day, by UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Tokens, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars, as far as prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

/// What was spent on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// The day, counted from 1970.
    pub day: u64,
    /// Tokens, read and written.
    pub tokens: u64,
    /// US dollars, as far as prices are known.
    pub usd: f64,
}

impl Spending {
    /// What was spent on the day of this second since 1970.
    pub fn on(self, second: u64) -> Self {
        match self.day == second / DAY {
            true => self,
            false => Self { day: second / DAY, ..Self::default() },
        }
    }

    /// The same and more.
    pub fn and(self, tokens: u64, usd: f64) -> Self {
        Self { tokens: self.tokens.saturating_add(tokens), usd: self.usd + usd, ..self }
    }
}

impl Budget {
    /// Why no more may be spent on the day of this second since 1970.
    pub fn exhausted(&self, spent: Spending, second: u64) -> Option<String> {
        let today = spent.on(second);
        if let Some(limit) = self.tokens.filter(|limit| today.tokens >= *limit) {
            return Some(format!("today's {limit} tokens are spent"));
        }
        let limit = self.usd.filter(|limit| today.usd >= *limit)?;
        Some(format!("today's {limit} US dollars are spent"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_for_a_day_and_each_of_its_limits_holds() {
        let budget = Budget { tokens: Some(100), usd: Some(0.5) };
        let noon = 20_000 * DAY + DAY / 2;
        let spent = Spending::default().on(noon).and(99, 0.1);
        assert_eq!(budget.exhausted(spent, noon), None);
        assert!(budget.exhausted(spent.and(1, 0.0), noon).unwrap().contains("100 tokens"));
        assert!(budget.exhausted(spent.and(0, 0.4), noon).unwrap().contains("0.5 US dollars"));
        assert_eq!(budget.exhausted(spent.and(1000, 9.0), noon + DAY), None, "the next day is another");
        assert_eq!(Budget::default().exhausted(spent.and(u64::MAX, 9.0), noon), None);
    }
}
