//! From a content's parts to content blocks.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charla_proto::{
    Blob, Content, FileData, FunctionCall, FunctionResponse, Part, PartKind, Role, WireKind, part_to_string,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::endpoint::Target;
use crate::wire::names::{accepted, replaced, sent_name};
use crate::wire::{CallId, left_out};

/// One content block as it is sent.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thinking {
        thinking: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: &'a Map<String, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        caller: Option<&'a Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "ResultContent::is_empty")]
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    #[serde(untagged)]
    Opaque(&'a Value),
}

/// Where media is.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Text { media_type: &'static str, data: String },
    Url { url: &'a str },
    File { file_id: &'a str },
}

/// What a tool said: words alone, or blocks.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResultContent<'a> {
    Text(String),
    Blocks(Vec<Block<'a>>),
}

impl ResultContent<'_> {
    fn is_empty(&self) -> bool {
        match self {
            ResultContent::Text(text) => text.is_empty(),
            ResultContent::Blocks(blocks) => blocks.is_empty(),
        }
    }
}

/// The blocks of a content, in the order the wire wants. `last` says that the content ends the
/// conversation: only there may a tool that runs at the provider be without its result.
pub(super) fn of<'a>(content: &'a Content, target: &Target, last: bool) -> Vec<Block<'a>> {
    let made = target.made(content);
    let mut blocks = Vec::with_capacity(content.parts.len());
    for part in &content.parts {
        push_part(&mut blocks, part, content.role, made, target);
    }
    match content.role {
        // The wire refuses a user message in which anything stands before a tool result.
        Role::User => blocks.sort_by_key(|block| !matches!(block, Block::ToolResult { .. })),
        Role::Model => {
            if !last {
                drop_unanswered_server_calls(&mut blocks);
            }
            // "The final block in an assistant message cannot be `thinking`."
            while blocks.last().is_some_and(Block::is_thinking) {
                blocks.pop();
            }
        }
    }
    blocks
}

/// True when the content, sent to this target, begins with a thinking block.
pub(super) fn begins_with_thinking(content: &Content, target: &Target) -> bool {
    of(content, target, true).first().is_some_and(Block::is_thinking)
}

impl Block<'_> {
    fn is_thinking(&self) -> bool {
        match self {
            Block::Thinking { .. } => true,
            Block::Opaque(value) => kind(value) == "redacted_thinking",
            _ => false,
        }
    }
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn push_part<'a>(blocks: &mut Vec<Block<'a>>, part: &'a Part, role: Role, made: bool, target: &Target) {
    match &part.kind {
        PartKind::Text(text) if part.thought => {
            // Without a signature the block was cut off before its end; an empty one is our mark for a
            // block that was complete but unsigned, from a server that does not sign.
            if let (true, Some(signature)) = (made, &part.thought_signature)
                && !(text.is_empty() && signature.is_empty())
            {
                let signature = (!signature.is_empty()).then_some(signature.as_str());
                blocks.push(Block::Thinking { thinking: text, signature });
            }
        }
        PartKind::Text(text) => push_text(blocks, Cow::Borrowed(text)),
        PartKind::InlineData(_) | PartKind::FileData(_) if role == Role::Model => {
            push_text(blocks, Cow::Owned(part_to_string(part, true)));
        }
        PartKind::InlineData(_) | PartKind::FileData(_) => blocks.push(media(part, target)),
        PartKind::FunctionCall(call) => blocks.push(tool_use(call, made)),
        PartKind::FunctionResponse(response) => push_result(blocks, response, made, target),
        PartKind::Opaque(value) if made => blocks.push(Block::Opaque(value)),
        PartKind::Opaque(_) | PartKind::Other => {}
    }
}

/// Blank text blocks are refused by the wire.
fn push_text<'a>(blocks: &mut Vec<Block<'a>>, text: Cow<'a, str>) {
    if !text.trim().is_empty() {
        blocks.push(Block::Text { text });
    }
}

fn tool_use(call: &FunctionCall, made: bool) -> Block<'_> {
    Block::ToolUse {
        id: call_id(call.into(), &call.name),
        name: tool_name(&call.name),
        input: &call.args,
        caller: if made { call.extra.get("caller") } else { None },
    }
}

