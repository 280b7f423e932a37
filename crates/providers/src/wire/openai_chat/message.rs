//! From contents to messages.

use std::borrow::Cow;

use charla_proto::{Content, FunctionCall, FunctionResponse, Part, PartKind, Role, part_to_string};
use serde::Serialize;
use serde_json::json;

use super::encode::{Separated, write};
use super::media::{self, Piece};
use super::*;
use crate::endpoint::{ReasoningReplay, ToolIds};
use crate::wire::CallId;
use crate::wire::names::sent_name;

/// The longest id of a call that OpenAI takes.
const LONGEST_ID: usize = 40;

/// What a content's messages depend on besides the content.
#[derive(Clone, Copy)]
pub struct Provenance {
    /// The target made it, so its data for the origin goes back; of results, the target made their calls.
    pub own: bool,
    /// Its thoughts go back; never set where the target did not make it.
    pub replay: bool,
}

impl Provenance {
    /// Tells apart the fragments that one content can have.
    pub fn variant(self) -> u8 {
        u8::from(self.own) | u8::from(self.replay) << 1
    }
}

#[derive(Default, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Body,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body {
    Text(String),
    Pieces(Vec<Piece>),
}

impl Default for Body {
    fn default() -> Self {
        Body::Text(String::new())
    }
}

/// Writes standing instructions as a message of `role`.
pub fn write_system(content: &Content, role: &'static str, body: &mut Vec<u8>) {
    let text = instructions(content);
    if !text.is_empty() {
        write(body, &Message { role, content: Body::Text(text), ..Message::default() });
    }
}

fn instructions(content: &Content) -> String {
    let texts = content.parts.iter().filter(|part| !part.thought).filter_map(Part::as_text);
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Writes the messages of one content, with commas between them; nothing when it says nothing.
/// `system` are instructions to put in front of it, for servers without a system message.
pub fn write_content(
    content: &Content,
    system: Option<&Content>,
    target: &Target,
    provenance: Provenance,
    body: &mut Vec<u8>,
) {
    match content.role {
        Role::Model => write_assistant(content, target, provenance, body),
        Role::User => write_user(content, system, target, provenance, body),
    }
}

fn write_assistant(content: &Content, target: &Target, provenance: Provenance, body: &mut Vec<u8>) {
    let mut message = Message { role: "assistant", ..Message::default() };
    let mut text = String::new();
    let mut thoughts = String::new();
    let mut ids = Ids::new(target, provenance);
    for part in &content.parts {
        match &part.kind {
            PartKind::Text(words) if part.thought => thoughts.push_str(words),
            PartKind::Text(words) => text.push_str(words),
            PartKind::FunctionCall(call) if target.endpoint.quirks.no_tools => {
                text.push_str(&format!("\n[Called {} with {}]", call.name, json!(call.args)));
            }
            PartKind::FunctionCall(call) => {
                let id = ids.of((&**call).into(), &call.name);
                message.tool_calls.push(tool_call(call, part, &id, provenance.own));
            }
            PartKind::Opaque(fields) if provenance.own => {
                let details = fields.get("reasoning_details").and_then(Value::as_array);
                message.reasoning_details.extend(details.into_iter().flatten());
                message.extra_content = fields.get("extra_content").or(message.extra_content);
            }
            // An assistant message has only words.
            PartKind::InlineData(_) | PartKind::FileData(_) => text.push_str(&part_to_string(part, true)),
            PartKind::FunctionResponse(_) | PartKind::Opaque(_) | PartKind::Other => {}
        }
    }
    if !provenance.replay {
        thoughts.clear();
    }
    if thoughts.trim().is_empty() && wants_thoughts(target) && !message.tool_calls.is_empty() {
        thoughts = stand_in(content);
    }
    message.reasoning_content = &thoughts;
    if text.is_empty()
        && message.tool_calls.is_empty()
        && message.reasoning_content.is_empty()
        && message.reasoning_details.is_empty()
    {
        return;
    }
    // Empty rather than null or missing beside calls: some servers refuse the one, some crash on the other.
    message.content = Body::Text(text);
    write(body, &message);
}

/// True when the target refuses calls without thoughts.
fn wants_thoughts(target: &Target) -> bool {
    target.endpoint.quirks.reasoning_replay == ReasoningReplay::ToolCalls
}

/// Words in provenance of thoughts that nobody has. The ids make them differ from turn to turn: a model that reads
/// the same words everywhere begins to write them itself.
fn stand_in(content: &Content) -> String {
    let calls = content.function_calls().map(|call| match &call.id {
        Some(id) => format!("{} ({id})", call.name),
        None => call.name.clone(),
    });
    format!("The next step is {}.", calls.collect::<Vec<_>>().join(", then "))
}

fn tool_call(call: &FunctionCall, part: &Part, id: &str, own: bool) -> Value {
    let name = sent_name(&call.name, WireKind::OpenaiChat);
    let custom = call.extra.get("type").is_some_and(|kind| kind == "custom");
    if own && custom {
        let input = call.args.get("input").and_then(Value::as_str).unwrap_or_default();
        return json!({"id": id, "type": "custom", "custom": {"name": name, "input": input}});
    }
    // Arguments that could not be read stay empty: servers parse this text again and refuse what is no JSON.
    let arguments = json!(call.args).to_string();
    let mut value = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    if let Some(signature) = part.thought_signature.as_ref().filter(|_| own) {
        value["extra_content"] = json!({"google": {"thought_signature": signature}});
    }
    value
}

fn write_user(
    content: &Content,
    system: Option<&Content>,
    target: &Target,
    provenance: Provenance,
    body: &mut Vec<u8>,
) {
    let mut list = Separated::new(body);
    let mut pieces = Vec::new();
    if let Some(system) = system {
        pieces.push(Piece::Text { text: instructions(system) });
    }
    let mut ids = Ids::new(target, provenance);
    let several = content.function_responses().nth(1).is_some();
    for response in content.function_responses() {
        let text = result_text(response);
        if target.endpoint.quirks.no_tools {
            pieces.push(Piece::Text { text: format!("[Result of {}: {text}]", response.name) });
        } else {
            let tool_call_id = Some(Cow::Owned(ids.of(response.into(), &response.name)));
            let content = Body::Text(text);
            let message = Message { role: "tool", content, tool_call_id, ..Message::default() };
            list.add(|body| write(body, &message));
        }
        // Tool messages hold only words on most servers: media follows in a user message.
        let media: Vec<Piece> = response.parts.iter().filter_map(|part| media::piece(part, target)).collect();
        if several && !media.is_empty() {
            pieces.push(Piece::Text { text: format!("[Media returned by {}:]", response.name) });
        }
        pieces.extend(media);
    }
    for part in &content.parts {
        match &part.kind {
            PartKind::Text(text) if !part.thought => pieces.push(Piece::Text { text: text.clone() }),
            _ => pieces.extend(media::piece(part, target)),
        }
    }
    let content = joined(pieces);
    if !matches!(&content, Body::Text(text) if text.is_empty()) {
        list.add(|body| write(body, &Message { role: "user", content, ..Message::default() }));
    }
}

/// One text where there is only text: not every server takes a list. Neighbouring texts are set apart
/// by a blank line, as they come from different places.
fn joined(pieces: Vec<Piece>) -> Body {
    let mut merged: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match (merged.last_mut(), piece) {
            (_, Piece::Text { text }) if text.is_empty() => {}
            (Some(Piece::Text { text: last }), Piece::Text { text }) => {
                last.push_str("\n\n");
                last.push_str(&text);
            }
            (_, piece) => merged.push(piece),
        }
    }
    match merged.as_mut_slice() {
        [] => Body::default(),
        [Piece::Text { text }] => Body::Text(std::mem::take(text)),
        _ => Body::Pieces(merged),
    }
}

