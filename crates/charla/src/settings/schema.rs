//! The JSON Schema of the settings.

use serde_json::Value;

#[cfg(test)]
mod derived;

#[cfg(test)]
pub(super) use derived::{all_keys, derived_schema};

/// As it is published. It is derived from the types of the settings when a test publishes it: what is needed for that is no
/// part of the program.
const PUBLISHED: &str = include_str!("../../../../docs/settings.schema.json");

/// The JSON Schema of a settings file.
pub fn settings_schema() -> Value {
    serde_json::from_str(PUBLISHED).unwrap_or_default()
}

/// Follows `$ref` into `$defs`.
pub(super) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
        .unwrap_or(schema)
}
