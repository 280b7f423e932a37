//! What Anthropic Messages refuses.

use charla_proto::WireKind;
use serde_json::Value;

use super::{Checks, Verdict, fail, is_base64, is_name, list, object, schema, text, unknown_field};
use crate::opaque;

const TOP: [&str; 18] = [
    "cache_control",
    "container",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
];
const BETA: [&str; 4] = ["mcp_servers", "context_management", "output_format", "betas"];

pub(super) fn generate(checks: &Checks) -> Verdict {
    common(checks)?;
    let body = checks.body;
    let Some(limit) = body["max_tokens"].as_u64().filter(|limit| *limit > 0) else {
        return fail("max_tokens: Field required");
    };
    thinking(body, limit)
}

pub(super) fn count_tokens(checks: &Checks) -> Verdict {
    if ["max_tokens", "stream", "temperature"].iter().any(|name| checks.body.get(*name).is_some()) {
        return fail("max_tokens: Extra inputs are not permitted");
    }
    common(checks)
}

fn common(checks: &Checks) -> Verdict {
    let body = checks.body;
    if checks.headers.get("anthropic-version").is_none() {
        return fail("anthropic-version: header is required");
    }
    let beta: &[&str] = if checks.headers.get("anthropic-beta").is_some() { &BETA } else { &[] };
    let extra: Vec<&str> = checks.script.extra_fields.iter().map(String::as_str).collect();
    if let Some(name) = unknown_field(object(body, "body")?, &[&TOP, &["top_p"], beta, &extra]) {
        return fail(format!("{name}: Extra inputs are not permitted"));
    }
    if checks.model.is_empty() {
        return fail("model: Field required");
    }
    system(&body["system"])?;
    tools(body)?;
    turns(&body["messages"])?;
    for (at, message) in list(&body["messages"]) {
        check_message(checks, &format!("messages.{at}"), message)?;
    }
    pairing(&body["messages"])?;
    thinking_loop(body)?;
    let marks = breakpoints(body);
    if marks > 4 {
        return fail(format!("A maximum of 4 blocks with cache_control may be provided. Found {marks}."));
    }
    Ok(())
}

fn thinking(body: &Value, limit: u64) -> Verdict {
    let thinking = &body["thinking"];
    match text(thinking, "type") {
        "enabled" => {}
        "" | "disabled" | "adaptive" => return Ok(()),
        other => {
            return fail(format!("thinking: Input tag '{other}' does not match any of the expected tags"));
        }
    }
    let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
    if budget < 1024 {
        return fail("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
    }
    if budget >= limit {
        return fail("`max_tokens` must be greater than `thinking.budget_tokens`.");
    }
    if body["temperature"].as_f64().is_some_and(|temperature| temperature != 1.0) {
        return fail("`temperature` may only be set to 1 when thinking is enabled.");
    }
    if ["any", "tool"].contains(&text(&body["tool_choice"], "type")) {
        return fail("Thinking may not be enabled when tool_choice forces tool use.");
    }
    Ok(())
}

fn system(system: &Value) -> Verdict {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => blocks.iter().enumerate().try_for_each(|(at, block)| {
            if block["type"] != "text" {
                return fail(format!("system.{at}.type: Input should be 'text'"));
            }
            words(&format!("system.{at}"), block)
        }),
        _ => fail("system: Input should be a valid string or list"),
    }
}

