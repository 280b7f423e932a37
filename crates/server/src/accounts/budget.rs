//! What a user may spend in a day, and has spent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const DAY: u64 = 24 * 3600;
/// How long a reservation holds that nobody renews: its node may have died, or its question waits for a person.
const HOLDS: u64 = 15 * 60;
/// What an answer is taken to cost on a day on which none has come yet: tokens and US dollars.
const FIRST_ANSWER: (u64, f64) = (20_000, 0.1);

/// How many tokens are taken to be written where more is sent than any answer of the day has cost.
const ANSWER: u64 = 4_000;

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

/// Reads a number of US dollars; else what it must be.
pub fn dollars(text: &str) -> Result<f64, String> {
    let dollars = text.parse().ok().filter(|dollars: &f64| dollars.is_finite() && *dollars >= 0.0);
    dollars.ok_or_else(|| "it must be a number, not less than 0".to_owned())
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
    /// The most tokens of one answer.
    #[serde(default)]
    pub largest_tokens: u64,
    /// The most US dollars of one answer.
    #[serde(default)]
    pub largest_usd: f64,
}

/// What turns that run may cost with their next answers, by session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reserved(BTreeMap<String, Reservation>);

/// What is kept for one turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Reservation {
    tokens: u64,
    usd: f64,
    /// In seconds since 1970.
    until: u64,
}

impl Reserved {
    /// True when nothing is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when something is kept for a turn of this session.
    pub(crate) fn holds(&self, session: &str) -> bool {
        self.0.contains_key(session)
    }

    /// Keeps nothing for this session any more.
    pub(crate) fn release(&mut self, session: &str) {
        self.0.remove(session);
    }

    /// Keeps what the next answer of this session may cost, whose request has about as many tokens as `asked`; an error says why there is
    /// too little left for it. A turn that runs alone may always ask: it spends the budget to its end, and over it by one answer at most.
    pub(crate) fn reserve(
        &mut self,
        session: &str,
        budget: Budget,
        spent: Spending,
        asked: u64,
        second: u64,
    ) -> Result<(), String> {
        self.0.retain(|of, kept| of != session && kept.until > second);
        if let Some(why) = budget.exhausted(spent, second) {
            return Err(why);
        }
        let (tokens, usd) = spent.on(second).next_answer(asked);
        let others = self
            .0
            .values()
            .fold((0_u64, 0.0), |(all, cost), kept| (all.saturating_add(kept.tokens), cost + kept.usd));
        let after = spent.on(second).and(others.0.saturating_add(tokens), others.1 + usd);
        let is_over = budget.tokens.is_some_and(|limit| after.tokens > limit)
            || budget.usd.is_some_and(|limit| after.usd > limit);
        if is_over && !self.0.is_empty() {
            return Err("what is left of today's budget is kept for what runs already".to_owned());
        }
        self.0.insert(session.to_owned(), Reservation { tokens, usd, until: second + HOLDS });
        Ok(())
    }
}

impl Spending {
    /// What was spent on the day of this second since 1970.
    pub fn on(self, second: u64) -> Self {
        match self.day == second / DAY {
            true => self,
            false => Self { day: second / DAY, ..Self::default() },
        }
    }

    /// The same and one answer more.
    pub fn and(self, tokens: u64, usd: f64) -> Self {
        Self {
            tokens: self.tokens.saturating_add(tokens),
            usd: self.usd + usd,
            largest_tokens: self.largest_tokens.max(tokens),
            largest_usd: self.largest_usd.max(usd),
            ..self
        }
    }

    /// What the next answer is taken to cost: the most that one has cost that day, and more in proportion where more is sent.
    fn next_answer(self, asked: u64) -> (u64, f64) {
        let (tokens, usd) = match self.largest_tokens {
            0 => FIRST_ANSWER,
            tokens => (tokens, self.largest_usd),
        };
        match asked.saturating_add(ANSWER) {
            large if asked > tokens => (large, usd * (large as f64 / tokens as f64)),
            _ => (tokens, usd),
        }
    }
}

impl Budget {
    /// True where there is a limit at all.
    pub(crate) fn is_limited(&self) -> bool {
        self.tokens.is_some() || self.usd.is_some()
    }

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

    #[test]
    fn what_is_kept_grows_with_what_is_sent() {
        let budget = Budget { tokens: Some(500_000), usd: Some(5.0) };
        let noon = 20_000 * DAY + DAY / 2;
        let take = |spent: Spending, asked: u64| {
            let mut reserved = Reserved::default();
            let sessions = ["a", "b", "c", "d"];
            sessions.iter().filter(|it| reserved.reserve(it, budget, spent, asked, noon).is_ok()).count()
        };
        assert_eq!(take(Spending::default(), 100), 4);
        assert_eq!(take(Spending::default(), 200_000), 2, "twice 204,000 tokens fit");
        let dear = Spending::default().on(noon).and(20_000, 0.5);
        assert_eq!(take(dear, 76_000), 2, "80,000 tokens are taken to cost two dollars");
    }

    #[test]
    fn turns_at_once_keep_what_their_next_answers_may_cost() {
        let budget = Budget { tokens: Some(1000), usd: None };
        let noon = 20_000 * DAY + DAY / 2;
        let mut reserved = Reserved::default();
        let fresh = Spending::default();
        let take = |reserved: &mut Reserved, session: &str, spent: Spending, at: u64| {
            reserved.reserve(session, budget, spent, 0, at).is_ok()
        };
        assert!(take(&mut reserved, "a", fresh, noon), "who is alone may begin");
        assert!(!take(&mut reserved, "b", fresh, noon), "what an answer costs is not known yet");
        let spent = fresh.on(noon).and(300, 0.0);
        assert!(take(&mut reserved, "a", spent, noon));
        assert!(take(&mut reserved, "b", spent, noon), "300 are spent, twice 300 are kept");
        assert!(!take(&mut reserved, "c", spent, noon));
        assert!(take(&mut reserved, "a", spent, noon), "its own is not counted twice");
        assert!(!take(&mut reserved, "a", spent.and(300, 0.0), noon) && !reserved.holds("a"));
        assert!(take(&mut reserved, "b", spent.and(300, 0.0), noon), "the last one goes on");
        assert!(take(&mut reserved, "c", spent, noon + HOLDS), "what nobody renews is free");
        reserved.release("c");
        assert!(reserved.is_empty());
    }
}
