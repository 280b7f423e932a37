//! Reading error answers: which kind is it, and how long to wait.

use std::time::Duration;

use charla_proto::{ErrorDetail, LlmError, LlmErrorKind};
use http::HeaderMap;

use super::overflow;

/// What a codec found in an error document, in the wire's own words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorBody {
    /// The server's explanation.
    pub message: String,
    /// Its code or status word.
    pub code: Option<String>,
    /// Its type word.
    pub vendor_type: Option<String>,
    /// A wait it names in the body.
    pub retry_after: Option<Duration>,
    /// Its id of the request.
    pub request_id: Option<String>,
    /// The codec knows the kind for sure.
    pub kind: Option<LlmErrorKind>,
}

/// Makes the typed error of a status, its headers and what the codec read from the body.
/// `status` is 0 for an error inside a stream that began with success.
pub fn classify(status: u16, headers: Option<&HeaderMap>, body: ErrorBody) -> LlmError {
    let words = format!(
        "{} {} {}",
        body.message,
        body.code.as_deref().unwrap_or_default(),
        body.vendor_type.as_deref().unwrap_or_default()
    )
    .to_lowercase();
    let named_wait = headers.and_then(retry_after).or(body.retry_after).or_else(|| wait_in_words(&words));
    let named_wait = named_wait.map(|wait| wait.min(A_YEAR));
    let kind = body.kind.unwrap_or_else(|| kind_of(status, &words));
    let message = if body.message.trim().is_empty() {
        format!("the server answered with status {status} and no explanation")
    } else {
        shortened(body.message)
    };
    let request_id = body.request_id.or_else(|| {
        let headers = headers?;
        let value = headers.get("x-request-id").or_else(|| headers.get("request-id"))?;
        Some(value.to_str().ok()?.to_owned())
    });
    LlmError {
        kind,
        message,
        detail: Box::new(ErrorDetail {
            status: (status != 0).then_some(status),
            code: body.code,
            vendor_type: body.vendor_type,
            retry_after: named_wait,
            request_id,
            in_stream: status == 0,
            ..ErrorDetail::default()
        }),
    }
}

/// A message longer than this is a dump (a traceback, the whole request): its start says enough.
const LONGEST_MESSAGE: usize = 2000;

/// The message, cut when it is a dump.
pub(super) fn shortened(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
        message.truncate(end);
        message.push('…');
    }
    message
}

fn kind_of(status: u16, words: &str) -> LlmErrorKind {
    let has = |needles: &[&str]| needles.iter().any(|needle| words.contains(needle));
    if overflow::is_told(status, words) {
        return LlmErrorKind::ContextOverflow;
    }
    if has(&[
        "api_key_invalid",
        "api key not valid",
        "invalid api key",
        "incorrect api key",
        "invalid x-api-key",
    ]) || has(&["authentication_error", "invalid_api_key", "unauthenticated", "unauthorized"])
    {
        return LlmErrorKind::Auth;
    }
    let spent = has(&[
        "insufficient_quota",
        "insufficient balance",
        "billing",
        "credit balance",
        "perday",
        "per day",
    ]) || has(&[
        "daily limit",
        "limit: 0",
        "quota_exceeded",
        "exceeded your current quota, please check your plan",
    ]);
    match status {
        401 => LlmErrorKind::Auth,
        402 => LlmErrorKind::Quota,
        403 => LlmErrorKind::Permission,
        404 => LlmErrorKind::NotFound,
        408 => LlmErrorKind::Timeout,
        // The body is larger than the server reads: a shorter conversation helps, as with the window.
        413 => LlmErrorKind::ContextOverflow,
        429 if spent => LlmErrorKind::Quota,
        429 | 499 => LlmErrorKind::RateLimit,
        503 | 529 => LlmErrorKind::Overloaded,
        500..=599 => LlmErrorKind::Server,
        400..=499 if has(&["model_not_found", "model not found", "does not exist", "unknown model"]) => {
            LlmErrorKind::NotFound
        }
        400..=499 => LlmErrorKind::InvalidRequest,
        _ if spent => LlmErrorKind::Quota,
        _ if has(&["rate_limit", "rate limit", "resource_exhausted", "too many requests"]) => {
            LlmErrorKind::RateLimit
        }
        _ if has(&["overloaded", "unavailable", "capacity"]) => LlmErrorKind::Overloaded,
        _ if has(&["not_found", "not found"]) => LlmErrorKind::NotFound,
        _ if has(&["invalid_request", "invalid_argument", "invalid request"]) => LlmErrorKind::InvalidRequest,
        _ if has(&["content_filter", "content filter", "safety"]) => LlmErrorKind::Blocked,
        _ => LlmErrorKind::Server,
    }
}

