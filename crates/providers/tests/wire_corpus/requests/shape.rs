//! What a schema asks for, however it is written.
//!
//! Clients write schemas as JSON Schema or as Gemini's subset of OpenAPI, with references or without.
//! A shape keeps what a model must know: types, property names, what is required, listed values and
//! descriptions. Whatever merely limits a value (formats, lengths, defaults) is not part of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::gemini::{camel, field, list};

/// The shape of a function's arguments, which are an object even where the schema does not say so.
pub fn of(schema: &Value) -> Value {
    let mut shape = Shaper { root: schema, open: Vec::new() }.shape(schema);
    if shape["type"] == "any" {
        shape["type"] = json!("object");
    }
    shape
}

struct Shaper<'a> {
    root: &'a Value,
    open: Vec<String>,
}

impl Shaper<'_> {
    fn shape(&mut self, schema: &Value) -> Value {
        let schema = match self.resolved(schema) {
            Ok(schema) => schema,
            Err(cycle) => return cycle,
        };
        let mut nullable = field(&schema, "nullable") == Some(&json!(true));
        let mut shapes: BTreeMap<String, Value> = BTreeMap::new();
        for variant in variants(&schema) {
            if is_null(&variant) {
                nullable = true;
                continue;
            }
            let shape = self.one(&variant);
            nullable |= shape["nullable"] == true;
            for shape in shape["anyOf"].as_array().cloned().unwrap_or_else(|| vec![shape]) {
                shapes.insert(shape.to_string(), shape);
            }
        }
        let bare = |name: &str| shapes.values().any(|shape| shape["type"] == name);
        let whole = if shapes.len() == 1 {
            shapes.into_values().next().unwrap_or_default()
        } else if shapes.is_empty()
            || (shapes.len() == 4 && ["string", "number", "boolean", "object"].iter().all(|name| bare(name)))
        {
            json!({"type": "any"})
        } else {
            json!({ "anyOf": shapes.into_values().collect::<Vec<_>>() })
        };
        match whole {
            Value::Object(mut map) if nullable => {
                map.insert("nullable".to_owned(), json!(true));
                Value::Object(map)
            }
            whole => whole,
        }
    }

    /// The shape of a schema with one type and no alternatives.
    fn one(&mut self, schema: &Value) -> Value {
        let schema = match self.resolved(schema) {
            Ok(schema) => schema,
            Err(cycle) => return cycle,
        };
        if variants(&schema).len() > 1 {
            return self.shape(&schema);
        }
        let mut shape = Map::new();
        let properties = field(&schema, "properties").and_then(Value::as_object);
        let name = schema["type"].as_str().map(str::to_lowercase);
        let name = name.or_else(|| properties.map(|_| "object".to_owned()));
        let values = field(&schema, "enum").cloned().or_else(|| Some(json!([field(&schema, "const")?])));
        let texts: Vec<Value> =
            list(values.as_ref()).into_iter().filter(|value| value.is_string()).cloned().collect();
        if !texts.is_empty() {
            shape.insert("enum".to_owned(), json!(texts));
        }
        let name = name.or_else(|| (!texts.is_empty()).then(|| "string".to_owned()));
        if name.as_deref() == Some("array") {
            let items = field(&schema, "items").map(|items| self.shape(items));
            shape.insert("items".to_owned(), items.unwrap_or_else(|| json!({"type": "any"})));
        }
        shape.insert("type".to_owned(), json!(name.unwrap_or_else(|| "any".to_owned())));
        if let Some(words) = field(&schema, "description").and_then(Value::as_str) {
            // Values that are no strings cannot be listed; they are told in words.
            let words = words.split(" (one of: ").next().unwrap_or_default();
            if !words.starts_with("One of: ") && !words.is_empty() {
                shape.insert("description".to_owned(), json!(words));
            }
        }
        if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
            let shapes = properties.iter().map(|(name, schema)| (name.clone(), self.shape(schema)));
            let shapes: BTreeMap<String, Value> = shapes.collect();
            let mut required = list(field(&schema, "required"));
            required.retain(|name| name.as_str().is_some_and(|name| shapes.contains_key(name)));
            required.sort_by_key(|name| name.to_string());
            shape.insert("required".to_owned(), json!(required));
            shape.insert("properties".to_owned(), json!(shapes));
        }
        let sorted: BTreeMap<String, Value> = shape.into_iter().collect();
        json!(sorted)
    }

    /// The schema behind a reference, with what stands beside the reference; keys in camel case and
    /// `allOf` merged. A reference that leads back is an object.
    fn resolved(&mut self, schema: &Value) -> Result<Value, Value> {
        let mut out: Map<String, Value> = Map::new();
        if let Some(reference) = field(schema, "$ref").and_then(Value::as_str) {
            if self.open.iter().any(|open| open == reference) || self.open.len() > 20 {
                return Err(json!({"type": "object"}));
            }
            let target = self.root.pointer(reference.trim_start_matches('#')).cloned().unwrap_or_default();
            self.open.push(reference.to_owned());
            let target = self.resolved(&target);
            self.open.pop();
            add(&mut out, &target?);
        }
        for member in list(field(schema, "allOf")) {
            let member = self.resolved(member)?;
            add(&mut out, &member);
        }
        add(&mut out, schema);
        out.retain(|key, _| !matches!(key.as_str(), "$ref" | "allOf"));
        Ok(Value::Object(out))
    }
}

/// Adds the keywords of a schema; properties and requirements join those that are there.
fn add(out: &mut Map<String, Value>, schema: &Value) {
    for (key, value) in schema.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let key = camel(key);
        match (out.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) if key == "properties" => {
                old.extend(new.iter().map(|(name, schema)| (name.clone(), schema.clone())));
            }
            (Some(Value::Array(old)), Value::Array(new)) if key == "required" => {
                old.extend(new.iter().cloned())
            }
            _ => {
                out.insert(key, value.clone());
            }
        }
    }
}

/// The alternatives of a schema: of `anyOf`, of `oneOf`, of its types, or itself. What stands beside
/// them holds for each.
fn variants(schema: &Value) -> Vec<Value> {
    let rest = |without: &[&str]| {
        let mut rest = schema.as_object().cloned().unwrap_or_default();
        rest.retain(|key, _| !without.contains(&key.as_str()) && key != "nullable");
        rest
    };
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(variants)) = schema.get(key) {
            let base = rest(&[key]);
            return variants
                .iter()
                .map(|variant| {
                    let mut whole = base.clone();
                    add(&mut whole, variant);
                    Value::Object(whole)
                })
                .collect();
        }
    }
    match schema.get("type") {
        Some(Value::Array(types)) => types
            .iter()
            .map(|name| {
                let mut whole = rest(&["type"]);
                whole.insert("type".to_owned(), name.clone());
                Value::Object(whole)
            })
            .collect(),
        _ => vec![Value::Object(rest(&[]))],
    }
}

fn is_null(schema: &Value) -> bool {
    schema["type"].as_str().is_some_and(|name| name.eq_ignore_ascii_case("null"))
}
