//! Recorded OpenAI Chat requests.

use std::collections::HashMap;
use std::sync::Arc;

use charla_proto::{
    Content, FileData, FunctionCall, FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration,
    FunctionResponse, GenerateRequest, NativeTool, Part, PartKind, Role, Tool, ToolConfig, WireKind,
};
use charla_providers::endpoint::Target;
use serde_json::{Map, Value, json};

use super::super::meaning::{Item, Meaning, ToolMeaning};

pub fn import(request: &Value, target: &Target) -> Result<GenerateRequest, String> {
    let mut reader = Import { target, contents: Vec::new(), system: Vec::new(), names: HashMap::new() };
    for (n, message) in list(&request["messages"]).iter().enumerate() {
        reader.message(n, message)?;
    }
    let model = request["model"].as_str().unwrap_or(&target.model.id);
    let contents = reader.contents.into_iter().map(Arc::new).collect();
    let mut imported = GenerateRequest::new(model, contents);
    if !reader.system.is_empty() {
        imported.system_instruction = Some(Arc::new(Content::new(Role::User, reader.system)));
    }
    imported.tools = import_tools(request);
    imported.tool_config = import_tool_choice(&request["tool_choice"]);
    imported.temperature = request["temperature"].as_f64();
    imported.top_p = request["top_p"].as_f64();
    let limit = request["max_tokens"].as_u64().or(request["max_completion_tokens"].as_u64());
    imported.max_output_tokens = limit.map(|limit| limit as u32);
    Ok(imported)
}

struct Import<'a> {
    target: &'a Target,
    contents: Vec<Content>,
    system: Vec<Part>,
    /// The tool that each call id named.
    names: HashMap<String, String>,
}

impl Import<'_> {
    fn message(&mut self, n: usize, message: &Value) -> Result<(), String> {
        match message["role"].as_str() {
            Some("system" | "developer") => self.system.push(Part::text(texts(&message["content"]))),
            Some("user") => {
                let parts = parts(&message["content"])?;
                self.contents.push(Content::new(Role::User, parts));
            }
            Some("assistant") => self.assistant(n, message)?,
            Some("tool" | "function") => self.result(message)?,
            role => return Err(format!("unknown role {role:?}")),
        }
        Ok(())
    }

    fn assistant(&mut self, n: usize, message: &Value) -> Result<(), String> {
        let mut parts_of = Vec::new();
        let thought = thought(message);
        if !thought.is_empty() {
            parts_of.push(Part::thought(thought));
        }
        parts_of.extend(parts(&message["content"])?);
        for call in list(&message["tool_calls"]) {
            parts_of.push(Part::function_call(self.call(call)));
        }
        if let Some(name) = message["function_call"]["name"].as_str() {
            let mut call = FunctionCall::new(legacy_id(n), name, Map::new());
            call.set_args_text(message["function_call"]["arguments"].as_str().unwrap_or_default());
            self.names.insert(legacy_id(n), name.to_owned());
            parts_of.push(Part::function_call(call));
        }
        if !list(&message["reasoning_details"]).is_empty() {
            parts_of.push(Part::opaque(json!({"reasoning_details": message["reasoning_details"]})));
        }
        let origin = Some(self.target.origin.clone());
        self.contents.push(Content { origin, ..Content::new(Role::Model, parts_of) });
        Ok(())
    }

    fn call(&mut self, call: &Value) -> FunctionCall {
        let id = call["id"].as_str().unwrap_or_default();
        let custom = &call["custom"];
        let kind = if custom["name"].is_string() { custom } else { &call["function"] };
        let name = kind["name"].as_str().unwrap_or_default();
        self.names.insert(id.to_owned(), name.to_owned());
        let mut imported = FunctionCall::new(id, name, Map::new());
        if custom["name"].is_string() {
            imported.args.insert("input".to_owned(), custom["input"].clone());
            imported.extra.insert("type", Value::from("custom"));
        } else {
            imported.set_args_text(kind["arguments"].as_str().unwrap_or_default());
        }
        imported
    }

    /// The results of one step stand in one content.
    fn result(&mut self, message: &Value) -> Result<(), String> {
        let id = match message["tool_call_id"].as_str() {
            Some(id) => id.to_owned(),
            None => self.last_call().ok_or("a result without a call")?,
        };
        let name = self.names.get(&id).cloned().unwrap_or_default();
        let mut response = FunctionResponse::output(id, name, texts(&message["content"]));
        let media = parts(&message["content"])?.into_iter().filter(|part| part.as_text().is_none());
        response.parts = media.collect();
        let part = Part::function_response(response);
        match self.contents.last_mut() {
            Some(last) if last.function_responses().next().is_some() => last.parts.push(part),
            _ => self.contents.push(Content::new(Role::User, vec![part])),
        }
        Ok(())
    }

    fn last_call(&self) -> Option<String> {
        self.contents.last()?.function_calls().last()?.id.clone()
    }
}

