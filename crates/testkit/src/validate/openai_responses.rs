//! What OpenAI Responses refuses.

use charla_proto::WireKind;
use serde_json::Value;

use super::{Checks, Verdict, data_url, fail, is_base64, is_name, list, object, openai, text, unknown_field};
use crate::opaque;

const TOP: [&str; 32] = [
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
    "image",
];

pub(super) fn generate(checks: &Checks) -> Verdict {
    let body = checks.body;
    openai::fields(checks, &TOP)?;
    if let Some(id) = body.get("previous_response_id").filter(|id| !id.is_null()) {
        return fail(format!("Previous response with id {id} not found."));
    }
    if body["max_output_tokens"].as_u64().is_some_and(|limit| limit < 16) {
        return fail("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.");
    }
    match &body["input"] {
        Value::String(_) => {}
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                check_item(checks, &format!("input[{at}]"), item)?;
            }
            pairing(items)?;
            reasoning_order(checks, items)?;
        }
        _ => return fail("Missing required parameter: 'input'."),
    }
    openai::tools(body, |tool| tool)
}

fn check_item(checks: &Checks, place: &str, item: &Value) -> Verdict {
    let kind = item.get("type").map_or("message", |kind| kind.as_str().unwrap_or_default());
    match kind {
        "message" => message(place, item),
        "function_call" => {
            fields(place, item, &["type", "id", "call_id", "name", "arguments", "status"])?;
            id_starts(place, item, "fc")?;
            call_id(place, item)?;
            if !is_name(text(item, "name"), "_-", 64) {
                return fail(format!("Invalid '{place}.name': string does not match pattern."));
            }
            openai::arguments(&format!("{place}.arguments"), &item["arguments"])
        }
        "function_call_output" => {
            fields(place, item, &["type", "id", "call_id", "output", "status"])?;
            call_id(place, item)?;
            if item["output"].is_string() { Ok(()) } else { parts(place, &item["output"], true) }
        }
        "reasoning" => reasoning(checks, place, item),
        "item_reference" => fail(format!("Item with id {} not found.", item["id"])),
        "custom_tool_call"
        | "custom_tool_call_output"
        | "web_search_call"
        | "image_generation_call"
        | "code_interpreter_call"
        | "file_search_call"
        | "compaction" => Ok(()),
        other => fail(format!("Invalid value: '{other}'. - '{place}.type'")),
    }
}

fn fields(place: &str, item: &Value, allowed: &[&str]) -> Verdict {
    match unknown_field(object(item, place)?, &[allowed]) {
        Some(name) => fail(format!("Unknown parameter: '{place}.{name}'.")),
        None => Ok(()),
    }
}

fn id_starts(place: &str, item: &Value, start: &str) -> Verdict {
    match item.get("id").and_then(Value::as_str) {
        Some(id) if !id.starts_with(start) => {
            fail(format!("Invalid '{place}.id': '{id}'. Expected an ID that begins with '{start}'."))
        }
        _ => Ok(()),
    }
}

fn call_id(place: &str, item: &Value) -> Verdict {
    let length = text(item, "call_id").chars().count();
    if (1..=64).contains(&length) {
        return Ok(());
    }
    fail(format!("Invalid '{place}.call_id': expected a string of 1 to 64 characters."))
}

fn message(place: &str, item: &Value) -> Verdict {
    fields(place, item, &["type", "id", "role", "content", "status", "phase"])?;
    let assistant = match text(item, "role") {
        "assistant" => true,
        "user" | "system" | "developer" => false,
        other => return fail(format!("Invalid value: '{other}'. - '{place}.role'")),
    };
    if assistant {
        id_starts(place, item, "msg")?;
    }
    if item["content"].is_string() {
        return Ok(());
    }
    parts(place, &item["content"], !assistant)
}

fn parts(place: &str, content: &Value, input: bool) -> Verdict {
    if !content.is_array() {
        return fail(format!("Invalid type for '{place}': expected a string or an array."));
    }
    for (at, part) in list(content) {
        let place = format!("{place}.content[{at}]");
        match (text(part, "type"), input) {
            ("input_text", true) | ("output_text", false) if part["text"].is_string() => {}
            ("refusal", false) if part["refusal"].is_string() => {}
            ("input_image", true) if part.get("file_id").is_none() => {
                openai::image(&format!("{place}.image_url"), text(part, "image_url"))?;
            }
            ("input_image", true) => {}
            ("input_file", true) => file(&place, part)?,
            (kind, _) => return fail(format!("Invalid value: '{kind}'. - '{place}.type'")),
        }
    }
    Ok(())
}

fn file(place: &str, part: &Value) -> Verdict {
    let inline = data_url(text(part, "file_data")).is_some_and(|(_, data)| is_base64(data));
    if inline || ["file_id", "file_url"].iter().any(|name| !text(part, name).is_empty()) {
        return Ok(());
    }
    fail(format!("Invalid '{place}': a data URL, a file id or a file URL is expected."))
}

fn reasoning(checks: &Checks, place: &str, item: &Value) -> Verdict {
    fields(place, item, &["type", "id", "summary", "content", "encrypted_content", "status"])?;
    id_starts(place, item, "rs")?;
    if !item["summary"].is_array() {
        return fail(format!("Missing required parameter: '{place}.summary'."));
    }
    let id = text(item, "id");
    match item.get("encrypted_content").and_then(Value::as_str) {
        Some(content) if opaque::is_ours(content, WireKind::OpenaiResponses, checks.model, id) => Ok(()),
        Some(_) => fail(format!("The encrypted content for item {id} could not be verified.")),
        None if checks.ledger.is_stored(id) => Ok(()),
        None => {
            fail(format!("Item with id '{id}' not found. Items are not persisted when `store` is false."))
        }
    }
}

/// Every call has one output after it, and every output its call before it.
fn pairing(items: &[Value]) -> Verdict {
    let mut open: Vec<&str> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for item in items {
        let id = text(item, "call_id");
        match text(item, "type") {
            "function_call" if seen.contains(&id) => {
                return fail(format!("Duplicate function call with call_id {id}."));
            }
            "function_call" => {
                open.push(id);
                seen.push(id);
            }
            "function_call_output" => match open.iter().position(|open| *open == id) {
                Some(at) => {
                    open.remove(at);
                }
                None => {
                    return fail(format!("No tool call found for function call output with call_id {id}."));
                }
            },
            _ => {}
        }
    }
    match open.first() {
        Some(id) => fail(format!("No tool output found for function call {id}.")),
        None => Ok(()),
    }
}

/// Reasoning stands directly before what came of it, and what came of it does not come without.
fn reasoning_order(checks: &Checks, items: &[Value]) -> Verdict {
    for (at, item) in items.iter().enumerate() {
        let id = text(item, "id");
        if item["type"] == "reasoning" {
            let next = items.iter().skip(at + 1).find(|next| next["type"] != "reasoning");
            if !next.is_some_and(is_output) {
                return fail(format!(
                    "Item '{id}' of type 'reasoning' was provided without its required following item."
                ));
            }
        } else if let Some(needed) = checks.ledger.reasoning_of(id)
            && !items.iter().take(at).any(|earlier| earlier["id"] == needed)
        {
            return fail(format!(
                "Item '{id}' was provided without its required 'reasoning' item: '{needed}'."
            ));
        }
    }
    Ok(())
}

fn is_output(item: &Value) -> bool {
    let kind = text(item, "type");
    item["role"] == "assistant" || kind.ends_with("_call")
}
