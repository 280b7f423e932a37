//! OpenAI Chat Completions, as OpenAI and the many servers compatible with it speak it.
//!
//! No two of these servers agree, so reading is lenient: every field may be missing, null or of an
//! odd type (`lenient`), and what differs when sending is data in [`crate::endpoint::Quirks`].

use super::*;
use crate::endpoint::ReasoningReplay;

mod calls;
mod choice;
mod chunk;
mod decode;
mod details;
mod embed;
mod encode;
mod error;
mod lenient;
mod media;
mod message;
mod options;
mod usage;

/// The codec.
pub struct OpenaiChat;

impl Wire for OpenaiChat {
    fn kind(&self) -> WireKind {
        WireKind::OpenaiChat
    }

    fn encode(
        &self,
        request: &GenerateRequest,
        target: &Target,
        mode: Mode,
        fragments: &mut Fragments,
    ) -> Result<WireRequest, LlmError> {
        Ok(WireRequest {
            path: "/chat/completions".to_owned(),
            headers: Vec::new(),
            body: encode::body(request, target, mode, fragments).into(),
        })
    }

    fn decoder(&self, _: &Target) -> Box<dyn EventDecoder> {
        Box::new(decode::Decoder::default())
    }

    fn error(&self, target: &Target, status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError {
        error::of_status(&target.endpoint.quirks, status, headers, body)
    }

    fn learn(&self, quirks: &Quirks, error: &LlmError) -> Option<Quirks> {
        let new = quirks.reasoning_replay != ReasoningReplay::ToolCalls && error::misses_thoughts(error);
        new.then(|| Quirks { reasoning_replay: ReasoningReplay::ToolCalls, ..quirks.clone() })
    }

    fn encode_embed(&self, request: &EmbedRequest, _: &Target) -> Option<Result<WireRequest, LlmError>> {
        Some(Ok(embed::encode(request)))
    }

    fn decode_embed(&self, body: &[u8]) -> Result<EmbedResponse, LlmError> {
        embed::decode(body)
    }
}

#[cfg(test)]
mod tests;
