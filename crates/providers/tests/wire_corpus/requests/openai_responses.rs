//! Recorded requests of `/responses`.

use std::collections::HashMap;
use std::sync::Arc;

use charla_proto::{
    Blob, Content, Extra, FileData, FunctionCall, FunctionCallingMode, FunctionDeclaration, FunctionResponse,
    GenerateRequest, NativeTool, Part, PartKind, Role, Thinking, Tool, ToolConfig, WireKind,
};
use charla_providers::endpoint::Target;
use serde_json::{Map, Value, json};

use super::super::meaning::{Item, Meaning, ToolMeaning};

pub fn import(request: &Value, target: &Target) -> Result<GenerateRequest, String> {
    let fields = request.as_object().ok_or("the request is no object")?;
    let mut import = Import::new(target);
    import.instructions(&request["instructions"]);
    match &request["input"] {
        Value::String(text) => import.user(Part::text(text)),
        Value::Array(items) => items.iter().try_for_each(|item| import.item(item))?,
        Value::Null => {}
        other => return Err(format!("unknown input {other}")),
    }
    import.close();
    let mut made = GenerateRequest::new(target.model.id.clone(), import.contents);
    made.system_instruction =
        (!import.system.is_empty()).then(|| Arc::new(Content::new(Role::User, import.system)));
    made.tools = tools(&request["tools"])?;
    made.tool_config = tool_config(&request["tool_choice"]);
    made.temperature = request["temperature"].as_f64();
    made.top_p = request["top_p"].as_f64();
    made.max_output_tokens = request["max_output_tokens"].as_u64().map(|limit| limit as u32);
    made.thinking = thinking(&request["reasoning"])?;
    let format = &request["text"]["format"];
    match format["type"].as_str() {
        Some("json_schema") => made.response_json_schema = Some(Arc::new(format["schema"].clone())),
        Some("json_object") => made.response_mime_type = Some("application/json".to_owned()),
        _ => {}
    }
    for key in
        ["previous_response_id", "background", "context_management", "user", "metadata", "conversation"]
    {
        if let Some(value) = fields.get(key).filter(|value| !value.is_null()) {
            made.extra.insert(key, value.clone());
        }
    }
    Ok(made)
}

struct Import<'a> {
    target: &'a Target,
    system: Vec<Part>,
    contents: Vec<Arc<Content>>,
    open: Content,
    /// Names of calls by their id: an output does not say which tool it is of.
    names: HashMap<String, String>,
}

impl<'a> Import<'a> {
    fn new(target: &'a Target) -> Self {
        Self {
            target,
            system: Vec::new(),
            contents: Vec::new(),
            open: Content::default(),
            names: HashMap::new(),
        }
    }

    fn close(&mut self) {
        let mut content = std::mem::take(&mut self.open);
        if content.parts.is_empty() {
            return;
        }
        // Reasoning that its answer ended with is marked as the decoder does.
        for part in content.parts.iter_mut().rev() {
            match &part.kind {
                PartKind::Opaque(item) if item["type"] == "reasoning" => {
                    part.extra.insert("final", Value::from(true));
                }
                _ => break,
            }
        }
        self.contents.push(Arc::new(content));
    }

    fn push(&mut self, role: Role, part: Part) {
        if self.open.role != role {
            self.close();
            self.open.role = role;
        }
        if role == Role::Model {
            self.open.origin = Some(self.target.origin.clone());
        }
        self.open.parts.push(part);
    }

    fn user(&mut self, part: Part) {
        self.push(Role::User, part);
    }

