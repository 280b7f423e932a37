//! A recorded request in our types.

use std::sync::Arc;

use charla_proto::{
    Blob, Content, Extra, FileData, FunctionCall, FunctionDeclaration, FunctionResponse, GenerateRequest,
    NativeTool, Part, PartKind, Role, Thinking, Tool, ToolConfig, WireKind,
};
use charla_providers::endpoint::Target;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{camel, field, id, list, name, parts};

pub fn import(request: &Value, target: &Target) -> Result<GenerateRequest, String> {
    let request = field(request, "generateContentRequest").unwrap_or(request);
    let object = request.as_object().ok_or("the request is no object")?;
    let mut ours = GenerateRequest::new(target.model.id.clone(), Vec::new());
    for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        match camel(key).as_str() {
            "model" => {}
            "contents" => {
                for content in list(Some(value)) {
                    ours.contents.push(Arc::new(import_content(content, target)?));
                }
            }
            "systemInstruction" => {
                ours.system_instruction = Some(Arc::new(import_content(value, target)?));
            }
            "tools" => {
                for tool in list(Some(value)) {
                    import_tool(tool, &mut ours.tools)?;
                }
            }
            "toolConfig" => import_tool_config(value, &mut ours),
            "generationConfig" => import_generation_config(value, &mut ours)?,
            other => ours.extra.insert(other, value.clone()),
        }
    }
    Ok(ours)
}

fn import_content(content: &Value, target: &Target) -> Result<Content, String> {
    if let Some(text) = content.as_str() {
        return Ok(Content::user(text));
    }
    let role = if content["role"] == "model" { Role::Model } else { Role::User };
    let parts = parts(content).into_iter().map(import_part).collect::<Result<_, _>>()?;
    let origin = (role == Role::Model).then(|| target.origin.clone());
    Ok(Content { origin, ..Content::new(role, parts) })
}

fn import_part(part: &Value) -> Result<Part, String> {
    let object = part.as_object().ok_or("a part is no object")?;
    let mut ours = Part::default();
    for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        let text = |key| field(value, key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match camel(key).as_str() {
            "text" => ours.kind = PartKind::Text(as_type(value)?),
            "thought" => ours.thought = value == true,
            "thoughtSignature" => ours.thought_signature = as_type(value)?,
            "inlineData" => {
                let blob = Blob { mime_type: text("mimeType"), data: text("data"), extra: Extra::default() };
                ours.kind = PartKind::InlineData(Box::new(blob));
            }
            "fileData" => {
                let (mime_type, file_uri) = (text("mimeType"), text("fileUri"));
                let file = FileData { mime_type, file_uri, extra: Extra::default() };
                ours.kind = PartKind::FileData(Box::new(file));
            }
            "functionCall" => {
                let args = field(value, "args").map_or(Ok(Map::new()), as_type)?;
                let call = FunctionCall { id: id(value), name: name(value), args, ..FunctionCall::default() };
                ours.kind = PartKind::FunctionCall(Box::new(call));
            }
            "functionResponse" => {
                let response = FunctionResponse {
                    id: id(value),
                    name: name(value),
                    response: field(value, "response").map_or(Ok(Map::new()), as_type)?,
                    parts: list(field(value, "parts"))
                        .into_iter()
                        .map(import_part)
                        .collect::<Result<_, _>>()?,
                    ..FunctionResponse::default()
                };
                ours.kind = PartKind::FunctionResponse(Box::new(response));
            }
            other => ours.extra.insert(other, value.clone()),
        }
    }
    Ok(ours)
}

fn import_tool(tool: &Value, tools: &mut Vec<Tool>) -> Result<(), String> {
    let object = tool.as_object().ok_or("a tool is no object")?;
    for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        if camel(key) == "functionDeclarations" {
            let functions = list(Some(value)).into_iter().map(|function| {
                let schema =
                    field(function, "parametersJsonSchema").or_else(|| field(function, "parameters"));
                Arc::new(FunctionDeclaration {
                    name: name(function),
                    description: function["description"].as_str().unwrap_or_default().to_owned(),
                    parameters_json_schema: schema.cloned().unwrap_or_default(),
                    extra: Extra::default(),
                })
            });
            tools.push(Tool::functions(functions.collect()));
        } else {
            let native = NativeTool { wire: WireKind::Gemini, value: json!({ camel(key): value }) };
            tools.push(Tool { native: Some(native), ..Tool::default() });
        }
    }
    Ok(())
}

/// What our types have goes there, the rest along as it is.
fn import_tool_config(config: &Value, ours: &mut GenerateRequest) {
    match serde_json::from_value::<ToolConfig>(config.clone()) {
        Ok(known) if field(config, "functionCallingConfig").is_some() => {
            ours.tool_config = Some(known);
            let mut rest = config.as_object().cloned().unwrap_or_default();
            rest.retain(|key, _| camel(key) != "functionCallingConfig");
            if !rest.is_empty() {
                ours.extra.insert("toolConfig", Value::Object(rest));
            }
        }
        _ => ours.extra.insert("toolConfig", config.clone()),
    }
}

fn import_generation_config(config: &Value, ours: &mut GenerateRequest) -> Result<(), String> {
    let mut rest = Map::new();
    for (key, value) in config.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        match camel(key).as_str() {
            "temperature" => ours.temperature = as_type(value)?,
            "topP" => ours.top_p = as_type(value)?,
            "topK" => ours.top_k = value.as_f64().map(|k| k as u32),
            "maxOutputTokens" => ours.max_output_tokens = as_type(value)?,
            "candidateCount" => ours.candidate_count = as_type(value)?,
            "stopSequences" => ours.stop_sequences = as_type(value)?,
            "responseMimeType" => ours.response_mime_type = as_type(value)?,
            "responseSchema" | "responseJsonSchema" => ours.response_json_schema = as_type(value)?,
            "thinkingConfig" => {
                let thinking: Map<String, Value> = as_type(value)?;
                let thinking = thinking.into_iter().map(|(key, value)| (camel(&key), value)).collect();
                ours.thinking = Some(as_type::<Thinking>(&Value::Object(thinking))?);
            }
            other => {
                rest.insert(other.to_owned(), value.clone());
            }
        }
    }
    if !rest.is_empty() {
        ours.extra.insert("generationConfig", Value::Object(rest));
    }
    Ok(())
}

fn as_type<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| format!("{value}: {error}"))
}
