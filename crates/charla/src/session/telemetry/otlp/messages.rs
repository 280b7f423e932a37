//! What was said, in the form that the conventions for generative AI give to messages. Told only where somebody asks for it.

use serde_json::{Value, json};

/// Contents in our own JSON form as one text of messages.
pub(super) fn messages(contents: &Value) -> String {
    let contents = contents.as_array().map(Vec::as_slice).unwrap_or_default();
    Value::Array(contents.iter().map(message).collect()).to_string()
}

/// An answer's candidates in our own JSON form as one text of messages.
pub(super) fn answers(response: &Value) -> String {
    let candidates = response["candidates"].as_array().map(Vec::as_slice).unwrap_or_default();
    let answer = |candidate: &Value| {
        let mut message = message(&candidate["content"]);
        if let Some(reason) = finish_reason(candidate) {
            message["finish_reason"] = reason.into();
        }
        message
    };
    Value::Array(candidates.iter().map(answer).collect()).to_string()
}

/// Why a candidate ended, in the word that the conventions have for it.
pub(super) fn finish_reason(candidate: &Value) -> Option<String> {
    let word = candidate["finishReason"].as_str()?;
    Some(match word {
        "MAX_TOKENS" => "length".to_owned(),
        "SAFETY" | "RECITATION" => "content_filter".to_owned(),
        "STOP" if has_call(candidate) => "tool_call".to_owned(),
        word => word.to_lowercase(),
    })
}

fn has_call(candidate: &Value) -> bool {
    let parts = candidate["content"]["parts"].as_array();
    parts.is_some_and(|parts| parts.iter().any(|part| part.get("functionCall").is_some()))
}

fn message(content: &Value) -> Value {
    let parts: Vec<Value> = content["parts"].as_array().into_iter().flatten().filter_map(part).collect();
    let is_tool = parts.first().is_some_and(|part| part["type"] == "tool_call_response");
    let role = match content["role"].as_str() {
        Some("model") => "assistant",
        _ if is_tool => "tool",
        _ => "user",
    };
    json!({ "role": role, "parts": parts })
}

fn part(part: &Value) -> Option<Value> {
    if let Some(text) = part["text"].as_str() {
        let kind = if part["thought"] == true { "reasoning" } else { "text" };
        return Some(json!({ "type": kind, "content": text }));
    }
    if let Some(call) = part.get("functionCall") {
        let (id, name) = (&call["id"], &call["name"]);
        return Some(json!({ "type": "tool_call", "id": id, "name": name, "arguments": call["args"] }));
    }
    if let Some(answer) = part.get("functionResponse") {
        return Some(
            json!({ "type": "tool_call_response", "id": answer["id"], "response": answer["response"] }),
        );
    }
    // Media are told by kind: their data is not here.
    let media = part.get("inlineData").or_else(|| part.get("fileData"))?;
    Some(json!({ "type": "blob", "mime_type": media["mimeType"] }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_told_in_messages() {
        let contents = json!([
            {"role": "user", "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "[3 bytes]"}}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true},
                {"functionCall": {"id": "c1", "name": "read_file", "args": {"file_path": "x"}}},
            ]},
            {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "y"}}}]},
        ]);
        let told: Value = serde_json::from_str(&messages(&contents)).unwrap();
        assert_eq!(told[0]["parts"][1], json!({"type": "blob", "mime_type": "image/png"}));
        assert_eq!((&told[1]["role"], &told[2]["role"]), (&json!("assistant"), &json!("tool")));
        assert_eq!(told[1]["parts"][0], json!({"type": "reasoning", "content": "hm"}));
        assert_eq!(told[1]["parts"][1]["arguments"]["file_path"], "x");
        let response = json!({"candidates": [{"content": contents[1], "finishReason": "STOP"}]});
        let told: Value = serde_json::from_str(&answers(&response)).unwrap();
        assert_eq!(told[0]["finish_reason"], "tool_call");
    }
}
