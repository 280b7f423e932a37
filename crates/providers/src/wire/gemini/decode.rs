//! Answers as they come in.

use charla_proto::{
    Candidate, Citation, Content, EmbedResponse, Extra, FinishReason, FunctionCall, GenerateResponse,
    InvalidArgs, LlmError, LlmErrorKind, Part, PartKind, Role, TokenCount, UsageMetadata,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::chunk::{Chunk, WireCall, WireCandidate, WirePart};
use super::error;
use super::partial::{Ending, OpenCall};
use crate::wire::{ENTRY, EventDecoder, make_call_id};

/// Fields of a call that are ours to write: a server that sends them is not believed.
const NOTES: [&str; 2] = ["givenId", "invalidArgs"];

/// Puts together one answer. Several finish reasons may come and text may follow the first, so nothing
/// but the end of the body ends it.
#[derive(Default)]
pub(super) struct Decoder {
    lanes: Vec<Lane>,
    /// Model and id have been given out: they are the same in every chunk.
    named: bool,
}

/// What is remembered of one candidate.
#[derive(Default)]
struct Lane {
    index: u32,
    open: Option<OpenCall>,
    /// Citations given out: grounding data repeats itself.
    cited: Vec<Citation>,
}

impl EventDecoder for Decoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if name == Some("error") {
            return Err(error::of_text(data));
        }
        if data.starts_with('[') {
            let chunks: Vec<Chunk> = serde_json::from_str(data).map_err(not_this_wire)?;
            return chunks.into_iter().try_for_each(|chunk| self.take(chunk, out));
        }
        let chunk = serde_json::from_str(data).map_err(not_this_wire)?;
        self.take(chunk, out)
    }

    fn document(&mut self, document: Value, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        if let Some(error) = error::of_document(&document) {
            return Err(error);
        }
        let chunk = Chunk::deserialize(document).map_err(not_this_wire)?;
        self.take(chunk, out)
    }

    fn end(&mut self, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        for lane in &mut self.lanes {
            if let Some(open) = lane.open.take() {
                let content = Some(Content::new(Role::Model, vec![open.close(Ending::Cut)]));
                let candidate = Candidate { index: lane.index, content, ..Candidate::default() };
                out.push(GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() });
            }
        }
        Ok(())
    }

    fn held(&self) -> usize {
        self.lanes.iter().map(|lane| ENTRY + lane.open.as_ref().map_or(0, OpenCall::weight)).sum()
    }
}

impl Decoder {
    fn take(&mut self, chunk: Chunk, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError> {
        if let Some(error) = chunk.error {
            return Err(error::of_field(&error));
        }
        let candidates = chunk.candidates.into_iter().map(|candidate| self.candidate(candidate)).collect();
        let mut response = GenerateResponse {
            candidates,
            usage_metadata: chunk.usage.filter(|usage| *usage != UsageMetadata::default()),
            prompt_feedback: chunk.prompt_feedback.filter(|feedback| feedback.block_reason.is_some()),
            extra: chunk.extra,
            ..GenerateResponse::default()
        };
        if !self.named {
            response.model_version = chunk.model_version.map(|name| name.into_owned());
            response.response_id = chunk.response_id.map(|id| id.into_owned());
            self.named = response.model_version.is_some() && response.response_id.is_some();
        }
        out.push(response);
        Ok(())
    }

    fn candidate(&mut self, wire: WireCandidate) -> Candidate {
        let WireCandidate { index, parts: wire_parts, finish_reason, finish_message, extra } = wire;
        let lane = self.lane(index);
        let mut parts = Vec::with_capacity(wire_parts.len());
        for part in wire_parts {
            lane.part(part, &mut parts);
        }
        if let Some(reason) = &finish_reason
            && let Some(open) = lane.open.take()
        {
            parts.push(open.close(if reason == "STOP" { Ending::Whole } else { Ending::Cut }));
        }
        let citations = lane.new_citations(&extra);
        Candidate {
            index,
            content: (!parts.is_empty()).then(|| Content::new(Role::Model, parts)),
            finish_reason: finish_reason.as_deref().map(finish),
            native_finish_reason: finish_reason.map(|reason| reason.into_owned()),
            finish_message,
            citations,
            extra,
        }
    }

    fn lane(&mut self, index: u32) -> &mut Lane {
        let place = match self.lanes.iter().position(|lane| lane.index == index) {
            Some(place) => place,
            None => {
                self.lanes.push(Lane { index, ..Lane::default() });
                self.lanes.len() - 1
            }
        };
        &mut self.lanes[place]
    }
}

impl Lane {
    fn part(&mut self, wire: WirePart, parts: &mut Vec<Part>) {
        let WirePart { part, call } = wire;
        if let Some(call) = call {
            return self.call(part, call, parts);
        }
        // An empty part says nothing, unless it carries a signature.
        let empty = match &part.kind {
            PartKind::Text(text) => text.is_empty(),
            PartKind::Other => true,
            _ => false,
        };
        if !empty || part.thought_signature.is_some() || !part.extra.is_empty() {
            parts.push(part);
        }
    }

