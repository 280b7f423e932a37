//! The fields of a request beside messages, system and tools: limits, thinking, sampling, format.

use charla_proto::{Content, FunctionCallingMode, Role, Thinking, ThinkingLevel};
use serde_json::{Map, json};

use super::*;
use crate::endpoint::ModelThinking;

/// The output limit of a model nothing is known of.
const UNKNOWN_MAX_TOKENS: u32 = 8192;
/// What is asked for when the caller names no limit: enough for long files, and little enough that the
/// server does not reserve the model's whole rate limit for one answer.
const DEFAULT_MAX_TOKENS: u32 = 32_000;
/// The smallest thinking budget the wire accepts, and the room kept for the answer itself.
const MIN_BUDGET: u32 = 1024;

/// Fields that the codec writes itself; `request.extra` does not replace them.
const RESERVED: [&str; 5] = ["model", "messages", "system", "tools", "stream"];

/// The fields of a generating request.
pub(super) fn generate(
    request: &GenerateRequest,
    target: &Target,
    mode: Mode,
) -> Result<Map<String, Value>, LlmError> {
    let mut fields = Map::new();
    fields.insert("model".to_owned(), json!(target.model.id));
    let asked = request.max_output_tokens.or_else(|| Some(target.model.max_output?.min(DEFAULT_MAX_TOKENS)));
    let mut max_tokens = asked.unwrap_or(UNKNOWN_MAX_TOKENS).max(1);
    let thinks = set_thinking(&mut fields, &mut max_tokens, request, target);
    fields.insert("max_tokens".to_owned(), json!(max_tokens));
    if mode == Mode::Stream {
        fields.insert("stream".to_owned(), json!(true));
    }
    if !thinks && !target.model.no_sampling {
        set_sampling(&mut fields, request);
    }
    if !request.stop_sequences.is_empty() {
        fields.insert("stop_sequences".to_owned(), json!(request.stop_sequences));
    }
    if let Some(choice) = tool_choice(request) {
        fields.insert("tool_choice".to_owned(), choice);
    }
    set_format(&mut fields, request, target)?;
    for (key, value) in request.extra.iter().filter(|(key, _)| !RESERVED.contains(&key.as_str())) {
        merge(fields.entry(key.as_str()).or_insert(Value::Null), value);
    }
    Ok(fields)
}

/// The fields of a counting request, which refuses everything that does not change the input.
pub(super) fn count(request: &GenerateRequest, target: &Target) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("model".to_owned(), json!(target.model.id));
    if let Some(choice) = tool_choice(request) {
        fields.insert("tool_choice".to_owned(), choice);
    }
    let mut room = u32::MAX;
    set_thinking(&mut fields, &mut room, request, target);
    fields.shift_remove("output_config");
    fields
}

/// Objects are merged key by key, anything else is replaced.
fn merge(old: &mut Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                merge(old.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (old, new) => *old = new.clone(),
    }
}

fn set_sampling(fields: &mut Map<String, Value>, request: &GenerateRequest) {
    // Newer models refuse temperature and top_p together; the temperature is what people mean.
    match (request.temperature, request.top_p) {
        (Some(temperature), _) => {
            fields.insert("temperature".to_owned(), json!(temperature.clamp(0.0, 1.0)));
        }
        (None, Some(top_p)) => {
            fields.insert("top_p".to_owned(), json!(top_p));
        }
        (None, None) => {}
    }
    if let Some(top_k) = request.top_k {
        fields.insert("top_k".to_owned(), json!(top_k));
    }
}

fn set_format(
    fields: &mut Map<String, Value>,
    request: &GenerateRequest,
    target: &Target,
) -> Result<(), LlmError> {
    if target.endpoint.quirks.no_answer_schema {
        return Ok(());
    }
    let Some(schema) = &request.response_json_schema else { return Ok(()) };
    let schema = schema::adapt_answer(schema, WireKind::Anthropic).map_err(|reason| {
        LlmError::new(LlmErrorKind::InvalidRequest, format!("the answer's schema cannot be sent: {reason}"))
    })?;
    let format = json!({"format": {"type": "json_schema", "schema": schema}});
    merge(fields.entry("output_config").or_insert(Value::Null), &format);
    Ok(())
}

fn tool_choice(request: &GenerateRequest) -> Option<Value> {
    let config = &request.tool_config.as_ref()?.function_calling_config;
    Some(match (config.mode, config.allowed_function_names.as_slice()) {
        (FunctionCallingMode::Auto, _) => json!({"type": "auto"}),
        (FunctionCallingMode::None, _) => json!({"type": "none"}),
        (FunctionCallingMode::Any, [name]) => json!({"type": "tool", "name": name}),
        (FunctionCallingMode::Any, _) => json!({"type": "any"}),
    })
}

