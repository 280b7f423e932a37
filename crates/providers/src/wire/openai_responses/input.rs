//! One content as input items.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use charla_proto::{Content, FunctionCall, FunctionResponse, Part, PartKind, Role};

use super::media::{self, Piece};
use super::*;
use crate::wire::CallId;
use crate::wire::names::sent_name;

/// The longest call id the API takes.
const LONGEST_CALL_ID: usize = 64;

/// Items written one after the other, with commas between them.
pub(super) struct Items<'b> {
    body: &'b mut Vec<u8>,
    first: usize,
}

impl<'b> Items<'b> {
    pub(super) fn new(body: &'b mut Vec<u8>) -> Self {
        let first = body.len();
        Self { body, first }
    }

    pub(super) fn push<T: Serialize>(&mut self, item: &T) {
        let before = self.body.len();
        if before > self.first {
            self.body.push(b',');
        }
        // Our own items and JSON values always serialise; a half-written one must never stay in the body.
        if let Err(error) = serde_json::to_writer(&mut *self.body, item) {
            tracing::error!(%error, "an item cannot be written");
            self.body.truncate(before);
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        role: &'static str,
        content: &'a [Piece<'a>],
        #[serde(flatten)]
        envelope: Envelope<'a>,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: Cow<'a, str>,
        name: &'a str,
        arguments: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
    },
    CustomToolCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: Cow<'a, str>,
        name: &'a str,
        input: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
    CustomToolCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
}

/// What a message item has besides role and content.
#[derive(Default, Serialize)]
pub(super) struct Envelope<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(String),
    Pieces(Vec<Piece<'a>>),
}

/// Words as a user message that is no content of the conversation.
pub(super) fn user_words(words: &str) -> impl Serialize {
    serde_json::json!({
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]
    })
}

/// The ids of calls of custom tools that the target made: their outputs have a form of their own.
pub(super) struct CustomCalls<'a>(HashSet<&'a str>);

impl CustomCalls<'_> {
    pub(super) fn has(&self, id: Option<&str>) -> bool {
        !self.0.is_empty() && id.is_some_and(|id| self.0.contains(id))
    }
}

pub(super) fn custom_calls<'a>(contents: &'a [Arc<Content>], target: &Target) -> CustomCalls<'a> {
    let calls = contents.iter().filter(|content| content.role == Role::Model && target.made(content));
    let custom = calls.flat_map(|content| content.function_calls()).filter(|call| is_custom(call));
    CustomCalls(custom.filter_map(|call| call.id.as_deref()).collect())
}

fn is_custom(call: &FunctionCall) -> bool {
    call.extra.get("custom").is_some()
}

/// Writes the items of a content. `made` says that the target made it: only then opaque parts go back.
pub(super) fn write(
    content: &Content,
    target: &Target,
    made: bool,
    custom_calls: &CustomCalls,
    body: &mut Vec<u8>,
) {
    let items = Items::new(body);
    match content.role {
        Role::Model => ModelItems { items, made, reasoning: Vec::new(), reasoned: false, pieces: Vec::new() }
            .write(content),
        Role::User => UserItems { items, target, custom_calls, pieces: Vec::new() }.write(content),
    }
}

/// The user's side: words, media and tool outputs.
struct UserItems<'a, 'b> {
    items: Items<'b>,
    target: &'a Target,
    custom_calls: &'a CustomCalls<'a>,
    /// Of the message being collected.
    pieces: Vec<Piece<'a>>,
}

impl<'a> UserItems<'a, '_> {
    fn write(mut self, content: &'a Content) {
        let start = self.items.body.len();
        // Media of tool outputs that must stand beside them, behind all outputs.
        let mut beside = Vec::new();
        for part in &content.parts {
            match &part.kind {
                PartKind::Text(text) if !part.thought && !text.is_empty() => {
                    self.pieces.push(Piece::input_text(text));
                }
                PartKind::FunctionResponse(response) => {
                    self.close_message();
                    self.output(response, &mut beside);
                }
                _ => self.pieces.extend(media::piece(part, self.target)),
            }
        }
        if !beside.is_empty() {
            self.close_message();
            self.pieces = beside;
        }
        self.close_message();
        // A message of blanks is still a message: without it the input could be empty.
        let said_nothing = self.items.body.len() == start;
        if said_nothing && content.parts.iter().any(|part| part.as_text().is_some() && !part.thought) {
            self.pieces.push(Piece::input_text(""));
            self.close_message();
        }
    }

    fn close_message(&mut self) {
        if !self.pieces.is_empty() {
            let content = std::mem::take(&mut self.pieces);
            let envelope = Envelope::default();
            self.items.push(&Item::Message { role: "user", content: &content, envelope });
        }
    }

    fn output(&mut self, response: &'a FunctionResponse, beside: &mut Vec<Piece<'a>>) {
        let mut text = response.to_text();
        let mut media = Vec::new();
        for piece in response.parts.iter().filter_map(|part| self.response_piece(part)) {
            match piece {
                Piece::InputText { text: note } => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&note);
                }
                piece => media.push(piece),
            }
        }
        let output = if media.is_empty() {
            Output::Text(text)
        } else if self.target.model.media_in_function_response {
            if !text.is_empty() {
                media.insert(0, Piece::input_text(text));
            }
            Output::Pieces(media)
        } else {
            beside.push(Piece::input_text(format!("[Media from {}:]", response.name)));
            beside.append(&mut media);
            Output::Text(text)
        };
        let call_id = call_id(response.into(), &response.name);
        self.items.push(&match self.custom_calls.has(response.id.as_deref()) {
            true => Item::CustomToolCallOutput { call_id, output },
            false => Item::FunctionCallOutput { call_id, output },
        });
    }

    fn response_piece(&self, part: &'a Part) -> Option<Piece<'a>> {
        match &part.kind {
            PartKind::Text(text) => Some(Piece::input_text(text)),
            _ => media::piece(part, self.target),
        }
    }
}