    fn call(&mut self, part: Part, wire: WireCall, parts: &mut Vec<Part>) {
        let goes_on = wire.will_continue == Some(true);
        let pieces = wire.partial_args.unwrap_or_default();
        let Some(name) = wire.name.filter(|name| !name.is_empty()) else {
            // A piece of the call that is open; without one it closes what is closed already.
            let Some(mut open) = self.open.take() else { return };
            pieces.iter().for_each(|piece| open.add(piece));
            if goes_on {
                self.open = Some(open);
            } else {
                parts.push(open.close(Ending::Whole));
            }
            return;
        };
        // The closing piece of the call before may be missing.
        parts.extend(self.open.take().map(|open| open.close(Ending::Whole)));
        let id = wire.id.filter(|id| !id.is_empty()).unwrap_or_else(make_call_id);
        let mut call = FunctionCall { id: Some(id), name, extra: wire.extra, ..FunctionCall::default() };
        for ours in NOTES {
            call.extra.remove(ours);
        }
        if goes_on || !pieces.is_empty() {
            let mut open = OpenCall::new(part, call, wire.args);
            pieces.iter().for_each(|piece| open.add(piece));
            if goes_on {
                self.open = Some(open);
            } else {
                parts.push(open.close(Ending::Whole));
            }
            return;
        }
        match wire.args {
            None | Some(Value::Null) => {}
            Some(Value::Object(args)) => call.args = args,
            Some(other) => {
                let reason = "the arguments are not a JSON object".to_owned();
                call.invalid = Some(Box::new(InvalidArgs { raw: other.to_string(), reason }));
            }
        }
        parts.push(Part { kind: PartKind::FunctionCall(Box::new(call)), ..part });
    }

    /// The sources that grounding and citation data name, without those named before.
    fn new_citations(&mut self, extra: &Extra) -> Vec<Citation> {
        let mut new: Vec<Citation> = Vec::new();
        for citation in grounding(extra).chain(recitations(extra)) {
            if !self.cited.contains(&citation) {
                self.cited.push(citation.clone());
                new.push(citation);
            }
        }
        new
    }
}

/// Sources found by search, in retrieved documents or on a map.
fn grounding(extra: &Extra) -> impl Iterator<Item = Citation> {
    let chunks = extra.get("groundingMetadata").and_then(|data| data["groundingChunks"].as_array());
    chunks.into_iter().flatten().filter_map(|chunk| {
        let source = chunk.as_object()?.values().find(|source| source.is_object())?;
        let text = |key: &str| source[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let citation = Citation {
            title: text("title").or_else(|| text("text")),
            uri: text("uri"),
            ..Citation::default()
        };
        (citation != Citation::default()).then_some(citation)
    })
}

/// Sources the answer quotes; the two APIs name the list differently.
fn recitations(extra: &Extra) -> impl Iterator<Item = Citation> {
    let data = extra.get("citationMetadata");
    let list =
        data.and_then(|data| data["citationSources"].as_array().or_else(|| data["citations"].as_array()));
    list.into_iter().flatten().filter_map(|source| Citation::deserialize(source).ok())
}

/// Our word for a finish reason. Filters have many names here and one meaning; names we do not know are
/// kept.
fn finish(name: &str) -> FinishReason {
    match name {
        "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "LANGUAGE" => FinishReason::Safety,
        "IMAGE_RECITATION" => FinishReason::Recitation,
        "UNEXPECTED_FUNCTION_CALL" => FinishReason::UnexpectedToolCall,
        other => FinishReason::from_name(other),
    }
}

fn not_this_wire(error: serde_json::Error) -> LlmError {
    LlmError::new(
        LlmErrorKind::Protocol,
        format!("the server sent something this wire does not have: {error}"),
    )
}

/// Reads the answer of `countTokens`.
pub(super) fn count(body: &[u8]) -> Result<TokenCount, LlmError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Count {
        /// Absent when it is zero.
        #[serde(default)]
        total_tokens: u64,
    }
    let count: Count = serde_json::from_slice(body).map_err(not_this_wire)?;
    Ok(TokenCount { total_tokens: count.total_tokens, exact: true })
}

/// Reads the answer of `batchEmbedContents` (Gemini API) or `predict` (Vertex AI).
pub(super) fn embed(body: &[u8]) -> Result<EmbedResponse, LlmError> {
    #[derive(Deserialize)]
    struct Embeddings {
        #[serde(default)]
        embeddings: Vec<Vector>,
        #[serde(default)]
        predictions: Vec<Prediction>,
    }
    #[derive(Deserialize)]
    struct Vector {
        #[serde(default)]
        values: Vec<f32>,
        #[serde(default)]
        statistics: Map<String, Value>,
    }
    #[derive(Deserialize)]
    struct Prediction {
        embeddings: Vector,
    }
    let read: Embeddings = serde_json::from_slice(body).map_err(not_this_wire)?;
    let vectors: Vec<Vector> =
        read.embeddings.into_iter().chain(read.predictions.into_iter().map(|one| one.embeddings)).collect();
    let tokens: Option<f64> =
        vectors.iter().map(|vector| vector.statistics.get("token_count")?.as_f64()).sum();
    let usage_metadata = tokens
        .filter(|_| !vectors.is_empty())
        .map(|tokens| UsageMetadata { prompt_token_count: Some(tokens as u64), ..UsageMetadata::default() });
    Ok(EmbedResponse {
        embeddings: vectors.into_iter().map(|vector| vector.values).collect(),
        usage_metadata,
    })
}
