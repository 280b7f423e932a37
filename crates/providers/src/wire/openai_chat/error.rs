//! Error answers in all the forms that compatible servers have.

use super::*;
use crate::wire::error::shortened;

/// The error of a status that is no success.
pub fn of_status(quirks: &Quirks, status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError {
    let found = match serde_json::from_slice::<Value>(body) {
        Ok(document) => read(&document),
        Err(_) => Found { body: read_text(&String::from_utf8_lossy(body)), upstream: None },
    };
    let ours = quirks.client_errors_as_500 || is_llama_cpp(headers) || found.is_validation();
    // Judged as the client mistake it is; the status told to people stays the server's.
    let judged = if status == 500 && ours { 400 } else { status };
    let mut error = found.classify(judged, Some(headers));
    error.detail.status = Some(status);
    error
}

/// True when llama.cpp's server answers, whatever name it was configured under.
fn is_llama_cpp(headers: &HeaderMap) -> bool {
    headers.get(http::header::SERVER).is_some_and(|name| name == "llama.cpp")
}

/// The error in an event's or a document's text.
pub fn in_stream_text(text: &str) -> LlmError {
    match serde_json::from_str::<Value>(text) {
        Ok(document) => in_stream(&document),
        Err(_) => classify(0, None, read_text(text)),
    }
}

/// The error that came where an answer should have come, under a status of success.
pub fn in_stream(document: &Value) -> LlmError {
    let mut found = read(document);
    if found.body.message.trim().is_empty() {
        found.body.message = "the server broke off its answer with an error it does not explain".to_owned();
    }
    // Many servers tell the status that they would have answered with.
    let inner = document.get("error").unwrap_or(document);
    let told = ["code", "status_code", "status"].iter().find_map(|key| {
        let status = inner.get(key)?;
        status.as_u64().or_else(|| status.as_str()?.parse().ok())
    });
    let status = told.and_then(|status| u16::try_from(status).ok());
    let mut error = found.classify(status.filter(|status| (400..600).contains(status)).unwrap_or(0), None);
    error.detail.status = None;
    error.detail.in_stream = true;
    error
}

/// The error that MiniMax tells in `base_resp`, under a status of success; none when all went well.
pub fn in_base_resp(told: &Value) -> Option<LlmError> {
    let code = told.get("status_code")?.as_i64().filter(|code| *code != 0)?;
    let message = told.get("status_msg").and_then(Value::as_str).unwrap_or_default();
    let message =
        if message.trim().is_empty() { "the server tells of an error it does not explain" } else { message };
    let kind = match code {
        1002 | 1039 | 1041 => Some(LlmErrorKind::RateLimit),
        1004 | 2049 => Some(LlmErrorKind::Auth),
        1008 | 2056 => Some(LlmErrorKind::Quota),
        1026 | 1027 => Some(LlmErrorKind::Blocked),
        _ => None,
    };
    // Codes of this kind are about the request: sent again it would be as wrong.
    let status = if (2000..3000).contains(&code) { 400 } else { 0 };
    let (message, code) = (shortened(message.to_owned()), Some(code.to_string()));
    let mut error = classify(status, None, ErrorBody { message, code, kind, ..ErrorBody::default() });
    error.detail.status = None;
    error.detail.in_stream = true;
    Some(error)
}

/// True when the server refuses calls that come back without the thoughts before them (DeepSeek, Kimi, and
/// gateways to them).
pub fn misses_thoughts(error: &LlmError) -> bool {
    let words = error.message.to_lowercase();
    error.kind == LlmErrorKind::InvalidRequest
        && words.contains("reasoning_content")
        && (words.contains("missing") || words.contains("must be passed back"))
}

/// True for a document that is an error rather than an answer.
pub fn is_error(document: &Value) -> bool {
    let says = |key: &str| document.get(key).is_some_and(says_something);
    says("error") || says("errors") || says("detail") || says("message")
}

/// False for the values that stand for no error: null, false, `""`, `{}`, `[]`.
pub fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

struct Found {
    body: ErrorBody,
    /// What the server behind a gateway said (OpenRouter).
    upstream: Option<String>,
}

impl Found {
    /// True when a Python server says that the request has the wrong form. Some do so with status 500
    /// (llama-cpp-python); it would be as wrong the next time.
    fn is_validation(&self) -> bool {
        self.body.message.contains(" validation error")
    }

    /// The upstream words help to tell the kind and are shown as the hint; the message stays the server's.
    fn classify(mut self, status: u16, headers: Option<&HeaderMap>) -> LlmError {
        self.body.kind = self.body.kind.or_else(|| known_kind(&self.body));
        let Some(upstream) = self.upstream else { return classify(status, headers, self.body) };
        let message = self.body.message.clone();
        self.body.message = format!("{message} {upstream}");
        let mut error = classify(status, headers, self.body);
        error.message = message;
        error.with_hint(format!("the upstream server said: {upstream}"))
    }
}

/// Kinds that a status alone would get wrong.
fn known_kind(body: &ErrorBody) -> Option<LlmErrorKind> {
    match body.code.as_deref()? {
        "content_filter" | "content_policy_violation" => Some(LlmErrorKind::Blocked),
        // The model wrote a call that the server refused to pass on; another attempt may do better.
        "tool_use_failed" => Some(LlmErrorKind::InvalidStream),
        _ => None,
    }
}

fn read(document: &Value) -> Found {
    if let Some(first) = document.as_array().and_then(|documents| documents.first()) {
        return read(first);
    }
    let nested = document.get("error").filter(|error| error.is_object());
    let nested = nested.or_else(|| document.get("errors")?.as_array()?.first());
    let inner = nested.unwrap_or(document);
    let text = |key: &str| {
        let value = inner.get(key).or_else(|| document.get(key))?;
        let text = value.as_str().map(str::to_owned).or_else(|| Some(value.as_u64()?.to_string()));
        text.filter(|text| !text.is_empty())
    };
    let message = words(inner).or_else(|| words(document)).unwrap_or_default();
    let status_word = || inner.get("status")?.as_str().map(str::to_owned);
    let upstream = inner.get("metadata").and_then(|metadata| metadata.get("raw")).and_then(upstream_words);
    Found {
        body: ErrorBody {
            message: shortened(message),
            code: ["code", "status_code", "statusCode", "status"].iter().find_map(|key| text(key)),
            vendor_type: text("type").filter(|word| word != "error").or_else(status_word),
            request_id: text("request_id"),
            ..ErrorBody::default()
        },
        upstream: upstream.map(shortened),
    }
}

/// The explanation in a value: a text, a list of problems, or an object with one of the usual fields.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Array(problems) => {
            let all: Vec<String> = problems.iter().filter_map(problem).collect();
            Some(all.join("; ")).filter(|text| !text.is_empty())
        }
        Value::Object(fields) => {
            ["message", "detail", "msg", "error", "errors", "error_description", "title"]
                .iter()
                .find_map(|key| words(fields.get(*key)?))
        }
        _ => None,
    }
}