fn push_result<'a>(blocks: &mut Vec<Block<'a>>, response: &'a FunctionResponse, made: bool, target: &Target) {
    let text = response.to_text();
    let mut beside = Vec::new();
    for part in &response.parts {
        push_part(&mut beside, part, Role::User, made, target);
    }
    let is_error = response.is_error();
    // A failed result may hold nothing but text: its media stands beside it.
    let content = if is_error || beside.is_empty() {
        ResultContent::Text(text)
    } else {
        let mut nested = Vec::with_capacity(beside.len() + 1);
        push_text(&mut nested, Cow::Owned(text));
        nested.append(&mut beside);
        ResultContent::Blocks(nested)
    };
    let tool_use_id = call_id(response.into(), &response.name);
    blocks.push(Block::ToolResult { tool_use_id, content, is_error });
    blocks.append(&mut beside);
}

/// A call of a tool that runs at the provider, cut off before its result: the wire refuses it in the
/// middle of a conversation. One that waits for our own result (programmatic calls) stays.
fn drop_unanswered_server_calls(blocks: &mut Vec<Block>) {
    let field = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut answered: Vec<String> = Vec::new();
    for block in blocks.iter() {
        match block {
            Block::Opaque(value) => answered.extend(field(value, "tool_use_id")),
            Block::ToolUse { caller: Some(caller), .. } => answered.extend(field(caller, "tool_id")),
            _ => {}
        }
    }
    blocks.retain(|block| match block {
        Block::Opaque(value) if kind(value).ends_with("_tool_use") => {
            field(value, "id").is_some_and(|id| answered.contains(&id))
        }
        _ => true,
    });
}

/// An image or document block, or a note in words for what cannot be sent.
fn media<'a>(part: &'a Part, target: &Target) -> Block<'a> {
    let block = match &part.kind {
        _ if target.endpoint.quirks.no_media => Some(Block::Text { text: Cow::Owned(left_out(part)) }),
        PartKind::InlineData(blob) => inline_media(blob, target.model.images),
        PartKind::FileData(file) => linked_media(file, target.model.images),
        _ => None,
    };
    block.unwrap_or_else(|| Block::Text { text: Cow::Owned(part_to_string(part, true)) })
}

fn inline_media(blob: &Blob, sees: bool) -> Option<Block<'_>> {
    let (media_type, data) = (blob.mime_type.as_str(), blob.data.as_str());
    match media_type {
        "image/jpeg" | "image/png" | "image/gif" | "image/webp" if sees => {
            Some(Block::Image { source: Source::Base64 { media_type, data } })
        }
        "application/pdf" if sees => Some(Block::Document { source: Source::Base64 { media_type, data } }),
        _ if media_type.starts_with("text/") || media_type == "application/json" => {
            let data = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
            Some(Block::Document { source: Source::Text { media_type: "text/plain", data } })
        }
        _ => None,
    }
}

fn linked_media(file: &FileData, sees: bool) -> Option<Block<'_>> {
    let uri = file.file_uri.as_str();
    let source = if uri.starts_with("https://") || uri.starts_with("http://") {
        Source::Url { url: uri }
    } else if uri.starts_with("file_") {
        // An id of this vendor's file store.
        Source::File { file_id: uri }
    } else {
        return None;
    };
    let ends = |suffixes: &[&str]| {
        let path = uri.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
        suffixes.iter().any(|suffix| path.ends_with(suffix))
    };
    if !sees {
        None
    } else if file.mime_type.starts_with("image/") || ends(&[".png", ".jpg", ".jpeg", ".gif", ".webp"]) {
        Some(Block::Image { source })
    } else if file.mime_type == "application/pdf" || ends(&[".pdf"]) || matches!(source, Source::File { .. })
    {
        Some(Block::Document { source })
    } else {
        None
    }
}

/// A call's id with only the characters the wire accepts, the same for the call and its result.
fn call_id<'a>(id: CallId<'a>, name: &'a str) -> Cow<'a, str> {
    let fits = |id: &str| id.bytes().all(accepted);
    let Some(id) = id.sent(fits) else {
        return Cow::Owned(format!("call_{}", tool_name(name)));
    };
    if fits(id) {
        return Cow::Borrowed(id);
    }
    // The hash keeps apart ids that differ only in what is replaced.
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    Cow::Owned(format!("{}_{:08x}", replaced(id), hasher.finish() as u32))
}

fn tool_name(name: &str) -> Cow<'_, str> {
    sent_name(name, WireKind::Anthropic)
}
