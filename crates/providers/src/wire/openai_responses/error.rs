//! Error documents: OpenAI's envelope, the `detail` form of ChatGPT's backend, and bodies that are no JSON.

use super::*;

/// The longest piece of a body that is quoted in a message.
const QUOTE: usize = 300;

/// Reads the body of a status that is no success.
pub(super) fn read(body: &[u8]) -> ErrorBody {
    match serde_json::from_slice::<Value>(body) {
        Ok(document) => from_document(&document),
        Err(_) => ErrorBody { message: words_of(&String::from_utf8_lossy(body)), ..ErrorBody::default() },
    }
}

/// Reads an error from a document, an event or the `error` of a failed response.
pub(super) fn from_document(document: &Value) -> ErrorBody {
    let document = match document {
        Value::Array(documents) => documents.first().unwrap_or(&Value::Null),
        other => other,
    };
    let request_id = text(&document["request_id"]);
    for key in ["error", "detail"] {
        match &document[key] {
            Value::Null => {}
            Value::String(message) => {
                return ErrorBody {
                    message: message.clone(),
                    code: text(&document["code"]),
                    request_id,
                    ..ErrorBody::default()
                };
            }
            Value::Array(problems) => {
                let messages = problems.iter().filter_map(message_of);
                let message = messages.collect::<Vec<_>>().join("; ");
                return ErrorBody { message, request_id, ..ErrorBody::default() };
            }
            inner => return ErrorBody { request_id, ..from_object(inner) },
        }
    }
    ErrorBody { request_id, ..from_object(document) }
}

fn from_object(object: &Value) -> ErrorBody {
    // Events of the stream are named by `type` too; that says nothing about the error.
    let vendor_type = text(&object["type"]).filter(|word| word != "error" && !word.starts_with("response."));
    ErrorBody {
        message: message_of(object).unwrap_or_default(),
        code: text(&object["code"]),
        vendor_type,
        ..ErrorBody::default()
    }
}

fn message_of(object: &Value) -> Option<String> {
    ["message", "msg"].iter().find_map(|key| text(&object[*key]))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A body that is no JSON in few words: a page's title, or the start of the text.
pub(super) fn words_of(body: &str) -> String {
    let body = body.trim();
    let lower = body.to_ascii_lowercase();
    if !lower.starts_with("<!doctype") && !lower.contains("<html") {
        return cut(body);
    }
    // ASCII lower case keeps every byte's place, so positions hold in both.
    let title = lower.find("<title>").map(|at| at + "<title>".len());
    let title = title.and_then(|start| {
        let end = lower.get(start..)?.find('<')? + start;
        body.get(start..end)
    });
    match title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => format!("the server answered with a web page: {}", cut(title)),
        None => "the server answered with a web page".to_owned(),
    }
}

fn cut(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTE).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