fn import_tools(request: &Value) -> Vec<Tool> {
    let native = |tool: &&Value| tool.get("function").is_none();
    let listed = list(&request["tools"]);
    let functions = listed.iter().filter_map(|tool| tool.get("function")).chain(list(&request["functions"]));
    let declarations: Vec<_> = functions.map(|function| Arc::new(declaration(function))).collect();
    let mut tools = Vec::new();
    if !declarations.is_empty() {
        tools.push(Tool::functions(declarations));
    }
    tools.extend(listed.iter().filter(native).map(|tool| Tool {
        native: Some(NativeTool { wire: WireKind::OpenaiChat, value: tool.clone() }),
        ..Tool::default()
    }));
    tools
}

fn declaration(function: &Value) -> FunctionDeclaration {
    FunctionDeclaration {
        name: function["name"].as_str().unwrap_or_default().to_owned(),
        description: function["description"].as_str().unwrap_or_default().to_owned(),
        parameters_json_schema: function["parameters"].clone(),
        ..FunctionDeclaration::default()
    }
}

fn import_tool_choice(choice: &Value) -> Option<ToolConfig> {
    let mode = match choice {
        Value::String(word) if word == "none" => FunctionCallingMode::None,
        Value::String(word) if word == "required" || word == "any" => FunctionCallingMode::Any,
        Value::Object(_) => FunctionCallingMode::Any,
        _ => return None,
    };
    let name = choice["function"]["name"].as_str();
    let allowed_function_names = name.map(str::to_owned).into_iter().collect();
    Some(ToolConfig { function_calling_config: FunctionCallingConfig { mode, allowed_function_names } })
}

/// The parts of a message's content, thoughts left out.
fn parts(content: &Value) -> Result<Vec<Part>, String> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Part::text(text)]),
        Value::Array(items) => {
            let parts = items.iter().filter(|item| item["type"] != "thinking").map(part);
            parts.collect()
        }
        other => Err(format!("unknown content: {other}")),
    }
}

fn part(item: &Value) -> Result<Part, String> {
    let address = |field: &str| item[field]["url"].as_str().or(item[field].as_str()).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(match item["type"].as_str() {
        Some("text" | "input_text" | "refusal") => {
            Part::text(text(item.get("text").unwrap_or(&item["refusal"])))
        }
        Some("image_url") => media(address("image_url"), "image/jpeg", None),
        Some("video_url") => media(address("video_url"), "video/mp4", None),
        Some("audio_url") => media(address("audio_url"), "audio/mpeg", None),
        Some("document_url") => {
            media(address("document_url"), "application/pdf", item["document_name"].as_str())
        }
        Some("input_audio") => {
            let mime_type = format!("audio/{}", text(&item["input_audio"]["format"]));
            Part::inline_data(mime_type, text(&item["input_audio"]["data"]))
        }
        Some("file") => {
            let file = &item["file"];
            let from = file["file_data"].as_str().or(file["file_id"].as_str()).unwrap_or_default();
            media(from, "application/pdf", file["filename"].as_str())
        }
        other => return Err(format!("unknown content item {other:?}")),
    })
}

