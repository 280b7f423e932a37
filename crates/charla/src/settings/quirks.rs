//! The JSON Schema of a provider's quirks.

use std::borrow::Cow;

use charla_providers::endpoint::{QuirkRow, Quirks};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// The schema of the quirks, made from their table.
pub(super) struct QuirkSettings;

impl JsonSchema for QuirkSettings {
    fn schema_name() -> Cow<'static, str> {
        "QuirkSettings".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let property = |row: &QuirkRow| {
            let schema = match row.words {
                [] => json!({ "type": "boolean", "description": row.about }),
                words => json!({ "type": "string", "enum": words, "description": row.about }),
            };
            (row.name.to_owned(), schema)
        };
        json_schema!({
            "type": "object",
            "additionalProperties": false,
            "properties": Quirks::TABLE.iter().map(property).collect::<Map<String, Value>>(),
            "description": "What a server does differently from its wire. What is left out keeps the provider's own value.",
        })
    }
}
