//! Contents and parts: what was said, by whom, and what was called.

mod arguments;
mod prompt;

use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Extra;

/// Who speaks. Tool results are the user's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or a tool answering on the person's side.
    #[default]
    #[serde(alias = "function", alias = "tool")]
    User,
    /// The model, any model.
    #[serde(alias = "assistant")]
    Model,
}

/// The four wire formats Charla speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireKind {
    /// Gemini API and Vertex AI `generateContent`.
    Gemini,
    /// OpenAI Chat Completions and its many compatible servers.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
}

impl WireKind {
    /// Every wire, in the order of the documentation.
    pub const ALL: [WireKind; 4] =
        [WireKind::Gemini, WireKind::OpenaiChat, WireKind::OpenaiResponses, WireKind::Anthropic];

    /// The name used in settings, in journals and in the wire corpus.
    pub fn name(self) -> &'static str {
        match self {
            WireKind::Gemini => "gemini",
            WireKind::OpenaiChat => "openai-chat",
            WireKind::OpenaiResponses => "openai-responses",
            WireKind::Anthropic => "anthropic",
        }
    }
}

/// Which model made a content. Opaque data goes back only to the same origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The endpoint's name, as in `provider/model`.
    pub provider: String,
    /// The wire format it was spoken to in.
    pub wire: WireKind,
    /// The model asked for.
    pub model: String,
}

impl Origin {
    /// As a user writes it: `provider/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Who speaks; missing means the user.
    #[serde(default)]
    pub role: Role,
    /// What is said; may be empty.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// The model that made it; only on model contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Arc<Origin>>,
    /// Fields this version does not know, kept as they came.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Content {
    /// A user content with one text part.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, parts: vec![Part::text(text)], ..Self::default() }
    }

    /// A model content with one text part.
    pub fn model(text: impl Into<String>) -> Self {
        Self { role: Role::Model, parts: vec![Part::text(text)], ..Self::default() }
    }

    /// A content of `role` with these parts.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts, ..Self::default() }
    }

    /// The visible text: text parts that are not thoughts, joined.
    pub fn text(&self) -> String {
        self.parts.iter().filter(|part| !part.thought).filter_map(Part::as_text).collect()
    }

    /// The thoughts, joined.
    pub fn thoughts(&self) -> String {
        self.parts.iter().filter(|part| part.thought).filter_map(Part::as_text).collect()
    }

    /// The function calls, in order.
    pub fn function_calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.parts.iter().filter_map(Part::as_function_call)
    }

    /// The function responses, in order.
    pub fn function_responses(&self) -> impl Iterator<Item = &FunctionResponse> {
        self.parts.iter().filter_map(Part::as_function_response)
    }

    /// True when something in it is worth sending: non-blank text that is no thought, a call, a
    /// response or media.
    pub fn is_valid(&self) -> bool {
        self.parts.iter().any(|part| match &part.kind {
            PartKind::Text(text) => !part.thought && !text.trim().is_empty(),
            PartKind::InlineData(_)
            | PartKind::FileData(_)
            | PartKind::FunctionCall(_)
            | PartKind::FunctionResponse(_) => true,
            PartKind::Opaque(_) | PartKind::Other => false,
        })
    }
}

/// One piece of a content.
///
/// In JSON a part is one flat object, as in the Gemini API: the kind is told by which key is there
/// (`text`, `inlineData`, `functionCall`, …), beside `thought`, `thoughtSignature` and unknown fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// What it holds: exactly one thing.
    pub kind: PartKind,
    /// The model's thinking rather than its answer.
    pub thought: bool,
    /// Opaque proof of thinking; may sit on any kind of part and goes back exactly, to its origin only.
    pub thought_signature: Option<String>,
    /// Fields this version does not know, kept as they came.
    pub extra: Extra,
}

/// What a part holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PartKind {
    /// Words, visible unless the part is a thought.
    Text(String),
    /// Media carried in the message (`inlineData`).
    InlineData(Box<Blob>),
    /// Media referred to by address (`fileData`).
    FileData(Box<FileData>),
    /// The model asks for a tool.
    FunctionCall(Box<FunctionCall>),
    /// A tool's answer to a call.
    FunctionResponse(Box<FunctionResponse>),
    /// A block that only its origin understands (redacted thinking, an encrypted reasoning item, a
    /// server-side tool's block). Sent back unchanged to its origin, left out for everybody else.
    Opaque(Box<Value>),
    /// No known key: everything is in [`Part::extra`].
    #[default]
    Other,
}

