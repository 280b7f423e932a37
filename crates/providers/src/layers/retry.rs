//! When to try again, and after how long.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::{Hint, LlmError, LlmErrorKind};

use crate::generator::{ENDLESS, OUTPUT_LIMIT};
use crate::net::{NOT_RUNNING, UNPROVEN, UNREACHABLE};

/// A longer wait than this, named by a server, is no wait but a refusal.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Where numbers in `0.0..1.0` for the jitter come from.
pub type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// How often and how patiently a request is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Most attempts in all, over the whole chain.
    pub max_attempts: u32,
    /// Most attempts with one model while another stands behind it.
    pub link_attempts: u32,
    /// Most attempts with one model when its answers are empty, cut or malformed.
    pub invalid_attempts: u32,
    /// Most attempts with a server that cannot be reached or stays silent: each may take minutes.
    pub silent_attempts: u32,
    /// The wait after the first failure.
    pub initial_delay: Duration,
    /// The longest wait, before jitter.
    pub max_delay: Duration,
    /// Each wait is this many times the one before.
    pub factor: f64,
    /// Waits differ by up to this share either way, so that many clients do not come back together.
    pub jitter: f64,
    /// The wait after a first invalid or cut answer: the server is well, so it is short.
    pub invalid_delay: Duration,
    /// How long a model that was given up stays unused, when the server names no time.
    pub cooldown: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 10,
            link_attempts: 3,
            invalid_attempts: 3,
            silent_attempts: 3,
            initial_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            factor: 2.0,
            jitter: 0.3,
            invalid_delay: Duration::from_millis(500),
            cooldown: Duration::from_secs(60),
        }
    }
}

/// What to do about a failure.
#[derive(Debug, PartialEq)]
pub(super) enum Decision {
    /// The same model again, after this wait.
    Again(Duration),
    /// Another model if there is one, else the end.
    GiveUpLink,
    /// The end: neither time nor another model helps.
    GiveUp,
}

/// What has failed so far with one model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Failures {
    attempts: u32,
    invalid: u32,
    silent: u32,
    cut: u32,
}

impl RetryPolicy {
    /// Judges a failure and counts it. `has_next`: another model stands behind this one.
    pub(super) fn decide(
        &self,
        error: &LlmError,
        failures: &mut Failures,
        has_next: bool,
        random: f64,
    ) -> Decision {
        failures.attempts += 1;
        if has_code(error, NOT_RUNNING) || has_code(error, ENDLESS) {
            return Decision::GiveUpLink;
        }
        if !helps_to_wait(error) {
            let elsewhere = error.kind.allows_fallback() && !is_our_fault(error);
            return if elsewhere { Decision::GiveUpLink } else { Decision::GiveUp };
        }
        let spent = match class(error) {
            Class::Invalid => {
                failures.invalid += 1;
                failures.invalid >= self.invalid_attempts
            }
            Class::Silent => {
                failures.silent += 1;
                failures.silent >= self.silent_attempts
            }
            Class::Cut => {
                failures.cut += 1;
                false
            }
            Class::Busy => false,
        };
        if spent || (has_next && failures.attempts >= self.link_attempts) {
            return Decision::GiveUpLink;
        }
        Decision::Again(self.delay(error, failures, random))
    }

    fn delay(&self, error: &LlmError, failures: &Failures, random: f64) -> Duration {
        if let Some(named) = named_wait(error) {
            // Never sooner than asked.
            return named.mul_f64(1.0 + 0.2 * random);
        }
        let (first, steps) = match class(error) {
            Class::Invalid => (self.invalid_delay, failures.invalid - 1),
            Class::Cut => (self.invalid_delay, failures.cut - 1),
            Class::Silent | Class::Busy => (self.initial_delay, failures.attempts - 1),
        };
        let seconds = first.as_secs_f64() * self.factor.powi(steps.min(64) as i32);
        let seconds = seconds.min(self.max_delay.as_secs_f64());
        let seconds = seconds * (1.0 + self.jitter * (2.0 * random - 1.0));
        Duration::try_from_secs_f64(seconds).unwrap_or(self.max_delay)
    }

    /// How many more attempts this model gets if it goes on failing like this. `has_next`: another model stands
    /// behind it.
    pub(super) fn left(&self, error: &LlmError, failures: &Failures, has_next: bool) -> u32 {
        let of_its_class = match class(error) {
            Class::Invalid => self.invalid_attempts.saturating_sub(failures.invalid),
            Class::Silent => self.silent_attempts.saturating_sub(failures.silent),
            Class::Cut | Class::Busy => u32::MAX,
        };
        let of_the_link =
            if has_next { self.link_attempts.saturating_sub(failures.attempts) } else { u32::MAX };
        of_its_class.min(of_the_link)
    }

