//! What a request says, whatever its wire: for rules, for echoing and for estimates.

use charla_proto::WireKind;
use serde_json::Value;

/// The gist of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The last text the user said.
    pub text: String,
    /// Tool results after it, as text.
    pub tool_results: Vec<String>,
    /// Media after the text before it, or beside it.
    pub media: usize,
}

impl Reading {
    pub(crate) fn of(wire: WireKind, body: &Value) -> Self {
        let mut reading = Self::default();
        match wire {
            WireKind::Gemini => {
                for content in list(&body["contents"]).filter(|content| content["role"] != "model") {
                    list(&content["parts"]).for_each(|part| reading.gemini(part));
                }
            }
            WireKind::OpenaiChat => {
                for message in list(&body["messages"]) {
                    match message["role"].as_str() {
                        Some("user") => reading.content(&message["content"]),
                        Some("tool") => reading.tool_results.push(plain(&message["content"])),
                        _ => {}
                    }
                }
            }
            WireKind::OpenaiResponses => {
                if let Some(text) = body["input"].as_str() {
                    reading.say(text);
                }
                for item in list(&body["input"]) {
                    if item["type"] == "function_call_output" {
                        reading.tool_results.push(plain(&item["output"]));
                    } else if item["role"] == "user" {
                        reading.content(&item["content"]);
                    }
                }
            }
            WireKind::Anthropic => {
                for message in list(&body["messages"]).filter(|message| message["role"] == "user") {
                    reading.content(&message["content"]);
                }
            }
        }
        reading
    }

    fn gemini(&mut self, part: &Value) {
        if let Some(text) = part["text"].as_str() {
            self.say(text);
        } else if let Some(response) = part["functionResponse"].get("response") {
            self.tool_results.push(response.to_string());
        } else if part.get("inlineData").or(part.get("fileData")).is_some() {
            self.media += 1;
        }
    }

    fn content(&mut self, content: &Value) {
        if let Some(text) = content.as_str() {
            self.say(text);
        }
        for block in list(content) {
            if let Some(text) = block["text"].as_str() {
                self.say(text);
            } else if block["type"] == "tool_result" {
                self.tool_results.push(plain(&block["content"]));
            } else {
                self.media += 1;
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.text = text.to_owned();
        self.tool_results.clear();
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        other => other.to_string(),
    }
}

/// A Gemini request with its field names in camel case: the service takes both spellings, and its own SDK
/// mixes them. What belongs to the user (arguments, responses, schemas' properties) is left alone.
pub(crate) fn camel_case(value: Value) -> Value {
    const USERS: [&str; 7] = [
        "args",
        "response",
        "parametersJsonSchema",
        "responseJsonSchema",
        "partMetadata",
        "labels",
        "properties",
    ];
    match value {
        Value::Array(items) => items.into_iter().map(camel_case).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let name = camel(&name);
                match (USERS.contains(&name.as_str()), value) {
                    (true, Value::Object(entries)) if name == "properties" => {
                        let entries = entries.into_iter().map(|(name, value)| (name, camel_case(value)));
                        (name, Value::Object(entries.collect()))
                    }
                    (true, value) => (name, value),
                    (false, value) => (name, camel_case(value)),
                }
            })
            .collect(),
        other => other,
    }
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// The characters of all strings in a document, keys left out.
pub(crate) fn characters(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.iter().map(characters).sum(),
        Value::Object(fields) => fields.values().map(characters).sum(),
        _ => 0,
    }
}

/// Every sentence of the request that begins with `marker`, each once, in the form of a state snapshot.
pub(crate) fn snapshot(body: &Value, marker: &str) -> String {
    fn collect<'a>(value: &'a Value, marker: &str, found: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => {
                let sentences = text.match_indices(marker).filter_map(|(at, _)| text.get(at..));
                let sentences = sentences.filter_map(|rest| rest.split(['\n', '"', '<', ';']).next());
                for sentence in sentences.map(|rest| rest.split(". ").next().unwrap_or(rest).trim()) {
                    if !found.contains(&sentence) {
                        found.push(sentence);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, marker, found)),
            Value::Object(fields) => fields.values().for_each(|field| collect(field, marker, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(body, marker, &mut found);
    let facts = found.join("; ");
    format!(
        "<state_snapshot>\n<overall_goal>what the session is about</overall_goal>\n<key_knowledge>{facts}</key_knowledge>\n</state_snapshot>"
    )
}
