//! Writes out references and drops keywords that are not what JSON Schema says they are.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::{MAX_DEPTH, MAX_SIZE, union};

/// The schema without `$ref`, definitions and identifiers. A reference that leads back to where it came
/// from becomes an open object.
pub(super) fn inline(root: &Value) -> Result<Value, String> {
    Inliner { root, open: vec![root], size: 0 }.schema(root, 0)
}

struct Inliner<'a> {
    root: &'a Value,
    /// The referenced schemas we are inside of: meeting one of them again is a cycle.
    open: Vec<&'a Value>,
    /// Bytes written so far, roughly.
    size: usize,
}

impl<'a> Inliner<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("its schema is nested deeper than {MAX_DEPTH} levels"));
        }
        self.charge(4)?;
        match schema {
            Value::Object(map) => self.object(map, depth),
            Value::Bool(false) => Ok(Value::Bool(false)),
            // Whatever stands here instead of a schema says nothing.
            _ => Ok(Value::Bool(true)),
        }
    }

    fn object(&mut self, map: &'a Map<String, Value>, depth: usize) -> Result<Value, String> {
        let mut out = Map::new();
        for (key, value) in map {
            if let Some(value) = self.keyword(key, value, depth)? {
                self.charge(key.len() + 4)?;
                out.insert(key.clone(), value);
            }
        }
        tuple_to_prefix(&mut out);
        let Some(Value::String(reference)) = map.get("$ref") else { return Ok(Value::Object(out)) };
        Ok(match self.referenced(reference, depth)? {
            Value::Object(target) => Value::Object(union::merge(target, out)),
            Value::Bool(false) => Value::Bool(false),
            _ => Value::Object(out),
        })
    }

    fn referenced(&mut self, reference: &str, depth: usize) -> Result<Value, String> {
        let target = find(self.root, reference)
            .ok_or_else(|| format!("its schema refers to {reference:?}, which it does not contain"))?;
        if self.open.iter().any(|open| std::ptr::eq(*open, target)) {
            return Ok(json!({"type": "object"}));
        }
        self.open.push(target);
        let inlined = self.schema(target, depth + 1);
        self.open.pop();
        inlined
    }

    /// The keyword's value with everything below it inlined; `None` drops the keyword.
    fn keyword(&mut self, key: &str, value: &'a Value, depth: usize) -> Result<Option<Value>, String> {
        let value = match key {
            "$defs" | "definitions" => None,
            // A `$…` keyword names, refers or comments; after inlining none of them has a use.
            _ if key.starts_with('$') => None,
            "properties" | "patternProperties" | "dependentSchemas" => self.schemas_by_name(value, depth)?,
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => self.schemas(value, depth)?,
            "items" if value.is_array() => self.schemas(value, depth)?,
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "not"
            | "contains"
            | "propertyNames"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Some(self.schema(value, depth + 1)?),
            "type" => types(value),
            "required" => required(value),
            "enum" => value.as_array().filter(|values| !values.is_empty()).map(|_| value.clone()),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                value.is_number().then(|| value.clone())
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                whole_number(value).map(Value::from)
            }
            "title" | "description" | "format" | "pattern" => value.is_string().then(|| value.clone()),
            _ => Some(value.clone()),
        };
        value.map(|value| self.charge_for(value)).transpose()
    }

    fn schemas_by_name(&mut self, value: &'a Value, depth: usize) -> Result<Option<Value>, String> {
        let Value::Object(named) = value else { return Ok(None) };
        let mut out = Map::new();
        for (name, schema) in named {
            self.charge(name.len() + 4)?;
            out.insert(name.clone(), self.schema(schema, depth + 1)?);
        }
        Ok(Some(Value::Object(out)))
    }

    fn schemas(&mut self, value: &'a Value, depth: usize) -> Result<Option<Value>, String> {
        let Some(list) = value.as_array().filter(|list| !list.is_empty()) else { return Ok(None) };
        let schemas = list.iter().map(|schema| self.schema(schema, depth + 1));
        Ok(Some(Value::Array(schemas.collect::<Result<_, _>>()?)))
    }

    /// Scalars and lists of data count by their length; schemas below have counted themselves.
    fn charge_for(&mut self, value: Value) -> Result<Value, String> {
        let length = match &value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(|v| v.as_str().map_or(4, |text| text.len() + 3)).sum(),
            _ => 4,
        };
        self.charge(length)?;
        Ok(value)
    }

    fn charge(&mut self, bytes: usize) -> Result<(), String> {
        self.size += bytes;
        if self.size > MAX_SIZE {
            let limit = MAX_SIZE / 1024;
            return Err(format!("its schema is larger than {limit} KiB once its references are written out"));
        }
        Ok(())
    }
}

/// The older tuple form, a list under `items`, in today's words.
fn tuple_to_prefix(map: &mut Map<String, Value>) {
    let rest = map.shift_remove("additionalItems");
    if map.get("items").is_some_and(Value::is_array)
        && let Some(tuple) = map.shift_remove("items")
    {
        map.entry("prefixItems").or_insert(tuple);
        if let Some(rest) = rest {
            map.insert("items".to_owned(), rest);
        }
    }
}

fn types(value: &Value) -> Option<Value> {
    let known = |value: &Value| -> Option<Value> {
        let name = value.as_str()?.to_ascii_lowercase();
        union::TYPES.contains(&name.as_str()).then(|| Value::from(name))
    };
    let Value::Array(names) = value else { return known(value) };
    let mut out: Vec<Value> = Vec::new();
    for name in names.iter().filter_map(known) {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    if out.len() > 1 { Some(Value::Array(out)) } else { out.pop() }
}

fn required(value: &Value) -> Option<Value> {
    let mut out: Vec<Value> = Vec::new();
    for name in value.as_array()?.iter().filter(|name| name.is_string()) {
        if !out.contains(name) {
            out.push(name.clone());
        }
    }
    Some(Value::Array(out))
}

/// A count, also where it is written as `3.0` or, as Gemini's own form has it, as `"3"`.
fn whole_number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64().filter(|n| n.fract() == 0.0 && (0.0..9e15).contains(n))?;
            Some(float as u64)
        }),
        _ => None,
    }
}

/// What a reference points at: a JSON pointer, an anchor or an identifier within the document.
fn find<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let document = if document.is_empty() { root } else { identified(root, "$id", document, 0)? };
    let fragment = percent_decode_str(fragment).decode_utf8().ok()?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return document.pointer(&fragment);
    }
    identified(document, "$anchor", &fragment, 0)
        .or_else(|| identified(document, "$id", &format!("#{fragment}"), 0))
}

/// The first object that carries `key: name`.
fn identified<'a>(value: &'a Value, key: &str, name: &str, depth: usize) -> Option<&'a Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::Object(map) if map.get(key).and_then(Value::as_str) == Some(name) => Some(value),
        Value::Object(map) => map.values().find_map(|value| identified(value, key, name, depth + 1)),
        Value::Array(list) => list.iter().find_map(|value| identified(value, key, name, depth + 1)),
        _ => None,
    }
}