/// Media behind an address of any kind; `mime_type` counts where the address does not tell.
fn media(address: &str, mime_type: &str, name: Option<&str>) -> Part {
    let mut part = match data_url(address) {
        Some((mime_type, data)) => Part::inline_data(mime_type, data),
        None => Part::new(PartKind::FileData(Box::new(FileData {
            mime_type: mime_type.to_owned(),
            file_uri: address.to_owned(),
            ..FileData::default()
        }))),
    };
    if let Some(name) = name {
        match &mut part.kind {
            PartKind::InlineData(blob) => blob.extra.insert("displayName", Value::from(name)),
            PartKind::FileData(file) => file.extra.insert("displayName", Value::from(name)),
            _ => {}
        }
    }
    part
}

fn data_url(address: &str) -> Option<(&str, &str)> {
    address.strip_prefix("data:")?.split_once(";base64,")
}

/// What the model thought, in the first field that says it.
fn thought(message: &Value) -> String {
    let field = |key: &str| message[key].as_str().filter(|text| !text.is_empty());
    if let Some(text) = field("reasoning_content").or_else(|| field("reasoning")) {
        return text.to_owned();
    }
    let thinking = list(&message["content"]).iter().filter(|item| item["type"] == "thinking");
    thinking.map(|item| texts(&item["thinking"])).collect()
}

/// All texts of a content, in order; items of one list stand apart.
fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        _ => {
            let texts = list(content).iter().filter_map(|item| item["text"].as_str());
            texts.collect::<Vec<_>>().join("\n\n")
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The id for a call of the old form, which has none.
fn legacy_id(message: usize) -> String {
    format!("function-{message}")
}

pub fn meaning(request: &Value) -> Result<Meaning, String> {
    let mut meaning = Meaning::default();
    let mut systems = Vec::new();
    // Media of tool results follows all results of the step, wherever the request has it.
    let mut result_media = Vec::new();
    for (n, message) in list(&request["messages"]).iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !["tool", "function"].contains(&role) {
            result_media.drain(..).for_each(|item| meaning.push("user", item));
        }
        match role {
            "system" | "developer" => systems.push(texts(&message["content"])),
            "user" => items(&message["content"])?.into_iter().for_each(|item| meaning.push("user", item)),
            "assistant" => model_items(n, message)?.into_iter().for_each(|item| meaning.push("model", item)),
            "tool" | "function" => {
                let id = message["tool_call_id"].as_str().map(str::to_owned);
                let id = id.or_else(|| Some(legacy_id(n.checked_sub(1)?)));
                let text = texts(&message["content"]);
                meaning.push("user", Item::Result { id, text, error: false });
                let media = items(&message["content"])?.into_iter();
                result_media.extend(media.filter(|item| !matches!(item, Item::Text(_))));
            }
            other => return Err(format!("unknown role {other}")),
        }
    }
    result_media.into_iter().for_each(|item| meaning.push("user", item));
    meaning.system = systems.join("\n\n");
    // Tools that the provider runs come last, as the order of kinds says nothing.
    let (functions, natives): (Vec<&Value>, Vec<&Value>) =
        list(&request["tools"]).iter().partition(|tool| tool.get("function").is_some());
    let functions = functions.into_iter().map(|tool| &tool["function"]).chain(list(&request["functions"]));
    meaning.tools = functions.map(function_meaning).chain(natives.into_iter().map(native_meaning)).collect();
    Ok(meaning)
}

