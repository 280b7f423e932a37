//! What a user's sessions spend: counted as answers come, and held to the user's budget.

mod window;

use std::sync::Arc;

use charla::Charla;
use charla::models::Prices;
use charla_proto::{Command, Fact, Record, Spent, UsageMetadata};

use crate::accounts::{Account, AccountError, Accounts, Answered, Book, OWNER, Role, Whose, now};
use crate::metrics::Metrics;
use crate::problem::Problem;
pub(crate) use window::Window;

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

    /// Whose sessions these are.
    pub(crate) fn user(&self) -> &str {
        &self.whose.user
    }

    /// Whether the user is held to a budget. Nobody spends whose account cannot be read, or lets them only look.
    fn is_limited(&self) -> Result<bool, Problem> {
        if self.whose.user == OWNER {
            return Ok(false);
        }
        let book = self.accounts.book();
        let book = book.map_err(|_| Problem::spent("the accounts cannot be read".to_owned()))?;
        let account = book.account_of(&self.whose);
        let account = account.ok_or_else(|| Problem::spent("the account is gone".to_owned()))?;
        match account.role {
            Role::Viewer => Err(Problem::forbidden("whose session this is may only look")),
            Role::Member | Role::Admin => Ok(account.budget.is_limited()),
        }
    }

    /// Whether the command has a model asked for somebody who is held to a budget; an error where they may ask nothing.
    pub(crate) fn must_admit(&self, command: &Command) -> Result<bool, Problem> {
        let asks = matches!(
            command,
            Command::Prompt { .. } | Command::Continue | Command::Answer { .. } | Command::Compress
        );
        Ok(asks && self.is_limited()?)
    }

    /// An error where there is too little left of today's budget for a request of about this many tokens. Else what the answer may cost is
    /// kept for the session until its turn ends, so that turns at once spend no more than turns one by one. True when nothing was kept for
    /// it before.
    pub(crate) async fn reserve(&self, session: &str, asked: u64) -> Result<bool, Problem> {
        let known = self.accounts.book().ok();
        let known = known.as_ref().and_then(|book| book.account_of(&self.whose));
        let is_new = !known.is_some_and(|account| account.reserved.holds(session));
        let wanted = session.to_owned();
        self.change(move |account| account.reserve(&wanted, asked), None).await?;
        Ok(is_new)
    }

    /// What was kept for the session is free: it asks nothing more.
    pub(crate) async fn release(&self, session: &str) {
        let book = self.accounts.book().ok();
        let account = book.as_ref().and_then(|book| book.account_of(&self.whose));
        if !account.is_some_and(|account| account.reserved.holds(session)) {
            return;
        }
        let over = session.to_owned();
        let released = move |account: &mut Account| {
            account.reserved.release(&over);
            Ok(())
        };
        // What could not be freed is so after a while.
        let _ = self.change(released, None).await;
    }

    /// Changes what the user has spent and keeps. Whoever is called the same by now has another account.
    async fn change(
        &self,
        change: impl Fn(&mut Account) -> Result<(), AccountError> + Send + Sync + 'static,
        answered: Option<Answered>,
    ) -> Result<Arc<Book>, AccountError> {
        self.accounts.change_purse(self.whose.clone(), Box::new(change), answered).await
    }

    /// Takes a record of a session of the user's: counts what it says was spent, and keeps what the next answer may cost as long as a
    /// turn runs. True when the turn may ask nothing more. `untold` is what the agent of a call that ended spent beside what the record says.
    pub(crate) async fn take(
        &self,
        session: &str,
        record: &Record,
        untold: &[Spent],
        counting: &mut Counting,
    ) -> bool {
        let spent = counting.cost(record, untold);
        if let Some(cost) = &spent {
            self.metrics.spent(&self.whose.user, &cost.model, [cost.input, cost.output], cost.usd);
        }
        if self.whose.user == OWNER {
            return false;
        }
        match &record.fact {
            Fact::TurnStarted(_) | Fact::TurnResumed(_) => {
                counting.in_turn = true;
                match self.is_limited() {
                    Ok(limited) => limited && self.reserve(session, counting.asked()).await.is_err(),
                    Err(_) => true,
                }
            }
            Fact::TurnEnded(_) => {
                counting.in_turn = false;
                if let Some(cut) = spent {
                    self.count(session, &cut, counting).await;
                }
                self.release(session).await;
                false
            }
            _ => match spent {
                Some(cost) => self.count(session, &cost, counting).await,
                None => false,
            },
        }
    }

    /// Counts what an answer cost. True when nothing more may be spent by this turn.
    async fn count(&self, session: &str, cost: &Cost, counting: &Counting) -> bool {
        let (in_turn, asked) = (counting.in_turn, counting.asked());
        let (tokens, usd) = (cost.input.saturating_add(cost.output), cost.usd);
        let of = session.to_owned();
        let answered = Answered { model: cost.model.clone(), tokens, usd };
        let counting = move |account: &mut Account| {
            account.spent = account.spent.on(now()).and(tokens, usd);
            account.reserved.release(&of);
            if in_turn && account.budget.is_limited() {
                // Where too little is left for another answer, nothing is kept, and the turn ends.
                let _ = account.reserve(&of, asked);
            }
            Ok(())
        };
        match self.change(counting, Some(answered)).await {
            Ok(book) => book.account_of(&self.whose).is_none_or(|account| {
                in_turn && account.budget.is_limited() && !account.reserved.holds(session)
            }),
            Err(error) => {
                tracing::warn!("what {} spent could not be counted: {error}", self.whose.user);
                true
            }
        }
    }
}