fn forces_a_call(request: &GenerateRequest) -> bool {
    let config = request.tool_config.as_ref().map(|config| &config.function_calling_config);
    !request.tools.is_empty() && config.is_some_and(|config| config.mode == FunctionCallingMode::Any)
}

/// Writes the thinking fields, makes room for the budget, and says whether the model will think.
fn set_thinking(
    fields: &mut Map<String, Value>,
    max_tokens: &mut u32,
    request: &GenerateRequest,
    target: &Target,
) -> bool {
    let Some(thinking) = &request.thinking else { return false };
    // The wire refuses thinking together with a forced call.
    if forces_a_call(request) {
        return false;
    }
    match target.model.thinking {
        ModelThinking::None => false,
        ModelThinking::Levels => {
            set_effort(fields, thinking);
            false
        }
        ModelThinking::Adaptive => set_adaptive(fields, thinking),
        ModelThinking::Budget => {
            let budget = budget(thinking).and_then(|budget| fit(budget, max_tokens, target.model.max_output));
            let Some(budget) = budget.filter(|_| loop_began_with_thinking(&request.contents, target)) else {
                return false;
            };
            fields.insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": budget}));
            true
        }
    }
}

fn set_adaptive(fields: &mut Map<String, Value>, thinking: &Thinking) -> bool {
    if budget(thinking).is_none() {
        return false;
    }
    let mut value = json!({"type": "adaptive"});
    if thinking.include_thoughts == Some(true) {
        value["display"] = json!("summarized");
    }
    fields.insert("thinking".to_owned(), value);
    set_effort(fields, thinking);
    true
}

fn set_effort(fields: &mut Map<String, Value>, thinking: &Thinking) {
    let effort = match (thinking.thinking_level, thinking.thinking_budget) {
        (Some(ThinkingLevel::Minimal | ThinkingLevel::Low), _) => "low",
        (Some(ThinkingLevel::Medium), _) => "medium",
        (Some(ThinkingLevel::High), _) => "high",
        (None, Some(..=0) | None) => return,
        (None, Some(1..=4096)) => "low",
        (None, Some(4097..=16_384)) => "medium",
        (None, Some(_)) => "high",
    };
    merge(fields.entry("output_config").or_insert(Value::Null), &json!({"effort": effort}));
}

/// The tokens to think with, `None` for not at all.
fn budget(thinking: &Thinking) -> Option<u32> {
    let level = match thinking.thinking_level {
        Some(ThinkingLevel::Minimal) => None,
        Some(ThinkingLevel::Low) => Some(4096),
        Some(ThinkingLevel::Medium) => Some(12_288),
        Some(ThinkingLevel::High) => Some(24_576),
        None if thinking.thinking_budget == Some(-1) || thinking.include_thoughts == Some(true) => {
            Some(12_288)
        }
        None => None,
    };
    match thinking.thinking_budget {
        Some(0) => None,
        Some(tokens @ 1..) => Some(u32::try_from(tokens).unwrap_or(u32::MAX / 2).max(MIN_BUDGET)),
        _ => level,
    }
}

/// Makes the output limit larger than the budget; where the model cannot write that much the budget gives
/// way. `None` when no budget fits.
fn fit(budget: u32, max_tokens: &mut u32, model_limit: Option<u32>) -> Option<u32> {
    let wanted = (*max_tokens).max(budget.saturating_add(MIN_BUDGET));
    let limit = model_limit.map_or(wanted, |limit| limit.min(wanted));
    let budget = budget.min(limit.saturating_sub(MIN_BUDGET));
    if budget < MIN_BUDGET {
        return None;
    }
    *max_tokens = limit;
    Some(budget)
}

/// True when thinking may be asked for in the middle of a tool loop.
///
/// With a thinking budget the server demands that the assistant turn it goes on with began with one of
/// its own thinking blocks ("Expected `thinking` or `redacted_thinking`, but found `tool_use`"). A turn
/// that another model began, or that began while thinking was off, has none: then this request goes
/// without thinking, and the next one after the user speaks has it again.
fn loop_began_with_thinking(contents: &[std::sync::Arc<Content>], target: &Target) -> bool {
    let answers = |content: &Content| content.function_responses().next().is_some();
    let start = contents.iter().rposition(|content| content.role == Role::User && !answers(content));
    let turn = contents.iter().skip(start.map_or(0, |at| at + 1));
    match turn.into_iter().find(|content| content.role == Role::Model) {
        None => true,
        Some(first) => blocks::begins_with_thinking(first, target),
    }
}