/// The wait that headers name: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return duration(ms / 1000.0);
    }
    let value = text("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return duration(seconds);
    }
    let until = httpdate::parse_http_date(value).ok()?;
    // A date needs a clock; the server's own, where it sends one, is the right one to compare with.
    let now = text("date").and_then(|date| httpdate::parse_http_date(date).ok());
    let now = now.unwrap_or_else(std::time::SystemTime::now);
    Some(until.duration_since(now).unwrap_or_default())
}

/// Longer than anybody waits, and still a time that a clock can add to the present.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A duration of this many seconds, a year for more than that; `None` for what is no time.
fn duration(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(A_YEAR).min(A_YEAR))
}

/// "retry in 34.4s", "try again in 250ms", "try again in 1m30s".
fn wait_in_words(words: &str) -> Option<Duration> {
    let mut rest = words;
    let start = ["retry in ", "try again in ", "retry after "]
        .iter()
        .find_map(|phrase| words.find(phrase).map(|at| at + phrase.len()))?;
    rest = rest.get(start..)?;
    let mut seconds = 0.0;
    let mut found = false;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest.get(..digits)?.trim_end_matches('.').parse::<f64>() else { break };
        let unit_text = rest.get(digits..)?.trim_start();
        let (factor, unit) = [
            ("milliseconds", 0.001),
            ("ms", 0.001),
            ("seconds", 1.0),
            ("second", 1.0),
            ("minutes", 60.0),
            ("minute", 60.0),
            ("hours", 3600.0),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
        ]
        .iter()
        .find(|(unit, _)| unit_text.starts_with(unit))
        .map(|(unit, factor)| (*factor, *unit))?;
        seconds += number * factor;
        found = true;
        rest = unit_text.get(unit.len()..)?;
    }
    if found { duration(seconds) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, message: &str) -> LlmErrorKind {
        classify(status, None, ErrorBody { message: message.to_owned(), ..ErrorBody::default() }).kind
    }

    #[test]
    fn statuses_and_words_tell_the_kind() {
        assert_eq!(kind(400, "API key not valid. Please pass a valid API key."), LlmErrorKind::Auth);
        assert_eq!(
            kind(400, "This model's maximum context length is 8192 tokens"),
            LlmErrorKind::ContextOverflow
        );
        assert_eq!(
            kind(429, "You exceeded your current quota, please check your plan and billing details"),
            LlmErrorKind::Quota
        );
        assert_eq!(kind(429, "slow down"), LlmErrorKind::RateLimit);
        assert_eq!(kind(529, "Overloaded"), LlmErrorKind::Overloaded);
        assert_eq!(kind(0, "Overloaded"), LlmErrorKind::Overloaded);
        assert_eq!(kind(403, "no"), LlmErrorKind::Permission);
        assert_eq!(kind(413, "Payload Too Large"), LlmErrorKind::ContextOverflow);
        assert_eq!(kind(400, "temperature must be below 2"), LlmErrorKind::InvalidRequest);
    }

    #[test]
    fn a_dump_is_cut_between_two_characters() {
        let body = ErrorBody { message: "ü".repeat(100_000), ..ErrorBody::default() };
        let message = classify(400, None, body).message;
        assert_eq!(message, format!("{}…", "ü".repeat(LONGEST_MESSAGE)));
    }

    #[test]
    fn waits_in_words_and_headers_are_read() {
        let wait = |words: &str| wait_in_words(words).map(|wait| wait.as_millis());
        assert_eq!(wait("please retry in 34.4s."), Some(34_400));
        assert_eq!(wait("try again in 250ms"), Some(250));
        assert_eq!(wait("try again in 1m30s."), Some(90_000));
        assert_eq!(wait("try again in 2 minutes"), Some(120_000));
        assert_eq!(wait("try again in a while"), None);
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "7".parse().unwrap());
        assert_eq!(retry_after(&headers), Some(Duration::from_secs(7)));
        headers.insert("date", "Wed, 21 Oct 2015 07:28:00 GMT".parse().unwrap());
        headers.insert("retry-after", "Wed, 21 Oct 2015 07:28:09 GMT".parse().unwrap());
        assert_eq!(retry_after(&headers), Some(Duration::from_secs(9)));
        headers.insert("retry-after-ms", "1500".parse().unwrap());
        assert_eq!(retry_after(&headers), Some(Duration::from_millis(1500)));
        headers.insert("retry-after-ms", "-5".parse().unwrap());
        assert_eq!(retry_after(&headers), None);
        headers.insert("retry-after-ms", "1e300".parse().unwrap());
        assert_eq!(retry_after(&headers), Some(A_YEAR));
    }

    #[test]
    fn a_wait_without_measure_stays_a_time_that_a_clock_can_show() {
        let body = ErrorBody { retry_after: Some(Duration::MAX), ..ErrorBody::default() };
        assert_eq!(classify(429, None, body).detail.retry_after, Some(A_YEAR));
    }
}
