//! Finished items, usage and endings in our words: what a stream's last events and a whole document share.

use charla_proto::{Citation, Extra, FinishReason, FunctionCall, InvalidArgs, UsageMetadata};

use super::*;

/// The head of a response object, in whatever state it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Head {
    pub id: Value,
    pub model: Value,
    pub status: Value,
    pub error: Value,
    pub incomplete_details: Value,
    pub usage: Value,
}

impl Head {
    pub(super) fn usage(&self) -> Option<UsageMetadata> {
        let usage = self.usage.as_object()?;
        let figure = |key: &str| usage.get(key).and_then(Value::as_u64);
        let detail = |group: &str, key: &str| usage.get(group)?.get(key)?.as_u64();
        let (input, output, total) =
            (figure("input_tokens"), figure("output_tokens"), figure("total_tokens"));
        let reasoning = detail("output_tokens_details", "reasoning_tokens");
        let thoughts = reasoning.unwrap_or(0);
        // Output includes thoughts, except at servers whose total shows that it does not.
        let beside = thoughts > 0
            && total.is_some_and(|total| total == input.unwrap_or(0) + output.unwrap_or(0) + thoughts);
        Some(UsageMetadata {
            prompt_token_count: input,
            candidates_token_count: output
                .map(|output| if beside { output } else { output.saturating_sub(thoughts) }),
            thoughts_token_count: reasoning,
            cached_content_token_count: detail("input_tokens_details", "cached_tokens"),
            cache_write_token_count: detail("input_tokens_details", "cache_write_tokens"),
            tool_use_prompt_token_count: None,
            total_token_count: total,
        })
    }

    /// Why the response is not complete, in the server's word.
    pub(super) fn incomplete_reason(&self) -> Option<&str> {
        self.incomplete_details["reason"].as_str()
    }

    /// The ending in our words; `refused` says that the model declined.
    pub(super) fn finish_reason(&self, status: &str, refused: bool) -> FinishReason {
        match (status, self.incomplete_reason()) {
            ("completed", _) if refused => FinishReason::Safety,
            ("completed", _) => FinishReason::Stop,
            ("incomplete", Some("content_filter")) => FinishReason::Safety,
            ("incomplete", Some("max_output_tokens" | "max_tokens") | None) => FinishReason::MaxTokens,
            ("incomplete", Some(other)) => FinishReason::Other(other.to_owned()),
            (other, _) => FinishReason::Other(other.to_owned()),
        }
    }
}

/// All texts of one kind in an item's content or summary, joined.
pub(super) fn texts(list: &Value, kinds: &[&str], key: &str) -> String {
    let pieces = list.as_array().into_iter().flatten();
    let pieces = pieces.filter(|piece| piece["type"].as_str().is_none_or(|kind| kinds.contains(&kind)));
    pieces.filter_map(|piece| piece[key].as_str()).collect()
}

/// The sources that a message's text names.
pub(super) fn citations(content: &Value) -> Vec<Citation> {
    let pieces = content.as_array().into_iter().flatten();
    let annotations = pieces.filter_map(|piece| piece["annotations"].as_array()).flatten();
    annotations.filter_map(citation).collect()
}

pub(super) fn citation(annotation: &Value) -> Option<Citation> {
    let mut fields = annotation.as_object()?.clone();
    // The current form is flat; the chat form nests under the type's name.
    if let Some(Value::Object(inner)) = fields.shift_remove("url_citation") {
        fields.extend(inner);
    }
    let mut text = |key: &str| match fields.shift_remove(key) {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    let (uri, title) = (text("url"), text("title"));
    let title = title.or_else(|| text("filename"));
    Some(Citation { title, uri, extra: fields.into_iter().collect() })
}

/// The call of a `function_call` or `custom_tool_call` item.
///
/// `streamed` holds the arguments of its deltas and is used when the item has none of its own; `done`
/// says that nothing more would have come. A call that is not done and has no arguments is no call
/// without arguments: it was cut.
pub(super) fn call(item: &Value, streamed: &str, done: bool) -> FunctionCall {
    let text = |key: &str| item[key].as_str().filter(|text| !text.is_empty());
    let custom = item["type"] == "custom_tool_call";
    let mut call = FunctionCall {
        id: Some(text("call_id").map_or_else(make_call_id, str::to_owned)),
        name: text("name").unwrap_or_default().to_owned(),
        ..FunctionCall::default()
    };
    let arguments = text(if custom { "input" } else { "arguments" }).unwrap_or(streamed);
    let complete = done && item["status"] != "incomplete";
    if custom {
        call.args.insert("input".to_owned(), Value::from(arguments));
        call.extra.insert("custom", Value::from(true));
    } else if let Value::Object(arguments) = &item["arguments"] {
        call.args = arguments.clone();
    } else {
        call.set_args_text(arguments);
    }
    if !complete && (custom || arguments.is_empty()) && call.invalid.is_none() {
        call.args.clear();
        call.invalid = Some(Box::new(InvalidArgs {
            raw: arguments.to_owned(),
            reason: "the answer ended before the call was complete".to_owned(),
        }));
    }
    keep(&mut call.extra, "itemId", text("id").filter(|_| done));
    keep(&mut call.extra, "namespace", text("namespace"));
    call
}

fn keep(extra: &mut Extra, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        extra.insert(key, Value::from(value));
    }
}
