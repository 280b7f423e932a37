//! Tries again, and tries others: retry and the fallback chain in one layer, because the attempts of
//! both are counted together.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charla_proto::{
    BoxFuture, ChunkStream, ContentGenerator, EmbedRequest, EmbedResponse, GenerateRequest, GenerateResponse,
    LlmError, LlmErrorKind, ModelSwitch, RetryNotice, StreamEvent, TokenCount,
};
use futures_util::{StreamExt, stream};
use tokio::time::{Instant, sleep};

use super::retry::{Decision, Failures, Random, RetryPolicy, explain_long_wait};

/// One model of the chain.
#[derive(Clone)]
pub struct Link {
    /// `provider/model`, for people.
    pub reference: String,
    /// The model's name as its provider knows it, put into every request.
    pub model: String,
    /// Who asks it.
    pub generator: Arc<dyn ContentGenerator>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Link").field("reference", &self.reference).finish_non_exhaustive()
    }
}

/// A chain of models that answers like one.
///
/// Failures that may pass are tried again after a wait; a model that keeps failing, or that names too
/// long a wait, is left for the next of the chain and comes back after its cooldown. Every further
/// attempt is announced by [`StreamEvent::Retry`] before its wait, a change of model also by
/// [`StreamEvent::ModelSwitched`]. `stream` returns at once: the first attempt, too, is made while the
/// stream is read. Dropping the stream ends whatever it is doing, waits included.
///
/// State of the chain (who is cooling down) belongs to the layer: sessions that should share it share the layer.
pub struct Resilient {
    shared: Arc<Shared>,
}

struct Shared {
    chain: Vec<Link>,
    policy: RetryPolicy,
    random: Random,
    cooling: Mutex<Vec<Option<Cooldown>>>,
}

/// A model that was given up for a while.
struct Cooldown {
    until: Instant,
    reason: String,
}

impl Resilient {
    /// A chain; the first link is the model that was asked for.
    pub fn new(chain: Vec<Link>, policy: RetryPolicy) -> Self {
        Self::with_random(chain, policy, Arc::new(random_unit))
    }

    /// The same with a given source of jitter.
    pub fn with_random(chain: Vec<Link>, policy: RetryPolicy, random: Random) -> Self {
        let cooling = Mutex::new(chain.iter().map(|_| None).collect());
        Self { shared: Arc::new(Shared { chain, policy, random, cooling }) }
    }
}

impl ContentGenerator for Resilient {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move {
            let mut exchange = Exchange::new(self.shared.clone(), request);
            loop {
                let answer = match exchange.current() {
                    Some(link) => link.generator.generate(&exchange.request).await,
                    None => return Err(no_model()),
                };
                match answer {
                    Ok(answer) => return Ok(answer),
                    Err(error) => sleep(exchange.failed(error)?).await,
                }
            }
        })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        let exchange = Box::new(Exchange::new(self.shared.clone(), request));
        let events =
            stream::unfold(exchange, |mut exchange| async move { Some((exchange.next().await?, exchange)) });
        Box::pin(async move { Ok(Box::pin(events) as ChunkStream) })
    }

    /// Counted by the model that would answer now. Not tried again: a leaf falls back on an estimate.
    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async move {
            let exchange = Exchange::new(self.shared.clone(), request);
            match exchange.current() {
                Some(link) => link.generator.count_tokens(&exchange.request).await,
                None => Err(no_model()),
            }
        })
    }

    /// Tried again, but never by another model: vectors of two models cannot be compared.
    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(async move {
            let Some(link) = self.shared.chain.first() else { return Err(no_model()) };
            let policy = &self.shared.policy;
            let mut failures = Failures::default();
            for attempt in 1.. {
                let error = match link.generator.embed(request).await {
                    Ok(vectors) => return Ok(vectors),
                    Err(error) => error,
                };
                let decision = policy.decide(&error, &mut failures, false, (self.shared.random)());
                match decision {
                    Decision::Again(delay) if attempt < policy.max_attempts => sleep(delay).await,
                    _ => return Err(last_error(error, attempt, link)),
                }
            }
            Err(no_model())
        })
    }
}