/// The result in words; a failure says that it is one, as the wire has no field for it.
fn result_text(response: &FunctionResponse) -> String {
    let text = response.to_text();
    let told = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if response.is_error() && !told { format!("Error: {text}") } else { text }
}

/// The ids of one content's calls or responses, in the form the server accepts.
struct Ids<'a> {
    style: ToolIds,
    /// A server takes its own ids back, however long; some carry data in them.
    own: bool,
    /// Names seen without an id: calls and responses without ids pair up by name and order.
    unnamed: Vec<&'a str>,
}

impl<'a> Ids<'a> {
    fn new(target: &Target, provenance: Provenance) -> Self {
        Self { style: target.endpoint.quirks.tool_ids, own: provenance.own, unnamed: Vec::new() }
    }

    fn of(&mut self, id: CallId, name: &'a str) -> String {
        let id = match id.sent(|given| self.accepts(given)) {
            Some(id) => Cow::Borrowed(id),
            None => {
                let order = self.unnamed.iter().filter(|seen| **seen == name).count();
                self.unnamed.push(name);
                Cow::Owned(format!("call_{name}_{order}"))
            }
        };
        match self.style {
            ToolIds::Any if self.accepts(&id) => id.into_owned(),
            ToolIds::Any => format!("call_{:016x}", hash(&id)),
            ToolIds::Alnum9 => alnum9(&id),
        }
    }

    fn accepts(&self, id: &str) -> bool {
        match self.style {
            ToolIds::Any => self.own || id.len() <= LONGEST_ID,
            ToolIds::Alnum9 => is_alnum9(id),
        }
    }
}

/// Nine letters or digits for any id, always the same ones.
fn alnum9(id: &str) -> String {
    if is_alnum9(id) {
        return id.to_owned();
    }
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut hash = hash(id);
    (0..9)
        .map(|_| {
            let digit = (hash % 62) as usize;
            hash /= 62;
            char::from(ALPHABET[digit])
        })
        .collect()
}

fn is_alnum9(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// FNV-1a: the same in every run, so that a resumed conversation keeps its ids.
fn hash(id: &str) -> u64 {
    id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