/// The model's side: messages, calls, and what only the origin understands.
struct ModelItems<'a, 'b> {
    items: Items<'b>,
    made: bool,
    /// Held back until the item that follows them: the API refuses a reasoning item alone.
    reasoning: Vec<&'a Value>,
    /// A reasoning item went out before. Only then item ids go out: an id makes the API look for the
    /// reasoning the item came with, and without an id nothing is looked for.
    reasoned: bool,
    pieces: Vec<Piece<'a>>,
}

impl<'a> ModelItems<'a, '_> {
    fn write(mut self, content: &'a Content) {
        for part in &content.parts {
            match &part.kind {
                PartKind::Text(text) if !part.thought && !text.is_empty() => {
                    self.pieces.push(self.words(part, text));
                }
                PartKind::InlineData(_) | PartKind::FileData(_) => {
                    let text = charla_proto::part_to_string(part, true).into();
                    self.pieces.push(Piece::OutputText { text });
                }
                PartKind::FunctionCall(call) => {
                    self.close_message(None);
                    self.release_reasoning();
                    self.call(call);
                }
                PartKind::Opaque(item) if self.made => self.opaque(part, item),
                _ => {}
            }
        }
        self.close_message(None);
    }

    fn words(&self, part: &Part, text: &'a str) -> Piece<'a> {
        if self.made && part.extra.get("refusal").is_some() {
            Piece::Refusal { refusal: text }
        } else {
            Piece::OutputText { text: text.into() }
        }
    }

    fn opaque(&mut self, part: &'a Part, item: &'a Value) {
        match item["type"].as_str() {
            Some("message") => self.close_message(Some(item)),
            Some("reasoning") => {
                self.close_message(None);
                if is_whole(item) {
                    self.reasoning.push(item);
                }
                if part.extra.get("final").is_some() {
                    self.release_reasoning();
                }
            }
            _ => {
                self.close_message(None);
                self.release_reasoning();
                self.items.push(item);
            }
        }
    }

    fn close_message(&mut self, item: Option<&Value>) {
        if self.pieces.is_empty() {
            return;
        }
        self.release_reasoning();
        let field = |key: &str| item.and_then(|item| item[key].as_str());
        let id = field("id").filter(|_| self.reasoned);
        let envelope = Envelope { id, status: id.and(field("status")), phase: field("phase") };
        let content = std::mem::take(&mut self.pieces);
        self.items.push(&Item::Message { role: "assistant", content: &content, envelope });
    }

    fn release_reasoning(&mut self) {
        for item in self.reasoning.drain(..) {
            self.items.push(item);
            self.reasoned = true;
        }
    }

    fn call(&mut self, call: &FunctionCall) {
        let extra = |key: &str| call.extra.get(key).and_then(Value::as_str).filter(|_| self.made);
        let id = extra("itemId").filter(|_| self.reasoned);
        let call_id = call_id(call.into(), &call.name);
        let name = &*sent_name(&call.name, WireKind::OpenaiResponses);
        if self.made && is_custom(call) {
            let input = call.args.get("input").and_then(Value::as_str).unwrap_or_default();
            self.items.push(&Item::CustomToolCall { id, call_id, name, input });
            return;
        }
        let arguments = match &call.invalid {
            None => serde_json::to_string(&call.args).unwrap_or_else(|_| "{}".to_owned()),
            // What came was no JSON, and the API refuses arguments that are none.
            Some(_) => "{}".to_owned(),
        };
        let namespace = extra("namespace");
        self.items.push(&Item::FunctionCall { id, call_id, name, arguments, namespace });
    }
}

/// False for a reasoning item that is only a reference: nothing is stored at the server, so it would be looked
/// for in vain. Servers that do not encrypt give the reasoning itself as `content`.
fn is_whole(item: &Value) -> bool {
    let encrypted = item["encrypted_content"].as_str().is_some_and(|content| !content.is_empty());
    encrypted || item["content"].as_array().is_some_and(|content| !content.is_empty())
}

/// True when the target has shown in this conversation that it reasons.
pub(super) fn has_reasoned(contents: &[Arc<Content>], target: &Target) -> bool {
    let is_reasoning =
        |part: &Part| matches!(&part.kind, PartKind::Opaque(item) if item["type"] == "reasoning");
    contents.iter().any(|content| target.made(content) && content.parts.iter().any(is_reasoning))
}

/// The id that ties a call to its output. Both sides of a pair give the same: a missing id becomes the
/// name, one that the API would refuse for its length is shortened.
fn call_id<'a>(id: CallId<'a>, name: &'a str) -> Cow<'a, str> {
    let id = match id.sent(|given| given.len() <= LONGEST_CALL_ID) {
        Some(id) => Cow::from(id),
        None => sent_name(name, WireKind::OpenaiResponses),
    };
    if id.len() <= LONGEST_CALL_ID {
        return id;
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let start: String = id.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    Cow::from(format!("{start}_{:016x}", hasher.finish()))
}