/// One request on its way through the chain.
struct Exchange {
    shared: Arc<Shared>,
    /// As it goes to the current link.
    request: GenerateRequest,
    asked_temperature: Option<f64>,
    link: usize,
    /// Links this request has been through.
    given_up: Vec<bool>,
    failures: Failures,
    attempts: u32,
    /// The current attempt has shown something.
    shown: bool,
    /// Events to give out before anything else is done.
    pending: VecDeque<StreamEvent>,
    stage: Stage,
}

enum Stage {
    Waiting(Duration),
    Streaming(ChunkStream),
    Failed(Box<LlmError>),
    Ended,
}

impl Exchange {
    fn new(shared: Arc<Shared>, request: &GenerateRequest) -> Self {
        let mut exchange = Self {
            request: request.clone(),
            asked_temperature: request.temperature,
            link: 0,
            given_up: vec![false; shared.chain.len()],
            failures: Failures::default(),
            attempts: 0,
            shown: false,
            pending: VecDeque::new(),
            stage: Stage::Waiting(Duration::ZERO),
            shared,
        };
        exchange.choose_first();
        exchange
    }

    /// The settings' number, unless the request asks for less.
    fn max_attempts(&self) -> u32 {
        let most = self.shared.policy.max_attempts;
        self.request.max_attempts.map_or(most, |wanted| wanted.min(most))
    }

    fn current(&self) -> Option<&Link> {
        self.shared.chain.get(self.link)
    }

    /// Starts with the first link that is not cooling down, or with the one that is back first.
    fn choose_first(&mut self) {
        let shared = self.shared.clone();
        let cooling = shared.cooling();
        let until =
            |index: &usize| cooling.get(*index).and_then(Option::as_ref).map(|cooldown| cooldown.until);
        let chosen = (0..shared.chain.len()).min_by_key(|index| (until(index), *index)).unwrap_or(0);
        let reason = cooling.first().and_then(Option::as_ref).map(|cooldown| cooldown.reason.clone());
        drop(cooling);
        if chosen == 0 {
            self.use_link(0);
        } else {
            self.switch(chosen, reason.unwrap_or_default());
        }
    }

    fn use_link(&mut self, index: usize) {
        self.link = index;
        self.failures = Failures::default();
        self.request.temperature = self.asked_temperature;
        if let Some(link) = self.shared.chain.get(index) {
            self.request.model.clone_from(&link.model);
        }
    }

