//! A local estimate of tokens, for providers that do not count.
//!
//! No tokenizer is shipped: vocabularies are megabytes and every vendor has its own. Instead one pass over the
//! text prices words by length, digits, punctuation, line ends and scripts without spaces, with prices
//! fitted to public byte-pair vocabularies (those of GPT-4o and Qwen above all). English prose, source code
//! and Chinese come out within a few percent of those.
//!
//! What a server adds unseen cannot be known: most chat templates put some words around each message, and
//! many put a whole manual in front of tools. Both are priced by what recorded traffic shows.

mod text;

use charla_proto::{Blob, Content, FileData, FunctionDeclaration, GenerateRequest, Part, PartKind};
use serde_json::{Map, Value};

use text::{HUNDREDTHS, price};

/// Around each message: role and separators.
const MESSAGE: u64 = 4 * HUNDREDTHS;
/// Around each call, result and declared function.
const CALL: u64 = 8 * HUNDREDTHS;
const FUNCTION: u64 = 12 * HUNDREDTHS;
/// A declared property: its type and separators.
const PROPERTY: u64 = 6 * HUNDREDTHS;
/// The opening of the model's answer.
const OPENING: u64 = 3 * HUNDREDTHS;

/// The manual that a family's chat template puts in front of tools, in tokens; medians of recorded
/// traffic. A wrong row only makes an estimate worse.
const TOOL_MANUALS: &[(&str, u64)] = &[
    ("claude", 500),
    ("deepseek", 300),
    ("gpt", 10),
    ("gemini", 10),
    ("kimi", 25),
    ("mistral", 35),
    ("devstral", 35),
    ("codestral", 35),
];
/// The manual of any other template; most follow one public pattern.
const OTHER_TOOL_MANUAL: u64 = 140;

/// About how many tokens a model will count for this request.
///
/// Thoughts and opaque data are not counted: most of them never go out again, and servers do not charge for
/// those that do by their length.
pub fn estimate(request: &GenerateRequest) -> u64 {
    let system = request.system_instruction.as_deref();
    let contents = request.contents.iter().map(|content| &**content);
    let messages: u64 = system.into_iter().chain(contents).map(content).sum();
    let format = request.response_json_schema.as_deref().map_or(0, schema);
    (OPENING + messages + tools(request) + format).div_ceil(HUNDREDTHS)
}

/// About how many tokens a text has.
pub fn estimate_text(text: &str) -> u64 {
    price(text).div_ceil(HUNDREDTHS)
}

fn content(content: &Content) -> u64 {
    MESSAGE + content.parts.iter().map(part).sum::<u64>()
}

fn part(part: &Part) -> u64 {
    match &part.kind {
        PartKind::Text(_) if part.thought => 0,
        PartKind::Text(text) => price(text),
        PartKind::InlineData(blob) => inline(blob),
        PartKind::FileData(file) => by_address(file),
        PartKind::FunctionCall(call) => CALL + price(&call.name) + object(&call.args),
        PartKind::FunctionResponse(response) => {
            let answer = match (response.response.len(), response.response.values().next()) {
                (1, Some(Value::String(text))) => price(text),
                _ => object(&response.response),
            };
            CALL + answer + response.parts.iter().map(self::part).sum::<u64>()
        }
        PartKind::Opaque(_) | PartKind::Other => 0,
    }
}

fn tools(request: &GenerateRequest) -> u64 {
    let mut functions = request.function_declarations().peekable();
    if functions.peek().is_none() {
        return 0;
    }
    let model = request.model.to_ascii_lowercase();
    let manual = TOOL_MANUALS.iter().find(|(family, _)| model.contains(family));
    let manual = manual.map_or(OTHER_TOOL_MANUAL, |(_, tokens)| *tokens);
    manual * HUNDREDTHS + functions.map(|declaration| function(declaration)).sum::<u64>()
}

fn function(declaration: &FunctionDeclaration) -> u64 {
    FUNCTION
        + price(&declaration.name)
        + price(&declaration.description)
        + schema(&declaration.parameters_json_schema)
}

/// What a schema says, without its JSON: servers write it out in a shorter form of their own.
fn schema(schema: &Value) -> u64 {
    let Value::Object(fields) = schema else { return 0 };
    let mut sum = 0;
    for (key, value) in fields {
        sum += match (key.as_str(), value) {
            ("description", Value::String(text)) => price(text),
            ("enum", Value::Array(values)) => values.iter().map(json).sum(),
            ("properties" | "$defs" | "definitions", Value::Object(inner)) => {
                inner.iter().map(|(name, value)| PROPERTY + price(name) + self::schema(value)).sum()
            }
            ("items" | "additionalProperties", value) => self::schema(value),
            ("anyOf" | "oneOf" | "allOf", Value::Array(forms)) => forms.iter().map(self::schema).sum(),
            _ => 0,
        };
    }
    sum
}

/// A value as it would be priced written out as JSON.
fn json(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) => HUNDREDTHS,
        Value::Number(number) => price(&number.to_string()),
        Value::String(text) => HUNDREDTHS + price(text),
        Value::Array(items) => HUNDREDTHS + items.iter().map(|item| HUNDREDTHS / 2 + json(item)).sum::<u64>(),
        Value::Object(fields) => object(fields),
    }
}

fn object(fields: &Map<String, Value>) -> u64 {
    let fields = fields.iter().map(|(key, value)| HUNDREDTHS + price(key) + json(value));
    HUNDREDTHS + fields.sum::<u64>()
}

/// Media carried in the message, by kind and size; the vendors' own rules differ by factors.
fn inline(blob: &Blob) -> u64 {
    let bytes = blob.data.len() as u64 / 4 * 3;
    let tokens = match kind_of(&blob.mime_type) {
        // Vendors cut images into tiles up to a limit; one of usual size costs about this.
        Media::Image => 800,
        // 32 tokens a second, at the usual rate of compressed sound.
        Media::Audio => (bytes / 500).max(32),
        Media::Video => (bytes / 1000).max(260),
        Media::Text => bytes / 4,
        // A page costs its text and its picture.
        Media::Document => (bytes / 50_000).max(1) * 1500,
    };
    tokens * HUNDREDTHS
}

fn by_address(file: &FileData) -> u64 {
    let tokens = match kind_of(&file.mime_type) {
        Media::Image => 800,
        Media::Audio => 2000,
        Media::Video => 15_000,
        Media::Text | Media::Document => 3000,
    };
    tokens * HUNDREDTHS
}

enum Media {
    Image,
    Audio,
    Video,
    Text,
    Document,
}

fn kind_of(mime_type: &str) -> Media {
    match mime_type.split_once('/') {
        Some(("image", _)) => Media::Image,
        Some(("audio", _)) => Media::Audio,
        Some(("video", _)) => Media::Video,
        Some(("text", _) | ("application", "json" | "xml" | "yaml")) => Media::Text,
        _ => Media::Document,
    }
}

#[cfg(test)]
mod tests;
