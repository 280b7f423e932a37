//! Reads answers, streamed or whole.

use std::borrow::Cow;

use charla_proto::{
    Candidate, Citation, Content, FinishReason, FunctionCall, InvalidArgs, Part, Role, UsageMetadata,
};
use serde::Deserialize;

use super::*;

/// Reads one answer.
#[derive(Default)]
pub(super) struct Decoder {
    /// Blocks that have begun and not ended, by the wire's index. Nearly always one.
    open: Vec<(u64, Open)>,
    usage: Usage,
    done: bool,
}

/// A block that has begun.
enum Open {
    /// Its words go out as they come.
    Text,
    /// Its words go out as they come; its signature goes out with its end.
    Thinking { signature: String },
    /// A call of ours: held back until it is whole.
    Tool { call: FunctionCall, json: String },
    /// A block only the provider understands: held back until it is whole.
    Opaque { block: Value, json: String },
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
        for block in document["content"].as_array().into_iter().flatten() {
            for part in self.whole_block(block, &mut candidate.citations) {
                candidate.content.get_or_insert_with(model_content).parts.push(part);
            }
        }
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
                for block in event["message"]["content"].as_array().into_iter().flatten() {
                    for part in self.whole_block(block, &mut candidate.citations) {
                        candidate.content.get_or_insert_with(model_content).parts.push(part);
                    }
                }
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

    /// The parts of a block that came in one piece.
    fn whole_block(&self, block: &Value, citations: &mut Vec<Citation>) -> Vec<Part> {
        let words = words_at_start(block, citations);
        match (words, Open::begin(block).whole()) {
            // A thought and its signature are one part.
            (Some(words), Some(end)) => vec![Part { thought_signature: end.thought_signature, ..words }],
            (words, end) => words.into_iter().chain(end).collect(),
        }
    }
}

impl Open {
    fn begin(block: &Value) -> Self {
        match block["type"].as_str().unwrap_or_default() {
            "text" => Open::Text,
            "thinking" => {
                Open::Thinking { signature: block["signature"].as_str().unwrap_or_default().to_owned() }
            }
            "tool_use" => Open::Tool { call: call(block), json: String::new() },
            _ => Open::Opaque { block: block.clone(), json: String::new() },
        }
    }

    /// The block ended as it should.
    fn whole(self) -> Option<Part> {
        match self {
            Open::Text => None,
            // A server that does not sign still ended its thought: the empty signature says so, and the
            // encoder sends such a block back as it came.
            Open::Thinking { signature } => Some(Part::thought("").with_signature(signature)),
            Open::Tool { mut call, json } => {
                if !json.trim().is_empty() {
                    call.set_args_text(&json);
                }
                Some(Part::function_call(call))
            }
            Open::Opaque { mut block, json } => {
                if let Ok(input) = serde_json::from_str::<Value>(&json)
                    && let Some(fields) = block.as_object_mut()
                {
                    fields.insert("input".to_owned(), input);
                }
                Some(Part::opaque(block))
            }
        }
    }

    /// The stream ended before the block did. What cannot be trusted to be whole is dropped, except a
    /// call, which is given out as one that must not run.
    fn cut(self) -> Option<Part> {
        match self {
            Open::Tool { mut call, json } => {
                if !json.trim().is_empty() {
                    call.set_args_text(&json);
                } else if call.args.is_empty() {
                    let reason = "the answer broke off before the arguments".to_owned();
                    call.invalid = Some(Box::new(InvalidArgs { raw: json, reason }));
                }
                Some(Part::function_call(call))
            }
            Open::Thinking { signature } if !signature.is_empty() => {
                Some(Part::thought("").with_signature(signature))
            }
            Open::Text | Open::Thinking { .. } | Open::Opaque { .. } => None,
        }
    }
}

/// The words that a text or thinking block begins with.
fn words_at_start(block: &Value, citations: &mut Vec<Citation>) -> Option<Part> {
    citations.extend(block["citations"].as_array().into_iter().flatten().map(citation));
    let words = |key: &str| block[key].as_str().filter(|words| !words.is_empty());
    match block["type"].as_str() {
        Some("text") => words("text").map(Part::text),
        Some("thinking") => words("thinking").map(Part::thought),
        _ => None,
    }
}

/// A call whose arguments may still come.
fn call(block: &Value) -> FunctionCall {
    let id = block["id"].as_str().filter(|id| !id.is_empty());
    let id = id.map_or_else(make_call_id, str::to_owned);
    let args = block["input"].as_object().cloned().unwrap_or_default();
    let mut call = FunctionCall::new(id, block["name"].as_str().unwrap_or_default(), args);
    if let Value::String(text) = &block["input"] {
        call.set_args_text(text);
    }
    if let Some(caller) = block.get("caller").filter(|caller| !caller.is_null()) {
        call.extra.insert("caller", caller.clone());
    }
    call
}

/// Adds an unknown delta to the block it is for: texts are continued, other values replaced.
fn grow_opaque(block: &mut Value, data: &str) {
    let event: Value = serde_json::from_str(data).unwrap_or_default();
    let (Some(fields), Some(delta)) = (block.as_object_mut(), event["delta"].as_object()) else { return };
    for (key, new) in delta.iter().filter(|(key, _)| *key != "type") {
        match (fields.get_mut(key), new) {
            (Some(Value::String(old)), Value::String(new)) => old.push_str(new),
            _ => {
                fields.insert(key.clone(), new.clone());
            }
        }
    }
}

fn citation(source: &Value) -> Citation {
    let text = |key: &str| source[key].as_str().map(str::to_owned);
    let known = ["title", "url"];
    let fields = source.as_object().into_iter().flatten().filter(|(key, _)| !known.contains(&key.as_str()));
    Citation {
        title: text("title").or_else(|| text("document_title")).or_else(|| text("cited_text")),
        uri: text("url"),
        extra: fields.map(|(key, value)| (key.clone(), value.clone())).collect(),
    }
}

/// The end that a message (or its last delta) names; an empty candidate when it names none.
fn finish(message: &Value) -> Candidate {
    let mut candidate = Candidate::default();
    let Some(reason) = message["stop_reason"].as_str() else { return candidate };
    candidate.finish_reason = Some(match reason {
        "end_turn" | "tool_use" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::MaxTokens,
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

/// The wire's figures. A stream's last ones replace its first ones, field by field.
#[derive(Default)]
struct Usage {
    input: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

impl Usage {
    fn update(&mut self, usage: &Value) {
        let set = |field: &mut Option<u64>, value: &Value| {
            if let Some(number) = value.as_u64() {
                *field = Some(number);
            }
        };
        set(&mut self.input, &usage["input_tokens"]);
        set(&mut self.output, &usage["output_tokens"]);
        set(&mut self.thinking, &usage["output_tokens_details"]["thinking_tokens"]);
        set(&mut self.cache_read, &usage["cache_read_input_tokens"]);
        set(&mut self.cache_write, &usage["cache_creation_input_tokens"]);
    }

    /// In our meaning: the prompt includes the cache, the candidates exclude thoughts.
    fn metadata(&self) -> Option<UsageMetadata> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let cached = self.cache_read.unwrap_or(0) + self.cache_write.unwrap_or(0);
        Some(UsageMetadata {
            prompt_token_count: self.input.map(|input| input + cached),
            candidates_token_count: self
                .output
                .map(|output| output.saturating_sub(self.thinking.unwrap_or(0))),
            thoughts_token_count: self.thinking,
            cached_content_token_count: self.cache_read,
            cache_write_token_count: self.cache_write,
            ..UsageMetadata::default()
        })
    }
}
