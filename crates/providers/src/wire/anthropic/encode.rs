//! Writes the body of a request.

use std::collections::HashSet;
use std::sync::Arc;

use charla_proto::{Content, FunctionDeclaration, Role};
use serde::Serialize;
use serde_json::{Map, json};

use super::*;

/// Put into the last field of a block, just before its closing brace.
const CACHE_MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}}"#;

/// Fields of a declaration that this wire knows beyond name, description and schema.
const TOOL_FIELDS: [&str; 4] = ["strict", "defer_loading", "allowed_callers", "input_examples"];

/// The body: the given fields, then tools, system and messages, which is the order of the prompt.
pub(super) fn body(
    request: &GenerateRequest,
    target: &Target,
    mut fields: Map<String, Value>,
    fragments: &mut Fragments,
) -> Result<Vec<u8>, LlmError> {
    let quirks = &target.endpoint.quirks;
    // A caller that manages the cache itself must not run into the limit of four breakpoints.
    let marks = !quirks.no_cache_control && !fields.contains_key("cache_control");
    let mut tools = Vec::new();
    if !quirks.no_tools {
        write_tools(&mut tools, request, marks, fragments);
    }
    if tools.is_empty() {
        // Without tools the wire refuses a choice.
        fields.shift_remove("tool_choice");
    }
    let mut body = Vec::with_capacity(tools.len() + 4096);
    write(&mut body, &fields);
    body.pop();
    body.append(&mut tools);
    let system = system_texts(request);
    if !quirks.no_system {
        write_system(&mut body, &system, marks);
    }
    let preamble = if quirks.no_system { system.as_slice() } else { &[] };
    write_messages(&mut body, request, target, preamble, marks, fragments)?;
    body.push(b'}');
    Ok(body)
}

/// Serializing our own types into memory cannot fail: their keys are strings.
fn write<T: Serialize + ?Sized>(body: &mut Vec<u8>, value: &T) {
    let start = body.len();
    if let Err(error) = serde_json::to_writer(&mut *body, value) {
        tracing::error!(%error, "a value could not be written as JSON");
        body.truncate(start);
        body.extend_from_slice(b"null");
    }
}

/// Marks the block that ends at the end of `body` as a cache breakpoint.
fn mark(body: &mut Vec<u8>) {
    if body.last() == Some(&b'}') {
        body.pop();
        body.extend_from_slice(CACHE_MARK);
    }
}

