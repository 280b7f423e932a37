//! Content blocks on their way in.

use charla_proto::{Citation, FunctionCall, InvalidArgs, Part};
use serde_json::Value;

use super::{ENTRY, make_call_id, weight, weight_of_fields};

/// A block that has begun.
pub(super) enum Open {
    /// Its words go out as they come.
    Text,
    /// Its words go out as they come; its signature goes out with its end.
    Thinking { signature: String },
    /// A call of ours: held back until it is whole.
    Tool { call: FunctionCall, json: String },
    /// A block only the provider understands: held back until it is whole.
    Opaque { block: Value, json: String },
}

impl Open {
    pub(super) fn begin(block: &Value) -> Self {
        match block["type"].as_str().unwrap_or_default() {
            "text" => Open::Text,
            "thinking" => {
                Open::Thinking { signature: block["signature"].as_str().unwrap_or_default().to_owned() }
            }
            "tool_use" => Open::Tool { call: call(block), json: String::new() },
            _ => Open::Opaque { block: block.clone(), json: String::new() },
        }
    }

    /// What it holds that was not given out.
    pub(super) fn weight(&self) -> usize {
        ENTRY
            + match self {
                Open::Text => 0,
                Open::Thinking { signature } => signature.len(),
                Open::Tool { call, json } => call.name.len() + weight_of_fields(&call.args) + json.len(),
                Open::Opaque { block, json } => weight(block) + json.len(),
            }
    }

    /// The block ended as it should.
    pub(super) fn whole(self) -> Option<Part> {
        match self {
            Open::Text => None,
            // A server that does not sign still ended its thought: the empty signature says so, and the
            // encoder sends such a block back as it came.
            Open::Thinking { signature } => Some(Part::thought("").with_signature(signature)),
            Open::Tool { mut call, json } => {
                if !json.trim().is_empty() {
                    call.set_args_text(&json);
                }
                Some(Part::function_call(call))
            }
            Open::Opaque { mut block, json } => {
                if let Ok(input) = serde_json::from_str::<Value>(&json)
                    && let Some(fields) = block.as_object_mut()
                {
                    fields.insert("input".to_owned(), input);
                }
                Some(Part::opaque(block))
            }
        }
    }

    /// The stream ended before the block did. What cannot be trusted to be whole is dropped, except a
    /// call, which is given out as one that must not run.
    pub(super) fn cut(self) -> Option<Part> {
        match self {
            Open::Tool { mut call, json } => {
                if !json.trim().is_empty() {
                    call.set_args_text(&json);
                } else if call.args.is_empty() {
                    let reason = "the answer broke off before the arguments".to_owned();
                    call.invalid = Some(Box::new(InvalidArgs { raw: json, reason }));
                }
                Some(Part::function_call(call))
            }
            Open::Thinking { signature } if !signature.is_empty() => {
                Some(Part::thought("").with_signature(signature))
            }
            Open::Text | Open::Thinking { .. } | Open::Opaque { .. } => None,
        }
    }
}

/// The words that a text or thinking block begins with.
pub(super) fn words_at_start(block: &Value, citations: &mut Vec<Citation>) -> Option<Part> {
    citations.extend(block["citations"].as_array().into_iter().flatten().map(citation));
    let words = |key: &str| block[key].as_str().filter(|words| !words.is_empty());
    match block["type"].as_str() {
        Some("text") => words("text").map(Part::text),
        Some("thinking") => words("thinking").map(Part::thought),
        _ => None,
    }
}

/// A call whose arguments may still come.
fn call(block: &Value) -> FunctionCall {
    let id = block["id"].as_str().filter(|id| !id.is_empty());
    let id = id.map_or_else(make_call_id, str::to_owned);
    let args = block["input"].as_object().cloned().unwrap_or_default();
    let mut call = FunctionCall::new(id, block["name"].as_str().unwrap_or_default(), args);
    if let Value::String(text) = &block["input"] {
        call.set_args_text(text);
    }
    if let Some(caller) = block.get("caller").filter(|caller| !caller.is_null()) {
        call.extra.insert("caller", caller.clone());
    }
    call
}

/// Adds an unknown delta to the block it is for: texts are continued, other values replaced.
pub(super) fn grow_opaque(block: &mut Value, data: &str) {
    let event: Value = serde_json::from_str(data).unwrap_or_default();
    let (Some(fields), Some(delta)) = (block.as_object_mut(), event["delta"].as_object()) else { return };
    for (key, new) in delta.iter().filter(|(key, _)| *key != "type") {
        match (fields.get_mut(key), new) {
            (Some(Value::String(old)), Value::String(new)) => old.push_str(new),
            _ => {
                fields.insert(key.clone(), new.clone());
            }
        }
    }
}

/// A source in our form; what else the wire says of it is kept beside.
pub(super) fn citation(source: &Value) -> Citation {
    let text = |key: &str| source[key].as_str().map(str::to_owned);
    let known = ["title", "url"];
    let fields = source.as_object().into_iter().flatten().filter(|(key, _)| !known.contains(&key.as_str()));
    Citation {
        title: text("title").or_else(|| text("document_title")).or_else(|| text("cited_text")),
        uri: text("url"),
        extra: fields.map(|(key, value)| (key.clone(), value.clone())).collect(),
    }
}