    /// How long a model that failed like this stays unused.
    pub(super) fn cooldown_after(&self, error: &LlmError) -> Duration {
        named_wait(error).unwrap_or(self.cooldown)
    }
}

/// The wait that the server asks for. None at all, or one that is over, tells nothing about when it will be well.
fn named_wait(error: &LlmError) -> Option<Duration> {
    error.detail.retry_after.filter(|wait| !wait.is_zero())
}

enum Class {
    /// The answer was no answer.
    Invalid,
    /// The connection broke in the middle of it.
    Cut,
    /// Nobody was there, or nobody spoke.
    Silent,
    /// The server has no time, or something on the way broke.
    Busy,
}

fn class(error: &LlmError) -> Class {
    match error.kind {
        LlmErrorKind::InvalidStream | LlmErrorKind::Protocol => Class::Invalid,
        LlmErrorKind::Network if error.detail.in_stream => Class::Cut,
        LlmErrorKind::Timeout if error.detail.status.is_none() => Class::Silent,
        _ if has_code(error, UNREACHABLE) => Class::Silent,
        _ => Class::Busy,
    }
}

/// The same request to the same model may succeed within minutes.
fn helps_to_wait(error: &LlmError) -> bool {
    let too_long = error.detail.retry_after.is_some_and(|wait| wait > LONGEST_WAIT);
    error.kind.is_retryable() && !too_long && !is_our_fault(error)
}

/// Kinds that are retried hold a few failures that come again every time: what is wrong is the request
/// or the settings.
fn is_our_fault(error: &LlmError) -> bool {
    match error.kind {
        LlmErrorKind::Protocol => !error.detail.in_stream,
        LlmErrorKind::InvalidStream => has_code(error, OUTPUT_LIMIT),
        LlmErrorKind::Network => has_code(error, UNPROVEN),
        _ => false,
    }
}

fn has_code(error: &LlmError, code: &str) -> bool {
    error.detail.status.is_none() && error.detail.code.as_deref() == Some(code)
}