impl Part {
    /// A part of this kind, nothing else set.
    pub fn new(kind: PartKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartKind::Text(text.into()))
    }

    /// A part with a thought, which is not shown as an answer.
    pub fn thought(text: impl Into<String>) -> Self {
        Self { thought: true, ..Self::text(text) }
    }

    /// Media of `mime_type`; `data` is base64.
    pub fn inline_data(mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self::new(PartKind::InlineData(Box::new(Blob {
            mime_type: mime_type.into(),
            data: data.into(),
            extra: Extra::default(),
        })))
    }

    /// The media carried in this part.
    pub fn as_inline_data(&self) -> Option<&Blob> {
        match &self.kind {
            PartKind::InlineData(blob) => Some(blob),
            _ => None,
        }
    }

    /// True for media, and for a tool's answer that has some.
    pub fn has_media(&self) -> bool {
        match &self.kind {
            PartKind::InlineData(_) | PartKind::FileData(_) => true,
            PartKind::FunctionResponse(response) => response.parts.iter().any(Part::has_media),
            _ => false,
        }
    }

    /// A part with a call of a tool.
    pub fn function_call(call: FunctionCall) -> Self {
        Self::new(PartKind::FunctionCall(Box::new(call)))
    }

    /// A part with a tool's answer to a call.
    pub fn function_response(response: FunctionResponse) -> Self {
        Self::new(PartKind::FunctionResponse(Box::new(response)))
    }

    /// A block for its origin only.
    pub fn opaque(value: Value) -> Self {
        Self::new(PartKind::Opaque(Box::new(value)))
    }

    /// The same part with this signature.
    pub fn with_signature(mut self, signature: impl Into<String>) -> Self {
        self.thought_signature = Some(signature.into());
        self
    }

    /// The words, thoughts included.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            PartKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The call, where the part is one.
    pub fn as_function_call(&self) -> Option<&FunctionCall> {
        match &self.kind {
            PartKind::FunctionCall(call) => Some(call),
            _ => None,
        }
    }

    /// The tool's answer.
    pub fn as_function_response(&self) -> Option<&FunctionResponse> {
        match &self.kind {
            PartKind::FunctionResponse(response) => Some(response),
            _ => None,
        }
    }
}

/// Media carried in the message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// Its media type.
    #[serde(default)]
    pub mime_type: String,
    /// The bytes, in Base64.
    #[serde(default)]
    pub data: String,
    /// Unknown fields (`displayName`, …).
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Blob {
    /// True where the data is Base64, padded, with nothing else in it: what providers take. One part that is not makes them refuse
    /// the whole conversation, again and again.
    pub fn is_encoded(&self) -> bool {
        let padding = self.data.bytes().rev().take_while(|byte| *byte == b'=').count();
        let coded = self.data.len() - padding;
        let is_code = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        coded > 0
            && padding <= 2
            && self.data.len().is_multiple_of(4)
            && self.data.bytes().take(coded).all(is_code)
    }
}

/// Media referred to by address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileData {
    /// Its media type, when known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    /// The address of the medium.
    #[serde(default)]
    pub file_uri: String,
    /// Fields this version does not know, kept as they came.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// What the ids of calls begin with that we make: a server's never count as ours.
pub const OWN_CALL_ID: &str = "charla_";

/// The model asks for a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionCall {
    /// Names the call; the response carries the same id. As decoded it is the server's, or made up where the server
    /// gave none; a session gives every call one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the server called it, to be sent back to it; absent where the id itself is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_id: Option<String>,
    /// The name of the tool that is called.
    #[serde(default)]
    pub name: String,
    /// The arguments; empty when [`FunctionCall::invalid`] is set.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// Set when the arguments were cut or malformed: such a call is never run.
    #[serde(default, rename = "invalidArgs", skip_serializing_if = "Option::is_none")]
    pub invalid: Option<Box<InvalidArgs>>,
    /// Fields this version does not know, kept as they came.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl FunctionCall {
    /// A call with an id.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: Map<String, Value>) -> Self {
        Self { id: Some(id.into()), name: name.into(), args, ..Self::default() }
    }

    /// Reads the argument text of a wire that carries one. An empty text means no arguments; text
    /// that is no JSON object makes the call invalid, with the reason. Arguments that a server sends twice, as
    /// growing beginnings, or as a text within a text are understood; arguments that end too early never are.
    pub fn set_args_text(&mut self, text: &str) {
        self.args = Map::new();
        self.invalid = None;
        if text.trim().is_empty() {
            return;
        }
        let reason = match arguments::read(text) {
            Ok(Value::Object(args)) => {
                self.args = args;
                return;
            }
            Ok(Value::Null) => return,
            Ok(_) => "the arguments are not a JSON object".to_owned(),
            Err(error) if error.is_eof() => "the arguments end in the middle of the JSON text".to_owned(),
            Err(error) => format!("the arguments are not valid JSON: {error}"),
        };
        self.invalid = Some(Box::new(InvalidArgs { raw: text.to_owned(), reason }));
    }
}

/// Why a call's arguments cannot be used, and what came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvalidArgs {
    /// The text as received.
    pub raw: String,
    /// What is wrong with it, in words for the model.
    pub reason: String,
}

