//! How much memory values take, near enough to bound it.

use charla_proto::Citation;
use serde_json::Value;

/// What a value takes beside its text: its place in a list, its allocation.
pub(crate) const ENTRY: usize = 64;

/// The bytes of a value's texts, and something for each value in it.
pub(crate) fn weight(value: &Value) -> usize {
    ENTRY
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(fields) => weight_of_fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// The same for the fields of an object.
pub(crate) fn weight_of_fields<'a>(fields: impl IntoIterator<Item = (&'a String, &'a Value)>) -> usize {
    fields.into_iter().map(|(name, value)| name.len() + weight(value)).sum()
}

/// The same for a source.
pub(crate) fn weight_of_citation(citation: &Citation) -> usize {
    let texts = [&citation.title, &citation.uri].into_iter().flatten();
    ENTRY + texts.map(String::len).sum::<usize>() + weight_of_fields(citation.extra.iter())
}
