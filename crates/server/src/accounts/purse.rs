//! What an account has spent, and what is kept for its turns: what changes with every answer.

use serde::{Deserialize, Serialize};

use super::{Account, AccountError, Reserved, Spending};

/// A change of what an account has spent and keeps. Where somebody else changes that at the same time, it is made again.
pub type PurseChange = Box<dyn Fn(&mut Account) -> Result<(), AccountError> + Send + Sync>;

/// That part of an account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Purse {
    /// What was spent on the last day anything was.
    pub spent: Spending,
    /// What is kept for turns that run.
    #[serde(default, skip_serializing_if = "Reserved::is_empty")]
    pub reserved: Reserved,
}

/// What an answer of a model has cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// `provider/model`.
    pub model: String,
    /// Tokens, read and written.
    pub tokens: u64,
    /// US dollars, as far as prices are known.
    pub usd: f64,
}

impl Purse {
    pub(super) fn of(account: &Account) -> Self {
        Self { spent: account.spent, reserved: account.reserved.clone() }
    }

    pub(super) fn put_into(&self, account: &mut Account) {
        (account.spent, account.reserved) = (self.spent, self.reserved.clone());
    }
}
