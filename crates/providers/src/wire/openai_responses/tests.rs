use std::sync::Arc;

use charla_proto::{
    Assembler, Content, FinishReason, FunctionCall, FunctionCallingConfig, FunctionCallingMode,
    FunctionDeclaration, FunctionResponse, NativeTool, Part, PartKind, Role, Thinking, ThinkingLevel, Tool,
    ToolConfig,
};
use serde_json::json;

use super::*;
use crate::endpoint::{AuthStyle, Endpoint, ModelRow, ModelThinking, Quirks};
use crate::sse::DEFAULT_MAX_EVENT;

mod decoding;
mod encoding;

fn target_with(change: impl FnOnce(&mut Endpoint, &mut ModelRow)) -> Target {
    let mut endpoint = Endpoint {
        name: "openai".to_owned(),
        wire: WireKind::OpenaiResponses,
        base_url: "http://127.0.0.1".to_owned(),
        auth: AuthStyle::None,
        headers: Vec::new(),
        quirks: Quirks::default(),
    };
    let mut model = ModelRow {
        id: "gpt".to_owned(),
        images: true,
        thinking: ModelThinking::Levels,
        ..ModelRow::default()
    };
    change(&mut endpoint, &mut model);
    Target::new(Arc::new(endpoint), model)
}

fn target() -> Target {
    target_with(|_, _| {})
}

/// The answer that these events make, and the error they end in.
fn decode(events: &[Value]) -> (GenerateResponse, Option<LlmError>) {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    decode_body(body.as_bytes())
}

fn decode_body(body: &[u8]) -> (GenerateResponse, Option<LlmError>) {
    let mut decoder = BodyDecoder::new(OpenaiResponses.decoder(&target()), DEFAULT_MAX_EVENT);
    let mut out = Vec::new();
    let result = decoder.push(body, &mut out).and_then(|()| decoder.end(&mut out));
    let mut assembler = Assembler::new();
    out.into_iter().for_each(|chunk| assembler.push(chunk));
    (assembler.finish(), result.err())
}
