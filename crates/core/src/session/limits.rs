//! When a turn ends by itself.

use charla_proto::{Conversation, TurnEnd};

use super::ending::Ending;
use super::host::Price;

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
    pub(super) fn reached(&self, conversation: &Conversation, price: Option<Price>) -> Option<Ending> {
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
        if let Some((most, price)) = self.cost.zip(price)
            && price.of(&turn.spent) >= most
        {
            return ending(TurnEnd::CostLimit, format!("the limit of ${most:.2} is reached"));
        }
        None
    }
}
