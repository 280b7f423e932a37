//! Requests as they go out.

use std::sync::Arc;

use charla_proto::{
    Content, EmbedRequest, FunctionDeclaration, GenerateRequest, LlmError, LlmErrorKind, Part, Role,
    Thinking, ThinkingLevel, WireKind,
};
use serde_json::{Map, Value, json};

use super::content::{self, Form, write_json};
use crate::endpoint::{ModelThinking, Target};
use crate::wire::{Fragments, schema};

/// Fields of a declared function that are this wire's own.
const DECLARATION_FIELDS: [&str; 2] = ["behavior", "response"];

/// The path of a method of the request's model.
pub(super) fn path(request: &GenerateRequest, target: &Target, method: &str) -> String {
    let name = if target.model.id.is_empty() { &request.model } else { &target.model.id };
    format!("/{}:{method}", escaped(&resource(name)))
}

/// The model's resource name: `models/…`, unless the name already is one.
fn resource(model: &str) -> String {
    if model.starts_with("models/") || model.starts_with("tunedModels/") {
        return model.to_owned();
    }
    format!("models/{model}")
}

/// A resource as part of a path. Model names come from people, sessions and settings: a `?` or a blank in one must not end the path, and
/// `../` must not lead to another.
fn escaped(resource: &str) -> String {
    let (kind, name) = resource.split_once('/').unwrap_or(("models", resource));
    let mut out = format!("{kind}/");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'@' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Vertex AI serves the same models with other counting and embedding methods.
fn is_vertex(target: &Target) -> bool {
    let endpoint = &target.endpoint;
    endpoint.name == "vertex" || endpoint.base_url.trim_end_matches('/').ends_with("/publishers/google")
}

/// The body of `generateContent` and `streamGenerateContent`.
pub(super) fn generate(
    request: &GenerateRequest,
    target: &Target,
    fragments: &mut Fragments,
) -> Result<Vec<u8>, LlmError> {
    let mut body = b"{\"contents\":[".to_vec();
    write_contents(request, target, fragments, &mut body);
    body.push(b']');
    let functions = write_tools(request, target, fragments, &mut body);
    for (key, value) in fields(request, target, &functions)? {
        body.push(b',');
        write_json(&key, &mut body);
        body.push(b':');
        write_json(&value, &mut body);
    }
    body.push(b'}');
    Ok(body)
}

fn write_contents(request: &GenerateRequest, target: &Target, fragments: &mut Fragments, body: &mut Vec<u8>) {
    let quirks = &target.endpoint.quirks;
    let start = body.len();
    if quirks.no_system
        && let Some(system) = &request.system_instruction
    {
        let instructions = Content { role: Role::User, ..(**system).clone() };
        content::write(&instructions, plain(target), body);
    }
    let loop_start = active_loop(&request.contents);
    for (place, item) in request.contents.iter().enumerate() {
        if body.len() > start && body.last() != Some(&b',') {
            body.push(b',');
        }
        let form = Form {
            made: item.role == Role::Model && target.made(item),
            signed: item.role == Role::Model
                && place >= loop_start
                && target.model.thinking == ModelThinking::Levels,
            ..plain(target)
        };
        fragments.append(item, form.variant(), body, |item, body| content::write(item, form, body));
    }
    if body.len() > start && body.last() == Some(&b',') {
        body.pop();
    }
}

fn plain(target: &Target) -> Form {
    Form {
        made: false,
        signed: false,
        nested_media: target.model.media_in_function_response,
        no_media: target.endpoint.quirks.no_media,
    }
}

/// Where the active loop begins: after the last user content that has words and answers no call. In it
/// models that think in levels demand signatures.
fn active_loop(contents: &[Arc<Content>]) -> usize {
    let asks = |content: &Content| {
        content.role == Role::User
            && content.function_responses().next().is_none()
            && content.parts.iter().any(|part| part.as_text().is_some())
    };
    contents.iter().rposition(|content| asks(content)).map_or(0, |place| place + 1)
}

/// Writes `,"tools":[…]` where there are any; gives the names of the functions that went in.
///
/// All functions go into one tool: Vertex refuses several tools that declare functions.
fn write_tools<'a>(
    request: &'a GenerateRequest,
    target: &Target,
    fragments: &mut Fragments,
    body: &mut Vec<u8>,
) -> Vec<&'a str> {
    let mut names = Vec::new();
    if target.endpoint.quirks.no_tools {
        return names;
    }
    let mut tools: Vec<u8> = Vec::new();
    for function in request.function_declarations() {
        let start = tools.len();
        tools.extend_from_slice(if names.is_empty() { b"{\"functionDeclarations\":[" } else { b"," });
        let written = tools.len();
        fragments.append_tool(function, &mut tools, write_function);
        if tools.len() == written {
            tools.truncate(start);
        } else {
            names.push(function.name.as_str());
        }
    }
    if !names.is_empty() {
        tools.extend_from_slice(b"]}");
    }
    let natives = request.tools.iter().filter_map(|tool| tool.native.as_ref());
    let natives = natives.filter(|native| native.wire == WireKind::Gemini).map(|native| &native.value);
    let configured = request.extra.get("tools").and_then(Value::as_array).into_iter().flatten();
    for tool in natives.chain(configured) {
        if !tools.is_empty() {
            tools.push(b',');
        }
        write_json(tool, &mut tools);
    }
    if !tools.is_empty() {
        body.extend_from_slice(b",\"tools\":[");
        body.append(&mut tools);
        body.push(b']');
    }
    names
}