fn tools(body: &Value) -> Verdict {
    let mut names: Vec<&str> = Vec::new();
    for (at, tool) in list(&body["tools"]) {
        let custom = ["", "custom"].contains(&text(tool, "type"));
        let name = text(tool, "name");
        if custom && !is_name(name, "_-", 128) {
            return fail(format!(
                "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            ));
        }
        if names.contains(&name) {
            return fail("tools: Tool names must be unique.");
        }
        names.push(name);
        if custom {
            schema::anthropic(&format!("tools.{at}.custom"), &tool["input_schema"])?;
        }
    }
    if names.is_empty() && body.get("tool_choice").is_some() {
        return fail("tool_choice: tool_choice may only be specified while providing tools.");
    }
    Ok(())
}

fn turns(messages: &Value) -> Verdict {
    let mut last = "assistant";
    if list(messages).len() == 0 {
        return fail("messages: at least one message is required");
    }
    for (at, message) in list(messages) {
        let role = text(message, "role");
        if !["user", "assistant"].contains(&role) {
            return fail(format!("messages.{at}.role: Input should be 'user' or 'assistant'"));
        }
        if role == last && at == 0 {
            return fail("messages: first message must use the \"user\" role");
        }
        if role == last {
            return fail(format!(
                "messages: roles must alternate, but found multiple \"{role}\" roles in a row"
            ));
        }
        last = role;
    }
    Ok(())
}

fn check_message(checks: &Checks, place: &str, message: &Value) -> Verdict {
    if let Some(name) = unknown_field(object(message, place)?, &[&["role", "content"]]) {
        return fail(format!("{place}.{name}: Extra inputs are not permitted"));
    }
    let content = &message["content"];
    let empty = content.as_str().map_or_else(|| list(content).len() == 0, |words| words.trim().is_empty());
    if empty {
        return fail(format!("{place}: all messages must have non-empty content"));
    }
    let assistant = message["role"] == "assistant";
    for (at, block) in list(content) {
        let place = format!("{place}.content.{at}");
        match (text(block, "type"), assistant) {
            ("text", _) => words(&place, block)?,
            ("image" | "document", false) => media(&place, block)?,
            ("search_result" | "container_upload", false) => {}
            ("tool_result", false) => tool_result(&place, block)?,
            ("tool_use", true) => tool_use(&place, block)?,
            ("thinking" | "redacted_thinking", true) => thought(checks, &place, block)?,
            // Blocks of tools that run at the service are its own business.
            ("server_tool_use" | "mcp_tool_use", true) => {}
            (kind, true) if kind.ends_with("_tool_result") => {}
            (kind, _) => {
                return fail(format!("{place}: Input tag '{kind}' does not match any of the expected tags"));
            }
        }
    }
    if list(content).last().is_some_and(|(_, last)| text(last, "type").ends_with("thinking")) {
        return fail(format!("{place}: The final block in an assistant message cannot be `thinking`."));
    }
    Ok(())
}

fn words(place: &str, block: &Value) -> Verdict {
    if text(block, "text").is_empty() {
        return fail(format!("{place}: text content blocks must be non-empty"));
    }
    if text(block, "text").trim().is_empty() {
        return fail(format!("{place}: text content blocks must contain non-whitespace text"));
    }
    match unknown_field(object(block, place)?, &[&["type", "text", "cache_control", "citations"]]) {
        Some(name) => fail(format!("{place}.text.{name}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn media(place: &str, block: &Value) -> Verdict {
    let source = &block["source"];
    let allowed: &[&str] = if block["type"] == "image" {
        &["image/jpeg", "image/png", "image/gif", "image/webp"]
    } else {
        &["application/pdf"]
    };
    match text(source, "type") {
        "url" | "file" | "content" => Ok(()),
        "text" if block["type"] == "document" => Ok(()),
        "base64" if !allowed.contains(&text(source, "media_type")) => {
            fail(format!("{place}.source.base64.media_type: Input should be one of {}", allowed.join(", ")))
        }
        "base64" if !is_base64(text(source, "data")) => {
            fail(format!("{place}.source.base64: invalid base64 data"))
        }
        "base64" => Ok(()),
        other => fail(format!("{place}.source: Input tag '{other}' does not match any of the expected tags")),
    }
}

fn tool_use(place: &str, block: &Value) -> Verdict {
    if !is_name(text(block, "id"), "_-", usize::MAX) {
        return fail(format!("{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"));
    }
    if !is_name(text(block, "name"), "_-", 200) {
        return fail(format!(
            "{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"
        ));
    }
    if !block["input"].is_object() {
        return fail(format!("{place}.tool_use.input: Input should be a valid dictionary"));
    }
    match unknown_field(object(block, place)?, &[&["type", "id", "name", "input", "cache_control", "caller"]])
    {
        Some(name) => fail(format!("{place}.tool_use.{name}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn tool_result(place: &str, block: &Value) -> Verdict {
    let allowed = ["type", "tool_use_id", "content", "is_error", "cache_control"];
    if let Some(name) = unknown_field(object(block, place)?, &[&allowed]) {
        return fail(format!("{place}.tool_result.{name}: Extra inputs are not permitted"));
    }
    for (at, inner) in list(&block["content"]) {
        let place = format!("{place}.tool_result.content.{at}");
        match text(inner, "type") {
            "text" => words(&place, inner)?,
            "image" | "document" => media(&place, inner)?,
            "search_result" | "tool_reference" => {}
            kind => {
                return fail(format!("{place}: Input tag '{kind}' does not match any of the expected tags"));
            }
        }
    }
    Ok(())
}

fn thought(checks: &Checks, place: &str, block: &Value) -> Verdict {
    let (proof, content) = match text(block, "type") {
        "thinking" => (text(block, "signature"), text(block, "thinking")),
        _ => (text(block, "data"), "redacted"),
    };
    if opaque::is_ours(proof, WireKind::Anthropic, checks.model, content) {
        return Ok(());
    }
    fail(format!("{place}: Invalid `signature` in `thinking` block"))
}

/// Results stand at the start of the message after their calls: all of them, once, and no others.
fn pairing(messages: &Value) -> Verdict {
    let mut open: Vec<&str> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (at, message) in list(messages) {
        let blocks = |kind: &'static str| {
            list(&message["content"]).filter(move |(_, block)| block["type"] == kind).map(|(_, block)| block)
        };
        let mut left = std::mem::take(&mut open);
        let called = left.clone();
        for result in blocks("tool_result") {
            let id = text(result, "tool_use_id");
            match left.iter().position(|open| *open == id) {
                Some(found) => {
                    left.remove(found);
                }
                None if called.contains(&id) => {
                    return fail(format!("messages.{at}: each tool_use must have a single result: {id}"));
                }
                None => {
                    return fail(format!(
                        "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"
                    ));
                }
            }
        }
        if let Some(id) = left.first() {
            return fail(format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}"
            ));
        }
        results_first(at, message)?;
        for call in blocks("tool_use") {
            let id = text(call, "id");
            if seen.contains(&id) {
                return fail(format!("messages.{at}: `tool_use` ids must be unique: {id}"));
            }
            seen.push(id);
            open.push(id);
        }
    }
    match open.first() {
        Some(id) => {
            fail(format!("`tool_use` ids were found without `tool_result` blocks immediately after: {id}"))
        }
        None => Ok(()),
    }
}

fn results_first(at: usize, message: &Value) -> Verdict {
    let is_result = |block: &Value| block["type"] == "tool_result";
    let after_other = list(&message["content"]).skip_while(|(_, block)| is_result(block));
    if after_other.into_iter().any(|(_, block)| is_result(block)) {
        return fail(format!("messages.{at}: `tool_result` blocks must come first in the content"));
    }
    Ok(())
}

/// With thinking on, an open tool loop begins with the thought it came from.
fn thinking_loop(body: &Value) -> Verdict {
    if body["thinking"]["type"] != "enabled" {
        return Ok(());
    }
    let is_result =
        |message: &Value| list(&message["content"]).any(|(_, block)| block["type"] == "tool_result");
    let messages: Vec<&Value> = list(&body["messages"]).map(|(_, message)| message).collect();
    let spoken = messages.iter().rposition(|message| message["role"] == "user" && !is_result(message));
    let Some(first) = spoken.and_then(|at| messages.get(at + 1)) else { return Ok(()) };
    let kind = text(&first["content"][0], "type");
    if kind.ends_with("thinking") {
        return Ok(());
    }
    fail(format!(
        "Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block."
    ))
}

fn breakpoints(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(breakpoints).sum(),
        Value::Object(fields) => {
            let own = usize::from(fields.get("cache_control").is_some_and(|mark| !mark.is_null()));
            // Arguments of calls may hold anything.
            own + fields
                .iter()
                .filter(|(name, _)| *name != "input")
                .map(|(_, value)| breakpoints(value))
                .sum::<usize>()
        }
        _ => 0,
    }
}