/// The error as the user sees it when a server named too long a wait.
pub(super) fn explain_long_wait(error: LlmError) -> LlmError {
    match error.detail.retry_after {
        Some(wait) if wait > LONGEST_WAIT && error.detail.hint.is_none() => {
            let minutes = wait.as_secs().div_ceil(60);
            error.with_hint(Hint::LongWait { minutes })
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: LlmErrorKind) -> LlmError {
        LlmError::new(kind, "x")
    }

    fn named(kind: LlmErrorKind, seconds: u64) -> LlmError {
        let mut error = error(kind);
        error.detail.retry_after = Some(Duration::from_secs(seconds));
        error
    }

    fn coded(kind: LlmErrorKind, code: &str) -> LlmError {
        let mut error = error(kind);
        error.detail.code = Some(code.to_owned());
        error
    }

    fn in_stream(kind: LlmErrorKind) -> LlmError {
        let mut error = error(kind);
        error.detail.in_stream = true;
        error
    }

    /// The decision about the `n`th failure of this kind in a row, in the middle of the jitter.
    fn decide(error: &LlmError, n: u32, has_next: bool) -> Decision {
        let mut failures = Failures::default();
        let policy = RetryPolicy::default();
        for _ in 1..n {
            policy.decide(error, &mut failures, has_next, 0.5);
        }
        policy.decide(error, &mut failures, has_next, 0.5)
    }

    #[test]
    fn the_table_of_decisions() {
        use Decision::*;
        use LlmErrorKind::*;
        let after = |seconds: f64| Again(Duration::from_secs_f64(seconds));
        let rows: Vec<(LlmError, u32, bool, Decision)> = vec![
            (error(RateLimit), 1, false, after(0.5)),
            (error(RateLimit), 2, false, after(1.0)),
            (error(RateLimit), 3, false, after(2.0)),
            (error(RateLimit), 6, false, after(16.0)),
            (error(RateLimit), 7, false, after(30.0)),
            (error(RateLimit), 9, false, after(30.0)),
            (error(RateLimit), 2, true, after(1.0)),
            (error(RateLimit), 3, true, GiveUpLink),
            (error(Overloaded), 1, true, after(0.5)),
            (error(Server), 3, true, GiveUpLink),
            (error(Network), 1, false, after(0.5)),
            (error(Timeout), 1, false, after(0.5)),
            (named(RateLimit, 40), 1, false, after(44.0)),
            (named(Overloaded, 300), 1, false, after(330.0)),
            (named(RateLimit, 301), 1, false, GiveUpLink),
            (named(RateLimit, 0), 1, false, after(0.5)),
            (named(RateLimit, 0), 3, false, after(2.0)),
            (error(Quota), 1, true, GiveUpLink),
            (named(Quota, 3), 1, false, GiveUpLink),
            (error(InvalidStream), 1, false, after(0.5)),
            (error(InvalidStream), 2, false, after(1.0)),
            (error(InvalidStream), 3, false, GiveUpLink),
            (in_stream(Protocol), 1, false, after(0.5)),
            (in_stream(Network), 1, false, after(0.5)),
            (in_stream(Network), 3, false, after(2.0)),
            (in_stream(Network), 3, true, GiveUpLink),
            (error(Protocol), 1, true, GiveUp),
            (coded(InvalidStream, OUTPUT_LIMIT), 1, true, GiveUp),
            (coded(InvalidStream, ENDLESS), 1, true, GiveUpLink),
            (coded(Network, UNPROVEN), 1, true, GiveUp),
            (coded(Network, UNREACHABLE), 2, false, after(1.0)),
            (coded(Network, NOT_RUNNING), 1, false, GiveUpLink),
            (coded(Network, NOT_RUNNING), 1, true, GiveUpLink),
            (coded(Network, UNREACHABLE), 3, false, GiveUpLink),
            (error(Timeout), 3, false, GiveUpLink),
            (error(InvalidRequest), 1, true, GiveUp),
            (error(Auth), 1, true, GiveUp),
            (error(Permission), 1, true, GiveUp),
            (error(NotFound), 1, true, GiveUp),
            (error(Blocked), 1, true, GiveUp),
            (error(ContextOverflow), 1, true, GiveUp),
            (error(NotSupported), 1, true, GiveUp),
            (error(Config), 1, true, GiveUp),
            (error(Cancelled), 1, true, GiveUp),
        ];
        for (error, n, has_next, expected) in rows {
            assert_eq!(decide(&error, n, has_next), expected, "{error:?} for the {n}. time");
        }
    }

    #[test]
    fn a_cut_answer_does_not_wait_for_what_failed_before_it() {
        let (policy, mut failures) = (RetryPolicy::default(), Failures::default());
        let mut wait = |kind, cut| {
            let error = if cut { in_stream(kind) } else { error(kind) };
            match policy.decide(&error, &mut failures, false, 0.5) {
                Decision::Again(wait) => wait.as_secs_f64(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(wait(LlmErrorKind::RateLimit, false), 0.5);
        assert_eq!(wait(LlmErrorKind::Overloaded, false), 1.0);
        assert_eq!(wait(LlmErrorKind::Network, true), 0.5);
    }

    #[test]
    fn jitter_stays_in_its_bounds_and_never_undercuts_the_server() {
        let policy = RetryPolicy::default();
        let delay =
            |error: &LlmError, random| match policy.decide(error, &mut Failures::default(), false, random) {
                Decision::Again(delay) => delay.as_secs_f64(),
                other => panic!("{other:?}"),
            };
        assert_eq!(delay(&error(LlmErrorKind::Server), 0.0), 0.35);
        assert_eq!(delay(&error(LlmErrorKind::Server), 1.0), 0.65);
        assert_eq!(delay(&named(LlmErrorKind::Server, 10), 0.0), 10.0);
        assert_eq!(delay(&named(LlmErrorKind::Server, 10), 1.0), 12.0);
    }

    #[test]
    fn waits_without_measure_do_no_harm() {
        let (initial_delay, max_delay) = (Duration::MAX, Duration::MAX);
        let policy = RetryPolicy { initial_delay, max_delay, ..RetryPolicy::default() };
        let decision = policy.decide(&error(LlmErrorKind::Server), &mut Failures::default(), false, 1.0);
        assert_eq!(decision, Decision::Again(Duration::MAX));
    }

    #[test]
    fn a_wait_that_is_too_long_is_explained() {
        let error = explain_long_wait(named(LlmErrorKind::RateLimit, 3600));
        assert_eq!(error.hint(), Some(Hint::LongWait { minutes: 60 }));
        let error = explain_long_wait(named(LlmErrorKind::RateLimit, 30));
        assert_eq!(error.hint(), LlmErrorKind::RateLimit.hint());
    }
}