/// A tool's answer to one call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionResponse {
    /// The call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the server called that call, see [`FunctionCall::given_id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_id: Option<String>,
    /// The name of the tool that answers.
    #[serde(default)]
    pub name: String,
    /// `output`, `error`, or whatever the tool said. A bare value is taken as `output`.
    #[serde(default, deserialize_with = "response_object")]
    pub response: Map<String, Value>,
    /// Media that belongs to the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Fields this version does not know, kept as they came.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl FunctionResponse {
    /// A plain answer in words.
    pub fn output(id: impl Into<String>, name: impl Into<String>, output: impl Into<String>) -> Self {
        Self::with(id, name, "output", output.into())
    }

    /// A failure in words.
    pub fn error(id: impl Into<String>, name: impl Into<String>, error: impl Into<String>) -> Self {
        Self::with(id, name, "error", error.into())
    }

    fn with(id: impl Into<String>, name: impl Into<String>, key: &str, text: String) -> Self {
        let response = Map::from_iter([(key.to_owned(), Value::String(text))]);
        Self { id: Some(id.into()), name: name.into(), response, ..Self::default() }
    }

    /// The same answer, to this call.
    pub fn answering(mut self, call: &FunctionCall) -> Self {
        self.id = Some(call.id.clone().unwrap_or_default());
        self.given_id.clone_from(&call.given_id);
        self.name.clone_from(&call.name);
        self
    }

    /// Keeps the beginning and the end of a long answer, `kept` characters in all, and says so, and where
    /// the whole is.
    pub fn cut(&mut self, kept: usize, whole_in: Option<&str>) {
        let text = self.to_text();
        let count = text.chars().count();
        self.parts.clear();
        if count <= kept {
            return;
        }
        let head: String = text.chars().take(kept / 4).collect();
        let tail: String = text.chars().skip(count - (kept - kept / 4)).collect();
        let key = if self.is_error() { "error" } else { "output" };
        let cut = count - kept;
        let id = self.id.as_deref().unwrap_or_default();
        let place = whole_in.map(|place| format!("; the whole is in {place}, call {id}")).unwrap_or_default();
        let note =
            format!("[… {cut} characters were cut to make room{place}; call again for a part of it …]");
        let short = format!("{head}\n{note}\n{tail}");
        self.response = Map::from_iter([(key.to_owned(), Value::String(short))]);
    }

    /// True when the tool failed: there is an `error` and no `output`.
    pub fn is_error(&self) -> bool {
        self.response.contains_key("error") && !self.response.contains_key("output")
    }

    /// The answer as one text, for wires whose tool results are text: a lone `output` or `error`
    /// string as it is, anything else as JSON.
    pub fn to_text(&self) -> String {
        if self.response.len() == 1
            && let Some(Value::String(text)) =
                self.response.get("output").or_else(|| self.response.get("error"))
        {
            return text.clone();
        }
        if self.response.is_empty() {
            return String::new();
        }
        serde_json::to_string(&self.response).unwrap_or_default()
    }
}

fn response_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => Map::from_iter([("output".to_owned(), other)]),
    })
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.kind {
            PartKind::Text(text) => map.serialize_entry("text", text)?,
            PartKind::InlineData(blob) => map.serialize_entry("inlineData", blob)?,
            PartKind::FileData(file) => map.serialize_entry("fileData", file)?,
            PartKind::FunctionCall(call) => map.serialize_entry("functionCall", call)?,
            PartKind::FunctionResponse(response) => map.serialize_entry("functionResponse", response)?,
            PartKind::Opaque(value) => map.serialize_entry("opaque", value)?,
            PartKind::Other => {}
        }
        if self.thought {
            map.serialize_entry("thought", &true)?;
        }
        if let Some(signature) = &self.thought_signature {
            map.serialize_entry("thoughtSignature", signature)?;
        }
        for (key, value) in self.extra.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = Part;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a part: an object with text, inlineData, fileData, functionCall or functionResponse")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
        let mut part = Part::default();
        while let Some(key) = map.next_key::<String>()? {
            // The first data key decides the kind; a second one is kept as an unknown field.
            let free = part.kind == PartKind::Other;
            match key.as_str() {
                "text" if free => {
                    if let Some(text) = map.next_value::<Option<String>>()? {
                        part.kind = PartKind::Text(text);
                    }
                }
                "inlineData" if free => {
                    part.kind = map.next_value::<Option<_>>()?.map_or(PartKind::Other, PartKind::InlineData);
                }
                "fileData" if free => {
                    part.kind = map.next_value::<Option<_>>()?.map_or(PartKind::Other, PartKind::FileData);
                }
                "functionCall" if free => {
                    part.kind =
                        map.next_value::<Option<_>>()?.map_or(PartKind::Other, PartKind::FunctionCall);
                }
                "functionResponse" if free => {
                    part.kind =
                        map.next_value::<Option<_>>()?.map_or(PartKind::Other, PartKind::FunctionResponse);
                }
                "opaque" if free => part.kind = PartKind::Opaque(map.next_value()?),
                "thought" => match map.next_value::<Value>()? {
                    Value::Bool(thought) => part.thought = thought,
                    Value::Null => {}
                    other => part.extra.insert(key, other),
                },
                "thoughtSignature" => part.thought_signature = map.next_value()?,
                _ => {
                    let value = map.next_value()?;
                    part.extra.insert(key, value);
                }
            }
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests;
