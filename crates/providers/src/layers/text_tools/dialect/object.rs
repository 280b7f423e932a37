//! Calls as JSON objects.

use serde_json::{Map, Value};

use super::cursor::{Cursor, Read, Stop};
use super::draft::Draft;
use super::json::{self, Parsed};

/// Keys that hold a whole call, or a list of them.
const ENVELOPES: [&str; 4] = ["tool_call", "tool_calls", "function_call", "function"];
/// Keys that hold the tool's name.
const NAMES: [&str; 4] = ["name", "tool_name", "tool", "function"];
/// Keys that hold the arguments.
const ARGUMENTS: [&str; 6] = ["arguments", "parameters", "args", "params", "input", "tool_input"];
/// Keys that may stand beside.
const BESIDE: [&str; 4] = ["id", "type", "call_id", "index"];

/// How plainly a JSON text says that it is a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Plainness {
    /// `{"name", "arguments"}`: might be anybody's data.
    Loose,
    /// `{"tool_call": …}`: means nothing else.
    Explicit,
}

/// Reads an object, or an array of objects, as calls. With a `closer`, JSON that is broken within a call is an
/// invalid call up to there; without one it is no call.
pub(super) fn read(cursor: &mut Cursor, draft: &mut Draft, closer: Option<&str>) -> Read<Plainness> {
    if cursor.peek()? != '[' {
        return read_object(cursor, draft, closer);
    }
    cursor.skip(1);
    let mut plainness = Plainness::Explicit;
    loop {
        cursor.space();
        match cursor.peek()? {
            '{' => plainness = plainness.min(read_object(cursor, draft, closer)?),
            ',' => cursor.skip(1),
            ']' if draft.len() > 0 => {
                cursor.skip(1);
                return Ok(plainness);
            }
            _ => return Err(Stop::No),
        }
    }
}

fn read_object(cursor: &mut Cursor, draft: &mut Draft, closer: Option<&str>) -> Read<Plainness> {
    if cursor.peek()? != '{' {
        return Err(Stop::No);
    }
    let start = cursor.at();
    match json::parse(cursor.rest()) {
        Parsed::Whole(value, length) => {
            cursor.skip(length);
            let raw = cursor.since(start);
            let plainness = take_calls(&value, raw, start, draft, false)?;
            if closer.is_some() {
                cursor.skip(cursor.rest().len() - cursor.rest().trim_start_matches('}').len());
            }
            Ok(plainness)
        }
        Parsed::Partial(value) => {
            if let Some(name) = sketch(&value, 0)? {
                draft.begin(name, start)?;
            }
            Err(cursor.out())
        }
        Parsed::Broken(value, at) => {
            let (Some(name), Some(closer)) = (sketch(&value, 0)?, closer) else { return Err(Stop::No) };
            draft.begin(name, start)?;
            let mut end = cursor.clone();
            let raw = end.until(closer)?;
            cursor.skip(raw.len());
            if let Some(value) = with_braces(raw) {
                return take_calls(&value, raw, start, draft, false);
            }
            draft.end_invalid(raw.trim(), format!("the call is not valid JSON from byte {at} on"));
            Ok(Plainness::Explicit)
        }
    }
}

/// Reads a JSON object as the arguments of the call that `draft` has begun.
pub(super) fn read_arguments(cursor: &mut Cursor, draft: &mut Draft, closer: &str) -> Read<()> {
    match json::parse(cursor.rest()) {
        Parsed::Whole(Value::Object(args), length) => {
            cursor.skip(length);
            draft.end(args);
            Ok(())
        }
        Parsed::Partial(_) => Err(cursor.out()),
        Parsed::Whole(..) | Parsed::Broken(..) => {
            let mut end = cursor.clone();
            let raw = end.until(closer)?;
            cursor.skip(raw.len());
            if let Some(Value::Object(args)) = with_braces(raw) {
                draft.end(args);
                return Ok(());
            }
            draft.end_invalid(raw.trim(), "the arguments are not a valid JSON object");
            Ok(())
        }
    }
}

/// The value of a text that lacks nothing but closing braces. Its writer has ended it by other means, so nothing is
/// missing from it.
fn with_braces(text: &str) -> Option<Value> {
    let mut text = text.trim_end().to_owned();
    for _ in 0..3 {
        text.push('}');
        match json::parse(&text) {
            Parsed::Whole(value, length) if length == text.len() => return Some(value),
            _ => {}
        }
    }
    None
}

fn take_calls(value: &Value, raw: &str, at: usize, draft: &mut Draft, inside: bool) -> Read<Plainness> {
    let object = match value {
        Value::Object(object) => object,
        Value::Array(items) if inside && !items.is_empty() => {
            for item in items {
                take_calls(item, raw, at, draft, true)?;
            }
            return Ok(Plainness::Explicit);
        }
        _ => return Err(Stop::No),
    };
    let envelope = ENVELOPES.iter().find_map(|key| {
        let held = object.get(*key).filter(|held| held.is_object() || held.is_array())?;
        let alone = object.keys().all(|other| other == key || BESIDE.contains(&other.as_str()));
        alone.then_some((*key, held))
    });
    if let Some((key, held)) = envelope {
        take_calls(held, raw, at, draft, true)?;
        return Ok(if key == "function" { Plainness::Loose } else { Plainness::Explicit });
    }
    take_call(object, raw, at, draft, inside)?;
    Ok(Plainness::Loose)
}

fn take_call(object: &Map<String, Value>, raw: &str, at: usize, draft: &mut Draft, inside: bool) -> Read<()> {
    let known =
        |key: &String| [&NAMES[..], &ARGUMENTS, &BESIDE].iter().any(|keys| keys.contains(&key.as_str()));
    let name = NAMES.iter().find_map(|key| object.get(*key)?.as_str());
    let arguments = ARGUMENTS.iter().find_map(|key| object.get(*key));
    let Some(name) = name.filter(|_| object.keys().all(known)) else { return Err(Stop::No) };
    // `{"name": "x"}` alone is data like any other.
    if arguments.is_none() && !inside {
        return Err(Stop::No);
    }
    draft.begin(name, at)?;
    match arguments {
        None | Some(Value::Null) => draft.end(Map::new()),
        Some(Value::Object(args)) => draft.end(args.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => draft.end(Map::new()),
        Some(Value::String(text)) => match json::parse(text) {
            Parsed::Whole(Value::Object(args), _) => draft.end(args),
            _ => draft.end_invalid(text, "the arguments are not a JSON object"),
        },
        Some(_) => draft.end_invalid(raw, "the arguments are not a JSON object"),
    }
    Ok(())
}

/// The tool that an unfinished call names, once it does. [`Stop::No`] as soon as it cannot be a call.
fn sketch(value: &Value, depth: usize) -> Read<Option<&str>> {
    let Some(object) = value.as_object().filter(|_| depth < 4) else {
        let last = value.as_array().and_then(|items| items.last());
        return last.map_or(Ok(None), |last| sketch(last, depth + 1));
    };
    for (key, held) in object {
        let key = key.as_str();
        match held {
            Value::String(name) if NAMES.contains(&key) => return Ok(Some(name)),
            Value::Object(_) | Value::Array(_) if ENVELOPES.contains(&key) => return sketch(held, depth + 1),
            Value::Null if ENVELOPES.contains(&key) || NAMES.contains(&key) => {}
            _ if ARGUMENTS.contains(&key) || BESIDE.contains(&key) => {}
            _ => return Err(Stop::No),
        }
    }
    Ok(None)
}