fn write_tools(body: &mut Vec<u8>, request: &GenerateRequest, marks: bool, fragments: &mut Fragments) {
    body.extend_from_slice(br#","tools":["#);
    let first = body.len();
    let mut names = HashSet::new();
    let mut markable = false;
    for tool in &request.tools {
        for declaration in &tool.function_declarations {
            if !names.insert(declaration.name.as_str()) {
                tracing::warn!(tool = %declaration.name, "a second tool of this name is left out");
                continue;
            }
            let before = body.len();
            fragments.append_tool(declaration, body, write_tool);
            if body.len() > before {
                markable = declaration.extra.get("defer_loading").is_none();
                body.push(b',');
            }
        }
        if let Some(native) = tool.native.as_ref().filter(|native| native.wire == WireKind::Anthropic) {
            write(body, &native.value);
            markable = false;
            body.push(b',');
        }
    }
    if body.len() == first {
        body.clear();
        return;
    }
    body.pop();
    if marks && markable {
        mark(body);
    }
    body.push(b']');
}

fn write_tool(declaration: &FunctionDeclaration, body: &mut Vec<u8>) {
    let name = declaration.name.as_str();
    let schema = schema::check_name(name, WireKind::Anthropic)
        .and_then(|()| schema::adapt(&declaration.parameters_json_schema, WireKind::Anthropic));
    let schema = match schema {
        Ok(schema) => schema,
        Err(reason) => {
            tracing::warn!(tool = name, %reason, "a tool is left out");
            return;
        }
    };
    let mut tool = Map::new();
    tool.insert("name".to_owned(), json!(name));
    if !declaration.description.is_empty() {
        tool.insert("description".to_owned(), json!(declaration.description));
    }
    tool.insert("input_schema".to_owned(), schema.into_owned());
    for field in TOOL_FIELDS {
        if let Some(value) = declaration.extra.get(field) {
            tool.insert(field.to_owned(), value.clone());
        }
    }
    write(body, &tool);
}

fn system_texts(request: &GenerateRequest) -> Vec<&str> {
    let parts = request.system_instruction.iter().flat_map(|system| &system.parts);
    parts
        .filter(|part| !part.thought)
        .filter_map(|part| part.as_text())
        .filter(|text| !text.trim().is_empty())
        .collect()
}

fn write_text_blocks(body: &mut Vec<u8>, texts: &[&str]) {
    for text in texts {
        write(body, &json!({"type": "text", "text": text}));
        body.push(b',');
    }
    body.pop();
}

fn write_system(body: &mut Vec<u8>, texts: &[&str], marks: bool) {
    if texts.is_empty() {
        return;
    }
    body.extend_from_slice(br#","system":["#);
    write_text_blocks(body, texts);
    if marks {
        mark(body);
    }
    body.push(b']');
}

/// Contents become messages; neighbours of one role share a message and contents without any block
/// have none, so that roles alternate even when the history was not prepared for it.
fn write_messages(
    body: &mut Vec<u8>,
    request: &GenerateRequest,
    target: &Target,
    preamble: &[&str],
    marks: bool,
    fragments: &mut Fragments,
) -> Result<(), LlmError> {
    body.extend_from_slice(br#","messages":["#);
    let mut messages = Messages { body, role: None };
    if !preamble.is_empty() {
        messages.open(Role::User);
        write_text_blocks(messages.body, preamble);
    }
    let marked = if marks { marked_contents(&request.contents) } else { [None, None] };
    for (at, content) in request.contents.iter().enumerate() {
        let last = at + 1 == request.contents.len();
        let variant = u8::from(target.made(content)) | u8::from(last && content.role == Role::Model) << 1;
        let before = messages.body.len();
        let role_before = messages.role;
        messages.open(content.role);
        let start = messages.body.len();
        fragments.append(content, variant, messages.body, |content, body| {
            write_blocks(body, &blocks::of(content, target, last));
        });
        if messages.body.len() == start {
            messages.body.truncate(before);
            messages.role = role_before;
        } else if marked.contains(&Some(at)) {
            mark(messages.body);
        }
    }
    messages.end(target, request.contents.last())
}

fn write_blocks(body: &mut Vec<u8>, blocks: &[blocks::Block]) {
    for (n, block) in blocks.iter().enumerate() {
        if n > 0 {
            body.push(b',');
        }
        write(body, block);
    }
}

/// The contents that end in a cache breakpoint: the user's last one, so that the next step reads
/// everything up to here from the cache, and the one before, which the previous step has written.
/// A block that only the provider understands carries no mark.
fn marked_contents(contents: &[Arc<Content>]) -> [Option<usize>; 2] {
    let markable = |content: &Content| {
        content.role == Role::User
            && !content.parts.iter().any(|part| matches!(part.kind, charla_proto::PartKind::Opaque(_)))
    };
    let before = |end: usize| contents.iter().take(end).rposition(|content| markable(content));
    let last = before(contents.len());
    [last, last.and_then(before)]
}

/// The messages array as it grows.
struct Messages<'a> {
    body: &'a mut Vec<u8>,
    /// Whose message is open.
    role: Option<Role>,
}

impl Messages<'_> {
    /// Gets ready for blocks of `role`.
    fn open(&mut self, role: Role) {
        if self.role == Some(role) {
            self.body.push(b',');
            return;
        }
        if self.role.is_some() {
            self.body.extend_from_slice(b"]},");
        }
        let name = match role {
            Role::User => "user",
            Role::Model => "assistant",
        };
        self.body.extend_from_slice(format!(r#"{{"role":"{name}","content":["#).as_bytes());
        self.role = Some(role);
    }

    /// Ends the array. What another model said last cannot be continued as if it were this model's
    /// own beginning (newer models refuse that), so the user is made to ask for it.
    fn end(mut self, target: &Target, last: Option<&Arc<Content>>) -> Result<(), LlmError> {
        if self.role == Some(Role::Model) && last.is_some_and(|content| !target.made(content)) {
            self.open(Role::User);
            write_text_blocks(self.body, &["Continue."]);
        }
        if self.role.is_none() {
            return Err(LlmError::new(
                LlmErrorKind::InvalidRequest,
                "there is nothing to send: no content has words, media or results",
            ));
        }
        self.body.extend_from_slice(b"]}]");
        Ok(())
    }
}
