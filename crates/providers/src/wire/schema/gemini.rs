//! Gemini's own subset of OpenAPI schemas.
//!
//! It has one type per schema and `nullable` beside it, lists of values only for strings, no literals, no
//! `additionalProperties`, few formats, and nothing may stand beside `anyOf`. It refuses what it does not
//! know, so the result is built from what is known to be accepted rather than by striking things out.

use serde_json::{Map, Value, json};

use super::union;

/// Most schema nodes of one result: spreading a schema over its alternatives can double at every level.
const MAX_NODES: usize = 20_000;

/// The subset of an inlined schema; `None` when it accepts nothing.
pub(super) fn subset(schema: &Value) -> Result<Option<Map<String, Value>>, String> {
    Writer { nodes: 0 }.schema(schema)
}

struct Writer {
    nodes: usize,
}

impl Writer {
    fn schema(&mut self, schema: &Value) -> Result<Option<Map<String, Value>>, String> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(format!("its schema has more than {MAX_NODES} parts once it is written out"));
        }
        match schema {
            Value::Bool(false) => Ok(None),
            Value::Object(map) => self.object(map.clone()),
            _ => Ok(Some(anything(None))),
        }
    }

    fn object(&mut self, map: Map<String, Value>) -> Result<Option<Map<String, Value>>, String> {
        let mut map = union::fold_all_of(map);
        if let Some(literal) = map.shift_remove("const") {
            map.insert("enum".to_owned(), json!([literal]));
        }
        let mut nullable = take_null(&mut map);
        if map.contains_key("properties") && (map.contains_key("anyOf") || map.contains_key("oneOf")) {
            map = union::flatten(map);
        }
        let mut variants = union::take_variants(&mut map);
        let all = variants.len();
        variants.retain(|variant| !is_null(variant));
        nullable |= variants.len() < all;
        let types = union::types(&map);
        let written = if !variants.is_empty() {
            self.union(&map, variants)?
        } else if all > 0 && types.is_empty() {
            // Only null is left; the nearest thing the subset has is an open value that may be null.
            Some(anything(description(&map)))
        } else if types.len() > 1 {
            let types: Vec<Value> = types.into_iter().map(|name| json!({ "type": name })).collect();
            map.shift_remove("type");
            self.union(&map, types)?
        } else {
            match union::types(&map).first().copied().or_else(|| inferred(&map)) {
                Some(name) => Some(self.typed(name, &map)?),
                None => Some(anything(description(&map))),
            }
        };
        Ok(written.map(|written| if nullable { or_null(written) } else { written }))
    }

    /// Nothing may stand beside `anyOf`: what is common to the alternatives goes into each of them.
    fn union(
        &mut self,
        base: &Map<String, Value>,
        variants: Vec<Value>,
    ) -> Result<Option<Map<String, Value>>, String> {
        let mut written: Vec<Value> = Vec::new();
        for variant in variants {
            let whole = match variant {
                Value::Object(variant) => union::merge(base.clone(), variant),
                Value::Bool(false) => continue,
                _ => base.clone(),
            };
            let Some(mut whole) = self.schema(&Value::Object(whole))? else { continue };
            let nested = match whole.shift_remove("anyOf") {
                Some(Value::Array(nested)) => nested,
                _ => vec![Value::Object(whole)],
            };
            for schema in nested {
                if !written.contains(&schema) {
                    written.push(schema);
                }
            }
        }
        Ok(match (written.len(), written.pop()) {
            (1, Some(Value::Object(only))) => Some(only),
            (_, Some(last)) => {
                written.push(last);
                Some(Map::from_iter([("anyOf".to_owned(), Value::Array(written))]))
            }
            (_, None) => None,
        })
    }

    fn typed(&mut self, name: &str, map: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut out = Map::from_iter([("type".to_owned(), Value::from(name))]);
        for key in ["title", "description"] {
            if let Some(words) = map.get(key) {
                out.insert(key.to_owned(), words.clone());
            }
        }
        let limits: &[&str] = match name {
            "object" => &["minProperties", "maxProperties"],
            "array" => &["minItems", "maxItems"],
            "string" => &["minLength", "maxLength", "pattern", "format"],
            "integer" | "number" => &["minimum", "maximum", "format"],
            _ => &[],
        };
        for key in limits {
            if let Some(limit) = map.get(*key).filter(|limit| accepted(name, key, limit)) {
                out.insert((*key).to_owned(), limit.clone());
            }
        }
        match name {
            "object" => self.properties(map, &mut out)?,
            "array" => {
                let items = self.items(map)?;
                out.insert("items".to_owned(), Value::Object(items));
            }
            _ => values(name, map, &mut out),
        }
        Ok(out)
    }

    fn properties(&mut self, map: &Map<String, Value>, out: &mut Map<String, Value>) -> Result<(), String> {
        let Some(Value::Object(named)) = map.get("properties") else { return Ok(()) };
        let mut properties = Map::new();
        for (name, schema) in named {
            if let Some(schema) = self.schema(schema)? {
                properties.insert(name.clone(), Value::Object(schema));
            }
        }
        let required: Vec<Value> = union::required(map)
            .into_iter()
            .filter(|name| properties.contains_key(name))
            .map(Value::from)
            .collect();
        if let Some(order) = map.get("propertyOrdering").and_then(Value::as_array)
            && order.iter().all(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
        {
            out.insert("propertyOrdering".to_owned(), Value::Array(order.clone()));
        }
        out.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            out.insert("required".to_owned(), Value::Array(required));
        }
        Ok(())
    }

    /// One schema for all items; a tuple's places become alternatives.
    fn items(&mut self, map: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut places = match map.get("prefixItems") {
            Some(Value::Array(places)) => places.clone(),
            _ => Vec::new(),
        };
        let rest = map.get("items").filter(|rest| **rest != Value::Bool(false));
        if places.is_empty() || rest.is_some_and(Value::is_object) {
            places.extend(rest.cloned());
        }
        Ok(self.union(&Map::new(), places)?.unwrap_or_else(|| anything(None)))
    }
}

