//! Schemas of tools, by what each vendor takes.

use serde_json::Value;

use super::{Verdict, fail, list, text};

const COMBINERS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// OpenAI: an object at the top, nothing that could make it something else, and items for arrays.
pub(super) fn openai(function: &str, schema: &Value, strict: bool) -> Verdict {
    let Some(fields) = schema.as_object() else {
        return fail(format!("Invalid schema for function '{function}': it is no object."));
    };
    if schema["type"] != "object" {
        return fail(format!(
            "Invalid schema for function '{function}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'.",
            schema["type"]
        ));
    }
    if let Some(name) = COMBINERS.iter().chain(&["enum", "not"]).find(|name| fields.contains_key(**name)) {
        return fail(format!("Invalid schema for function '{function}': '{name}' at the top level."));
    }
    nested(schema, &mut |schema| {
        if schema["type"] == "array" && schema.get("items").is_none() && schema.get("prefixItems").is_none() {
            return fail(format!("Invalid schema for function '{function}': array schema missing items."));
        }
        if strict && schema["type"] == "object" {
            return strict_object(function, schema);
        }
        Ok(())
    })
}

fn strict_object(function: &str, schema: &Value) -> Verdict {
    let every = schema["properties"].as_object().into_iter().flat_map(|properties| properties.keys());
    let required = |name: &String| list(&schema["required"]).any(|(_, entry)| entry == name.as_str());
    if schema["additionalProperties"] != false || !every.into_iter().all(required) {
        return fail(format!(
            "Invalid schema for function '{function}': strict wants 'additionalProperties' to be false and every property in 'required'."
        ));
    }
    Ok(())
}

/// Anthropic: an object at the top, without combiners.
pub(super) fn anthropic(place: &str, schema: &Value) -> Verdict {
    let Some(fields) = schema.as_object() else {
        return fail(format!("{place}.input_schema: Field required"));
    };
    if schema["type"] != "object" {
        return fail(format!("{place}.input_schema.type: Input should be 'object'"));
    }
    if COMBINERS.iter().any(|name| fields.contains_key(*name)) {
        return fail(format!(
            "{place}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        ));
    }
    Ok(())
}

const GEMINI_KEYS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

/// Gemini's own subset (`parameters`, `responseSchema`).
pub(super) fn gemini(place: &str, schema: &Value) -> Verdict {
    let Some(fields) = schema.as_object() else {
        return fail(format!("{place}: a schema must be an object."));
    };
    if let Some(name) = fields.keys().find(|name| !GEMINI_KEYS.contains(&name.as_str())) {
        return fail(format!(
            "Invalid JSON payload received. Unknown name \"{name}\" at '{place}': Cannot find field."
        ));
    }
    if fields.contains_key("anyOf")
        && fields.keys().any(|name| !["anyOf", "description", "nullable", "title"].contains(&name.as_str()))
    {
        return fail(format!("{place}.any_of: when using any_of, it must be the only field set."));
    }
    let kind = text(schema, "type").to_ascii_uppercase();
    match kind.as_str() {
        "" if fields.contains_key("anyOf") => {}
        "" => return fail(format!("{place}.type: must be specified.")),
        "STRING" | "NUMBER" | "INTEGER" | "BOOLEAN" | "ARRAY" | "OBJECT" | "NULL" => {}
        other => return fail(format!("{place}.type: Invalid value \"{other}\".")),
    }
    let format = text(schema, "format");
    if kind == "STRING" && !["", "enum", "date-time"].contains(&format) {
        return fail(format!("{place}.format: only 'enum' and 'date-time' are supported for STRING type."));
    }
    if fields.contains_key("enum") && kind != "STRING" {
        return fail(format!("{place}.enum: only allowed for STRING type."));
    }
    if kind == "ARRAY" && !fields.contains_key("items") {
        return fail(format!("{place}.items: missing field."));
    }
    for (at, name) in list(&schema["required"]) {
        if schema["properties"].get(name.as_str().unwrap_or_default()).is_none() {
            return fail(format!("{place}.required[{at}]: property is not defined."));
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        gemini(&format!("{place}.properties[{name}]"), property)?;
    }
    for (at, branch) in list(&schema["anyOf"]) {
        gemini(&format!("{place}.any_of[{at}]"), branch)?;
    }
    fields.get("items").map_or(Ok(()), |items| gemini(&format!("{place}.items"), items))
}

/// Gemini's JSON Schema fields (`parametersJsonSchema`): an object whose references all lead somewhere.
pub(super) fn gemini_json(place: &str, schema: &Value) -> Verdict {
    if schema["type"] != "object" {
        return fail(format!("{place}: the schema must have type object."));
    }
    references(place, schema, schema, &mut Vec::new())
}

fn references<'a>(place: &str, schema: &'a Value, root: &'a Value, open: &mut Vec<&'a str>) -> Verdict {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        let Some(target) = target else {
            return fail(format!("{place}: reference to undefined schema at {reference}."));
        };
        if open.contains(&reference) {
            return fail(format!("{place}: cyclic reference {reference} is not supported."));
        }
        open.push(reference);
        references(place, target, root, open)?;
        open.pop();
    }
    for child in children(schema) {
        references(place, child, root, open)?;
    }
    Ok(())
}

/// Calls `check` for a schema and every schema inside it.
fn nested(schema: &Value, check: &mut dyn FnMut(&Value) -> Verdict) -> Verdict {
    check(schema)?;
    children(schema).try_for_each(|child| nested(child, check))?;
    let definitions = schema["$defs"].as_object().into_iter().flat_map(|map| map.values());
    definitions.into_iter().try_for_each(|child| nested(child, check))
}

fn children(schema: &Value) -> impl Iterator<Item = &Value> {
    let properties = schema["properties"].as_object().into_iter().flat_map(|map| map.values());
    let branches =
        ["anyOf", "oneOf", "allOf", "prefixItems"].into_iter().flat_map(|name| list(&schema[name]));
    let single = ["items", "additionalProperties"].into_iter().filter_map(|name| schema.get(name));
    properties.chain(branches.map(|(_, branch)| branch)).chain(single)
}