    fn instructions(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.system.push(Part::text(text)),
            Value::Array(items) => {
                for piece in items.iter().flat_map(|item| pieces(&item["content"])) {
                    self.system.push(Part::text(piece["text"].as_str().unwrap_or_default()));
                }
            }
            _ => {}
        }
    }

    fn item(&mut self, item: &Value) -> Result<(), String> {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str().unwrap_or("message") {
            "message" => return self.message(item),
            "function_call" => {
                let mut call = FunctionCall::new(text("call_id"), text("name"), Map::new());
                call.set_args_text(&text("arguments"));
                for (from, to) in [("id", "itemId"), ("namespace", "namespace")] {
                    if item[from].is_string() {
                        call.extra.insert(to, item[from].clone());
                    }
                }
                self.names.insert(text("call_id"), text("name"));
                self.push(Role::Model, Part::function_call(call));
            }
            "custom_tool_call" => {
                let args = Map::from_iter([("input".to_owned(), item["input"].clone())]);
                let mut call = FunctionCall::new(text("call_id"), text("name"), args);
                call.extra.insert("custom", Value::from(true));
                self.names.insert(text("call_id"), text("name"));
                self.push(Role::Model, Part::function_call(call));
            }
            "function_call_output" | "custom_tool_call_output" => {
                let name = self.names.get(&text("call_id")).cloned().unwrap_or_default();
                let mut response = FunctionResponse::output(text("call_id"), name, "");
                let mut output = String::new();
                for piece in pieces(&item["output"]) {
                    match piece_text(&piece) {
                        Some(text) => output.push_str(text),
                        None => response.parts.push(media(&piece)?),
                    }
                }
                response.response.insert("output".to_owned(), Value::from(output));
                self.user(Part::function_response(response));
            }
            _ => self.push(Role::Model, Part::opaque(item.clone())),
        }
        Ok(())
    }

    fn message(&mut self, item: &Value) -> Result<(), String> {
        let role = item["role"].as_str().unwrap_or_default();
        for piece in pieces(&item["content"]) {
            match (role, piece_text(&piece)) {
                ("system" | "developer", Some(text)) => self.system.push(Part::text(text)),
                ("assistant", Some(text)) => {
                    let mut part = Part::text(text);
                    if piece["type"] == "refusal" {
                        part.extra.insert("refusal", Value::from(true));
                    }
                    self.push(Role::Model, part);
                }
                (_, Some(text)) => self.user(Part::text(text)),
                (_, None) => self.user(media(&piece)?),
            }
        }
        if role == "assistant" && (item["id"].is_string() || item["phase"].is_string()) {
            let mut envelope = item.clone();
            if let Some(fields) = envelope.as_object_mut() {
                fields.remove("content");
                fields.insert("type".to_owned(), Value::from("message"));
            }
            self.push(Role::Model, Part::opaque(envelope));
        }
        Ok(())
    }
}

/// Content in its list form.
fn pieces(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(pieces) => pieces.clone(),
        _ => Vec::new(),
    }
}

fn piece_text(piece: &Value) -> Option<&str> {
    match piece["type"].as_str() {
        Some("text" | "input_text" | "output_text") => piece["text"].as_str(),
        Some("refusal") => piece["refusal"].as_str(),
        _ => None,
    }
}

fn media(piece: &Value) -> Result<Part, String> {
    let is_image = match piece["type"].as_str() {
        Some("input_image") => true,
        Some("input_file") => false,
        other => return Err(format!("unknown piece {other:?}")),
    };
    let mime = if is_image { "image/*" } else { "" };
    let text = |key: &str| piece[key].as_str();
    let address = text("image_url").or_else(|| text("file_data")).or_else(|| text("file_url"));
    let data = address.and_then(|url| url.strip_prefix("data:")).and_then(|url| url.split_once(";base64,"));
    if let Some((mime_type, data)) = data {
        let name = text("filename").map(|name| ("displayName".to_owned(), Value::from(name)));
        return Ok(Part::new(PartKind::InlineData(Box::new(Blob {
            mime_type: mime_type.to_owned(),
            data: data.to_owned(),
            extra: name.into_iter().collect(),
        }))));
    }
    let uri = address.or_else(|| text("file_id")).ok_or("media without data or address")?;
    Ok(Part::new(PartKind::FileData(Box::new(FileData {
        mime_type: mime.to_owned(),
        file_uri: uri.to_owned(),
        extra: Extra::default(),
    }))))
}

fn tools(tools: &Value) -> Result<Vec<Tool>, String> {
    let tools = tools.as_array().into_iter().flatten();
    tools
        .map(|tool| {
            // A function with fields beyond the common ones is known only to this wire.
            let plain = tool["type"] == "function" && tool.get("defer_loading").is_none();
            if !plain {
                let native = NativeTool { wire: WireKind::OpenaiResponses, value: tool.clone() };
                return Ok(Tool { native: Some(native), ..Tool::default() });
            }
            Ok(Tool::functions(vec![Arc::new(FunctionDeclaration {
                name: tool["name"].as_str().ok_or("a tool without a name")?.to_owned(),
                description: tool["description"].as_str().unwrap_or_default().to_owned(),
                parameters_json_schema: tool["parameters"].clone(),
                extra: Extra::default(),
            })]))
        })
        .collect()
}

fn tool_config(choice: &Value) -> Option<ToolConfig> {
    let mut config = ToolConfig::default();
    let calling = &mut config.function_calling_config;
    match (choice.as_str(), choice["type"].as_str()) {
        (Some("required"), _) => calling.mode = FunctionCallingMode::Any,
        (Some("none"), _) => calling.mode = FunctionCallingMode::None,
        (Some(_), _) => {}
        (None, Some("function")) => {
            calling.mode = FunctionCallingMode::Any;
            calling.allowed_function_names.extend(choice["name"].as_str().map(str::to_owned));
        }
        _ => return None,
    }
    Some(config)
}

