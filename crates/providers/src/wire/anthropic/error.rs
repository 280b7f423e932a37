//! Reads error answers.

use super::*;

/// The error of a status that is no success.
pub(super) fn read(target: &Target, status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError {
    let found = match serde_json::from_slice::<Value>(body) {
        Ok(document) => envelope(&document),
        Err(_) => ErrorBody { message: plain_words(&String::from_utf8_lossy(body)), ..ErrorBody::default() },
    };
    let mut error = classify(status, Some(headers), found);
    if status == 500 && target.endpoint.quirks.client_errors_as_500 && error.kind == LlmErrorKind::Server {
        error.kind = LlmErrorKind::InvalidRequest;
    }
    error
}

/// The error that came inside a stream, or as the document of a successful status.
pub(super) fn in_stream(document: &Value) -> LlmError {
    classify(0, None, envelope(document))
}

/// Reads `{type: error, error: {type, message}, request_id}`, and what servers make of it: a bare inner
/// object, an error that is only a text.
fn envelope(document: &Value) -> ErrorBody {
    let error = document.get("error").unwrap_or(document);
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let vendor_type = text(error, "type").filter(|word| word != "error");
    let message = match error {
        Value::String(words) => words.clone(),
        _ => text(error, "message")
            .or_else(|| text(document, "message"))
            .or_else(|| text(error, "detail"))
            .unwrap_or_default(),
    };
    let kind = kind(vendor_type.as_deref().unwrap_or_default(), &message);
    ErrorBody {
        code: vendor_type.clone(),
        vendor_type,
        request_id: text(document, "request_id"),
        kind,
        message,
        ..ErrorBody::default()
    }
}

/// The kind where the type word decides it, whatever the status is.
fn kind(vendor_type: &str, message: &str) -> Option<LlmErrorKind> {
    Some(match vendor_type {
        "overloaded_error" => LlmErrorKind::Overloaded,
        "timeout_error" => LlmErrorKind::Timeout,
        "permission_error" => LlmErrorKind::Permission,
        "billing_error" => LlmErrorKind::Quota,
        // The body is larger than the server reads: a shorter conversation helps, as with the window.
        "request_too_large" => LlmErrorKind::ContextOverflow,
        "invalid_request_error" if message.contains("credit balance") => LlmErrorKind::Quota,
        _ => return None,
    })
}

/// A body that is no JSON in one short line: a web page's title, or the first words of a text.
fn plain_words(body: &str) -> String {
    const LONGEST: usize = 200;
    let body = body.trim();
    let words = if body.starts_with('<') {
        match title(body) {
            Some(title) => format!("the server answered with a web page: {title}"),
            None => "the server answered with a web page".to_owned(),
        }
    } else {
        body.to_owned()
    };
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words,
    }
}

fn title(page: &str) -> Option<&str> {
    // ASCII lowercasing keeps every byte where it was.
    let lower = page.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower.get(open..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    page.get(start..end).map(str::trim).filter(|title| !title.is_empty())
}