fn model_items(n: usize, message: &Value) -> Result<Vec<Item>, String> {
    let mut said = Vec::new();
    let text = thought(message);
    if !text.is_empty() {
        said.push(Item::Thought { text, signature: None });
    }
    // What a model said in several items it said in one go.
    for item in parts_meaning(&message["content"])? {
        match (said.last_mut(), item) {
            (Some(Item::Text(last)), Item::Text(text)) => last.push_str(&text),
            (_, item) => said.push(item),
        }
    }
    for call in list(&message["tool_calls"]) {
        let custom = &call["custom"];
        let (kind, args) = match custom["name"].as_str() {
            Some(_) => (custom, json!({"input": custom["input"]})),
            None => (&call["function"], arguments(&call["function"]["arguments"])),
        };
        let name = kind["name"].as_str().unwrap_or_default().to_owned();
        said.push(Item::Call { id: call["id"].as_str().map(str::to_owned), name, args });
    }
    if let Some(name) = message["function_call"]["name"].as_str() {
        let args = arguments(&message["function_call"]["arguments"]);
        said.push(Item::Call { id: Some(legacy_id(n)), name: name.to_owned(), args });
    }
    if !list(&message["reasoning_details"]).is_empty() {
        said.push(Item::Opaque(message["reasoning_details"].clone()));
    }
    Ok(said)
}

fn arguments(text: &Value) -> Value {
    match serde_json::from_str(text.as_str().unwrap_or_default()) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        // Nothing, or what no server would take back.
        _ => json!({}),
    }
}

/// A user's items; neighbouring texts of one message stand apart by a blank line.
fn items(content: &Value) -> Result<Vec<Item>, String> {
    let mut said: Vec<Item> = Vec::new();
    for item in parts_meaning(content)? {
        match (said.last_mut(), item) {
            (Some(Item::Text(last)), Item::Text(text)) => {
                last.push_str("\n\n");
                last.push_str(&text);
            }
            (_, item) => said.push(item),
        }
    }
    Ok(said)
}

fn parts_meaning(content: &Value) -> Result<Vec<Item>, String> {
    let said = match content {
        Value::Null => Vec::new(),
        Value::String(text) => vec![Item::Text(text.clone())],
        Value::Array(items) => {
            let spoken = items.iter().filter(|item| item["type"] != "thinking");
            spoken.map(item_meaning).collect::<Result<_, _>>()?
        }
        other => return Err(format!("unknown content: {other}")),
    };
    Ok(said.into_iter().filter(|item| !matches!(item, Item::Text(text) if text.is_empty())).collect())
}

fn item_meaning(item: &Value) -> Result<Item, String> {
    let kind = item["type"].as_str().ok_or("an item without a type")?;
    let value = &item[kind];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // An address tells what it carries, or only of which kind it is.
    let media = |kind: &str, address: &str| match data_url(address) {
        Some((mime, data)) => Item::Media { mime: mime.to_owned(), data: data.to_owned() },
        None => Item::Media { mime: kind.to_owned(), data: address.to_owned() },
    };
    Ok(match kind {
        "text" | "refusal" => Item::Text(text(value)),
        "input_text" => Item::Text(text(&item["text"])),
        "image_url" | "video_url" | "audio_url" => {
            let address = value["url"].as_str().or(value.as_str()).unwrap_or_default();
            media(kind, address)
        }
        "document_url" => media("file", &text(value)),
        "input_audio" => Item::Media { mime: text(&value["format"]), data: text(&value["data"]) },
        "file" => {
            let from = value["file_data"].as_str().or(value["file_id"].as_str()).unwrap_or_default();
            media("file", from)
        }
        other => return Err(format!("unknown content item {other}")),
    })
}

fn native_meaning(tool: &Value) -> ToolMeaning {
    ToolMeaning {
        name: tool["custom"]["name"].as_str().unwrap_or_default().to_owned(),
        description: String::new(),
        schema: tool.clone(),
    }
}

fn function_meaning(function: &Value) -> ToolMeaning {
    ToolMeaning {
        name: function["name"].as_str().unwrap_or_default().to_owned(),
        description: function["description"].as_str().unwrap_or_default().to_owned(),
        schema: super::shape::of(&function["parameters"]),
    }
}
