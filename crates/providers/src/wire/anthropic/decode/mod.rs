//! Reads answers, streamed or whole.

mod block;
mod usage;

use std::borrow::Cow;

use charla_proto::{Candidate, Content, FinishReason, Part, Role};
use serde::Deserialize;

use super::*;
use block::{Open, citation, grow_opaque, words_at_start};
use usage::Usage;

/// Reads one answer.
#[derive(Default)]
pub(super) struct Decoder {
    /// Blocks that have begun and not ended, by the wire's index. Nearly always one.
    open: Vec<(u64, Open)>,
    usage: Usage,
    done: bool,
}

/// The event that a stream consists of, read without building a tree.
#[derive(Deserialize)]
struct DeltaEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Option<Words<'a>>,
    #[serde(default, borrow)]
    thinking: Option<Words<'a>>,
    #[serde(default, borrow)]
    partial_json: Option<Words<'a>>,
    #[serde(default, borrow)]
    signature: Option<Words<'a>>,
    #[serde(default)]
    citation: Option<Value>,
}

/// Text borrowed from the event wherever it holds no escapes.
#[derive(Deserialize)]
struct Words<'a>(#[serde(borrow)] Cow<'a, str>);

impl EventDecoder for Decoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError> {
        if let Ok(event) = serde_json::from_str::<DeltaEvent>(data)
            && event.kind == "content_block_delta"
        {
            return self.delta(event, data, out);
        }
        match serde_json::from_str::<Value>(data) {
            Ok(event) => self.rare_event(name, event, out),
            Err(_) if name == Some("error") => self.fail(Value::from(data), out),
            Err(_) if data.trim() == "[DONE]" => {
                self.done = true;
                Ok(())
            }
            Err(_) if data.trim().is_empty() => Ok(()),
            Err(error) => Err(broken(format!("the server sent an event that is not valid JSON: {error}"))),
        }
    }

    fn document(&mut self, document: Value, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        if document["type"] == "error" || document.get("error").is_some_and(|error| !error.is_null()) {
            return self.fail(document, out);
        }
        if !document["content"].is_array() {
            let start: String = document.to_string().chars().take(200).collect();
            return Err(broken(format!("the server's answer is no message: {start}")));
        }
        let mut response = self.begin(&document);
        let mut candidate = finish(&document);
        add_blocks(&mut candidate, &document["content"]);
        keep(&mut response, &document, "container");
        keep(&mut response, &document, "context_management");
        response.candidates.push(candidate);
        out.push(response);
        self.done = true;
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        let parts = std::mem::take(&mut self.open).into_iter().filter_map(|(_, open)| open.cut());
        let parts: Vec<Part> = parts.collect();
        if !parts.is_empty() {
            out.push(with_parts(parts));
        }
        Ok(())
    }

    fn held(&self) -> usize {
        self.open.iter().map(|(_, open)| open.weight()).sum()
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Decoder {
    fn delta(
        &mut self,
        event: DeltaEvent,
        data: &str,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError> {
        let DeltaEvent { index, delta, .. } = event;
        let open = self.open.iter_mut().find(|(at, _)| *at == index).map(|(_, open)| open);
        if let Some(Open::Opaque { block, json }) = open {
            match delta.partial_json {
                Some(piece) => json.push_str(&piece.0),
                None => grow_opaque(block, data),
            }
            return Ok(());
        }
        match &*delta.kind {
            "text_delta" => {
                let text = delta.text.map(|text| text.0.into_owned()).unwrap_or_default();
                push_words(out, Part::text(text));
            }
            "thinking_delta" => {
                let text = delta.thinking.map(|text| text.0.into_owned()).unwrap_or_default();
                push_words(out, Part::thought(text));
            }
            "input_json_delta" => {
                if let (Some(Open::Tool { json, .. }), Some(piece)) = (open, delta.partial_json) {
                    json.push_str(&piece.0);
                }
            }
            "signature_delta" => match (open, delta.signature) {
                (Some(Open::Thinking { signature }), Some(piece)) => signature.push_str(&piece.0),
                (_, Some(piece)) => out.push(with_parts(vec![Part::thought("").with_signature(piece.0)])),
                (_, None) => {}
            },
            "citations_delta" => {
                let citations = delta.citation.iter().map(citation).collect();
                out.push(with_candidate(Candidate { citations, ..Candidate::default() }));
            }
            _ => {}
        }
        Ok(())
    }

    /// Every event that is no delta. Unknown ones are skipped: the wire says that new ones may come.
    fn rare_event(
        &mut self,
        name: Option<&str>,
        event: Value,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError> {
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().or(name).unwrap_or_default() {
            "message_start" => {
                let mut response = self.begin(&event["message"]);
                let mut candidate = Candidate::default();
                add_blocks(&mut candidate, &event["message"]["content"]);
                if candidate != Candidate::default() {
                    response.candidates.push(candidate);
                }
                out.push(response);
            }
            "content_block_start" => self.start_block(index, &event["content_block"], out),
            "content_block_delta" => return Err(broken("the server sent a delta that cannot be read")),
            "content_block_stop" => {
                if let Some(at) = self.open.iter().position(|(open, _)| *open == index) {
                    let (_, open) = self.open.remove(at);
                    out.extend(open.whole().map(|part| with_parts(vec![part])));
                }
            }
            "message_delta" => {
                self.usage.update(&event["usage"]);
                let candidate = finish(&event["delta"]);
                let mut response =
                    GenerateResponse { usage_metadata: self.usage.metadata(), ..GenerateResponse::default() };
                keep(&mut response, &event["delta"], "container");
                keep(&mut response, &event, "context_management");
                if candidate != Candidate::default() {
                    response.candidates.push(candidate);
                }
                out.push(response);
            }
            "message_stop" => {
                self.end(out)?;
                self.done = true;
            }
            "error" => return self.fail(event, out),
            _ if event.get("type").is_none() && event.get("error").is_some_and(|error| !error.is_null()) => {
                return self.fail(event, out);
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives out what came and ends in the server's error.
    fn fail(&mut self, document: Value, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        self.end(out)?;
        Err(error::in_stream(&document))
    }

    /// What a message says about itself before its content.
    fn begin(&mut self, message: &Value) -> GenerateResponse {
        self.usage.update(&message["usage"]);
        GenerateResponse {
            response_id: message["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned),
            model_version: message["model"].as_str().map(str::to_owned),
            usage_metadata: self.usage.metadata(),
            ..GenerateResponse::default()
        }
    }

    fn start_block(&mut self, index: u64, block: &Value, out: &mut Vec<GenerateResponse>) {
        if let Some(at) = self.open.iter().position(|(open, _)| *open == index) {
            let (_, open) = self.open.remove(at);
            out.extend(open.cut().map(|part| with_parts(vec![part])));
        }
        let mut candidate = Candidate::default();
        if let Some(part) = words_at_start(block, &mut candidate.citations) {
            candidate.content = Some(Content { parts: vec![part], ..model_content() });
        }
        if candidate != Candidate::default() {
            out.push(with_candidate(candidate));
        }
        self.open.push((index, Open::begin(block)));
    }
}

/// Adds blocks that came in one piece.
fn add_blocks(candidate: &mut Candidate, blocks: &Value) {
    for block in blocks.as_array().into_iter().flatten() {
        let words = words_at_start(block, &mut candidate.citations);
        let parts = match (words, Open::begin(block).whole()) {
            // A thought and its signature are one part.
            (Some(words), Some(end)) => vec![Part { thought_signature: end.thought_signature, ..words }],
            (words, end) => words.into_iter().chain(end).collect(),
        };
        if !parts.is_empty() {
            candidate.content.get_or_insert_with(model_content).parts.extend(parts);
        }
    }
}

/// The end that a message (or its last delta) names; an empty candidate when it names none.
fn finish(message: &Value) -> Candidate {
    let mut candidate = Candidate::default();
    let Some(reason) = message["stop_reason"].as_str() else { return candidate };
    candidate.finish_reason = Some(match reason {
        "end_turn" | "tool_use" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" => FinishReason::MaxTokens,
        "refusal" => FinishReason::Safety,
        // After its own compaction, too, the server wants the content back to go on.
        "pause_turn" | "compaction" => FinishReason::Pause,
        other => FinishReason::Other(other.to_owned()),
    });
    candidate.native_finish_reason = Some(reason.to_owned());
    candidate.finish_message = message["stop_details"]["explanation"].as_str().map(str::to_owned);
    for (ours, theirs) in [("stopDetails", "stop_details"), ("stopSequence", "stop_sequence")] {
        if let Some(value) = message.get(theirs).filter(|value| !value.is_null()) {
            candidate.extra.insert(ours, value.clone());
        }
    }
    candidate
}

fn keep(response: &mut GenerateResponse, from: &Value, key: &str) {
    if let Some(value) = from.get(key).filter(|value| !value.is_null()) {
        response.extra.insert(key, value.clone());
    }
}

fn push_words(out: &mut Vec<GenerateResponse>, part: Part) {
    if part.as_text().is_some_and(|text| !text.is_empty()) {
        out.push(with_parts(vec![part]));
    }
}

fn model_content() -> Content {
    Content { role: Role::Model, ..Content::default() }
}

fn with_parts(parts: Vec<Part>) -> GenerateResponse {
    with_candidate(Candidate { content: Some(Content { parts, ..model_content() }), ..Candidate::default() })
}

fn with_candidate(candidate: Candidate) -> GenerateResponse {
    GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() }
}

fn broken(message: impl Into<String>) -> LlmError {
    let mut error = LlmError::new(LlmErrorKind::Protocol, message);
    error.detail.in_stream = true;
    error
}
