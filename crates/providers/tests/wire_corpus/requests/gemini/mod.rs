//! Recorded Gemini requests. Clients write keys in camel case or in snake case; both mean the same.

mod import;

use serde_json::{Value, json};

use super::super::meaning::{Item, Meaning, ToolMeaning};

pub use import::import;

pub fn meaning(request: &Value) -> Result<Meaning, String> {
    let request = field(request, "generateContentRequest").unwrap_or(request);
    let mut meaning = Meaning::default();
    if let Some(system) = field(request, "systemInstruction") {
        meaning.system = parts(system).iter().filter_map(|part| part["text"].as_str()).collect();
    }
    for content in list(field(request, "contents")) {
        let role = match content["role"].as_str() {
            Some("model") => "model",
            _ => "user",
        };
        for part in parts(content) {
            part_meaning(part, role, &mut meaning);
        }
    }
    // Functions of several tools are one list, and what the provider runs stands apart.
    let mut natives = Vec::new();
    for tool in list(field(request, "tools")) {
        for (key, value) in tool.as_object().into_iter().flatten() {
            if camel(key) == "functionDeclarations" {
                meaning.tools.extend(list(Some(value)).into_iter().map(function_meaning));
            } else if !value.is_null() {
                let schema = json!({ camel(key): value });
                natives.push(ToolMeaning { name: String::new(), description: String::new(), schema });
            }
        }
    }
    meaning.tools.extend(natives);
    Ok(meaning)
}

fn part_meaning(part: &Value, role: &'static str, meaning: &mut Meaning) {
    let signature = field(part, "thoughtSignature").and_then(Value::as_str).map(str::to_owned);
    if let Some(text) = field(part, "text").and_then(Value::as_str) {
        if part["thought"] == true {
            if !text.is_empty() || signature.is_some() {
                meaning.push(role, Item::Thought { text: text.to_owned(), signature });
            }
            return;
        }
        meaning.push(role, Item::Text(text.to_owned()));
    } else if let Some(item) = media(part) {
        meaning.push(role, item);
    } else if let Some(call) = field(part, "functionCall") {
        let args = field(call, "args").cloned().unwrap_or_else(|| json!({}));
        meaning.push(role, Item::Call { id: id(call), name: name(call), args });
    } else if let Some(response) = field(part, "functionResponse") {
        let answer = field(response, "response").cloned().unwrap_or_else(|| json!({}));
        let error = answer.get("error").is_some();
        let text = format!("{}: {answer}", name(response));
        meaning.push(role, Item::Result { id: id(response), text, error });
        for part in list(field(response, "parts")) {
            if let Some(item) = media(part) {
                meaning.push(role, item);
            }
        }
    } else if let Some(object) = part.as_object() {
        let whole = object.iter().map(|(key, value)| (camel(key), value.clone()));
        let whole: Vec<_> = whole.filter(|(key, _)| key != "thoughtSignature" && key != "thought").collect();
        if !whole.is_empty() {
            meaning.push(role, Item::Opaque(Value::Object(whole.into_iter().collect())));
        }
    }
    if let Some(signature) = signature {
        meaning.push(role, Item::Opaque(json!({ "signature": signature })));
    }
}

fn media(part: &Value) -> Option<Item> {
    let text = |value: &Value, key| field(value, key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(blob) = field(part, "inlineData") {
        return Some(Item::Media { mime: text(blob, "mimeType"), data: text(blob, "data") });
    }
    let file = field(part, "fileData")?;
    Some(Item::Media { mime: text(file, "mimeType"), data: text(file, "fileUri") })
}

fn function_meaning(function: &Value) -> ToolMeaning {
    let schema = field(function, "parametersJsonSchema").or_else(|| field(function, "parameters"));
    ToolMeaning {
        name: name(function),
        description: function["description"].as_str().unwrap_or_default().to_owned(),
        schema: super::shape::of(schema.unwrap_or(&json!({"type": "object"}))),
    }
}

fn id(value: &Value) -> Option<String> {
    Some(value["id"].as_str()?.to_owned())
}

fn name(value: &Value) -> String {
    value["name"].as_str().unwrap_or_default().to_owned()
}

/// The parts of a content; one part may stand without a list around it.
fn parts(content: &Value) -> Vec<&Value> {
    list(content.get("parts"))
}

/// A list's items; a lone object counts as a list of one.
pub(super) fn list(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(one) => vec![one],
    }
}

/// The value under `key`, whichever way it is written; null counts as absent.
pub(super) fn field<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let object = value.as_object()?;
    let (_, value) = object.iter().find(|(name, value)| camel(name) == key && !value.is_null())?;
    Some(value)
}

/// `snake_case` as `camelCase`.
pub(super) fn camel(key: &str) -> String {
    let mut out = String::new();
    let mut upper = false;
    for c in key.chars() {
        if c == '_' && !out.is_empty() {
            upper = true;
        } else if std::mem::take(&mut upper) {
            out.extend(c.to_uppercase());
        } else {
            out.push(c);
        }
    }
    out
}
