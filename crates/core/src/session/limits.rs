//! When a turn ends by itself.

use charla_proto::{Conversation, OpenTurn, TurnEnd};

use super::ending::Ending;
use super::host::Prices;

/// When a turn ends by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// How often the model may be asked in one turn.
    pub steps: Option<u32>,
    /// How many tokens one turn may use.
    pub tokens: Option<u64>,
    /// How many dollars one turn may cost, where the model's price is known.
    pub cost: Option<f64>,
}

impl Limits {
    pub(super) fn reached(&self, conversation: &Conversation, prices: &Prices) -> Option<Ending> {
        let turn = conversation.turn.as_ref()?;
        let ending = |end: TurnEnd, detail: String| Some(Ending { detail: Some(detail), ..end.into() });
        if let Some(most) = self.steps
            && turn.steps >= most
        {
            return ending(TurnEnd::StepLimit, format!("the limit of {most} steps is reached"));
        }
        if let Some(most) = self.tokens
            && turn.spent.total() >= most
        {
            return ending(TurnEnd::TokenLimit, format!("the limit of {most} tokens is reached"));
        }
        if let Some((most, cost)) = self.cost.zip(cost(turn, prices))
            && cost >= most
        {
            return ending(TurnEnd::CostLimit, format!("the limit of ${most:.2} is reached"));
        }
        None
    }

    /// What is said of a turn that used more than it may: what one request takes is known only after it.
    pub(super) fn overrun(&self, conversation: &Conversation, prices: &Prices) -> Option<String> {
        let turn = conversation.turn.as_ref()?;
        let spent = turn.spent.total();
        if let Some(most) = self.tokens.filter(|most| spent > *most) {
            return Some(format!("this turn used {spent} tokens, more than its limit of {most}; {BETWEEN}"));
        }
        let (most, cost) = self.cost.zip(cost(turn, prices)).filter(|(most, cost)| cost > most)?;
        Some(format!("this turn cost about ${cost:.4}, more than its limit of ${most}; {BETWEEN}"))
    }
}

/// Why a limit may be passed.
const BETWEEN: &str = "limits are looked at before each request";

/// What a turn has cost, where that is known. Before the first answer it is nothing.
fn cost(turn: &OpenTurn, prices: &Prices) -> Option<f64> {
    if turn.spent_by.is_empty() { Some(0.0) } else { prices.cost(turn) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use charla_proto::{Origin, UsageMetadata, WireKind};

    use super::super::host::Price;
    use super::*;

    /// A million output tokens of a model that tells who it is, or of one that does not.
    fn spent(model: Option<&str>) -> (Option<Arc<Origin>>, UsageMetadata) {
        let origin = model.map(|model| {
            let (provider, model) = ("openai".to_owned(), model.to_owned());
            Arc::new(Origin { provider, model, wire: WireKind::OpenaiChat })
        });
        let usage = UsageMetadata { candidates_token_count: Some(1_000_000), ..UsageMetadata::default() };
        (origin, usage)
    }

    #[test]
    fn every_answer_counts_at_the_price_of_the_model_that_gave_it() {
        let price = |output: f64| Price { output, ..Price::default() };
        let of_models = vec![("openai/dear".to_owned(), price(9.0)), ("openai/cheap".to_owned(), price(1.0))];
        let prices = Prices { of_models, otherwise: Some(price(20.0)) };
        let rows: [(&[Option<&str>], Option<f64>); 5] = [
            (&[], None),
            (&[Some("cheap")], Some(1.0)),
            (&[Some("dear"), Some("cheap")], Some(10.0)),
            (&[Some("cheap"), None], Some(21.0)),
            (&[Some("unheard-of")], Some(20.0)),
        ];
        for (models, cost) in rows {
            let spent_by = models.iter().map(|model| spent(*model)).collect();
            let turn = OpenTurn { spent_by, ..OpenTurn::default() };
            assert_eq!(prices.cost(&turn), cost, "{models:?}");
            let conversation = Conversation { turn: Some(turn), ..Conversation::default() };
            let limits = Limits { cost: Some(10.0), ..Limits::default() };
            let ended = limits.reached(&conversation, &prices).map(|ending| ending.end);
            let passed = cost.is_some_and(|cost| cost >= 10.0);
            assert_eq!(ended, passed.then_some(TurnEnd::CostLimit), "{models:?}");
        }
    }

    #[test]
    fn a_limit_of_nothing_is_reached_before_the_first_request() {
        let conversation = Conversation { turn: Some(OpenTurn::default()), ..Conversation::default() };
        let ended =
            |limits: Limits| limits.reached(&conversation, &Prices::default()).map(|ending| ending.end);
        assert_eq!(ended(Limits { cost: Some(0.0), ..Limits::default() }), Some(TurnEnd::CostLimit));
        assert_eq!(ended(Limits { tokens: Some(0), ..Limits::default() }), Some(TurnEnd::TokenLimit));
        assert_eq!(ended(Limits { cost: Some(0.01), tokens: Some(1), ..Limits::default() }), None);
    }

    #[test]
    fn a_turn_that_went_over_its_limit_is_told_by_how_much() {
        let otherwise = Some(Price { output: 2.0, ..Price::default() });
        let prices = Prices { otherwise, ..Prices::default() };
        let (origin, usage) = spent(None);
        let turn = OpenTurn { spent: usage.clone(), spent_by: vec![(origin, usage)], ..OpenTurn::default() };
        let conversation = Conversation { turn: Some(turn), ..Conversation::default() };
        let said = |limits: Limits| limits.overrun(&conversation, &prices);
        let dear = said(Limits { cost: Some(0.5), ..Limits::default() });
        assert_eq!(
            dear.as_deref(),
            Some(
                "this turn cost about $2.0000, more than its limit of $0.5; limits are looked at before each request"
            )
        );
        let long = said(Limits { tokens: Some(1), ..Limits::default() }).unwrap_or_default();
        assert!(long.starts_with("this turn used 1000000 tokens, more than its limit of 1;"), "{long}");
        assert_eq!(said(Limits { cost: Some(2.0), tokens: Some(1_000_000), ..Limits::default() }), None);
    }
}
