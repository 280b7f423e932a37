//! Refuses what the real services refuse.
//!
//! A verdict's words are this server's own, kept near to the service's where clients look for phrases.

use charla_proto::WireKind;
use serde_json::{Map, Value};

use crate::http::Headers;
use crate::opaque::{Ledger, decode_base64};
use crate::script::Script;

mod anthropic;
mod gemini;
mod openai;
mod openai_chat;
mod openai_responses;
mod schema;

/// Fine, or what is wrong.
pub(crate) type Verdict = Result<(), String>;

/// What a check may look at.
pub(crate) struct Checks<'a> {
    pub script: &'a Script,
    pub ledger: &'a Ledger,
    pub headers: &'a Headers,
    pub model: &'a str,
    pub body: &'a Value,
}

/// Checks a request for an answer.
pub(crate) fn generate(wire: WireKind, checks: &Checks) -> Verdict {
    match wire {
        WireKind::Gemini => gemini::generate(checks),
        WireKind::OpenaiChat => openai_chat::generate(checks),
        WireKind::OpenaiResponses => openai_responses::generate(checks),
        WireKind::Anthropic => anthropic::generate(checks),
    }
}

/// Checks a request for a token count.
pub(crate) fn count_tokens(wire: WireKind, checks: &Checks) -> Verdict {
    match wire {
        WireKind::Gemini => gemini::count_tokens(checks),
        WireKind::Anthropic => anthropic::count_tokens(checks),
        WireKind::OpenaiChat | WireKind::OpenaiResponses => Ok(()),
    }
}

fn fail<T>(message: impl Into<String>) -> Result<T, String> {
    Err(message.into())
}

/// The elements, with their places; none when it is no array.
fn list(value: &Value) -> impl DoubleEndedIterator<Item = (usize, &Value)> + ExactSizeIterator {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter().enumerate()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{place}: an object is expected here."))
}

/// The first field that is not among `allowed`.
fn unknown_field<'a>(fields: &'a Map<String, Value>, allowed: &[&[&str]]) -> Option<&'a str> {
    fields.keys().map(String::as_str).find(|name| !allowed.iter().any(|list| list.contains(name)))
}

/// True for letters, digits and `more`, from one to `longest` characters.
fn is_name(name: &str, more: &str, longest: usize) -> bool {
    let length = name.chars().count();
    (1..=longest).contains(&length) && name.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

fn is_base64(data: &str) -> bool {
    !data.is_empty() && decode_base64(data).is_some()
}

/// The media type and data of a `data:` URL in base64.
fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}
