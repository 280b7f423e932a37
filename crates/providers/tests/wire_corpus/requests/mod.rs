//! Recorded requests: read into our types, encoded again, compared in meaning.

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;
mod shape;

use charla_proto::{GenerateRequest, LlmErrorKind, WireKind};
use charla_providers::endpoint::Target;
use charla_providers::wire::{self, Fragments, Mode};
use serde_json::Value;

use crate::case::Case;
use crate::meaning::{Meaning, difference};

/// A wire's reader of recorded requests, kept apart from the codec so that the two can disagree.
struct Reader {
    /// The recorded request in our types.
    import: fn(&Value, &Target) -> Result<GenerateRequest, String>,
    /// What a request of this wire says.
    meaning: fn(&Value) -> Result<Meaning, String>,
}

pub fn check(case: &Case) -> Result<(), String> {
    let Some(recorded) = &case.request else { return Ok(()) };
    let reader = match case.wire {
        WireKind::Gemini => Reader { import: gemini::import, meaning: gemini::meaning },
        WireKind::OpenaiChat => Reader { import: openai_chat::import, meaning: openai_chat::meaning },
        WireKind::OpenaiResponses => {
            Reader { import: openai_responses::import, meaning: openai_responses::meaning }
        }
        WireKind::Anthropic => Reader { import: anthropic::import, meaning: anthropic::meaning },
    };
    let target = case.target();
    let request = match (reader.import)(recorded, &target) {
        Ok(request) => request,
        // A client's mistake that the server refused as malformed says nothing that could be kept.
        Err(_) if case.status() == 400 && (reader.meaning)(recorded).is_err() => return Ok(()),
        Err(problem) => return Err(problem),
    };
    let mut fragments = Fragments::default();
    let encoded = match wire::of(case.wire).encode(&request, &target, Mode::Stream, &mut fragments) {
        Ok(encoded) => encoded,
        // Refusing at once what the server refuses later is right.
        Err(error) if case.status() == 400 && error.kind == LlmErrorKind::InvalidRequest => return Ok(()),
        Err(error) => return Err(format!("cannot encode: {error}")),
    };
    let ours: Value =
        serde_json::from_slice(&encoded.body).map_err(|e| format!("our body is no JSON: {e}"))?;
    let again = wire::of(case.wire)
        .encode(&request, &target, Mode::Stream, &mut fragments)
        .map_err(|e| format!("cannot encode again: {e}"))?;
    if again.body != encoded.body {
        return Err("encoding from remembered fragments gives other bytes".to_owned());
    }
    match difference(&(reader.meaning)(recorded)?, &(reader.meaning)(&ours)?) {
        None => Ok(()),
        Some(problem) => Err(problem),
    }
}
