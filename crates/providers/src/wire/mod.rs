//! Wire codecs: the only place where a vendor's format exists.
//!
//! A codec is pure: request in, bytes out; bytes in, chunks out. It knows nothing of connections.
//!
//! [`BodyDecoder`] stands between the bytes of a response and a codec's [`EventDecoder`]: it cuts event
//! streams apart and also takes bodies that are no event stream although one was asked for (a server
//! that ignores `stream`, Gemini's JSON array, an error document).

use bytes::Bytes;
use charla_proto::{
    EmbedRequest, EmbedResponse, GenerateRequest, GenerateResponse, LlmError, LlmErrorKind, OWN_CALL_ID,
    TokenCount, WireKind,
};
use http::HeaderMap;
use serde_json::Value;

use crate::endpoint::{Quirks, Target};
use crate::sse::{Frame, Framer};

mod anthropic;
mod body;
mod call_id;
mod error;
mod fragments;
mod gemini;
mod names;
mod openai_chat;
mod openai_responses;
mod overflow;
pub mod schema;
mod weight;

pub use anthropic::Anthropic;
pub use gemini::Gemini;
pub use openai_chat::OpenaiChat;
pub use openai_responses::OpenaiResponses;

pub use body::BodyDecoder;
pub(crate) use call_id::CallId;
pub use error::{ErrorBody, classify, retry_after};
pub use fragments::Fragments;
pub(crate) use weight::{ENTRY, weight, weight_of_citation, weight_of_fields};

/// The codec of a wire.
pub fn of(kind: WireKind) -> &'static dyn Wire {
    match kind {
        WireKind::Gemini => &Gemini,
        WireKind::OpenaiChat => &OpenaiChat,
        WireKind::OpenaiResponses => &OpenaiResponses,
        WireKind::Anthropic => &Anthropic,
    }
}

/// Where [`charla_proto::FunctionCall::extra`] says which parameters we renamed: a note for people that no
/// server gets.
pub(crate) const MAPPED: &str = "mapped";

/// Says what is not shown to a model that takes no media, so that it does not talk as if it had seen it.
pub(crate) fn left_out(part: &charla_proto::Part) -> String {
    let named = charla_proto::part_to_string(part, true);
    let named = named.strip_suffix(']').unwrap_or(&named);
    format!("{named}, not shown: this model takes none]")
}

/// An id for a call that came without one. The prefix tells ours from a server's.
pub fn make_call_id() -> String {
    format!("{OWN_CALL_ID}{}", uuid::Uuid::new_v4().simple())
}

/// Whether the answer is wanted whole or as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Whole.
    Unary,
    /// As it comes.
    Stream,
}

/// A request as it goes out, without address and key.
#[derive(Clone, Debug)]
pub struct WireRequest {
    /// Added to the endpoint's base URL; starts with `/`, query included.
    pub path: String,
    /// Headers of this wire (`anthropic-version`, …); content type and key are the driver's.
    pub headers: Vec<(&'static str, String)>,
    /// The JSON body.
    pub body: Bytes,
}

/// One vendor's format.
pub trait Wire: Send + Sync {
    /// Which one.
    fn kind(&self) -> WireKind;

    /// Writes a request. `fragments` remembers what earlier requests have encoded.
    ///
    /// `request.contents` must have gone through [`crate::history::prepare`].
    fn encode(
        &self,
        request: &GenerateRequest,
        target: &Target,
        mode: Mode,
        fragments: &mut Fragments,
    ) -> Result<WireRequest, LlmError>;

    /// A decoder for one answer, streamed or whole.
    fn decoder(&self, target: &Target) -> Box<dyn EventDecoder>;

    /// Reads the body of a status that is no success, with the wire's own error form.
    fn error(&self, target: &Target, status: u16, headers: &HeaderMap, body: &[u8]) -> LlmError;

    /// The quirks under which the server would have taken a request, when its error tells; `None` when it tells
    /// nothing, or nothing new.
    fn learn(&self, _quirks: &Quirks, _error: &LlmError) -> Option<Quirks> {
        None
    }

    /// A token-counting request, where the wire has one.
    fn encode_count(
        &self,
        _request: &GenerateRequest,
        _target: &Target,
    ) -> Option<Result<WireRequest, LlmError>> {
        None
    }

    /// Reads the answer of [`Wire::encode_count`].
    fn decode_count(&self, _body: &[u8]) -> Result<TokenCount, LlmError> {
        Err(LlmError::new(LlmErrorKind::NotSupported, "this provider does not count tokens"))
    }

    /// An embedding request, where the wire has one.
    fn encode_embed(
        &self,
        _request: &EmbedRequest,
        _target: &Target,
    ) -> Option<Result<WireRequest, LlmError>> {
        None
    }

    /// Reads the answer of [`Wire::encode_embed`].
    fn decode_embed(&self, _body: &[u8]) -> Result<EmbedResponse, LlmError> {
        Err(LlmError::new(LlmErrorKind::NotSupported, "this provider has no embeddings"))
    }
}

/// Turns the events of one answer into chunks.
///
/// Text and thoughts come out as they come in; a call comes out once, when it is complete (or known to be
/// cut: then with [`charla_proto::FunctionCall::invalid`] set). The decoder sets no origin; the driver does.
/// It does not judge the answer either: an answer without a finish reason is told by its absence.
pub trait EventDecoder: Send {
    /// One event of a stream, `[DONE]` included. `name` is the SSE event name.
    fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        out: &mut Vec<GenerateResponse>,
    ) -> Result<(), LlmError>;

    /// A whole answer in one document (the unary form of this wire).
    fn document(&mut self, document: Value, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError>;

    /// The body ended: gives out what was held back.
    fn end(&mut self, out: &mut Vec<GenerateResponse>) -> Result<(), LlmError>;

    /// About how many bytes it has taken and not given out: calls that are not complete, data for the origin. The
    /// driver stops an answer that holds too much.
    fn held(&self) -> usize;

    /// True when the wire's own end has come (`[DONE]`, `message_stop`, a terminal event), so that a
    /// connection the server keeps open need not be waited for.
    fn is_done(&self) -> bool {
        false
    }
}
