//! Merges compositions (`allOf`, `anyOf`, `oneOf`) where a wire has no room for them.

use serde_json::{Map, Value, json};

/// The types of JSON Schema.
pub(super) const TYPES: [&str; 7] = ["object", "string", "integer", "number", "boolean", "array", "null"];

/// The types a schema names; none means any.
pub(super) fn types(map: &Map<String, Value>) -> Vec<&str> {
    match map.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The names a schema requires.
pub(super) fn required(map: &Map<String, Value>) -> Vec<String> {
    let names = map.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

/// The schema that says what both say. Where they cannot both hold, `outer` does; its words win too.
pub(super) fn merge(inner: Map<String, Value>, outer: Map<String, Value>) -> Map<String, Value> {
    let mut merged = inner;
    for (key, new) in outer {
        let Some(old) = merged.shift_remove(&key) else {
            merged.insert(key, new);
            continue;
        };
        let value = match (key.as_str(), old, new) {
            ("properties", Value::Object(old), Value::Object(new)) => Value::Object(merge_named(old, new)),
            ("required", Value::Array(old), Value::Array(new)) => Value::Array(joined(old, new)),
            ("enum", Value::Array(old), Value::Array(new)) => {
                let common: Vec<Value> = new.iter().filter(|value| old.contains(value)).cloned().collect();
                Value::Array(if common.is_empty() { new } else { common })
            }
            ("allOf", Value::Array(old), Value::Array(new)) => Value::Array(joined(old, new)),
            ("type", old, new) => narrower(old, new),
            (_, _, new) => new,
        };
        merged.insert(key, value);
    }
    merged
}

fn merge_named(mut old: Map<String, Value>, new: Map<String, Value>) -> Map<String, Value> {
    for (name, new) in new {
        let value = match (old.shift_remove(&name), new) {
            (Some(Value::Object(old)), Value::Object(new)) => Value::Object(merge(old, new)),
            (Some(old), Value::Bool(true)) => old,
            (_, new) => new,
        };
        old.insert(name, value);
    }
    old
}

/// The types both allow, or the second when they have none in common.
fn narrower(old: Value, new: Value) -> Value {
    let list = |value: &Value| match value {
        Value::Array(names) => names.clone(),
        name => vec![name.clone()],
    };
    let allowed = list(&old);
    let fits =
        |name: &Value| allowed.contains(name) || (name == "integer" && allowed.contains(&json!("number")));
    let mut common: Vec<Value> = list(&new).into_iter().filter(fits).collect();
    match common.len() {
        0 => new,
        1 => common.remove(0),
        _ => Value::Array(common),
    }
}

fn joined(mut old: Vec<Value>, new: Vec<Value>) -> Vec<Value> {
    for value in new {
        if !old.contains(&value) {
            old.push(value);
        }
    }
    old
}

/// The schema with its `allOf` merged into it.
pub(super) fn fold_all_of(mut map: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(members)) = map.shift_remove("allOf") else { return map };
    let mut folded = Map::new();
    for member in members {
        if let Value::Object(member) = member {
            folded = merge(folded, fold_all_of(member));
        }
    }
    merge(folded, map)
}

/// Takes the alternatives out of a schema: `anyOf`, or else `oneOf`.
pub(super) fn take_variants(map: &mut Map<String, Value>) -> Vec<Value> {
    let any = map.shift_remove("anyOf");
    let one = map.shift_remove("oneOf");
    match any.or(one) {
        Some(Value::Array(variants)) => variants,
        _ => Vec::new(),
    }
}

/// True for a schema that can only be about objects.
pub(super) fn is_object(map: &Map<String, Value>) -> bool {
    let types = types(map);
    types == ["object"]
        || (types.is_empty() && (map.contains_key("properties") || map.contains_key("required")))
}

/// An object schema without compositions at its top: it takes every property of every alternative and
/// requires what all of them require.
pub(super) fn flatten(map: Map<String, Value>) -> Map<String, Value> {
    let mut base = fold_all_of(map);
    let mut variants: Vec<Map<String, Value>> = Vec::new();
    for variant in take_variants(&mut base) {
        if let Value::Object(variant) = variant {
            let variant = flatten(variant);
            if is_object(&variant) {
                variants.push(variant);
            }
        }
    }
    if variants.is_empty() {
        return base;
    }
    let mut shared = required(&variants[0]);
    shared.retain(|name| variants.iter().all(|variant| required(variant).contains(name)));
    let mut properties = Map::new();
    for variant in variants {
        if let Some(Value::Object(named)) = { variant }.shift_remove("properties") {
            for (name, schema) in named {
                let schema = match properties.shift_remove(&name) {
                    Some(known) => either(known, schema),
                    None => schema,
                };
                properties.insert(name, schema);
            }
        }
    }
    let shared = shared.into_iter().map(Value::from).collect();
    let union = Map::from_iter([
        ("type".to_owned(), Value::from("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("required".to_owned(), Value::Array(shared)),
    ]);
    // What the alternatives forbid beside their own properties does not hold for all of them together.
    base.shift_remove("additionalProperties");
    merge(union, base)
}

/// A schema that takes what either takes. Literals of one property in several alternatives (the usual
/// discriminator) become one list of values.
fn either(a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    if let (Value::Object(left), Value::Object(right)) = (&a, &b)
        && let (Some(mut values), Some(more)) = (literals(left), literals(right))
        && types(left) == types(right)
    {
        values = joined(values, more);
        let mut map = left.clone();
        map.shift_remove("const");
        map.insert("enum".to_owned(), Value::Array(values));
        return Value::Object(map);
    }
    let mut variants = Vec::new();
    for value in [a, b] {
        match value {
            Value::Object(mut map) if map.len() == 1 && map.contains_key("anyOf") => {
                variants = joined(variants, take_variants(&mut map));
            }
            other => variants = joined(variants, vec![other]),
        }
    }
    json!({ "anyOf": variants })
}

/// The values a schema of literals lists.
fn literals(map: &Map<String, Value>) -> Option<Vec<Value>> {
    match (map.get("const"), map.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}

/// Adds what JSON Schema leaves open but providers insist on (`items` of an array, an object where
/// `true` stands), and turns OpenAPI's `nullable` into a type.
pub(super) fn complete(schema: &mut Value) {
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(true) => {
            *schema = json!({});
            return;
        }
        _ => return,
    };
    let nullable = map.shift_remove("nullable") == Some(Value::Bool(true));
    if nullable && let Some(Value::String(name)) = map.get("type") {
        let types = json!([name, "null"]);
        map.insert("type".to_owned(), types);
    }
    if types(map).contains(&"array") && !map.contains_key("items") && !map.contains_key("prefixItems") {
        map.insert("items".to_owned(), json!({}));
    }
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                named.values_mut().for_each(complete);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter_mut().for_each(complete);
            }
            ("items" | "not" | "contains" | "propertyNames" | "if" | "then" | "else", value) => {
                complete(value)
            }
            ("additionalProperties", value) if value.is_object() => complete(value),
            _ => {}
        }
    }
}
