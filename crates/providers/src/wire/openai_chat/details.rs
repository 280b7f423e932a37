//! `reasoning_details`: thoughts with signatures or encrypted data that go back as they came
//! (OpenRouter and the gateways that follow it).

use serde_json::Value;

/// The fields whose pieces make one text.
const TEXTS: [&str; 2] = ["text", "summary"];

/// The thought that a list of details tells in words.
pub fn words(details: &[Value]) -> String {
    let texts = details.iter().filter_map(|detail| TEXTS.iter().find_map(|key| detail.get(key)?.as_str()));
    texts.collect()
}

/// Adds the details of one streamed delta to those before it. Pieces of one block (same type, same
/// index, not signed yet) become one block again, as an unstreamed answer would have it.
pub fn merge(details: &mut Vec<Value>, pieces: Vec<Value>) {
    for piece in pieces {
        match details.iter_mut().rev().find(|block| continues(block, &piece)) {
            Some(block) => extend(block, piece),
            None => details.push(piece),
        }
    }
}

fn continues(block: &Value, piece: &Value) -> bool {
    let same = |key: &str| block.get(key) == piece.get(key);
    let whole = |detail: &Value| has_text(detail, "data");
    let signed = has_text(block, "signature") && !is_blank(piece);
    let other_id = has_text(block, "id") && has_text(piece, "id") && !same("id");
    piece.is_object()
        && same("type")
        && same("index")
        && !other_id
        && !signed
        && !whole(block)
        && !whole(piece)
}

fn extend(block: &mut Value, piece: Value) {
    let (Some(block), Value::Object(piece)) = (block.as_object_mut(), piece) else { return };
    for (key, value) in piece {
        if value.is_null() || value == "" {
            block.entry(key).or_insert(value);
            continue;
        }
        match (block.get_mut(&key), &value) {
            (Some(Value::String(old)), Value::String(new)) if TEXTS.contains(&key.as_str()) => {
                old.push_str(new);
            }
            _ => {
                block.insert(key, value);
            }
        }
    }
}

fn has_text(detail: &Value, key: &str) -> bool {
    detail.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

fn is_blank(detail: &Value) -> bool {
    !["text", "summary", "data", "signature"].iter().any(|key| has_text(detail, key))
}
