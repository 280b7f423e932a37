//! What OpenAI Chat Completions refuses.

use charla_proto::WireKind;
use serde_json::Value;

use super::{Checks, Verdict, data_url, fail, is_base64, is_name, list, object, openai, text, unknown_field};
use crate::opaque;
use crate::script::ChatReplay;

const TOP: [&str; 37] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];
const MESSAGE: [&str; 12] = [
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "audio",
    "function_call",
    "annotations",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
];

pub(super) fn generate(checks: &Checks) -> Verdict {
    let body = checks.body;
    openai::fields(checks, &TOP)?;
    if list(&body["messages"]).len() == 0 {
        return fail("Invalid 'messages': empty array. Expected an array with minimum length 1.");
    }
    for (at, message) in list(&body["messages"]) {
        check_message(checks, &format!("messages[{at}]"), message)?;
    }
    pairing(&body["messages"])?;
    options(checks)?;
    openai::tools(body, |tool| &tool["function"])
}

fn options(checks: &Checks) -> Verdict {
    let body = checks.body;
    if body.get("stream_options").is_some_and(|options| !options.is_null()) && body["stream"] != true {
        return fail("The 'stream_options' parameter is only allowed when 'stream' is enabled.");
    }
    let limit = body.get("max_tokens").is_some();
    if limit && body.get("max_completion_tokens").is_some() {
        return fail("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.");
    }
    if limit && ["gpt-5", "o1", "o3", "o4"].iter().any(|start| checks.model.starts_with(start)) {
        return fail(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        );
    }
    Ok(())
}

fn check_message(checks: &Checks, place: &str, message: &Value) -> Verdict {
    if let Some(name) = unknown_field(object(message, place)?, &[&MESSAGE]) {
        return fail(format!("Additional properties are not allowed ('{name}' was unexpected) - '{place}'"));
    }
    let content = &message["content"];
    match text(message, "role") {
        "system" | "developer" | "tool" => words(place, content, false),
        "user" => words(place, content, true),
        "assistant" => {
            if message.get("tool_calls").is_some() {
                calls(place, &message["tool_calls"])?;
            } else if content.is_null() && message.get("refusal").is_none_or(Value::is_null) {
                return fail(format!(
                    "Invalid value for 'content': expected a string, got null. - '{place}'"
                ));
            }
            if !content.is_null() {
                words(place, content, false)?;
            }
            thoughts(checks, place, message)
        }
        other => fail(format!("Invalid value: '{other}'. - '{place}.role'")),
    }
}

/// Text, or an array of parts; media only where it is taken.
fn words(place: &str, content: &Value, media: bool) -> Verdict {
    if content.is_string() {
        return Ok(());
    }
    if list(content).len() == 0 {
        return fail(format!("Invalid type for '{place}.content': expected a string or an array of parts."));
    }
    for (at, part) in list(content) {
        let place = format!("{place}.content[{at}]");
        match (text(part, "type"), media) {
            ("text", _) if part["text"].is_string() => {}
            ("refusal", false) if part["refusal"].is_string() => {}
            ("image_url", true) => {
                openai::image(&format!("{place}.image_url.url"), text(&part["image_url"], "url"))?
            }
            ("input_audio", true) if is_base64(text(&part["input_audio"], "data")) => {}
            ("file", true) => file(&place, &part["file"])?,
            (kind, _) => return fail(format!("Invalid value: '{kind}'. - '{place}.type'")),
        }
    }
    Ok(())
}

fn file(place: &str, file: &Value) -> Verdict {
    let inline = data_url(text(file, "file_data")).is_some_and(|(_, data)| is_base64(data));
    if inline || !text(file, "file_id").is_empty() {
        return Ok(());
    }
    fail(format!("Invalid '{place}.file': a data URL or a file id is expected."))
}

fn calls(place: &str, calls: &Value) -> Verdict {
    if list(calls).len() == 0 {
        return fail(format!(
            "Invalid '{place}.tool_calls': empty array. Expected an array with minimum length 1."
        ));
    }
    for (at, call) in list(calls) {
        let place = format!("{place}.tool_calls[{at}]");
        let id = text(call, "id");
        if id.is_empty() || id.chars().count() > 40 {
            return fail(format!("Invalid '{place}.id': expected a string of 1 to 40 characters."));
        }
        if call["type"] != "function" {
            return fail(format!("Invalid value - '{place}.type'"));
        }
        let name = text(&call["function"], "name");
        if !is_name(name, "_-", 64) {
            return fail(format!("Invalid '{place}.function.name': string does not match pattern: {name}"));
        }
        openai::arguments(&format!("{place}.function.arguments"), &call["function"]["arguments"])?;
    }
    Ok(())
}

/// Thoughts come back only to the model that had them, and only as the server wants them.
fn thoughts(checks: &Checks, place: &str, message: &Value) -> Verdict {
    let has = |field: &str| message.get(field).is_some_and(|value| !value.is_null());
    let has_calls = list(&message["tool_calls"]).len() > 0;
    match checks.script.chat_replay {
        ChatReplay::Allowed => {}
        ChatReplay::Required if has_calls && text(message, "reasoning_content").is_empty() => {
            return fail(format!(
                "Missing `reasoning_content` in the assistant message with calls: '{place}'"
            ));
        }
        ChatReplay::Refused if has("reasoning_content") || has("reasoning") || has("reasoning_details") => {
            return fail(format!("Unrecognized request argument supplied: '{place}.reasoning_content'"));
        }
        ChatReplay::Required | ChatReplay::Refused => {}
    }
    for field in ["reasoning_content", "reasoning"] {
        let thought = text(message, field);
        if checks.ledger.is_foreign_thought(thought, WireKind::OpenaiChat, checks.model) {
            return fail(format!("Invalid '{place}.{field}': this model did not think that."));
        }
    }
    for (at, detail) in list(&message["reasoning_details"]) {
        let proof = detail.get("signature").or_else(|| detail.get("data")).and_then(Value::as_str);
        let ours = |proof| opaque::is_ours(proof, WireKind::OpenaiChat, checks.model, "reasoning");
        if proof.is_some_and(|proof| !ours(proof)) {
            return fail(format!("Invalid '{place}.reasoning_details[{at}]': the signature is not valid."));
        }
    }
    Ok(())
}

/// Every call is answered by exactly one tool message, directly after the message that made it.
fn pairing(messages: &Value) -> Verdict {
    let mut open: Vec<&str> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (_, message) in list(messages) {
        if message["role"] == "tool" {
            let id = text(message, "tool_call_id");
            let Some(at) = open.iter().position(|open| *open == id) else {
                return fail(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
                );
            };
            open.swap_remove(at);
            continue;
        }
        unanswered(&open)?;
        open = list(&message["tool_calls"]).map(|(_, call)| text(call, "id")).collect();
        for id in &open {
            if seen.contains(id) {
                return fail(format!("Duplicate value for 'tool_call_id': {id}"));
            }
            seen.push(id);
        }
    }
    unanswered(&open)
}

fn unanswered(open: &[&str]) -> Verdict {
    if open.is_empty() {
        return Ok(());
    }
    fail(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. These did not have response messages: {}",
        open.join(", ")
    ))
}
