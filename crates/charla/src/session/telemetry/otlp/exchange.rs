//! An exchange with a model, as a span and figures.

use charla_providers::layers::{LogEntry, LogEvent};
use serde_json::Value;

use super::encode::Attributes;
use super::messages::{answers, finish_reason, messages};
use super::metrics::{Instrument, Measurement};

/// An exchange that is over.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// Milliseconds since 1970.
    pub start: u64,
    /// The same.
    pub end: u64,
    /// The model as its provider knows it.
    pub model: String,
    pub attributes: Attributes,
    pub failed: Option<String>,
    pub input: u64,
    pub output: u64,
}

impl Exchange {
    /// What an entry says, at the moment it was made, and its figures.
    pub(super) fn of(entry: &LogEntry, end: u64, content: bool) -> (Self, Vec<Measurement>) {
        let (provider, model) = entry.model.split_once('/').unwrap_or(("_OTHER", &entry.model));
        let usage = entry.usage.clone().unwrap_or_default();
        let input = usage.prompt_token_count.unwrap_or_default();
        let output = usage.candidates_token_count.unwrap_or_default();
        let output = output.saturating_add(usage.thoughts_token_count.unwrap_or_default());
        let mut common = Attributes::default()
            .with("gen_ai.operation.name", "chat")
            .with("gen_ai.provider.name", known_provider(provider))
            .with("gen_ai.request.model", model);
        let tokens = entry.usage.is_some().then_some([("input", input), ("output", output)]);
        let tokens = tokens.into_iter().flatten().map(|(kind, count)| Measurement {
            instrument: Instrument::TokenUsage,
            value: count as f64,
            attributes: common.clone().with("gen_ai.token.type", kind),
        });
        let mut measured: Vec<Measurement> = tokens.collect();
        let failed = error_type(entry);
        if let Some(kind) = &failed {
            common.put("error.type", kind.as_str());
        }
        let mut measure = |instrument, value| {
            measured.push(Measurement { instrument, value, attributes: common.clone() });
        };
        measure(Instrument::OperationDuration, entry.duration.as_secs_f64());
        if let Some(first) = entry.first_chunk {
            measure(Instrument::TimeToFirstChunk, first.as_secs_f64());
        }
        let duration = u64::try_from(entry.duration.as_millis()).unwrap_or(u64::MAX);
        let attributes = told(entry, common, (input, output), content);
        let start = end.saturating_sub(duration);
        (Self { start, end, model: model.to_owned(), attributes, failed, input, output }, measured)
    }
}

/// What a span says beside what figures are counted by.
fn told(entry: &LogEntry, common: Attributes, tokens: (u64, u64), content: bool) -> Attributes {
    let mut attributes = common;
    let request = |name: &str| entry.request.get(name).filter(|value| !value.is_null()).cloned();
    attributes.put_some("gen_ai.request.temperature", request("temperature"));
    attributes.put_some("gen_ai.request.top_p", request("topP"));
    attributes.put_some("gen_ai.request.max_tokens", request("maxOutputTokens"));
    attributes.put_some("gen_ai.response.id", entry.response_id.clone());
    attributes.put_some("gen_ai.response.time_to_first_chunk", entry.first_chunk.map(|it| it.as_secs_f64()));
    if let Some(usage) = &entry.usage {
        attributes.put("gen_ai.usage.input_tokens", tokens.0);
        attributes.put("gen_ai.usage.output_tokens", tokens.1);
        attributes.put_some("gen_ai.usage.cache_read.input_tokens", usage.cached_content_token_count);
        attributes.put_some("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_token_count);
        attributes.put_some("gen_ai.usage.reasoning.output_tokens", usage.thoughts_token_count);
    }
    let candidates = entry.response.as_ref().and_then(|response| response["candidates"].as_array());
    let reasons: Vec<Value> =
        candidates.into_iter().flatten().filter_map(finish_reason).map(Value::from).collect();
    if !reasons.is_empty() {
        attributes.put("gen_ai.response.finish_reasons", reasons);
    }
    let retries = entry.events.iter().filter(|event| matches!(event, LogEvent::Retry { .. })).count();
    attributes.put_some("charla.retries", (retries > 0).then_some(retries));
    attributes.put_some(
        "http.response.status_code",
        entry.error.as_ref().and_then(|error| error.status).map(u64::from),
    );
    if content {
        let system = entry.request.get("systemInstruction");
        let system = system.map(|system| messages(&Value::Array(vec![system.clone()])));
        attributes.put_some("gen_ai.system_instructions", system);
        attributes.put_some("gen_ai.input.messages", entry.request.get("contents").map(messages));
        attributes.put_some("gen_ai.output.messages", entry.response.as_ref().map(answers));
    }
    attributes
}

/// Why it failed: a kind, never words, which may hold anything.
fn error_type(entry: &LogEntry) -> Option<String> {
    let kind = entry.error.as_ref().map(|error| error.kind.name().to_owned());
    kind.or_else(|| entry.dropped.then(|| "cancelled".to_owned()))
}

/// The name that the conventions have for a provider.
fn known_provider(name: &str) -> &str {
    match name {
        "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "mistral" => "mistral_ai",
        name => name,
    }
}
