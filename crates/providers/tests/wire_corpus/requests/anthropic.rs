//! Recorded Anthropic requests.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charla_proto::{
    Content, Extra, FileData, FunctionCall, FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration,
    FunctionResponse, GenerateRequest, NativeTool, Part, PartKind, Role, Thinking, Tool, ToolConfig,
    WireKind,
};
use charla_providers::endpoint::Target;
use serde_json::{Map, Value};

use super::super::meaning::{Item, Meaning, ToolMeaning};

/// Fields with a place of their own in our request; the rest goes along as it is.
const KNOWN: [&str; 15] = [
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "max_tokens",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "thinking",
    "output_format",
    "output_config",
    "cache_control",
];

pub fn import(request: &Value, target: &Target) -> Result<GenerateRequest, String> {
    let number = |key: &str| request[key].as_u64().and_then(|n| u32::try_from(n).ok());
    let mut contents = Vec::new();
    // Results do not name their tool on this wire.
    let mut names = Map::new();
    for message in request["messages"].as_array().ok_or("no messages")? {
        contents.push(Arc::new(content(message, target, &mut names)?));
    }
    let system = blocks(&request["system"])?;
    let system = system.iter().map(|block| Part::text(block["text"].as_str().unwrap_or_default()));
    let system: Vec<Part> = system.collect();
    let tools = request["tools"].as_array().into_iter().flatten();
    let schema = request.pointer("/output_config/format/schema").or(request.pointer("/output_format/schema"));
    Ok(GenerateRequest {
        contents,
        system_instruction: (!system.is_empty()).then(|| Arc::new(Content::new(Role::User, system))),
        tools: tools.map(tool).collect(),
        tool_config: tool_config(&request["tool_choice"]),
        temperature: request["temperature"].as_f64(),
        top_p: request["top_p"].as_f64(),
        top_k: number("top_k"),
        max_output_tokens: number("max_tokens"),
        stop_sequences: serde_json::from_value(request["stop_sequences"].clone()).unwrap_or_default(),
        thinking: request["thinking"]["budget_tokens"]
            .as_i64()
            .map(|budget| Thinking { thinking_budget: Some(budget), ..Thinking::default() }),
        response_json_schema: schema.map(|schema| Arc::new(schema.clone())),
        extra: rest(request, &KNOWN),
        ..GenerateRequest::new(request["model"].as_str().unwrap_or_default(), Vec::new())
    })
}

fn rest(object: &Value, known: &[&str]) -> Extra {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.filter(|(key, _)| !known.contains(&key.as_str()));
    fields.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Content is a text or a list of blocks.
fn blocks(content: &Value) -> Result<Vec<Value>, String> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![serde_json::json!({"type": "text", "text": text})]),
        Value::Array(blocks) => {
            Ok(blocks.iter().filter(|block| !is_blank(block)).map(without_mark).collect())
        }
        other => Err(format!("content is neither text nor blocks: {other}")),
    }
}

/// A text block of nothing but spaces says nothing, and the wire refuses it.
fn is_blank(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_some_and(|text| text.trim().is_empty())
}

/// Cache marks are no part of what is said.
fn without_mark(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(fields) = block.as_object_mut() {
        fields.shift_remove("cache_control");
    }
    block
}

fn role(message: &Value) -> Result<&'static str, String> {
    match message["role"].as_str() {
        Some("user") => Ok("user"),
        Some("assistant") => Ok("model"),
        _ => Err(format!("a message without a role: {message}")),
    }
}

fn content(message: &Value, target: &Target, names: &mut Map<String, Value>) -> Result<Content, String> {
    let role = if role(message)? == "user" { Role::User } else { Role::Model };
    let parts = blocks(&message["content"])?;
    let parts = parts.iter().map(|block| part(block, names)).collect::<Result<Vec<_>, _>>()?;
    // The recording client talked to this model only; a user's opaque block is bound to it as well.
    Ok(Content { origin: Some(target.origin.clone()), ..Content::new(role, parts) })
}

fn part(block: &Value, names: &mut Map<String, Value>) -> Result<Part, String> {
    let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
    Ok(match block["type"].as_str().ok_or("a block without a type")? {
        "text" => Part::text(text("text")),
        "thinking" => Part::thought(text("thinking")).with_signature(text("signature")),
        "tool_use" => {
            names.insert(text("id"), block["name"].clone());
            let args = block["input"].as_object().cloned().unwrap_or_default();
            let extra = rest(block, &["type", "id", "name", "input"]);
            Part::function_call(FunctionCall { extra, ..FunctionCall::new(text("id"), text("name"), args) })
        }
        "tool_result" => {
            let name = names.get(block["tool_use_id"].as_str().unwrap_or_default());
            let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
            let content = blocks(&block["content"])?;
            let (texts, others): (Vec<_>, Vec<_>) = content.iter().partition(|block| block["type"] == "text");
            let words: String = texts.iter().filter_map(|block| block["text"].as_str()).collect();
            let mut response = if block["is_error"] == true {
                FunctionResponse::error(text("tool_use_id"), name, words)
            } else {
                FunctionResponse::output(text("tool_use_id"), name, words)
            };
            response.parts = others.into_iter().map(|block| part(block, names)).collect::<Result<_, _>>()?;
            Part::function_response(response)
        }
        "image" | "document" => media_part(block).unwrap_or_else(|| Part::opaque(block.clone())),
        _ => Part::opaque(block.clone()),
    })
}

