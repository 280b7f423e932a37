//! Google's error documents.

use std::time::Duration;

use charla_proto::{LlmError, LlmErrorKind};
use http::HeaderMap;
use serde_json::Value;

use crate::wire::{ErrorBody, classify};

/// The error of an answer whose status is no success.
pub(super) fn of_response(status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError {
    let read = match serde_json::from_slice::<Value>(body) {
        Ok(document) => match error_object(&document) {
            Some(error) => read(error, &document),
            None => ErrorBody { message: shortened(&document.to_string()), ..ErrorBody::default() },
        },
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            return no_json(&text, classify(status, Some(headers), prose(&text)));
        }
    };
    classify(status, Some(headers), read)
}

/// The error that a document inside of a stream holds, if it holds one.
pub(super) fn of_document(document: &Value) -> Option<LlmError> {
    let error = error_object(document)?;
    Some(in_stream(error, read(error, document)))
}

/// The error of an `error` field, given without the document around it.
pub(super) fn of_field(error: &Value) -> LlmError {
    in_stream(error, read(error, &Value::Null))
}

/// The error of text that came where an error was announced.
pub(super) fn of_text(text: &str) -> LlmError {
    match serde_json::from_str::<Value>(text) {
        Ok(document) => of_document(&document).unwrap_or_else(|| of_field(&document)),
        Err(_) => classify(0, None, prose(text)),
    }
}

/// The stream's status was a success; the one inside tells the kind.
fn in_stream(error: &Value, body: ErrorBody) -> LlmError {
    let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(0);
    let mut error = classify(status, None, body);
    error.detail.status = None;
    error.detail.in_stream = true;
    error
}

/// The `error` of a document, or of the first document in a list.
fn error_object(document: &Value) -> Option<&Value> {
    let document = document.as_array().and_then(|list| list.first()).unwrap_or(document);
    document.get("error").filter(|error| !error.is_null())
}

fn read(error: &Value, document: &Value) -> ErrorBody {
    if let Some(word) = error.as_str() {
        // OAuth's form: a word, and the sentence beside it.
        let sentence = document["error_description"].as_str();
        let code = sentence.map(|_| word.to_owned());
        return ErrorBody { message: sentence.unwrap_or(word).to_owned(), code, ..ErrorBody::default() };
    }
    let details = Details::read(error);
    let code = match (error["status"].as_str(), error["code"].as_u64()) {
        (Some(word), _) => Some(word.to_owned()),
        (None, code) => code.map(|code| code.to_string()),
    };
    ErrorBody {
        message: error["message"].as_str().unwrap_or_default().trim().to_owned(),
        kind: details.kind(error),
        vendor_type: details.reason,
        retry_after: details.retry_after,
        code,
        request_id: details.request_id,
    }
}

/// What Google's standard detail objects say.
#[derive(Default)]
struct Details {
    reason: Option<String>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    /// Names of the limits that were hit.
    limits: Vec<String>,
    /// A limit of nothing at all: this account has no such quota.
    no_quota: bool,
}

impl Details {
    fn read(error: &Value) -> Self {
        let mut details = Self::default();
        for detail in error["details"].as_array().into_iter().flatten() {
            let text = |key: &str| detail[key].as_str().map(str::to_owned);
            match detail["@type"].as_str().and_then(|name| name.rsplit('.').next()).unwrap_or_default() {
                "ErrorInfo" => {
                    details.reason = text("reason");
                    details.limits.extend(detail["metadata"]["quota_limit"].as_str().map(str::to_owned));
                }
                "RetryInfo" => details.retry_after = seconds(&detail["retryDelay"]),
                "RequestInfo" => details.request_id = text("requestId"),
                "QuotaFailure" => {
                    for violation in detail["violations"].as_array().into_iter().flatten() {
                        let name = violation["quotaId"].as_str().or_else(|| violation["subject"].as_str());
                        details.limits.push(name.unwrap_or_default().to_owned());
                        details.no_quota |= violation["quotaValue"] == "0";
                    }
                }
                _ => {}
            }
        }
        details
    }

    /// The kind, where details tell it better than status and words. The words of a spent quota are the
    /// same for a minute's limit and a day's.
    fn kind(&self, error: &Value) -> Option<LlmErrorKind> {
        if self.reason.as_deref() == Some("API_KEY_INVALID") {
            return Some(LlmErrorKind::Auth);
        }
        if error["status"] != "RESOURCE_EXHAUSTED" && error["code"] != 429 {
            return None;
        }
        let daily = self.limits.iter().any(|limit| limit.contains("PerDay") || limit.contains("per_day"));
        let none =
            self.no_quota || error["message"].as_str().is_some_and(|words| words.contains("limit: 0,"));
        if daily || none {
            Some(LlmErrorKind::Quota)
        } else if !self.limits.is_empty() || self.retry_after.is_some() {
            Some(LlmErrorKind::RateLimit)
        } else {
            None
        }
    }
}

/// A duration as JSON has it: `"34.4s"`, or an object of seconds and nanoseconds.
fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::String(text) => text.strip_suffix('s')?.parse::<f64>().ok()?,
        Value::Object(_) => {
            value["seconds"].as_f64().unwrap_or(0.0) + value["nanos"].as_f64().unwrap_or(0.0) / 1e9
        }
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// A body in no form we know, as a short message.
fn prose(text: &str) -> ErrorBody {
    let text = text.trim();
    let message = if text.starts_with('<') {
        let lower = text.to_ascii_lowercase();
        let title = lower.find("<title>").and_then(|start| {
            let from = start + "<title>".len();
            let length = lower.get(from..)?.find("</title>")?;
            text.get(from..from + length)
        });
        match title.map(str::trim).filter(|title| !title.is_empty()) {
            Some(title) => format!("the server answered with a web page: {}", shortened(title)),
            None => "the server answered with a web page".to_owned(),
        }
    } else {
        shortened(text)
    };
    ErrorBody { message, ..ErrorBody::default() }
}

fn no_json(text: &str, error: LlmError) -> LlmError {
    if text.trim_start().starts_with('<') && error.kind == LlmErrorKind::NotFound {
        return error
            .with_hint("check the base URL: it may point at a web page or at another kind of server");
    }
    error
}

/// The text on one line, cut where a person would stop reading.
fn shortened(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(300) {
        words.truncate(end);
        words.push('…');
    }
    words
}
