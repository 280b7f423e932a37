//! OpenAI Responses: an answer is a list of items (messages, reasoning, calls, server-side tools).
//!
//! Nothing is stored at the server (`store: false`), so the conversation goes back whole every time and
//! reasoning is carried in encrypted form. What only the origin understands is kept like this:
//!
//! - A reasoning item, and any item of a server-side tool, is an opaque part exactly as received. A
//!   reasoning item that its answer ended with has `final: true` in the part's `extra`.
//! - A call keeps `itemId` and `namespace` in its `extra`; a call of a custom tool also has
//!   `custom: true`, and its free text is the argument `input`.
//! - A message that carries a phase, or follows a reasoning item, is closed by an opaque part
//!   `{"type": "message", …}` that holds the item without its content.

use serde::{Deserialize, Serialize};

use super::*;

mod decode;
mod encode;
mod error;
mod event;
mod input;
mod item;
mod media;

#[cfg(test)]
mod tests;

/// The codec of `/responses`.
pub struct OpenaiResponses;

impl Wire for OpenaiResponses {
    fn kind(&self) -> WireKind {
        WireKind::OpenaiResponses
    }

    fn encode(
        &self,
        request: &GenerateRequest,
        target: &Target,
        mode: Mode,
        fragments: &mut Fragments,
    ) -> Result<WireRequest, LlmError> {
        encode::encode(request, target, mode, fragments)
    }

    fn decoder(&self, _target: &Target) -> Box<dyn EventDecoder> {
        Box::<decode::Decoder>::default()
    }

    fn error(&self, _target: &Target, status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError {
        classify(status, Some(headers), error::read(body))
    }

    fn encode_embed(
        &self,
        request: &EmbedRequest,
        _target: &Target,
    ) -> Option<Result<WireRequest, LlmError>> {
        let body = EmbedBody {
            model: &request.model,
            input: &request.texts,
            dimensions: request.output_dimensionality,
            encoding_format: "float",
        };
        Some(match serde_json::to_vec(&body) {
            Ok(body) => Ok(WireRequest {
                path: "/embeddings".to_owned(),
                headers: Vec::new(),
                body: Bytes::from(body),
            }),
            Err(error) => Err(LlmError::new(LlmErrorKind::InvalidRequest, error.to_string())),
        })
    }

    fn decode_embed(&self, body: &[u8]) -> Result<EmbedResponse, LlmError> {
        let mut answer: EmbedAnswer = serde_json::from_slice(body).map_err(|error| {
            LlmError::new(LlmErrorKind::Protocol, format!("the answer is no list of embeddings: {error}"))
        })?;
        answer.data.sort_by_key(|vector| vector.index);
        Ok(EmbedResponse {
            embeddings: answer.data.into_iter().map(|vector| vector.embedding).collect(),
            usage_metadata: answer.usage.map(|usage| charla_proto::UsageMetadata {
                prompt_token_count: usage.prompt_tokens,
                total_token_count: usage.total_tokens,
                ..Default::default()
            }),
        })
    }
}

#[derive(Serialize)]
struct EmbedBody<'a> {
    model: &'a str,
    input: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct EmbedAnswer {
    data: Vec<EmbedVector>,
    usage: Option<EmbedUsage>,
}

#[derive(Deserialize)]
struct EmbedVector {
    #[serde(default)]
    index: u32,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct EmbedUsage {
    prompt_tokens: Option<u64>,
    total_tokens: Option<u64>,
}