/// A value of any type.
fn anything(description: Option<&Value>) -> Map<String, Value> {
    let mut text = json!({"type": "string"});
    if let Some(description) = description {
        text["description"] = description.clone();
    }
    let variants = json!([text, {"type": "number"}, {"type": "boolean"}, {"type": "object"}]);
    Map::from_iter([("anyOf".to_owned(), variants)])
}

fn description(map: &Map<String, Value>) -> Option<&Value> {
    map.get("description").or_else(|| map.get("title"))
}

fn or_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    match schema.get_mut("anyOf") {
        Some(Value::Array(variants)) => {
            for variant in variants.iter_mut().filter_map(Value::as_object_mut) {
                variant.insert("nullable".to_owned(), Value::Bool(true));
            }
        }
        _ => {
            schema.insert("nullable".to_owned(), Value::Bool(true));
        }
    }
    schema
}

/// Takes null out of the types, the listed values and `nullable`; true when it was there.
fn take_null(map: &mut Map<String, Value>) -> bool {
    let mut found = map.shift_remove("nullable") == Some(Value::Bool(true));
    if let Some(Value::Array(types)) = map.get_mut("type") {
        let all = types.len();
        types.retain(|name| name != "null");
        found |= types.len() < all;
    } else if map.get("type").is_some_and(|name| name == "null") {
        map.shift_remove("type");
        found = true;
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        let all = values.len();
        values.retain(|value| !value.is_null());
        found |= values.len() < all;
        if values.is_empty() {
            map.shift_remove("enum");
        }
    }
    found
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
        || schema.get("const").is_some_and(Value::is_null)
        || schema.get("enum").is_some_and(|values| *values == json!([null]))
}

/// The type that the other keywords imply.
fn inferred(map: &Map<String, Value>) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
    if let Some(Value::Array(values)) = map.get("enum") {
        let kinds = [
            ("string", values.iter().all(Value::is_string)),
            ("integer", values.iter().all(|value| value.is_i64() || value.is_u64())),
            ("number", values.iter().all(Value::is_number)),
            ("boolean", values.iter().all(Value::is_boolean)),
        ];
        return kinds.iter().find(|(_, all)| *all).map(|(name, _)| *name);
    }
    if has(&["properties", "required", "additionalProperties", "patternProperties", "propertyNames"]) {
        Some("object")
    } else if has(&["items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems"]) {
        Some("array")
    } else if has(&["minLength", "maxLength", "pattern", "format"]) {
        Some("string")
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        Some("number")
    } else {
        None
    }
}

fn accepted(name: &str, key: &str, limit: &Value) -> bool {
    match (key, limit.as_str()) {
        ("format", Some(format)) => match name {
            "string" => matches!(format, "date-time" | "enum"),
            "integer" => matches!(format, "int32" | "int64"),
            _ => matches!(format, "float" | "double"),
        },
        // Its expressions have no look-around.
        ("pattern", Some(pattern)) => !["(?=", "(?!", "(?<"].iter().any(|look| pattern.contains(look)),
        _ => true,
    }
}

/// Lists of values exist for strings only; for others the words tell them.
fn values(name: &str, map: &Map<String, Value>, out: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = map.get("enum") else { return };
    if name == "string" {
        let texts: Vec<Value> = values
            .iter()
            .filter(|value| value.as_str().is_some_and(|text| !text.is_empty()))
            .cloned()
            .collect();
        if !texts.is_empty() {
            out.insert("enum".to_owned(), Value::Array(texts));
        }
        return;
    }
    let list: Vec<String> = values.iter().take(50).map(Value::to_string).collect();
    let words = match out.get("description").and_then(Value::as_str) {
        Some(words) => format!("{words} (one of: {})", list.join(", ")),
        None => format!("One of: {}", list.join(", ")),
    };
    out.insert("description".to_owned(), Value::from(words));
}
