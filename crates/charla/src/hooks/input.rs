//! What hooks are given, as JSON.

use charla_core::hooks::{HookPoint, NamedCall, TOOL_PERMISSION, trigger_name};
use charla_proto::{
    Confirmation, ConfirmationDetail, Content, GenerateRequest, ModelContent, Role, ToolOutput,
};
use serde_json::{Map, Value, json};

/// What is the same for all hooks of a session.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) session: String,
    pub(crate) transcript: String,
    pub(crate) cwd: String,
}

/// The input of a point.
pub(super) fn of(point: &HookPoint, around: &Surroundings, timestamp: String) -> Map<String, Value> {
    let mut input = object(json!({
        "session_id": around.session,
        "transcript_path": around.transcript,
        "cwd": around.cwd,
        "hook_event_name": point.event(),
        "timestamp": timestamp,
    }));
    input.extend(object(own(point)));
    input
}

fn own(point: &HookPoint) -> Value {
    match point {
        HookPoint::SessionStart(source) => json!({ "source": source.name() }),
        HookPoint::SessionEnd(reason) => json!({ "reason": reason.name() }),
        HookPoint::BeforeAgent { prompt } => json!({ "prompt": prompt }),
        HookPoint::AfterAgent { prompt, response, again } => {
            json!({ "prompt": prompt, "prompt_response": response, "stop_hook_active": again })
        }
        HookPoint::BeforeModel(request) | HookPoint::BeforeToolSelection(request) => {
            json!({ "llm_request": llm_request(request) })
        }
        HookPoint::AfterModel { request, said } => {
            json!({ "llm_request": llm_request(request), "llm_response": llm_response(said) })
        }
        HookPoint::BeforeTool(NamedCall { call, .. }) => {
            json!({ "tool_name": call.name, "tool_input": call.args })
        }
        HookPoint::AfterTool { call: NamedCall { call, .. }, output } => {
            json!({ "tool_name": call.name, "tool_input": call.args, "tool_response": tool_response(output) })
        }
        HookPoint::PreCompress(trigger) => json!({ "trigger": trigger_name(*trigger) }),
        HookPoint::Notification(confirmation) => json!({
            "notification_type": TOOL_PERMISSION,
            "message": format!("Charla needs your permission to use {}", confirmation.tool),
            "details": details(confirmation),
        }),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A request by its words; calls and their results are told by the events about tools.
fn llm_request(request: &GenerateRequest) -> Value {
    let messages: Vec<Value> = request.contents.iter().filter_map(|content| message(content)).collect();
    let mut config = Map::new();
    let numbers = [
        ("temperature", request.temperature.map(Value::from)),
        ("topP", request.top_p.map(Value::from)),
        ("topK", request.top_k.map(Value::from)),
        ("maxOutputTokens", request.max_output_tokens.map(Value::from)),
    ];
    for (name, value) in numbers {
        config.extend(value.map(|value| (name.to_owned(), value)));
    }
    let tools = request.tools.iter().flat_map(|tool| &tool.function_declarations);
    let tools: Vec<&str> = tools.map(|tool| tool.name.as_str()).collect();
    json!({ "model": request.model, "messages": messages, "config": config, "tools": tools })
}

fn message(content: &Content) -> Option<Value> {
    let text = content.text();
    let role = if content.role == Role::Model { "model" } else { "user" };
    (!text.is_empty()).then(|| json!({ "role": role, "content": text }))
}

fn llm_response(said: &ModelContent) -> Value {
    let (text, finish) = (said.content.text(), &said.finish);
    json!({
        "text": text,
        "candidates": [{ "content": { "role": "model", "parts": [text] }, "finishReason": finish, "index": 0 }],
        "usageMetadata": said.usage,
    })
}

fn tool_response(output: &ToolOutput) -> Value {
    let words: Vec<&str> = output.content.iter().filter_map(|part| part.as_text()).collect();
    let text = words.join("\n");
    match &output.error {
        None => json!({ "llmContent": text, "returnDisplay": output.display }),
        Some(error) => json!({
            "llmContent": error.message,
            "returnDisplay": output.display,
            "error": { "message": error.message, "type": error.kind },
        }),
    }
}

/// What a person is asked, by Gemini CLI's names.
fn details(confirmation: &Confirmation) -> Value {
    let title = &confirmation.title;
    match &confirmation.detail {
        ConfirmationDetail::Exec { command, .. } => {
            let root = command.split_whitespace().next().unwrap_or_default();
            json!({ "type": "exec", "title": title, "command": command, "rootCommand": root })
        }
        ConfirmationDetail::Edit { path, diff, before, after } => json!({
            "type": "edit", "title": title, "fileName": path.file_name().map(|name| name.to_string_lossy()),
            "filePath": path, "fileDiff": diff, "originalContent": before, "newContent": after,
        }),
        ConfirmationDetail::Mcp { server, tool, .. } => {
            json!({ "type": "mcp", "title": title, "serverName": server, "toolName": tool, "toolDisplayName": tool })
        }
        ConfirmationDetail::AskUser { questions } => {
            json!({ "type": "ask_user", "title": title, "questions": questions })
        }
        ConfirmationDetail::Info { text, urls } => {
            json!({ "type": "info", "title": title, "prompt": text, "urls": urls })
        }
    }
}