    fn switch(&mut self, next: usize, reason: String) {
        let name = |index: usize| {
            let link = self.shared.chain.get(index);
            link.map(|link| link.reference.clone()).unwrap_or_default()
        };
        let event = StreamEvent::ModelSwitched(ModelSwitch { from: name(self.link), to: name(next), reason });
        self.pending.push_back(event);
        self.use_link(next);
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, LlmError>> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(Ok(event));
            }
            let ended = match &mut self.stage {
                Stage::Waiting(delay) => {
                    if !delay.is_zero() {
                        sleep(*delay).await;
                    }
                    match self.open().await {
                        Ok(stream) => {
                            self.stage = Stage::Streaming(stream);
                            continue;
                        }
                        Err(error) => Some(error),
                    }
                }
                Stage::Streaming(stream) => match stream.next().await {
                    Some(Ok(event)) => {
                        self.shown |= matches!(event, StreamEvent::Chunk(_));
                        return Some(Ok(event));
                    }
                    Some(Err(error)) => Some(error),
                    None => None,
                },
                Stage::Failed(_) | Stage::Ended => {
                    return match std::mem::replace(&mut self.stage, Stage::Ended) {
                        Stage::Failed(error) => Some(Err(*error)),
                        _ => None,
                    };
                }
            };
            // The stream of a failed attempt is dropped here, before its wait: the connection closes.
            self.stage = match ended {
                None => Stage::Ended,
                Some(error) => match self.failed(error) {
                    Ok(delay) => Stage::Waiting(delay),
                    Err(error) => Stage::Failed(Box::new(error)),
                },
            };
        }
    }

    async fn open(&mut self) -> Result<ChunkStream, LlmError> {
        match self.current() {
            Some(link) => link.generator.stream(&self.request).await,
            None => Err(no_model()),
        }
    }

    /// Counts a failed attempt and prepares the next: the wait before it, or the error that ends it all.
    fn failed(&mut self, error: LlmError) -> Result<Duration, LlmError> {
        self.attempts += 1;
        let shared = self.shared.clone();
        let others = self.usable_links();
        let next = others.first().copied();
        let mut decision =
            shared.policy.decide(&error, &mut self.failures, next.is_some(), (shared.random)());
        let left = self.max_attempts().saturating_sub(self.attempts);
        let used_up = left == 0;
        // The last attempts are kept for the models that have not had one.
        if matches!(decision, Decision::Again(_)) && !others.is_empty() && left as usize <= others.len() {
            decision = Decision::GiveUpLink;
        }
        match (decision, next) {
            (Decision::Again(delay), _) if !used_up => {
                if error.kind == LlmErrorKind::InvalidStream {
                    self.request.temperature = Some(1.0);
                }
                let left = left.saturating_sub(others.len() as u32);
                let left = left.min(shared.policy.left(&error, &self.failures, next.is_some()));
                self.announce(error, delay, left);
                Ok(delay)
            }
            (Decision::GiveUpLink, Some(next)) if !used_up => {
                let reason = error.to_string();
                self.shared.cool_down(self.link, shared.policy.cooldown_after(&error), &reason);
                if let Some(given_up) = self.given_up.get_mut(self.link) {
                    *given_up = true;
                }
                self.announce(error, Duration::ZERO, left);
                self.switch(next, reason);
                Ok(Duration::ZERO)
            }
            _ => match self.current() {
                Some(link) => Err(last_error(error, self.attempts, link)),
                None => Err(error),
            },
        }
    }

    /// The other links that are neither cooling down nor already given up by this request.
    fn usable_links(&self) -> Vec<usize> {
        let cooling = self.shared.cooling();
        let usable = |index: &usize| {
            let cools = cooling.get(*index).is_some_and(Option::is_some);
            let given_up = self.given_up.get(*index).copied().unwrap_or(true);
            *index != self.link && !given_up && !cools
        };
        (0..self.shared.chain.len()).filter(usable).collect()
    }

    /// Tells of a failed attempt. `left`: how many follow at most if all fail like this one.
    fn announce(&mut self, error: LlmError, delay: Duration, left: u32) {
        self.pending.push_back(StreamEvent::Retry(RetryNotice {
            attempt: self.attempts,
            max_attempts: self.attempts + left,
            delay,
            error,
            withdraws: std::mem::take(&mut self.shown),
        }));
    }
}

impl Shared {
    /// Who is cooling down; cooldowns that are over are swept out first.
    fn cooling(&self) -> MutexGuard<'_, Vec<Option<Cooldown>>> {
        let mut cooling = self.cooling.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        for cooldown in cooling.iter_mut() {
            if cooldown.as_ref().is_some_and(|cooldown| cooldown.until <= now) {
                *cooldown = None;
            }
        }
        cooling
    }

    fn cool_down(&self, index: usize, time: Duration, reason: &str) {
        if let Some(cooldown) = self.cooling().get_mut(index) {
            *cooldown = Some(Cooldown { until: Instant::now() + time, reason: reason.to_owned() });
        }
    }
}

fn last_error(error: LlmError, attempts: u32, link: &Link) -> LlmError {
    let mut error = explain_long_wait(error);
    error.detail.attempts = attempts;
    error.detail.model.get_or_insert_with(|| link.reference.clone());
    error
}

fn no_model() -> LlmError {
    LlmError::new(LlmErrorKind::Config, "no model is configured")
}

/// Any number in `0.0..1.0`.
fn random_unit() -> f64 {
    let bits = uuid::Uuid::new_v4().as_u128() as u32;
    f64::from(bits) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests;
