//! The Anthropic Messages wire.
//!
//! Peculiar to it, and decided here: roles alternate strictly and tool results come first in the user's
//! message; thinking blocks carry a signature and go back unchanged, to the model that made them; blocks
//! of tools that run at the provider must survive a round trip; input read from or written to the cache is
//! counted beside the input.

mod blocks;
mod decode;
mod encode;
mod error;
mod options;
#[cfg(test)]
mod tests;

use super::*;

/// The codec.
pub struct Anthropic;

/// The only version of the API there is; servers refuse requests without it.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

impl Wire for Anthropic {
    fn kind(&self) -> WireKind {
        WireKind::Anthropic
    }

    fn encode(
        &self,
        request: &GenerateRequest,
        target: &Target,
        mode: Mode,
        fragments: &mut Fragments,
    ) -> Result<WireRequest, LlmError> {
        let fields = options::generate(request, target, mode)?;
        wire_request("/messages", encode::body(request, target, fields, fragments)?)
    }

    fn decoder(&self, _target: &Target) -> Box<dyn EventDecoder> {
        Box::new(decode::Decoder::default())
    }

    fn error(&self, target: &Target, status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError {
        error::read(target, status, headers, body)
    }

    fn encode_count(
        &self,
        request: &GenerateRequest,
        target: &Target,
    ) -> Option<Result<WireRequest, LlmError>> {
        if target.endpoint.quirks.no_count_tokens {
            return None;
        }
        let fields = options::count(request, target);
        let body = encode::body(request, target, fields, &mut Fragments::default());
        Some(body.and_then(|body| wire_request("/messages/count_tokens", body)))
    }

    fn decode_count(&self, body: &[u8]) -> Result<TokenCount, LlmError> {
        let document: Value = serde_json::from_slice(body).unwrap_or_default();
        match document.get("input_tokens").and_then(Value::as_u64) {
            Some(total_tokens) => Ok(TokenCount { total_tokens, exact: true }),
            None => Err(LlmError::new(
                LlmErrorKind::Protocol,
                "the server's answer to a token count holds no `input_tokens`",
            )),
        }
    }
}

fn wire_request(path: &str, body: Vec<u8>) -> Result<WireRequest, LlmError> {
    let headers = vec![(VERSION.0, VERSION.1.to_owned())];
    Ok(WireRequest { path: path.to_owned(), headers, body: Bytes::from(body) })
}
