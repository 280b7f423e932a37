//! What a user's sessions spend: counted as answers come, and held to the user's budget.

use std::sync::Arc;

use charla::models::Prices;
use charla_proto::{Command, Fact, Record, Spent, UsageMetadata};
use http::StatusCode;

use crate::accounts::{AccountError, Accounts, OWNER, Whose, now};
use crate::metrics::Metrics;
use crate::problem::Problem;

/// Who stops a turn when a budget is spent.
pub(crate) const BUDGET: &str = "budget";

/// Counts for one user.
#[derive(Clone)]
pub(crate) struct Meter {
    whose: Whose,
    accounts: Arc<dyn Accounts>,
    metrics: Arc<Metrics>,
}

/// What one answer cost.
struct Cost {
    model: String,
    input: u64,
    output: u64,
    usd: f64,
}

impl Meter {
    pub(crate) fn new(whose: Whose, accounts: Arc<dyn Accounts>, metrics: Arc<Metrics>) -> Self {
        Self { whose, accounts, metrics }
    }

    /// An error where the command would have a model asked although today's budget is spent.
    pub(crate) fn admit(&self, command: &Command) -> Result<(), Problem> {
        let asks = matches!(
            command,
            Command::Prompt { .. } | Command::Continue | Command::Answer { .. } | Command::Compress
        );
        match asks.then(|| self.exhausted()).flatten() {
            Some(why) => Err(Problem::new(StatusCode::PAYMENT_REQUIRED, BUDGET, why)
                .with_hint("go on tomorrow (UTC), or ask an administrator for more")),
            None => Ok(()),
        }
    }

    /// Why nothing more may be spent. What is not known may not be spent either.
    fn exhausted(&self) -> Option<String> {
        if self.whose.user == OWNER {
            return None;
        }
        let Ok(book) = self.accounts.book() else { return Some("the accounts cannot be read".to_owned()) };
        let account = book.account_of(&self.whose);
        account.map_or_else(
            || Some("the account is gone".to_owned()),
            |account| account.budget.exhausted(account.spent, now()),
        )
    }

    /// Counts what a record says was spent. True when nothing more may be.
    pub(crate) async fn count(&self, record: &Record, prices: &Prices, model: &mut String) -> bool {
        let Some(cost) = cost(record, prices, model) else { return false };
        self.metrics.spent(&self.whose.user, &cost.model, [cost.input, cost.output], cost.usd);
        if self.whose.user == OWNER {
            return false;
        }
        let (whose, tokens, usd) = (self.whose.clone(), cost.input.saturating_add(cost.output), cost.usd);
        let counted = self.accounts.change(Box::new(move |book| {
            // Whoever is called the same by now pays for what they spend themselves.
            if !book.has(&whose) {
                return Err(AccountError::Unknown(whose.user.clone()));
            }
            let account = book.account_mut(&whose.user)?;
            account.spent = account.spent.on(now()).and(tokens, usd);
            Ok(())
        }));
        if let Err(error) = counted.await {
            tracing::warn!("what {} spent could not be counted: {error}", self.whose.user);
            return true;
        }
        self.exhausted().is_some()
    }
}

/// What others spent who worked for a call, as one cost.
fn of_agents(spent: &[Spent], prices: &Prices, model: &str) -> Cost {
    let mut cost = Cost { model: model.to_owned(), input: 0, output: 0, usd: 0.0 };
    for spent in spent {
        let usage = &spent.usage;
        cost.model = spent.model(&cost.model);
        cost.input = cost.input.saturating_add(usage.prompt_token_count.unwrap_or(0));
        cost.output = cost.output.saturating_add(usage.output());
        cost.usd += prices.of(&cost.model, usage).unwrap_or(0.0);
    }
    cost
}

fn cost(record: &Record, prices: &Prices, model: &mut String) -> Option<Cost> {
    let usage: &UsageMetadata = match &record.fact {
        Fact::ModelContent(content) => {
            if let Some(origin) = &content.content.origin {
                *model = format!("{}/{}", origin.provider, origin.model);
            }
            content.usage.as_ref()?
        }
        Fact::Compressed(compressed) => compressed.usage.as_ref()?,
        Fact::CallEnded(ended) if !ended.spent.is_empty() => {
            return Some(of_agents(&ended.spent, prices, model));
        }
        Fact::Sampled(sampled) => sampled.usage.as_ref()?,
        _ => return None,
    };
    Some(Cost {
        model: model.clone(),
        input: usage.prompt_token_count.unwrap_or(0),
        output: usage.output(),
        usd: prices.of(model, usage).unwrap_or(0.0),
    })
}
