//! Everything of a request besides messages and tools.

use charla_proto::{Thinking, ThinkingLevel};
use serde_json::{Map, json};

use super::*;
use crate::endpoint::{MaxTokensField, ModelThinking, ThinkingStyle};
use crate::wire::schema;

/// The fields of the body that are set by options.
pub fn options(request: &GenerateRequest, target: &Target, mode: Mode) -> Map<String, Value> {
    let quirks = &target.endpoint.quirks;
    let mut fields = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(key.to_owned(), value);
        }
    };
    if mode == Mode::Stream {
        set("stream", Some(true.into()));
        set("stream_options", (!quirks.no_stream_usage).then(|| json!({"include_usage": true})));
    }
    if !target.model.no_sampling {
        set("temperature", request.temperature.map(Value::from));
        set("top_p", request.top_p.map(Value::from));
    }
    let limit = match quirks.max_tokens_field {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
    };
    set(limit, request.max_output_tokens.map(Value::from));
    set("n", request.candidate_count.filter(|count| *count > 1).map(Value::from));
    let stop = &request.stop_sequences;
    set("stop", (!stop.is_empty()).then(|| Value::from(stop.clone())));
    set("response_format", response_format(request).filter(|_| !quirks.no_answer_schema));
    // A wish is told in the server's own way for every model: of most models on it nothing is known here.
    if let Some(thinking) = &request.thinking
        && (target.model.thinking != ModelThinking::None || thinking.is_wish())
    {
        add_thinking(&mut fields, quirks.thinking_style, thinking);
    }
    fields
}

fn response_format(request: &GenerateRequest) -> Option<Value> {
    let Some(schema) = &request.response_json_schema else {
        let json = request.response_mime_type.as_deref() == Some("application/json");
        return json.then(|| json!({"type": "json_object"}));
    };
    match schema::adapt(schema, WireKind::OpenaiChat) {
        // Not strict: that mode refuses most schemas, and with them the whole request.
        Ok(schema) => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": false, "schema": schema},
        })),
        Err(reason) => {
            tracing::warn!(reason, "the answer's schema is left out");
            Some(json!({"type": "json_object"}))
        }
    }
}

fn add_thinking(fields: &mut Map<String, Value>, style: ThinkingStyle, thinking: &Thinking) {
    let amount = Amount::of(thinking);
    let on = amount != Amount::Off;
    match style {
        ThinkingStyle::None => {}
        ThinkingStyle::ReasoningEffort => {
            if let Some(effort) = amount.effort() {
                fields.insert("reasoning_effort".to_owned(), effort.into());
            }
        }
        ThinkingStyle::ReasoningObject => {
            let mut reasoning = match amount {
                Amount::Off => json!({"enabled": false}),
                Amount::Tokens(budget) => json!({"max_tokens": budget}),
                Amount::Level(_) => json!({"effort": amount.effort()}),
                Amount::Free => json!({"enabled": true}),
            };
            if on && thinking.include_thoughts == Some(false) {
                reasoning["exclude"] = true.into();
            }
            fields.insert("reasoning".to_owned(), reasoning);
        }
        ThinkingStyle::EnableThinking => {
            fields.insert("enable_thinking".to_owned(), on.into());
            if let Amount::Tokens(budget) = amount {
                fields.insert("thinking_budget".to_owned(), budget.into());
            }
        }
        ThinkingStyle::ChatTemplateKwargs => {
            fields.insert("chat_template_kwargs".to_owned(), json!({"enable_thinking": on}));
        }
        ThinkingStyle::ThinkingType => {
            let word = if on { "enabled" } else { "disabled" };
            fields.insert("thinking".to_owned(), json!({"type": word}));
        }
    }
}

/// How much thinking is asked for.
#[derive(Clone, Copy, PartialEq)]
enum Amount {
    Off,
    Tokens(i64),
    Level(ThinkingLevel),
    /// As the model likes.
    Free,
}

impl Amount {
    fn of(thinking: &Thinking) -> Self {
        match (thinking.thinking_level, thinking.thinking_budget) {
            (Some(ThinkingLevel::Minimal), _) | (None, Some(0)) => Amount::Off,
            (Some(level), _) => Amount::Level(level),
            (None, Some(budget)) if budget > 0 => Amount::Tokens(budget),
            (None, _) => Amount::Free,
        }
    }

    /// The nearest effort that every server with efforts knows. "Off" is `low`: the words for less
    /// (`minimal`, `none`) are refused by models that cannot do it.
    fn effort(self) -> Option<&'static str> {
        match self {
            Amount::Off | Amount::Level(ThinkingLevel::Minimal | ThinkingLevel::Low) => Some("low"),
            Amount::Level(ThinkingLevel::Medium) => Some("medium"),
            Amount::Level(ThinkingLevel::High) => Some("high"),
            Amount::Tokens(..=4096) => Some("low"),
            Amount::Tokens(..=16_384) => Some("medium"),
            Amount::Tokens(_) => Some("high"),
            Amount::Free => None,
        }
    }
}