/// Writes one declaration, or nothing when the API would refuse the whole request over it.
///
/// The schema goes into `parameters`, the subset that every version of the API and of the servers that
/// imitate it knows, rather than into the newer `parametersJsonSchema`; answers likewise use
/// `responseSchema`.
fn write_function(function: &FunctionDeclaration, body: &mut Vec<u8>) {
    let adapted = schema::check_name(&function.name, WireKind::Gemini)
        .and_then(|()| schema::adapt(&function.parameters_json_schema, WireKind::Gemini));
    let parameters = match adapted {
        Ok(parameters) => parameters,
        Err(reason) => {
            tracing::warn!(tool = %function.name, %reason, "tool left out of requests to this model");
            return;
        }
    };
    let mut declaration = Map::new();
    declaration.insert("name".to_owned(), Value::from(function.name.as_str()));
    if !function.description.is_empty() {
        declaration.insert("description".to_owned(), Value::from(function.description.as_str()));
    }
    declaration.insert("parameters".to_owned(), parameters.into_owned());
    for (key, value) in function.extra.iter().filter(|(key, _)| DECLARATION_FIELDS.contains(&key.as_str())) {
        declaration.insert(key.clone(), value.clone());
    }
    write_json(&declaration, body);
}

/// Everything but contents and tools.
fn fields(
    request: &GenerateRequest,
    target: &Target,
    functions: &[&str],
) -> Result<Map<String, Value>, LlmError> {
    let mut fields = Map::new();
    if let Some(system) = &request.system_instruction
        && !target.endpoint.quirks.no_system
    {
        let words = system.parts.iter().filter(|part| !part.thought).filter_map(Part::as_text);
        let parts: Vec<Value> = words.map(|text| json!({ "text": text })).collect();
        if !parts.is_empty() {
            fields.insert("systemInstruction".to_owned(), json!({ "parts": parts }));
        }
    }
    if let Some(config) = tool_config(request, functions) {
        fields.insert("toolConfig".to_owned(), config);
    }
    let config = generation_config(request, target)?;
    if !config.is_empty() {
        fields.insert("generationConfig".to_owned(), Value::Object(config));
    }
    for (key, value) in request.extra.iter() {
        match (fields.get_mut(key), value) {
            // The conversation is ours to write; tools were added to ours.
            _ if key == "contents" || key == "tools" => {}
            (Some(Value::Object(ours)), Value::Object(theirs)) => {
                ours.extend(theirs.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            _ => {
                fields.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(fields)
}

/// The calling mode. Without functions there is nothing to force, and the API refuses to be told so.
fn tool_config(request: &GenerateRequest, functions: &[&str]) -> Option<Value> {
    let config = &request.tool_config.as_ref()?.function_calling_config;
    if functions.is_empty() {
        return None;
    }
    let mut wire = Map::from_iter([("mode".to_owned(), serde_json::to_value(config.mode).ok()?)]);
    let allowed: Vec<&String> =
        config.allowed_function_names.iter().filter(|name| functions.contains(&name.as_str())).collect();
    if !allowed.is_empty() {
        wire.insert("allowedFunctionNames".to_owned(), json!(allowed));
    }
    Some(json!({ "functionCallingConfig": wire }))
}

fn generation_config(request: &GenerateRequest, target: &Target) -> Result<Map<String, Value>, LlmError> {
    let sampling = !target.model.no_sampling;
    let mut config = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            config.insert(key.to_owned(), value);
        }
    };
    set("temperature", request.temperature.filter(|_| sampling).map(Value::from));
    set("topP", request.top_p.filter(|_| sampling).map(Value::from));
    set("topK", request.top_k.filter(|_| sampling).map(Value::from));
    set("maxOutputTokens", request.max_output_tokens.map(Value::from));
    set("candidateCount", request.candidate_count.map(Value::from));
    set("stopSequences", (!request.stop_sequences.is_empty()).then(|| json!(request.stop_sequences)));
    set("thinkingConfig", request.thinking.as_ref().and_then(|thinking| thinking_config(thinking, target)));
    let mut mime_type = request.response_mime_type.clone();
    let refused = target.endpoint.quirks.no_answer_schema;
    if let Some(answer) = request.response_json_schema.as_ref().filter(|_| !refused) {
        let adapted = schema::adapt_answer(answer, WireKind::Gemini).map_err(|reason| {
            LlmError::new(
                LlmErrorKind::InvalidRequest,
                format!("the answer's schema cannot be sent: {reason}"),
            )
        })?;
        set("responseSchema", Some(adapted));
        mime_type.get_or_insert_with(|| "application/json".to_owned());
    }
    set("responseMimeType", mime_type.map(Value::from));
    Ok(config)
}

/// How much to think, in the words of the model's generation.
fn thinking_config(thinking: &Thinking, target: &Target) -> Option<Value> {
    let mut config = Map::new();
    match target.model.thinking {
        ModelThinking::None | ModelThinking::Adaptive => return None,
        ModelThinking::Budget => {
            if let Some(budget) = thinking.thinking_budget.or(thinking.thinking_level.map(budget)) {
                config.insert("thinkingBudget".to_owned(), Value::from(budget));
            }
        }
        ModelThinking::Levels => {
            if let Some(level) = thinking.thinking_level.or(thinking.thinking_budget.and_then(level)) {
                config.insert("thinkingLevel".to_owned(), serde_json::to_value(level).ok()?);
            }
        }
    }
    if let Some(include) = thinking.include_thoughts {
        config.insert("includeThoughts".to_owned(), Value::from(include));
    }
    (!config.is_empty()).then_some(Value::Object(config))
}

/// A budget that every model with budgets accepts.
fn budget(level: ThinkingLevel) -> i64 {
    match level {
        ThinkingLevel::Minimal => 512,
        ThinkingLevel::Low => 1024,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High => 24_576,
    }
}

/// The level nearest to a budget that every model with levels accepts; a negative budget leaves it to
/// the model.
fn level(budget: i64) -> Option<ThinkingLevel> {
    match budget {
        ..0 => None,
        0..=4096 => Some(ThinkingLevel::Low),
        _ => Some(ThinkingLevel::High),
    }
}

/// The body of `countTokens`. The Gemini API counts instructions and tools only inside of a whole request;
/// Vertex AI takes them beside the contents and knows no other field.
pub(super) fn count(request: &GenerateRequest, target: &Target) -> Result<Vec<u8>, LlmError> {
    let body = generate(request, target, &mut Fragments::default())?;
    let mut whole: Map<String, Value> = serde_json::from_slice(&body).map_err(|error| {
        LlmError::new(LlmErrorKind::InvalidRequest, format!("cannot be counted: {error}"))
    })?;
    let counted = if is_vertex(target) {
        whole.retain(|key, _| matches!(key.as_str(), "contents" | "systemInstruction" | "tools"));
        Value::Object(whole)
    } else {
        whole.insert("model".to_owned(), Value::from(resource(&target.model.id)));
        json!({ "generateContentRequest": whole })
    };
    Ok(counted.to_string().into_bytes())
}

/// Path and body of an embedding request.
pub(super) fn embed(request: &EmbedRequest, target: &Target) -> (String, Vec<u8>) {
    let model = resource(if request.model.is_empty() { &target.model.id } else { &request.model });
    let dimensions = request.output_dimensionality;
    if is_vertex(target) {
        let instances: Vec<Value> = request.texts.iter().map(|text| json!({ "content": text })).collect();
        let mut body = json!({ "instances": instances });
        if let Some(dimensions) = dimensions {
            body["parameters"] = json!({ "outputDimensionality": dimensions });
        }
        return (format!("/{}:predict", escaped(&model)), body.to_string().into_bytes());
    }
    let one = |text: &String| {
        let mut one = json!({"model": model, "content": {"parts": [{"text": text}]}});
        if let Some(dimensions) = dimensions {
            one["outputDimensionality"] = Value::from(dimensions);
        }
        one
    };
    let requests: Vec<Value> = request.texts.iter().map(one).collect();
    (
        format!("/{}:batchEmbedContents", escaped(&model)),
        json!({ "requests": requests }).to_string().into_bytes(),
    )
}
