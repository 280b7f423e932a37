//! Embeddings.

use super::lenient::{Maybe, Number};
use super::*;
use charla_proto::UsageMetadata;
use serde::Deserialize;

/// The request for the vectors of all texts at once.
pub fn encode(request: &EmbedRequest) -> WireRequest {
    let mut body = serde_json::json!({"model": request.model, "input": request.texts});
    if let Some(length) = request.output_dimensionality {
        body["dimensions"] = length.into();
    }
    WireRequest { path: "/embeddings".to_owned(), headers: Vec::new(), body: body.to_string().into() }
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
    #[serde(default)]
    usage: Maybe<Usage>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Number,
    total_tokens: Number,
}

/// The vectors in the order of the texts: servers may answer in another one.
pub fn decode(body: &[u8]) -> Result<EmbedResponse, LlmError> {
    let mut answer: Answer =
        serde_json::from_slice(body).map_err(|problem| match serde_json::from_slice::<Value>(body) {
            Ok(document) if error::is_error(&document) => error::in_stream(&document),
            _ => LlmError::new(
                LlmErrorKind::Protocol,
                format!("the server's answer holds no embeddings: {problem}"),
            ),
        })?;
    answer.data.sort_by_key(|item| item.index);
    let usage_metadata = answer.usage.0.map(|usage| UsageMetadata {
        prompt_token_count: usage.prompt_tokens.0,
        total_token_count: usage.total_tokens.0,
        ..UsageMetadata::default()
    });
    Ok(EmbedResponse {
        embeddings: answer.data.into_iter().map(|item| item.embedding).collect(),
        usage_metadata,
    })
}
