//! Events as they come: read without making trees of what is passed over.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::item::Head;
use super::*;

/// A JSON string that borrows from the event where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The fields of any event that matter. Values stay text until the event's kind says that they are needed.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(default)]
    pub output_index: Option<u64>,
    #[serde(borrow, default)]
    pub delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub annotation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

impl Event<'_> {
    pub(super) fn kind(&self) -> Option<&str> {
        self.kind.as_ref().map(|kind| &*kind.0)
    }
}

pub(super) fn words(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text>(raw.get()).ok().map(|text| text.0)
}

pub(super) fn tree(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

pub(super) fn head(raw: Option<&RawValue>) -> Head {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    output: Value,
}

pub(super) fn output_of(raw: Option<&RawValue>) -> Value {
    let parsed = raw.and_then(|raw| serde_json::from_str::<Output>(raw.get()).ok());
    parsed.map_or(Value::Null, |parsed| parsed.output)
}

pub(super) fn malformed(problem: &str) -> LlmError {
    let message = format!("the server sent an event that is not valid JSON: {problem}");
    let mut error = LlmError::new(LlmErrorKind::Protocol, message);
    error.detail.in_stream = true;
    error
}