/// What the agent of a call that ended spent, where nobody tells the price: its answers may have been cut off, too.
pub(crate) async fn untold(charla: &Charla, session: &str, record: &Record) -> Vec<Spent> {
    let Fact::CallEnded(ended) = &record.fact else { return Vec::new() };
    match charla.sessions() {
        Ok(sessions) => window::untold(sessions.agent_records(session, ended)).await,
        Err(_) => Vec::new(),
    }
}

/// What is known about a session while its costs are counted.
pub(crate) struct Counting {
    pub(crate) prices: Prices,
    /// The model that answers.
    pub(crate) model: String,
    /// A turn is under way.
    pub(crate) in_turn: bool,
    /// What is asked next; nothing where the session had ended before it was looked at.
    pub(crate) window: Option<Window>,
}

impl Counting {
    /// About how many tokens the next request has.
    fn asked(&self) -> u64 {
        self.window.as_ref().map_or(0, Window::tokens)
    }

    /// What a record says was spent, or what must be taken for that.
    fn cost(&mut self, record: &Record, untold: &[Spent]) -> Option<Cost> {
        let estimated = self.window.as_mut().and_then(|window| window.take(record));
        let told = cost(record, untold, &self.prices, &mut self.model);
        told.or_else(|| estimated.map(|usage| priced(&usage, &self.prices, &self.model)))
    }
}

fn priced(usage: &UsageMetadata, prices: &Prices, model: &str) -> Cost {
    Cost {
        model: model.to_owned(),
        input: usage.prompt_token_count.unwrap_or(0),
        output: usage.output(),
        usd: prices.of(model, usage).unwrap_or(0.0),
    }
}

/// What others spent who worked for a call, as one cost.
fn of_agents<'a>(spent: impl Iterator<Item = &'a Spent>, prices: &Prices, model: &str) -> Cost {
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

fn cost(record: &Record, untold: &[Spent], prices: &Prices, model: &mut String) -> Option<Cost> {
    let usage: &UsageMetadata = match &record.fact {
        Fact::ModelContent(content) => {
            if let Some(origin) = &content.content.origin {
                *model = origin.name();
            }
            content.usage.as_ref()?
        }
        Fact::Compressed(compressed) => compressed.usage.as_ref()?,
        Fact::CallEnded(ended) if !ended.spent.is_empty() || !untold.is_empty() => {
            return Some(of_agents(ended.spent.iter().chain(untold), prices, model));
        }
        Fact::Sampled(sampled) => sampled.usage.as_ref()?,
        _ => return None,
    };
    Some(priced(usage, prices, model))
}