/// Media in our form; `None` for what has more than a source, or a source of the vendor's own.
fn media_part(block: &Value) -> Option<Part> {
    let source = &block["source"];
    let text = |key: &str| source[key].as_str().unwrap_or_default().to_owned();
    if block.as_object()?.len() != 2 {
        return None;
    }
    let image = block["type"] == "image";
    let linked = |file_uri: String, mime_type: &str| {
        let file = FileData { mime_type: mime_type.to_owned(), file_uri, extra: Extra::default() };
        Part::new(PartKind::FileData(Box::new(file)))
    };
    match source["type"].as_str()? {
        "base64" => Some(Part::inline_data(text("media_type"), text("data"))),
        "text" => Some(Part::inline_data("text/plain", STANDARD.encode(text("data")))),
        "url" => Some(linked(text("url"), if image { "image/png" } else { "application/pdf" })),
        "file" => Some(linked(text("file_id"), if image { "image/png" } else { "application/pdf" })),
        _ => None,
    }
}

fn is_function(tool: &Value) -> bool {
    matches!(tool["type"].as_str(), None | Some("custom"))
}

fn tool(tool: &Value) -> Tool {
    let tool = without_mark(tool);
    if !is_function(&tool) {
        let native = Some(NativeTool { wire: WireKind::Anthropic, value: tool });
        return Tool { native, ..Tool::default() };
    }
    let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
    Tool::functions(vec![Arc::new(FunctionDeclaration {
        name: text("name"),
        description: text("description"),
        parameters_json_schema: tool["input_schema"].clone(),
        extra: rest(&tool, &["type", "name", "description", "input_schema"]),
    })])
}

fn tool_config(choice: &Value) -> Option<ToolConfig> {
    let mode = match choice["type"].as_str()? {
        "any" | "tool" => FunctionCallingMode::Any,
        "none" => FunctionCallingMode::None,
        _ => FunctionCallingMode::Auto,
    };
    let allowed_function_names = choice["name"].as_str().map(str::to_owned).into_iter().collect();
    Some(ToolConfig { function_calling_config: FunctionCallingConfig { mode, allowed_function_names } })
}

pub fn meaning(request: &Value) -> Result<Meaning, String> {
    let mut meaning = Meaning::default();
    for block in blocks(&request["system"])? {
        meaning.system.push_str(block["text"].as_str().ok_or("a system block without text")?);
    }
    for message in request["messages"].as_array().ok_or("no messages")? {
        let role = role(message)?;
        for block in blocks(&message["content"])? {
            push_meaning(&mut meaning, role, &block)?;
        }
    }
    for tool in request["tools"].as_array().into_iter().flatten() {
        let tool = without_mark(tool);
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        let schema = if is_function(&tool) { super::shape::of(&tool["input_schema"]) } else { tool.clone() };
        meaning.tools.push(ToolMeaning { name: text("name"), description: text("description"), schema });
    }
    Ok(meaning)
}

fn push_meaning(meaning: &mut Meaning, role: &'static str, block: &Value) -> Result<(), String> {
    let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
    let kind = block["type"].as_str().ok_or("a block without a type")?;
    let item = match kind {
        "text" => Item::Text(text("text")),
        "thinking" => {
            let signature = block["signature"].as_str().filter(|signature| !signature.is_empty());
            Item::Thought { text: text("thinking"), signature: signature.map(str::to_owned) }
        }
        "tool_use" => {
            let call = Item::Call { id: Some(text("id")), name: text("name"), args: block["input"].clone() };
            meaning.push(role, call);
            match block.get("caller") {
                Some(caller) => Item::Opaque(caller.clone()),
                None => return Ok(()),
            }
        }
        "tool_result" => {
            let content = blocks(&block["content"])?;
            let words = content.iter().filter(|block| block["type"] == "text");
            let words: String = words.filter_map(|block| block["text"].as_str()).collect();
            let error = block["is_error"] == true;
            meaning.push(role, Item::Result { id: Some(text("tool_use_id")), text: words, error });
            for nested in content.iter().filter(|block| block["type"] != "text") {
                push_meaning(meaning, role, nested)?;
            }
            return Ok(());
        }
        "image" | "document" => media_meaning(block),
        _ => Item::Opaque(block.clone()),
    };
    meaning.push(role, item);
    Ok(())
}

fn media_meaning(block: &Value) -> Item {
    let source = &block["source"];
    let data = ["data", "url", "file_id"].iter().find_map(|key| source[*key].as_str());
    match data {
        Some(data) if block.as_object().is_some_and(|fields| fields.len() == 2) => {
            let mime = source["media_type"].as_str().or(block["type"].as_str());
            Item::Media { mime: mime.unwrap_or_default().to_owned(), data: data.to_owned() }
        }
        _ => Item::Opaque(block.clone()),
    }
}
