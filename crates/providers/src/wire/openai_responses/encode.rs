//! Our request as a body of `/responses`.

use std::borrow::Cow;
use std::sync::Arc;

use charla_proto::{
    Content, FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration, Part, Thinking, ThinkingLevel,
};
use serde_json::{Map, json};

use super::input::{self, Items};
use super::*;
use crate::endpoint::ModelThinking;

/// The API refuses a smaller output limit.
const LEAST_OUTPUT: u32 = 16;

pub(super) fn encode(
    request: &GenerateRequest,
    target: &Target,
    mode: Mode,
    fragments: &mut Fragments,
) -> Result<WireRequest, LlmError> {
    let fields = fields(request, target, mode);
    let mut body = serde_json::to_vec(&fields)
        .map_err(|error| LlmError::new(LlmErrorKind::InvalidRequest, error.to_string()))?;
    body.pop();
    if !fields.contains_key("input") {
        body.extend_from_slice(b",\"input\":[");
        write_input(request, target, fragments, &mut body);
        body.push(b']');
    }
    if !fields.contains_key("tools") && !target.endpoint.quirks.no_tools {
        write_tools(request, fragments, &mut body, fields.contains_key("tool_choice"));
    }
    body.push(b'}');
    Ok(WireRequest { path: "/responses".to_owned(), headers: Vec::new(), body: Bytes::from(body) })
}

/// Every field but the long lists. A field of the request's `extra` wins over ours; two objects merge.
fn fields(request: &GenerateRequest, target: &Target, mode: Mode) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    set("model", Value::from(request.model.clone()));
    set("store", Value::from(false));
    if mode == Mode::Stream {
        set("stream", Value::from(true));
    }
    // Models that do not think refuse the question; one that nothing is known of shows by its first answer.
    let thinks = target.model.thinking != ModelThinking::None;
    if thinks || input::has_reasoned(&request.contents, target) {
        set("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(reasoning) = request.thinking.as_ref().filter(|_| thinks).and_then(reasoning) {
        set("reasoning", reasoning);
    }
    if let Some(system) = request.system_instruction.as_deref()
        && !target.endpoint.quirks.no_system
        && let Some(instructions) = instructions(system)
    {
        set("instructions", Value::from(instructions));
    }
    if let Some(limit) = request.max_output_tokens {
        set("max_output_tokens", Value::from(limit.max(LEAST_OUTPUT)));
    }
    if !target.model.no_sampling {
        for (key, value) in [("temperature", request.temperature), ("top_p", request.top_p)] {
            if let Some(value) = value {
                set(key, Value::from(value));
            }
        }
    }
    if let Some(format) = text_format(request, target) {
        set("text", json!({"format": format}));
    }
    for (key, value) in request.extra.iter() {
        match (fields.get_mut(key), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => ours.extend(theirs.clone()),
            _ => drop(fields.insert(key.clone(), value.clone())),
        }
    }
    fields
}

