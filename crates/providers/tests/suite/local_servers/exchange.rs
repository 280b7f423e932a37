//! A recorded exchange: what was asked, what came, what must come out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_proto::{
    Content, FunctionCall, FunctionCallingConfig, FunctionCallingMode, FunctionDeclaration, FunctionResponse,
    GenerateRequest, Part, Role, Tool, ToolConfig,
};
use serde_json::{Value, json};

/// The servers whose answers were recorded.
pub const SERVERS: [&str; 3] = ["llama-server", "llama-server-tooltemplate", "llama-cpp-python"];

/// One exchange with a server.
pub struct Exchange {
    /// `server/number-name`.
    pub name: String,
    /// The recorded body of the request; none where a path was only fetched.
    pub request: Option<Value>,
    /// The status line and the header lines.
    pub head: String,
    pub body: Vec<u8>,
    pub expected: Value,
}

fn folder(server: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/local_servers/recorded").join(server)
}

/// All exchanges of all servers. Every recorded file must be claimed by an expectation and the other way round.
pub fn all() -> Vec<Exchange> {
    SERVERS.iter().flat_map(|server| of(server)).collect()
}

fn of(server: &str) -> Vec<Exchange> {
    let folder = folder(server);
    let expected = std::fs::read(folder.join("expected.json")).expect("expectations");
    let expected: serde_json::Map<String, Value> = serde_json::from_slice(&expected).expect("JSON");
    let mut unclaimed: BTreeSet<String> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name != "expected.json")
        .collect();
    let mut exchanges = Vec::new();
    for (name, expected) in expected {
        let response = format!("{name}.response.txt");
        assert!(unclaimed.remove(&response), "{server}/{response} is expected and not there");
        let recorded = std::fs::read(folder.join(response)).expect("a response");
        let end = recorded.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
        let request = format!("{name}.request.json");
        let request = unclaimed.remove(&request).then(|| {
            let text = std::fs::read(folder.join(request)).expect("a request");
            serde_json::from_slice(&text).expect("JSON")
        });
        exchanges.push(Exchange {
            name: format!("{server}/{name}"),
            request,
            head: String::from_utf8(recorded[..end].to_vec()).expect("a head in ASCII"),
            body: recorded[end + 4..].to_vec(),
            expected,
        });
    }
    assert!(unclaimed.is_empty(), "{server}: nothing is expected of {unclaimed:?}");
    exchanges
}

impl Exchange {
    /// True when the answer came as events.
    pub fn is_stream(&self) -> bool {
        self.head.contains("text/event-stream")
    }

    /// True when a stream was asked for, or nothing is known of the question.
    pub fn wants_stream(&self) -> bool {
        self.request.as_ref().is_none_or(|request| request["stream"] == true)
    }

    /// The model that is asked.
    pub fn model(&self) -> &str {
        self.request.as_ref().and_then(|request| request["model"].as_str()).unwrap_or("smollm2")
    }

    /// The question as Charla would put it; none for questions that Charla cannot ask.
    pub fn question(&self) -> Option<GenerateRequest> {
        self.request.as_ref().filter(|request| request["messages"].is_array()).map(question)
    }

    /// The body that Charla must send for the recorded question: the same, but that the content beside calls is
    /// empty rather than null or missing, that the default is not said, and that usage is asked for.
    pub fn wanted(&self) -> Option<Value> {
        let mut wanted = self.request.clone().filter(|request| request["messages"].is_array())?;
        for message in wanted["messages"].as_array_mut().into_iter().flatten() {
            if message["content"].is_null() {
                message["content"] = json!("");
            }
            // White space between arguments says nothing.
            for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
                let arguments = &mut call["function"]["arguments"];
                let parsed: Value = serde_json::from_str(arguments.as_str()?).ok()?;
                *arguments = json!(parsed.to_string());
            }
        }
        if wanted["tool_choice"] == "auto" {
            wanted.as_object_mut()?.shift_remove("tool_choice");
        }
        if wanted["stream"] == true {
            wanted["stream_options"] = json!({"include_usage": true});
        }
        if let Some(schema) = wanted["response_format"].get("schema").cloned() {
            let schema = json!({"name": "answer", "strict": false, "schema": schema});
            wanted["response_format"] = json!({"type": "json_schema", "json_schema": schema});
        }
        if let Some(temperature) = wanted["temperature"].as_f64() {
            wanted["temperature"] = json!(temperature);
        }
        Some(wanted)
    }
}

fn question(request: &Value) -> GenerateRequest {
    let messages = request["messages"].as_array().expect("messages");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut contents = Vec::new();
    let mut system_instruction = None;
    for message in messages {
        let words = text(&message["content"]);
        match message["role"].as_str().expect("a role") {
            "system" => system_instruction = Some(Arc::new(Content::user(words))),
            "user" => contents.push(Content::user(words)),
            "tool" => {
                let id = text(&message["tool_call_id"]);
                let name = name_of(messages, &id);
                let response = Part::function_response(FunctionResponse::output(id, name, words));
                contents.push(Content::new(Role::User, vec![response]));
            }
            _ => contents.push(Content::new(Role::Model, said(message, words))),
        }
    }
    GenerateRequest {
        system_instruction,
        tools: tools(request),
        tool_config: tool_config(&request["tool_choice"]),
        temperature: request["temperature"].as_f64(),
        max_output_tokens: request["max_tokens"].as_u64().and_then(|limit| u32::try_from(limit).ok()),
        response_json_schema: request["response_format"].get("schema").cloned().map(Arc::new),
        ..GenerateRequest::new(text(&request["model"]), contents.into_iter().map(Arc::new).collect())
    }
}

fn said(message: &Value, words: String) -> Vec<Part> {
    let mut parts = Vec::new();
    if !words.is_empty() {
        parts.push(Part::text(words));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let field = |value: &Value| value.as_str().expect("text").to_owned();
        let mut made =
            FunctionCall::new(field(&call["id"]), field(&call["function"]["name"]), Default::default());
        made.set_args_text(&field(&call["function"]["arguments"]));
        parts.push(Part::function_call(made));
    }
    parts
}

fn name_of(messages: &[Value], id: &str) -> String {
    let mut calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let call = calls.find(|call| call["id"] == id).expect("a call");
    call["function"]["name"].as_str().expect("a name").to_owned()
}

fn tools(request: &Value) -> Vec<Tool> {
    let declared = request["tools"].as_array().into_iter().flatten().map(|tool| {
        let text = |field: &str| tool["function"][field].as_str().expect("text").to_owned();
        Arc::new(FunctionDeclaration {
            name: text("name"),
            description: text("description"),
            parameters_json_schema: tool["function"]["parameters"].clone(),
            ..FunctionDeclaration::default()
        })
    });
    let declared: Vec<_> = declared.collect();
    if declared.is_empty() { Vec::new() } else { vec![Tool::functions(declared)] }
}

fn tool_config(choice: &Value) -> Option<ToolConfig> {
    let (mode, names) = match choice {
        Value::String(word) if word == "required" => (FunctionCallingMode::Any, Vec::new()),
        Value::Object(forced) => {
            let name = forced["function"]["name"].as_str().expect("a name").to_owned();
            (FunctionCallingMode::Any, vec![name])
        }
        _ => return None,
    };
    let function_calling_config = FunctionCallingConfig { mode, allowed_function_names: names };
    Some(ToolConfig { function_calling_config })
}
