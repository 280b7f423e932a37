//! From requests to bodies.

use std::borrow::Cow;

use charla_proto::{FunctionCallingMode, FunctionDeclaration, Role};
use serde::Serialize;
use serde_json::{Map, json};

use super::message::{Provenance, write_content, write_system};
use super::options::options;
use super::*;
use crate::endpoint::ReasoningReplay;
use crate::wire::schema;

/// Marks fragments of the system instruction: the same content could also stand in the conversation.
const SYSTEM: u8 = 1 << 7;

/// The JSON body of a request.
pub fn body(request: &GenerateRequest, target: &Target, mode: Mode, fragments: &mut Fragments) -> Vec<u8> {
    let mut body = fragments.new_body();
    body.extend_from_slice(b"{\"model\":");
    write(&mut body, &request.model);
    body.extend_from_slice(b",\"messages\":[");
    messages(request, target, fragments, &mut body);
    body.push(b']');
    let mut fields = options(request, target, mode);
    if !target.endpoint.quirks.no_tools {
        let start = body.len();
        body.extend_from_slice(b",\"tools\":[");
        if tools(request, fragments, &mut body) {
            body.push(b']');
            if let Some(choice) = tool_choice(request) {
                fields.insert("tool_choice".to_owned(), choice);
            }
        } else {
            body.truncate(start);
        }
    }
    add_extra(&mut fields, request);
    for (key, value) in &fields {
        body.push(b',');
        write(&mut body, key);
        body.push(b':');
        write(&mut body, value);
    }
    body.push(b'}');
    body
}

/// Writes a value as JSON. Text, trees and plain structs cannot fail, nor can writing to memory.
pub fn write(body: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let written = serde_json::to_writer(&mut *body, value);
    debug_assert!(written.is_ok(), "{written:?}");
}

fn messages(request: &GenerateRequest, target: &Target, fragments: &mut Fragments, body: &mut Vec<u8>) {
    let mut list = Separated::new(body);
    let contents = &request.contents;
    let system = request.system_instruction.as_ref();
    let first_user = contents.iter().position(|content| opens_turn(content));
    // Instructions that go into a user message: they are not that content's own, so its fragment is not kept.
    let carrier = first_user.filter(|_| target.endpoint.quirks.no_system && system.is_some());
    if let Some(system) = system.filter(|_| carrier.is_none()) {
        let role = if target.endpoint.quirks.no_system { "user" } else { "system" };
        list.add(|body| {
            fragments.append(system, SYSTEM, body, |content, body| write_system(content, role, body))
        });
    }
    let loop_start = contents.iter().rposition(|content| opens_turn(content)).map_or(0, |last| last + 1);
    let mut own = false;
    for (n, content) in contents.iter().enumerate() {
        // Results belong to whoever made the calls before them.
        own = target.made(content) || (own && content.function_responses().next().is_some());
        let said = own && content.role == Role::Model;
        let provenance = Provenance { own, replay: said && replays(target, content, n >= loop_start) };
        let instructions = system.filter(|_| carrier == Some(n));
        list.add(|body| match instructions {
            Some(system) => write_content(content, Some(system), target, provenance, body),
            None => fragments.append(content, provenance.variant(), body, |content, body| {
                write_content(content, None, target, provenance, body);
            }),
        });
    }
}

/// True for a content that begins something new rather than answering calls.
fn opens_turn(content: &charla_proto::Content) -> bool {
    content.role == Role::User && content.function_responses().next().is_none()
}

fn replays(target: &Target, content: &charla_proto::Content, in_loop: bool) -> bool {
    match target.endpoint.quirks.reasoning_replay {
        ReasoningReplay::Never => false,
        ReasoningReplay::ToolLoop => in_loop,
        ReasoningReplay::ToolCalls => content.function_calls().next().is_some(),
        ReasoningReplay::Always => true,
    }
}

/// Writes the tools; false when there is none.
fn tools(request: &GenerateRequest, fragments: &mut Fragments, body: &mut Vec<u8>) -> bool {
    let only = allowed_names(request);
    let mut list = Separated::new(body);
    for tool in &request.tools {
        for declaration in &tool.function_declarations {
            // One name can be forced by `tool_choice`, several only by offering nothing else.
            if only.len() > 1 && !only.contains(&declaration.name.as_str()) {
                continue;
            }
            list.add(|body| fragments.append_tool(declaration, body, write_tool));
        }
        if let Some(native) = tool.native.as_ref().filter(|native| native.wire == WireKind::OpenaiChat) {
            list.add(|body| write(body, &native.value));
        }
    }
    !list.is_empty()
}

fn write_tool(declaration: &FunctionDeclaration, body: &mut Vec<u8>) {
    let parameters = match &declaration.parameters_json_schema {
        // Some servers insist on the field.
        Value::Null => Cow::Owned(json!({"type": "object", "properties": {}})),
        given => match schema::adapt(given, WireKind::OpenaiChat) {
            Ok(adapted) => adapted,
            Err(reason) => {
                tracing::warn!(tool = declaration.name, reason, "the tool is left out");
                return;
            }
        },
    };
    let function = Function {
        name: &declaration.name,
        description: &declaration.description,
        parameters,
        strict: declaration.extra.get("strict").and_then(Value::as_bool),
    };
    write(body, &Tool { kind: "function", function });
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

fn tool_choice(request: &GenerateRequest) -> Option<Value> {
    let mode = request.tool_config.as_ref()?.function_calling_config.mode;
    match mode {
        FunctionCallingMode::Auto => None,
        FunctionCallingMode::None => Some("none".into()),
        FunctionCallingMode::Any => Some(match allowed_names(request).as_slice() {
            [name] => json!({"type": "function", "function": {"name": name}}),
            _ => "required".into(),
        }),
    }
}

/// The declared functions that a forced call is limited to; empty when there is no limit.
fn allowed_names(request: &GenerateRequest) -> Vec<&str> {
    let Some(config) = &request.tool_config else { return Vec::new() };
    let config = &config.function_calling_config;
    if config.mode != FunctionCallingMode::Any {
        return Vec::new();
    }
    let names = request.function_declarations().map(|declaration| declaration.name.as_str());
    names.filter(|name| config.allowed_function_names.iter().any(|allowed| allowed == name)).collect()
}

/// The settings' own fields win; objects are merged, null takes a field out.
fn add_extra(fields: &mut Map<String, Value>, request: &GenerateRequest) {
    for (key, value) in request.extra.iter() {
        match (fields.get_mut(key), value) {
            _ if ["model", "messages", "tools"].contains(&key.as_str()) => {
                tracing::warn!(field = key, "this field of the request body cannot be set");
            }
            (_, Value::Null) => {
                fields.shift_remove(key);
            }
            (Some(Value::Object(old)), Value::Object(new)) => old.extend(new.clone()),
            _ => {
                fields.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Puts commas between the elements of a JSON list; an element may turn out to be nothing.
pub struct Separated<'a> {
    body: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> Separated<'a> {
    pub fn new(body: &'a mut Vec<u8>) -> Self {
        Self { body, is_empty: true }
    }

    pub fn add(&mut self, element: impl FnOnce(&mut Vec<u8>)) {
        let before = self.body.len();
        if !self.is_empty {
            self.body.push(b',');
        }
        let start = self.body.len();
        element(self.body);
        if self.body.len() == start {
            self.body.truncate(before);
        } else {
            self.is_empty = false;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.is_empty
    }
}