/// One problem of a validation list: where and what.
fn problem(value: &Value) -> Option<String> {
    let what = words(value)?;
    let path = value.get("loc").and_then(Value::as_array);
    let path: Vec<String> = path
        .into_iter()
        .flatten()
        .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
        .collect();
    Some(if path.is_empty() { what } else { format!("{}: {what}", path.join(".")) })
}

fn upstream_words(raw: &Value) -> Option<String> {
    let parsed = raw.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    match parsed.filter(|parsed| parsed.is_object() || parsed.is_array()) {
        Some(document) => Some(read(&document).body.message).filter(|message| !message.is_empty()),
        None => words(raw),
    }
}

/// A body that is no JSON: a gateway's web page, or plain words.
fn read_text(text: &str) -> ErrorBody {
    let text = text.trim();
    let is_page = text.starts_with('<') || text.to_ascii_lowercase().contains("<html");
    let message = if !is_page {
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
    } else if let Some(title) = title(text) {
        format!("the server answered with a web page instead of JSON: {title}")
    } else {
        "the server answered with a web page instead of JSON".to_owned()
    };
    ErrorBody { message, ..ErrorBody::default() }
}

fn title(page: &str) -> Option<String> {
    // Only ASCII is lowered, so positions are those of the page.
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let end = start + lower.get(start..)?.find("</title>")?;
    let title = page.get(start..end)?.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(title.chars().take(200).collect()).filter(|title: &String| !title.is_empty())
}
