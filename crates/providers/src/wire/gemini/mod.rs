//! Gemini API and Vertex AI: `generateContent` and its kin.
//!
//! Our own types have this wire's form, so most of the work is in what the wire insists on: signatures
//! ([`content`]), its subset of schemas ([`super::schema`]), and what it sends in pieces ([`decode`]).

mod chunk;
mod content;
mod decode;
mod encode;
mod error;
mod partial;

use super::*;

/// The codec.
///
/// It serves the Gemini API (`…/v1beta`) and Vertex AI (`…/publishers/google`) alike: the paths below
/// the base URL and the bodies are the same, apart from counting and embedding.
pub struct Gemini;

impl Wire for Gemini {
    fn kind(&self) -> WireKind {
        WireKind::Gemini
    }

    fn encode(
        &self,
        request: &GenerateRequest,
        target: &Target,
        mode: Mode,
        fragments: &mut Fragments,
    ) -> Result<WireRequest, LlmError> {
        let method = match mode {
            Mode::Unary => "generateContent",
            Mode::Stream => "streamGenerateContent?alt=sse",
        };
        let body = encode::generate(request, target, fragments)?;
        Ok(wire_request(encode::path(request, target, method), body))
    }

    fn decoder(&self, _: &Target) -> Box<dyn EventDecoder> {
        Box::new(decode::Decoder::default())
    }

    fn error(&self, _: &Target, status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError {
        error::of_response(status, headers, body)
    }

    fn encode_count(
        &self,
        request: &GenerateRequest,
        target: &Target,
    ) -> Option<Result<WireRequest, LlmError>> {
        if target.endpoint.quirks.no_count_tokens {
            return None;
        }
        let path = encode::path(request, target, "countTokens");
        Some(encode::count(request, target).map(|body| wire_request(path, body)))
    }

    fn decode_count(&self, body: &[u8]) -> Result<TokenCount, LlmError> {
        decode::count(body)
    }

    fn encode_embed(&self, request: &EmbedRequest, target: &Target) -> Option<Result<WireRequest, LlmError>> {
        let (path, body) = encode::embed(request, target);
        Some(Ok(wire_request(path, body)))
    }

    fn decode_embed(&self, body: &[u8]) -> Result<EmbedResponse, LlmError> {
        decode::embed(body)
    }
}

fn wire_request(path: String, body: Vec<u8>) -> WireRequest {
    WireRequest { path, headers: Vec::new(), body: body.into() }
}

#[cfg(test)]
mod tests;
