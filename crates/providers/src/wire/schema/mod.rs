//! Adapts JSON Schemas to what a wire accepts.
//!
//! Tools come from anywhere (MCP servers above all) with any schema, and one schema that a provider does
//! not understand makes it refuse the whole request. So every schema goes through three stages: references
//! are written out and malformed keywords dropped (`inline`), compositions are merged where a wire has
//! no room for them (`union`), and for Gemini the rest is cut down to its subset (`gemini`). Where there is
//! a choice the result permits more rather than less: the tool still checks its arguments itself.

mod gemini;
mod inline;
mod plain;
mod union;

use std::borrow::Cow;

use charla_proto::WireKind;
use serde_json::{Map, Value};

/// A schema that grows beyond this many bytes is refused: inlined references can double at every level.
const MAX_SIZE: usize = 512 * 1024;

/// A schema nested deeper than this is refused. No provider takes more, and the stack is finite.
const MAX_DEPTH: usize = 64;

/// The schema of a function's arguments in the form `wire` accepts, or why no form of it can be sent.
///
/// The result is always an object schema with `properties`, without references and without a union at
/// its top. Null stands for a function without arguments.
pub fn adapt(schema: &Value, wire: WireKind) -> Result<Cow<'_, Value>, String> {
    // Gemini's is a subset of its own, and Anthropic's has names that must be looked at.
    let takes_any = matches!(wire, WireKind::OpenaiChat | WireKind::OpenaiResponses);
    if takes_any && plain::is_plain(schema) {
        return Ok(Cow::Borrowed(schema));
    }
    adapted(schema, wire).map(Cow::Owned)
}

fn adapted(schema: &Value, wire: WireKind) -> Result<Value, String> {
    let mut root = match inlined(schema)? {
        Value::Object(root) => union::flatten(root),
        Value::Bool(true) => Map::new(),
        _ => return Err("its argument schema accepts nothing".to_owned()),
    };
    must_be_object(&root)?;
    root.insert("type".to_owned(), Value::from("object"));
    if wire == WireKind::Gemini {
        let Some(mut root) = gemini::subset(&Value::Object(root))? else {
            return Err("its argument schema accepts nothing".to_owned());
        };
        root.entry("properties").or_insert_with(|| Map::new().into());
        return Ok(Value::Object(root));
    }
    for key in ["not", "enum", "const", "nullable"] {
        root.shift_remove(key);
    }
    root.entry("properties").or_insert_with(|| Map::new().into());
    keep_names(&mut root, wire)?;
    let mut root = Value::Object(root);
    union::complete(&mut root);
    Ok(root)
}

/// The schema of an answer in the form `wire` accepts. Unlike arguments an answer may be of any type.
pub fn adapt_answer(schema: &Value, wire: WireKind) -> Result<Value, String> {
    let mut root = inlined(schema)?;
    if wire == WireKind::Gemini {
        return match gemini::subset(&root)? {
            Some(subset) => Ok(Value::Object(subset)),
            None => Err("the answer's schema accepts nothing".to_owned()),
        };
    }
    union::complete(&mut root);
    Ok(root)
}

/// The longest name of a function that `wire` takes.
pub(super) fn longest_name(wire: WireKind) -> usize {
    if wire == WireKind::Anthropic { 128 } else { 64 }
}

/// Why `wire` refuses a function of this name, if it does. One such name fails the whole request.
pub fn check_name(name: &str, wire: WireKind) -> Result<(), String> {
    let limit = longest_name(wire);
    let allowed = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '-')
            || (wire == WireKind::Gemini && matches!(c, '.' | ':'))
    };
    if name.is_empty() {
        return Err("it has no name".to_owned());
    }
    if name.len() > limit {
        return Err(format!("its name is longer than {limit} characters"));
    }
    if let Some(bad) = name.chars().find(|c| !allowed(*c)) {
        return Err(format!("its name has the character {bad:?}, which this provider refuses"));
    }
    if wire == WireKind::Gemini && !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Err("its name does not begin with a letter or an underscore".to_owned());
    }
    Ok(())
}

fn inlined(schema: &Value) -> Result<Value, String> {
    match schema {
        Value::Null => Ok(Value::Bool(true)),
        Value::Bool(_) | Value::Object(_) => inline::inline(schema),
        Value::Array(_) => Err("its schema is a list, not a schema".to_owned()),
        Value::String(_) => Err("its schema is a text, not a schema".to_owned()),
        Value::Number(_) => Err("its schema is a number, not a schema".to_owned()),
    }
}

fn must_be_object(root: &Map<String, Value>) -> Result<(), String> {
    let types = union::types(root);
    if types.is_empty() || types.contains(&"object") {
        return Ok(());
    }
    Err(format!("its argument schema describes {}, but arguments are an object", types.join(" or ")))
}

/// Anthropic refuses a request over one argument whose name it does not like. Such an argument is left
/// out where it is optional.
fn keep_names(root: &mut Map<String, Value>, wire: WireKind) -> Result<(), String> {
    if wire != WireKind::Anthropic {
        return Ok(());
    }
    let required = union::required(root);
    let Some(Value::Object(properties)) = root.get_mut("properties") else { return Ok(()) };
    let fits = |name: &str| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
    };
    if let Some(name) = required.iter().find(|name| properties.contains_key(*name) && !fits(name)) {
        return Err(format!("its required argument {name:?} has a name this provider refuses"));
    }
    properties.retain(|name, _| fits(name));
    Ok(())
}

#[cfg(test)]
mod tests;
