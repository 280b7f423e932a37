//! The questions that wait for the person, one on the screen and the others behind it.

use std::collections::VecDeque;
use std::sync::Arc;

use charla_proto::{CallAsked, SessionSnapshot};

use crate::card::Card;

/// Questions in the order they came up.
#[derive(Default)]
pub struct Questions {
    cards: VecDeque<Card>,
}

impl Questions {
    /// Those that wait in a session as it is.
    pub fn begin(&mut self, snapshot: &SessionSnapshot) {
        self.cards = snapshot.questions().cloned().map(Card::new).collect();
    }

    /// One more.
    pub fn push(&mut self, asked: &CallAsked) {
        self.cards.push_back(Card::new(Arc::new(asked.clone())));
    }

    /// The one that is on the screen.
    pub fn front(&mut self) -> Option<&mut Card> {
        self.cards.front_mut()
    }

    /// How many wait behind it.
    pub fn more(&self) -> usize {
        self.cards.len().saturating_sub(1)
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }

    /// It has its answer: the question, and whether it was on the screen.
    pub fn close(&mut self, approval: &str) -> Option<(Card, bool)> {
        let at = self.cards.iter().position(|card| card.asked().approval == approval)?;
        self.cards.remove(at).map(|card| (card, at == 0))
    }

    /// A question's card.
    pub fn find(&mut self, approval: &str) -> Option<&mut Card> {
        self.cards.iter_mut().find(|card| card.asked().approval == approval)
    }

    /// The turn is over, and with it what it asked.
    pub fn clear(&mut self) {
        self.cards.clear();
    }
}
