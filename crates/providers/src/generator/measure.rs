//! How much one answer may hold: a model, or a server, that never stops must not fill the memory.

use std::collections::BTreeMap;

use charla_proto::{Candidate, Extra, GenerateResponse, LlmError, LlmErrorKind, Part, PartKind};

use crate::wire::{ENTRY, weight, weight_of_citation, weight_of_fields};

/// The most bytes of one answer's words: text, thoughts, arguments of calls, data for the origin. No model's output
/// limit comes near it.
pub const MOST_WORDS: usize = 16 * 1024 * 1024;

/// The most bytes of one answer's media, encoded as they come.
pub const MOST_MEDIA: usize = 64 * 1024 * 1024;

/// [`charla_proto::ErrorDetail::code`] of an answer that was ended because it did not end.
pub(crate) const ENDLESS: &str = "ANSWER_TOO_LONG";

/// What has come of an answer.
#[derive(Debug, Default)]
pub(super) struct Measure {
    words: usize,
    media: usize,
    /// The last words were thoughts. Words of the other kind begin a part of their own.
    thinking: bool,
    /// What the fields beside the content take. The same field may come in every chunk; the last one stays.
    fields: BTreeMap<String, usize>,
}

impl Measure {
    /// Takes note of a chunk.
    pub(super) fn see(&mut self, chunk: &GenerateResponse) {
        self.see_fields(&chunk.extra);
        chunk.candidates.iter().for_each(|candidate| self.see_candidate(candidate));
    }

    fn see_candidate(&mut self, candidate: &Candidate) {
        self.see_fields(&candidate.extra);
        self.words += candidate.citations.iter().map(weight_of_citation).sum::<usize>();
        for part in candidate.content.iter().flat_map(|content| &content.parts) {
            self.see_part(part);
        }
    }

    fn see_fields(&mut self, fields: &Extra) {
        for (name, value) in fields.iter() {
            let new = name.len() + weight(value);
            let old = self.fields.insert(name.clone(), new).unwrap_or_default();
            self.words = self.words + new - old;
        }
    }

    fn see_part(&mut self, part: &Part) {
        if let Some(signature) = &part.thought_signature {
            self.words += signature.len() + ENTRY;
        }
        self.words += weight_of_fields(part.extra.iter());
        match &part.kind {
            PartKind::Text(text) => {
                let goes_on = std::mem::replace(&mut self.thinking, part.thought) == part.thought;
                self.words += text.len() + if goes_on { 0 } else { ENTRY };
            }
            PartKind::InlineData(blob) => self.media += blob.data.len() + ENTRY,
            PartKind::FunctionCall(call) => {
                let raw = call.invalid.as_ref().map_or(0, |invalid| invalid.raw.len());
                self.words += weight_of_fields(call.args.iter()) + raw + call.name.len() + ENTRY;
            }
            PartKind::Opaque(block) => self.words += weight(block),
            PartKind::FileData(_) | PartKind::FunctionResponse(_) | PartKind::Other => self.words += ENTRY,
        }
    }

    /// An error once there is too much, with what the decoder holds back.
    pub(super) fn check(&self, held: usize) -> Result<(), LlmError> {
        if self.words + held <= MOST_WORDS && self.media <= MOST_MEDIA {
            return Ok(());
        }
        let (what, most) =
            if self.media > MOST_MEDIA { ("media", MOST_MEDIA) } else { ("words", MOST_WORDS) };
        let message = format!(
            "the answer was stopped after {} MiB of {what}: the model, or its server, did not end it",
            most / 1024 / 1024
        );
        let mut error = LlmError::new(LlmErrorKind::InvalidStream, message).with_hint(
            "the model may be repeating itself: set an output limit, ask for less at once, or use another model",
        );
        error.detail.code = Some(ENDLESS.to_owned());
        Err(error)
    }
}
