//! When a turn ends by itself.

use charla_proto::{Conversation, TurnEnd};

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
        if let Some((most, cost)) = self.cost.zip(prices.cost(turn))
            && cost >= most
        {
            return ending(TurnEnd::CostLimit, format!("the limit of ${most:.2} is reached"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use charla_proto::{OpenTurn, Origin, UsageMetadata, WireKind};

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
}
