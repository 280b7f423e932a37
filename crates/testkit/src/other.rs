//! The operations beside generating: token counts, embeddings, lists of models.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use charla_proto::WireKind;
use serde_json::{Value, json};

use crate::opaque::digest;
use crate::reading::characters;
use crate::reply::{Response, tokens};

/// A token count from the length of the texts.
pub(crate) fn count_tokens(wire: WireKind, body: &Value) -> Response {
    let count = tokens(characters(body)).max(1);
    Response::json(&match wire {
        WireKind::Gemini => json!({"totalTokens": count}),
        _ => json!({"input_tokens": count}),
    })
}

/// Vectors that depend on nothing but the text, so that the same text always has the same one.
pub(crate) fn embed(wire: WireKind, model: &str, body: &Value) -> Response {
    if wire == WireKind::Gemini {
        let one = |request: &Value| json!({"values": vector(&texts(&request["content"]).concat(), &request["outputDimensionality"])});
        return Response::json(&match body["requests"].as_array() {
            Some(requests) => json!({"embeddings": requests.iter().map(one).collect::<Vec<_>>()}),
            None => json!({"embedding": one(body)}),
        });
    }
    let inputs = texts(&body["input"]);
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let vector = vector(text, &body["dimensions"]);
            let embedding = if body["encoding_format"] == "base64" {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                json!(BASE64_STANDARD.encode(bytes))
            } else {
                json!(vector)
            };
            json!({"object": "embedding", "index": index, "embedding": embedding})
        })
        .collect();
    let count = tokens(inputs.iter().map(|text| text.chars().count()).sum());
    let usage = json!({"prompt_tokens": count, "total_tokens": count});
    Response::json(&json!({"object": "list", "data": data, "model": model, "usage": usage}))
}

/// The models, in the wire's own list.
pub(crate) fn models(wire: WireKind, names: &[String]) -> Response {
    let standing = ["charla-echo".to_owned()];
    let names = if names.is_empty() { &standing[..] } else { names };
    let rows: Vec<Value> = names
        .iter()
        .map(|name| match wire {
            WireKind::Gemini => json!({
                "name": format!("models/{name}"),
                "displayName": name,
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            }),
            WireKind::Anthropic => json!({
                "type": "model", "id": name, "display_name": name, "created_at": "2025-10-09T00:00:00Z",
            }),
            _ => json!({"id": name, "object": "model", "created": 1_760_000_000, "owned_by": "charla"}),
        })
        .collect();
    Response::json(&match wire {
        WireKind::Gemini => json!({"models": rows}),
        WireKind::Anthropic => {
            json!({"data": rows, "has_more": false, "first_id": names.first(), "last_id": names.last()})
        }
        _ => json!({"object": "list", "data": rows}),
    })
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => {
            ["parts", "text"].iter().filter_map(|name| fields.get(*name)).flat_map(texts).collect()
        }
        _ => Vec::new(),
    }
}

fn vector(text: &str, dimensions: &Value) -> Vec<f32> {
    let length = dimensions.as_u64().map_or(8, |length| length.min(4096));
    (0..length).map(|index| (digest(&format!("{index} {text}")) % 2001) as f32 / 1000.0 - 1.0).collect()
}
