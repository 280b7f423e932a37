//! Knows schemas that no stage would change, so that the usual tool is written as it stands instead of being copied
//! through all of them.

use serde_json::{Map, Value};

use super::{MAX_DEPTH, union};

/// Larger schemas take the long way, which measures them exactly.
const MAX_PLAIN_SIZE: usize = 64 * 1024;

/// True for an object schema with `properties` that has only keywords which stay as they are on every wire that
/// takes JSON Schema. False only costs time.
pub(super) fn is_plain(schema: &Value) -> bool {
    let Value::Object(root) = schema else { return false };
    root.get("type").is_some_and(|kind| kind == "object")
        && root.contains_key("properties")
        && !root.contains_key("enum")
        && Reader { room: MAX_PLAIN_SIZE }.object(root, 0)
}

struct Reader {
    room: usize,
}

impl Reader {
    fn schema(&mut self, schema: &Value, depth: usize) -> bool {
        matches!(schema, Value::Object(map) if self.object(map, depth))
    }

    fn object(&mut self, map: &Map<String, Value>, depth: usize) -> bool {
        let open_list = map.get("type").is_some_and(|kind| kind == "array") && !map.contains_key("items");
        depth < MAX_DEPTH
            && !open_list
            && map.iter().all(|(key, value)| self.fits(key.len()) && self.keyword(key, value, depth))
    }

    fn keyword(&mut self, key: &str, value: &Value, depth: usize) -> bool {
        match (key, value) {
            ("type", Value::String(name)) => union::TYPES.contains(&name.as_str()),
            ("title" | "description" | "format" | "pattern", Value::String(text)) => self.fits(text.len()),
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", value) => value.is_number(),
            ("minLength" | "maxLength" | "minItems" | "maxItems", value) => value.is_u64(),
            ("enum", Value::Array(values)) => !values.is_empty() && self.texts(values),
            ("required", Value::Array(names)) => self.texts(names) && are_distinct(names),
            ("additionalProperties", value) => value.is_boolean(),
            ("items", value) => self.schema(value, depth + 1),
            ("properties", Value::Object(named)) => {
                named.iter().all(|(name, value)| self.fits(name.len()) && self.schema(value, depth + 1))
            }
            _ => false,
        }
    }

    fn texts(&mut self, values: &[Value]) -> bool {
        values.iter().all(|value| value.as_str().is_some_and(|text| self.fits(text.len())))
    }

    /// Whether there is room for one more word of this length, with the signs around it.
    fn fits(&mut self, length: usize) -> bool {
        self.room = self.room.saturating_sub(length + 8);
        self.room > 0
    }
}

fn are_distinct(names: &[Value]) -> bool {
    names.iter().enumerate().all(|(at, name)| names.iter().skip(at + 1).all(|other| other != name))
}
