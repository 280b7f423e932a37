//! Where schemas stand within a schema, and where references lead.

use serde_json::Value;

/// Keywords whose value is a schema.
const ONE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
const LIST: &[&str] = &["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value holds schemas by name.
const NAMED: &[&str] =
    &["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];
/// The types there are.
const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];
/// How deep a schema may be nested to be looked through.
const DEEPEST: usize = 256;

/// Shows every schema within this one, itself first.
pub(crate) fn each<'a>(schema: &'a Value, see: &mut impl FnMut(&'a Value)) {
    below(schema, DEEPEST, see);
}

fn below<'a>(schema: &'a Value, depth: usize, see: &mut impl FnMut(&'a Value)) {
    if depth == 0 || !(schema.is_object() || schema.is_boolean()) {
        return;
    }
    see(schema);
    let one = ONE.iter().filter_map(|key| schema.get(key));
    let list = LIST.iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    let named = NAMED.iter().filter_map(|key| schema.get(key)?.as_object()).flat_map(|named| named.values());
    one.chain(list).chain(named).for_each(|schema| below(schema, depth - 1, see));
}

/// Shows the patterns that stand in this very schema.
pub(crate) fn patterns<'a>(schema: &'a Value, see: &mut impl FnMut(&'a str)) {
    schema.get("pattern").and_then(Value::as_str).into_iter().for_each(&mut *see);
    let named = schema.get("patternProperties").and_then(Value::as_object);
    named.into_iter().flat_map(|named| named.keys()).for_each(|pattern| see(pattern));
}

/// What in this very schema cannot be used, if anything.
pub(crate) fn unusable(root: &Value, schema: &Value) -> Option<String> {
    if let Some(reference) = reference(schema)
        && target(root, reference).is_none()
    {
        return Some(format!("`{reference}` leads to nothing in the schema, and nothing is fetched"));
    }
    if schema.get("$dynamicRef").is_some() {
        return Some("`$dynamicRef` is not followed; use `$ref`".to_owned());
    }
    for (key, right, form) in [
        (
            "type",
            (|value: &Value| value.is_string() || value.is_array()) as fn(&Value) -> bool,
            "a type, or a list of types",
        ),
        ("properties", Value::is_object, "an object"),
        ("patternProperties", Value::is_object, "an object"),
        ("required", |value: &Value| value.is_array() || value.is_boolean(), "a list of names"),
        ("enum", Value::is_array, "a list of values"),
        ("allOf", Value::is_array, "a list of schemas"),
        ("anyOf", Value::is_array, "a list of schemas"),
        ("oneOf", Value::is_array, "a list of schemas"),
        ("pattern", Value::is_string, "text"),
    ] {
        if schema.get(key).is_some_and(|value| !right(value)) {
            return Some(format!("`{key}` must be {form}"));
        }
    }
    let unknown = types(schema).into_iter().find(|name| !TYPES.contains(name));
    unknown.map(|name| format!("there is no type `{name}` (there are: {})", TYPES.join(", ")))
}

/// The types a schema allows; none named, all allowed.
pub(crate) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The reference of this very schema.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()
}

/// Where a reference leads.
pub(crate) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let own = root.get("$id").and_then(Value::as_str).unwrap_or_default().trim_end_matches('#');
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    match Some(fragment).filter(|_| document.is_empty() || document == own) {
        Some("") => Some(root),
        Some(pointer) if pointer.starts_with('/') => root.pointer(&decoded(pointer)),
        anchor => named(root, reference, anchor),
    }
}

/// The schema that calls itself by this name.
fn named<'a>(root: &'a Value, reference: &str, anchor: Option<&str>) -> Option<&'a Value> {
    let mut found = None;
    each(root, &mut |schema| {
        let is = |key: &str, name: &str| schema.get(key).and_then(Value::as_str) == Some(name);
        let anchored = anchor.is_some_and(|name| is("$anchor", name));
        if found.is_none() && (anchored || is("$id", reference) || is("id", reference)) {
            found = Some(schema);
        }
    });
    found
}

/// A pointer without its percent signs.
fn decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
