//! Contents as they go out.
//!
//! Opaque data goes back only to the model that made it. For everybody else a content is reduced to what
//! any model understands: words, calls, responses and media.

use std::borrow::Cow;

use charla_proto::{Content, FunctionCall, FunctionResponse, Part, PartKind, Role, WireKind};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::wire::names::sent_name;
use crate::wire::{CallId, MAPPED, left_out};

/// What the API takes in place of a signature it did not give: it then does not check the call.
const PLACEHOLDER: &str = "skip_thought_signature_validator";

/// Fields of a part that a person may set, beside the ones our types have.
const PART_FIELDS: [&str; 3] = ["videoMetadata", "mediaResolution", "partMetadata"];

/// How a content is written, by its origin, its place and the target's abilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// The target made it: opaque data goes along.
    pub made: bool,
    /// Its first call must carry a signature.
    pub signed: bool,
    /// Media of a function response goes inside of it rather than beside it.
    pub nested_media: bool,
    /// Media is told in words.
    pub no_media: bool,
}

impl Form {
    /// The number that tells this form's fragments from others'.
    pub(super) fn variant(self) -> u8 {
        u8::from(self.made)
            | u8::from(self.signed) << 1
            | u8::from(self.nested_media) << 2
            | u8::from(self.no_media) << 3
    }
}

/// Writes `content` as JSON, or nothing when nothing of it may be sent.
pub(super) fn write(content: &Content, form: Form, body: &mut Vec<u8>) {
    let parts = parts(content, form);
    if parts.is_empty() {
        return;
    }
    let role = match content.role {
        Role::User => "user",
        Role::Model => "model",
    };
    write_json(&WireContent { role, parts }, body);
}

/// Appends `value` as JSON. Writing our own types into memory has no way to fail.
pub(super) fn write_json(value: &impl Serialize, body: &mut Vec<u8>) {
    let start = body.len();
    if serde_json::to_writer(&mut *body, value).is_err() {
        body.truncate(start);
    }
}

fn parts(content: &Content, form: Form) -> Vec<Sent<'_>> {
    let mut sent = Vec::with_capacity(content.parts.len());
    let mut unsigned = form.signed;
    for part in &content.parts {
        if part.thought && !form.made && part.as_text().is_some() {
            continue;
        }
        let mut wire = WirePart::frame(part, form);
        match &part.kind {
            PartKind::Text(text) => {
                if text.is_empty() && wire.thought_signature.is_none() {
                    continue;
                }
                wire.text = Some(Cow::Borrowed(text));
            }
            PartKind::InlineData(_) | PartKind::FileData(_) => wire.set_media(part, form),
            PartKind::FunctionCall(call) => {
                if std::mem::take(&mut unsigned) {
                    wire.thought_signature = wire.thought_signature.or(Some(PLACEHOLDER));
                }
                wire.function_call = Some(WireCall::new(call, form));
            }
            PartKind::FunctionResponse(response) => {
                let (inside, beside) = response_media(response, form);
                wire.function_response = Some(WireResponse::new(response, inside));
                sent.push(Sent::part(wire));
                sent.extend(beside.into_iter().map(Sent::part));
                continue;
            }
            PartKind::Opaque(value) => {
                if form.made && value.is_object() {
                    sent.push(Sent::Raw(value));
                }
                continue;
            }
            PartKind::Other if !form.made || part.extra.is_empty() => continue,
            PartKind::Other => {}
        }
        sent.push(Sent::part(wire));
    }
    // A call must follow something the user said, be it nothing: the API takes an empty text there.
    if sent.is_empty()
        && content.role == Role::User
        && content.parts.iter().any(|part| part.as_text().is_some())
    {
        sent.push(Sent::part(WirePart { text: Some(Cow::Borrowed("")), ..WirePart::default() }));
    }
    sent
}

/// The media of a response, as parts inside of it and parts beside it.
fn response_media(response: &FunctionResponse, form: Form) -> (Vec<WirePart<'_>>, Vec<WirePart<'_>>) {
    let (mut inside, mut beside) = (Vec::new(), Vec::new());
    for part in &response.parts {
        let mut wire = WirePart::default();
        match &part.kind {
            PartKind::Text(text) => wire.text = Some(Cow::Borrowed(text)),
            PartKind::InlineData(_) | PartKind::FileData(_) => wire.set_media(part, form),
            _ => continue,
        }
        let nested = form.nested_media && wire.text.is_none();
        if nested { &mut inside } else { &mut beside }.push(wire);
    }
    (inside, beside)
}

#[derive(Serialize)]
struct WireContent<'a> {
    role: &'static str,
    parts: Vec<Sent<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Sent<'a> {
    Part(Box<WirePart<'a>>),
    Raw(&'a Value),
}

impl<'a> Sent<'a> {
    fn part(part: WirePart<'a>) -> Self {
        Self::Part(Box::new(part))
    }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<WireBlob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<WireFile<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<WireResponse<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
    #[serde(flatten)]
    fields: Fields<'a>,
}

impl<'a> WirePart<'a> {
    /// What goes along with a part of any kind.
    fn frame(part: &'a Part, form: Form) -> Self {
        // A refusal's mark is ours; the wire has none.
        let goes = |key: &str| if form.made { key != "refusal" } else { PART_FIELDS.contains(&key) };
        Self {
            thought: part.thought && form.made,
            thought_signature: part.thought_signature.as_deref().filter(|_| form.made),
            fields: Fields(part.extra.iter().filter(|(key, _)| goes(key)).collect()),
            ..Self::default()
        }
    }

    fn set_media(&mut self, part: &'a Part, form: Form) {
        match &part.kind {
            _ if form.no_media => self.text = Some(Cow::Owned(left_out(part))),
            PartKind::InlineData(blob) => {
                self.inline_data = Some(WireBlob { mime_type: &blob.mime_type, data: &blob.data });
            }
            PartKind::FileData(file) => {
                self.file_data = Some(WireFile { mime_type: &file.mime_type, file_uri: &file.file_uri });
            }
            _ => {}
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireBlob<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireFile<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    mime_type: &'a str,
    file_uri: &'a str,
}

#[derive(Serialize)]
struct WireCall<'a> {
    /// As the server knows it. One that we made up stays here: the server gave none, matches by name and order, and
    /// older versions of the API know no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    args: Cow<'a, Map<String, Value>>,
    #[serde(flatten)]
    fields: Fields<'a>,
}

impl<'a> WireCall<'a> {
    fn new(call: &'a FunctionCall, form: Form) -> Self {
        // Which parameters were renamed is a note of ours.
        let fields = call.extra.iter().filter(|(key, _)| form.made && *key != MAPPED).collect();
        let args = match call.invalid {
            Some(_) => Cow::Owned(Map::new()),
            None => Cow::Borrowed(&call.args),
        };
        let name = sent_name(&call.name, WireKind::Gemini);
        Self { id: CallId::from(call).given(), name, args, fields: Fields(fields) }
    }
}

#[derive(Serialize)]
struct WireResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    response: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<WirePart<'a>>,
}

impl<'a> WireResponse<'a> {
    fn new(response: &'a FunctionResponse, parts: Vec<WirePart<'a>>) -> Self {
        Self {
            id: CallId::from(response).given(),
            name: sent_name(&response.name, WireKind::Gemini),
            response: &response.response,
            parts,
        }
    }
}

/// Further fields of an object.
#[derive(Default)]
struct Fields<'a>(Vec<(&'a String, &'a Value)>);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
