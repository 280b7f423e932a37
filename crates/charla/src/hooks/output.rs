//! What a hook says: JSON where it is JSON, an exit code and words where it is not.

use charla_core::hooks::{HookChanges, HookDecision};
use charla_proto::text::{middle, readable};
use charla_proto::{Args, Content, FinishReason, FunctionCallingConfig, FunctionCallingMode, Part, Role};
use charla_tools::process::{ProgramEnd, ProgramOutput};
use serde_json::{Map, Value};

use super::{Hook, decision};

/// How much is kept of words for people and for the record.
const WORDS: usize = 4000;

/// The answer of one hook.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) decision: HookDecision,
    pub(super) reason: Option<String>,
    pub(super) stop: Option<String>,
    pub(super) context: Option<String>,
    pub(super) changes: HookChanges,
    /// What the person is to be told.
    pub(super) system_message: Option<String>,
    /// The answer as it was understood.
    pub(super) json: Option<Value>,
}

/// What the program of a hook that ended means.
pub(super) fn understand(output: &ProgramOutput, hook: &Hook) -> Answer {
    let (stdout, stderr) = (words(&output.stdout), words(&output.stderr));
    let text = if stdout.is_empty() { stderr } else { stdout };
    match (output.end, parse(&text)) {
        (ProgramEnd::Late | ProgramEnd::Signal, _) => failed(match output.end {
            ProgramEnd::Late => "it took too long and was ended",
            _ => "it was ended by a signal",
        }),
        (ProgramEnd::Code(_), Some(json)) => of_json(json, hook),
        (ProgramEnd::Code(0), None) => Answer { system_message: shown(&text), ..Answer::default() },
        (ProgramEnd::Code(1), None) => {
            let words = if text.is_empty() { "it failed with exit code 1".to_owned() } else { text };
            Answer { system_message: shown(&format!("Warning: {words}")), ..Answer::default() }
        }
        (ProgramEnd::Code(_), None) => {
            Answer { decision: HookDecision::Deny, reason: shown(&text), ..Answer::default() }
        }
    }
}

/// A hook that failed says nothing about what it was asked: it warns.
pub(super) fn failed(why: &str) -> Answer {
    Answer { system_message: Some(format!("Warning: a hook failed: {why}")), ..Answer::default() }
}

/// Both, the later one below.
pub(super) fn join(before: Option<String>, after: Option<String>) -> Option<String> {
    match (before, after) {
        (Some(before), Some(after)) => Some(format!("{before}\n{after}")),
        (before, after) => before.or(after),
    }
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Words for a screen: nothing in them moves its cursor, and they are not too many.
fn shown(text: &str) -> Option<String> {
    let text = readable(text.trim()).into_owned();
    let text = middle(&text, WORDS).unwrap_or(text);
    (!text.is_empty()).then_some(text)
}

/// An object, or a text that is one.
fn parse(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text).ok()? {
        Value::Object(map) => Some(map),
        Value::String(inner) => match serde_json::from_str(&inner).ok()? {
            Value::Object(map) => Some(map),
            _ => None,
        },
        _ => None,
    }
}

fn of_json(json: Map<String, Value>, hook: &Hook) -> Answer {
    let text = |key: &str| json.get(key).and_then(Value::as_str).and_then(shown);
    let (decision, warning) = decision::of(json.get("decision"), hook);
    let reason = text("reason");
    let stop = (json.get("continue") == Some(&Value::Bool(false))).then(|| {
        text("stopReason").or_else(|| reason.clone()).unwrap_or_else(|| "no reason was given".to_owned())
    });
    let quiet = json.get("suppressOutput") == Some(&Value::Bool(true));
    let none = Map::new();
    let specific = json.get("hookSpecificOutput").and_then(Value::as_object).unwrap_or(&none);
    Answer {
        decision,
        reason,
        stop,
        context: specific.get("additionalContext").and_then(Value::as_str).map(str::to_owned),
        changes: changes(specific),
        system_message: join(text("systemMessage").filter(|_| !quiet), warning),
        json: Some(Value::Object(json)),
    }
}

fn changes(specific: &Map<String, Value>) -> HookChanges {
    HookChanges {
        args: specific.get("tool_input").and_then(Value::as_object).cloned(),
        tail_call: specific.get("tailToolCallRequest").and_then(tail_call),
        messages: specific.get("llm_request").and_then(messages),
        answer: specific.get("llm_response").and_then(answer),
        tools: specific.get("toolConfig").and_then(tools),
        clear_context: specific.get("clearContext") == Some(&Value::Bool(true)),
    }
}

fn tail_call(request: &Value) -> Option<(String, Args)> {
    let name = request.get("name")?.as_str()?.to_owned();
    Some((name, request.get("args").and_then(Value::as_object).cloned().unwrap_or_default()))
}

/// The messages of a request; nothing when they are none.
fn messages(request: &Value) -> Option<Vec<Content>> {
    let messages = request.get("messages")?.as_array()?.iter().filter_map(|message| {
        let parts = match message.get("content")? {
            Value::String(text) => vec![Part::text(text)],
            Value::Array(parts) => parts.iter().filter_map(part).map(Part::text).collect(),
            _ => return None,
        };
        let is_model = matches!(message.get("role").and_then(Value::as_str), Some("model" | "assistant"));
        Some(Content::new(if is_model { Role::Model } else { Role::User }, parts))
    });
    let messages: Vec<Content> = messages.collect();
    (!messages.is_empty()).then_some(messages)
}

/// A part is a text, or an object that holds one.
fn part(part: &Value) -> Option<&str> {
    part.as_str().or_else(|| part.get("text")?.as_str())
}

fn answer(response: &Value) -> Option<(Content, FinishReason)> {
    let candidate = response.get("candidates").and_then(|candidates| candidates.get(0));
    let parts = candidate.and_then(|candidate| candidate.pointer("/content/parts")?.as_array());
    let text: String = match parts {
        Some(parts) => parts.iter().filter_map(part).collect(),
        None => response.get("text")?.as_str()?.to_owned(),
    };
    let finish = candidate.and_then(|candidate| candidate.get("finishReason")).cloned();
    let finish = finish.and_then(|finish| serde_json::from_value(finish).ok()).unwrap_or(FinishReason::Stop);
    (!text.is_empty()).then(|| (Content::new(Role::Model, vec![Part::text(text)]), finish))
}

fn tools(config: &Value) -> Option<FunctionCallingConfig> {
    let mode = match config.get("mode").and_then(Value::as_str) {
        Some("NONE") => FunctionCallingMode::None,
        Some("ANY") => FunctionCallingMode::Any,
        _ => FunctionCallingMode::Auto,
    };
    let names = config.get("allowedFunctionNames").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    config.is_object().then(|| FunctionCallingConfig { mode, allowed_function_names: names.collect() })
}