fn instructions(system: &Content) -> Option<String> {
    let texts: Vec<&str> =
        system.parts.iter().filter_map(Part::as_text).filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// `summary` is asked for only on demand: some models give it only to verified organisations.
fn reasoning(thinking: &Thinking) -> Option<Value> {
    let effort = match (thinking.thinking_level, thinking.thinking_budget) {
        (Some(level), _) => Some(level),
        (None, Some(0)) => Some(ThinkingLevel::Minimal),
        (None, Some(1..=4096)) => Some(ThinkingLevel::Low),
        (None, Some(4097..=16_384)) => Some(ThinkingLevel::Medium),
        (None, Some(16_385..)) => Some(ThinkingLevel::High),
        (None, _) => None,
    };
    let mut reasoning = Map::new();
    if let Some(effort) = effort {
        let word = match effort {
            ThinkingLevel::Minimal => "minimal",
            ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
        };
        reasoning.insert("effort".to_owned(), Value::from(word));
    }
    if thinking.include_thoughts == Some(true) {
        reasoning.insert("summary".to_owned(), Value::from("auto"));
    }
    (!reasoning.is_empty()).then_some(Value::Object(reasoning))
}

/// The answer's form. Not strict: strict mode takes only a small part of JSON Schema.
fn text_format(request: &GenerateRequest, target: &Target) -> Option<Value> {
    if target.endpoint.quirks.no_answer_schema {
        return None;
    }
    if let Some(schema) = &request.response_json_schema {
        return Some(match schema::adapt_answer(schema, WireKind::OpenaiResponses) {
            Ok(schema) => json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": false}),
            Err(reason) => {
                tracing::warn!(reason, "the answer's schema cannot be sent; asking for any JSON");
                json!({"type": "json_object"})
            }
        });
    }
    let is_json = request.response_mime_type.as_deref() == Some("application/json");
    is_json.then(|| json!({"type": "json_object"}))
}

fn write_input(request: &GenerateRequest, target: &Target, fragments: &mut Fragments, body: &mut Vec<u8>) {
    let start = body.len();
    if target.endpoint.quirks.no_system
        && let Some(words) = request.system_instruction.as_deref().and_then(instructions)
    {
        Items::new(body).push(&input::user_words(&words));
    }
    let custom_calls = input::custom_calls(&request.contents, target);
    for content in &request.contents {
        separated(body, start, |body| write_content(content, target, &custom_calls, fragments, body));
    }
}

/// A fragment differs by whether the target made the content, and by whether it answers custom calls.
fn write_content(
    content: &Arc<Content>,
    target: &Target,
    custom_calls: &input::CustomCalls,
    fragments: &mut Fragments,
    body: &mut Vec<u8>,
) {
    let made = target.made(content);
    let answers_custom =
        content.function_responses().any(|response| custom_calls.has(response.id.as_deref()));
    let variant = u8::from(made) | u8::from(answers_custom) << 1;
    fragments.append(content, variant, body, |content, body| {
        input::write(content, target, made, custom_calls, body);
    });
}

fn write_tools(request: &GenerateRequest, fragments: &mut Fragments, body: &mut Vec<u8>, choice_set: bool) {
    let start = body.len();
    body.extend_from_slice(b",\"tools\":[");
    let first = body.len();
    for tool in &request.tools {
        for declaration in &tool.function_declarations {
            separated(body, first, |body| fragments.append_tool(declaration, body, write_tool));
        }
        if let Some(native) = tool.native.as_ref().filter(|tool| tool.wire == WireKind::OpenaiResponses) {
            separated(body, first, |body| Items::new(body).push(&native.value));
        }
    }
    if body.len() == first {
        body.truncate(start);
        return;
    }
    body.push(b']');
    if let Some(config) = request.tool_config.as_ref().filter(|_| !choice_set) {
        body.extend_from_slice(b",\"tool_choice\":");
        Items::new(body).push(&tool_choice(&config.function_calling_config));
    }
}

/// Writes one more element of the list that starts at `first`; one that turns out empty leaves no comma.
fn separated(body: &mut Vec<u8>, first: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let comma = body.len();
    if comma > first {
        body.push(b',');
    }
    let start = body.len();
    write(body);
    if body.len() == start {
        body.truncate(comma);
    }
}

#[derive(Serialize)]
struct FunctionTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    strict: bool,
}

fn write_tool(declaration: &FunctionDeclaration, body: &mut Vec<u8>) {
    let wire = WireKind::OpenaiResponses;
    let parameters = schema::check_name(&declaration.name, wire)
        .and_then(|()| schema::adapt(&declaration.parameters_json_schema, wire));
    match parameters {
        Ok(parameters) => Items::new(body).push(&FunctionTool {
            r#type: "function",
            name: &declaration.name,
            description: &declaration.description,
            parameters,
            strict: false,
        }),
        Err(reason) => {
            tracing::warn!(tool = declaration.name, reason, "the tool is left out: it cannot be sent");
        }
    }
}

fn tool_choice(config: &FunctionCallingConfig) -> Value {
    match (config.mode, config.allowed_function_names.as_slice()) {
        (FunctionCallingMode::Auto, _) => json!("auto"),
        (FunctionCallingMode::None, _) => json!("none"),
        (FunctionCallingMode::Any, []) => json!("required"),
        (FunctionCallingMode::Any, [name]) => json!({"type": "function", "name": name}),
        (FunctionCallingMode::Any, names) => {
            let tools: Vec<Value> =
                names.iter().map(|name| json!({"type": "function", "name": name})).collect();
            json!({"type": "allowed_tools", "mode": "required", "tools": tools})
        }
    }
}