fn thinking(reasoning: &Value) -> Result<Option<Thinking>, String> {
    let level = match &reasoning["effort"] {
        Value::Null => None,
        effort => Some(serde_json::from_value(effort.clone()).map_err(|e| format!("effort: {e}"))?),
    };
    let include_thoughts = reasoning["summary"].is_string().then_some(true);
    let asked = level.is_some() || include_thoughts.is_some();
    Ok(asked.then_some(Thinking { include_thoughts, thinking_budget: None, thinking_level: level }))
}

pub fn meaning(request: &Value) -> Result<Meaning, String> {
    let mut meaning = Meaning::default();
    let mut system: Vec<String> = Vec::new();
    match &request["instructions"] {
        Value::String(text) => system.push(text.clone()),
        Value::Array(items) => {
            let all = items.iter().flat_map(|item| pieces(&item["content"]));
            system.extend(all.filter_map(|piece| piece["text"].as_str().map(str::to_owned)));
        }
        _ => {}
    }
    let items = match &request["input"] {
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    for item in &items {
        say_item(item, &mut meaning, &mut system)?;
    }
    system.retain(|text| !text.is_empty());
    meaning.system = system.join("\n\n");
    meaning.tools = request["tools"].as_array().into_iter().flatten().map(tool_meaning).collect();
    Ok(meaning)
}

fn say_item(item: &Value, meaning: &mut Meaning, system: &mut Vec<String>) -> Result<(), String> {
    let id = item["call_id"].as_str().map(str::to_owned);
    let name = item["name"].as_str().unwrap_or_default().to_owned();
    match item["type"].as_str().unwrap_or("message") {
        "message" => say_message(item, meaning, system)?,
        "function_call" => {
            let arguments = item["arguments"].as_str().ok_or("a call without argument text")?;
            let args = serde_json::from_str(arguments).map_err(|e| format!("arguments: {e}"))?;
            meaning.push("model", Item::Call { id, name, args });
            if let Some(namespace) = item.get("namespace") {
                meaning.push("model", Item::Opaque(json!({"namespace": namespace})));
            }
        }
        "custom_tool_call" => {
            meaning.push("model", Item::Call { id, name, args: item["input"].clone() });
        }
        "function_call_output" | "custom_tool_call_output" => {
            let (mut text, mut rest) = (String::new(), Vec::new());
            for piece in pieces(&item["output"]) {
                match piece_text(&piece) {
                    Some(words) => text.push_str(words),
                    None => rest.push(media_meaning(&piece)),
                }
            }
            meaning.push("user", Item::Result { id, text, error: false });
            rest.into_iter().for_each(|media| meaning.push("user", media));
        }
        // It refers to what the server kept for that client; it keeps nothing for us.
        "reasoning" if item["encrypted_content"].is_null() && item["content"].is_null() => {}
        _ => meaning.push("model", Item::Opaque(item.clone())),
    }
    Ok(())
}

fn say_message(item: &Value, meaning: &mut Meaning, system: &mut Vec<String>) -> Result<(), String> {
    let role = match item["role"].as_str() {
        Some("system" | "developer") => {
            let texts = pieces(&item["content"]);
            system.extend(texts.iter().filter_map(piece_text).map(str::to_owned));
            return Ok(());
        }
        Some("assistant") => "model",
        Some("user") => "user",
        other => return Err(format!("unknown role {other:?}")),
    };
    for piece in pieces(&item["content"]) {
        match piece_text(&piece) {
            Some(text) => meaning.push(role, Item::Text(text.to_owned())),
            None => meaning.push(role, media_meaning(&piece)),
        }
    }
    if let Some(phase) = item.get("phase").filter(|phase| phase.is_string()) {
        meaning.push(role, Item::Opaque(json!({"phase": phase})));
    }
    Ok(())
}

fn media_meaning(piece: &Value) -> Item {
    let data = ["image_url", "file_data", "file_url", "file_id"].iter().find_map(|key| piece[*key].as_str());
    Item::Media {
        mime: piece["type"].as_str().unwrap_or_default().to_owned(),
        data: data.unwrap_or_default().to_owned(),
    }
}

fn tool_meaning(tool: &Value) -> ToolMeaning {
    let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
    let schema = match tool["type"] == "function" {
        true => super::shape::of(&tool["parameters"]),
        false => tool.clone(),
    };
    ToolMeaning { name: text("name"), description: text("description"), schema }
}
