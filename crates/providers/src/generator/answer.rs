//! One answer on its way in.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use charla_proto::{
    Candidate, Content, FinishReason, GenerateResponse, LlmError, LlmErrorKind, Origin, Part, PartKind,
};
use tokio::time::{Instant, timeout_at};

use super::judge::Judge;
use super::measure::Measure;
use super::name_model;
use crate::net::Body;
use crate::wire::BodyDecoder;

/// How long a body may take to end after the wire's own end has come. A connection whose body was read
/// to its end is used again, one that is dropped before is closed.
const TAIL_PATIENCE: Duration = Duration::from_millis(100);

/// How many chunks are given out as they come. Of those after them, words that are here already come as one:
/// each costs a way through every layer to every front end, and a person reads no faster for it.
pub(super) const SINGLY: usize = 32;
/// The most bytes of words that are waited together for.
const TOGETHER: usize = 16 * 1024;

/// Reads a body, decodes it and judges the whole.
pub(super) struct Answer {
    body: Body,
    decoder: BodyDecoder,
    origin: Arc<Origin>,
    reference: Arc<str>,
    judge: Judge,
    measure: Measure,
    /// Decoded and not yet given out, from `given` on.
    chunks: Vec<GenerateResponse>,
    given: usize,
    /// How many were given out before those.
    before: usize,
    /// When to stop waiting for the body's end, once the wire's own end has come.
    tail: Option<Instant>,
    /// What comes after the last chunk; set when nothing more is to be read.
    end: Option<Result<(), LlmError>>,
}

impl Answer {
    pub(super) fn new(body: Body, decoder: BodyDecoder, origin: Arc<Origin>, reference: Arc<str>) -> Self {
        Self {
            body,
            decoder,
            origin,
            reference,
            judge: Judge::default(),
            measure: Measure::default(),
            chunks: Vec::new(),
            given: 0,
            before: 0,
            tail: None,
            end: None,
        }
    }

    /// The next chunk; after the last one the judgement, when it is an error; then `None`.
    pub(super) async fn next(&mut self) -> Option<Result<GenerateResponse, LlmError>> {
        loop {
            if let Some(chunk) = self.chunks.get_mut(self.given) {
                self.given += 1;
                return Some(Ok(sign(std::mem::take(chunk), &self.origin)));
            }
            self.before += self.given;
            self.chunks.clear();
            self.given = 0;
            match &mut self.end {
                Some(end) => {
                    let end = std::mem::replace(end, Ok(()));
                    return end.err().map(|error| Err(name_model(error, &self.reference)));
                }
                None => self.read().await,
            }
        }
    }

    /// Reads until there is a chunk or the end, and the words behind it that are here already.
    async fn read(&mut self) {
        while self.chunks.is_empty() && self.end.is_none() {
            let bytes = self.bytes().await;
            self.take(bytes);
        }
        while self.end.is_none()
            && self.may_have_more()
            && let Some(bytes) = self.body.next_here().await
        {
            self.take(bytes.transpose());
        }
    }

    /// Decodes what has come, or takes note of the end.
    fn take(&mut self, bytes: Result<Option<Bytes>, LlmError>) {
        let known = self.chunks.len();
        let ended = match bytes {
            Ok(Some(bytes)) => match self.decoder.push(&bytes, &mut self.chunks) {
                Ok(()) => None,
                Err(_) if self.tail.is_some() => Some(Ok(())),
                Err(error) => Some(Err(in_stream(error))),
            },
            Ok(None) => Some(self.decoder.end(&mut self.chunks).map_err(in_stream)),
            Err(error) => Some(Err(error)),
        };
        for chunk in self.chunks.iter().skip(known) {
            self.judge.see(chunk);
            self.measure.see(chunk);
        }
        if self.before >= SINGLY {
            join_words(&mut self.chunks);
        }
        self.end = match self.measure.check(self.decoder.held()) {
            Ok(()) => ended.map(|ended| self.conclude(ended)),
            Err(endless) => Some(Err(endless)),
        };
    }

    /// True while there is nothing to give out but words that more may be joined to.
    fn may_have_more(&mut self) -> bool {
        let [chunk] = self.chunks.as_mut_slice() else { return false };
        let is_short = words(chunk).is_some_and(|(_, text)| text.len() < TOGETHER);
        is_short && self.before >= SINGLY && !self.decoder.is_done()
    }

    /// What to make of the whole. A connection that breaks takes nothing away from an answer that was complete,
    /// and the wire's own end after words is an end, although no reason was named for it.
    fn conclude(&mut self, ended: Result<(), LlmError>) -> Result<(), LlmError> {
        let judged = self.chunks.len();
        match ended {
            Err(error) if !(is_broken_off(&error) && self.judge.is_complete()) => return Err(error),
            // What the decoder still holds of a complete answer; a broken tail has no say.
            Err(_) => _ = self.decoder.end(&mut self.chunks),
            Ok(()) if self.decoder.is_done() && self.judge.lacks_finish() => {
                let finish_reason = Some(FinishReason::Stop);
                let candidates = vec![Candidate { finish_reason, ..Candidate::default() }];
                self.chunks.push(GenerateResponse { candidates, ..GenerateResponse::default() });
            }
            Ok(()) => {}
        }
        self.chunks.iter().skip(judged).for_each(|chunk| self.judge.see(chunk));
        self.judge.verdict()
    }

    /// The next bytes. After the wire's own end a broken or endless tail is an end like any other: it
    /// takes nothing away from an answer that is complete.
    async fn bytes(&mut self) -> Result<Option<Bytes>, LlmError> {
        if !self.decoder.is_done() {
            return self.body.next().await.transpose();
        }
        let deadline = *self.tail.get_or_insert_with(|| Instant::now() + TAIL_PATIENCE);
        Ok(timeout_at(deadline, self.body.next()).await.ok().flatten().and_then(Result::ok))
    }
}

/// The connection failed, or left a piece that cannot be read, rather than that the server told of a failure.
fn is_broken_off(error: &LlmError) -> bool {
    matches!(error.kind, LlmErrorKind::Network | LlmErrorKind::Timeout | LlmErrorKind::Protocol)
}

/// The chunk with the mark of where it comes from.
pub(super) fn sign(mut chunk: GenerateResponse, origin: &Arc<Origin>) -> GenerateResponse {
    for content in chunk.candidates.iter_mut().filter_map(|candidate| candidate.content.as_mut()) {
        content.origin = Some(origin.clone());
    }
    chunk
}

/// Chunks of words that follow one another become one.
fn join_words(chunks: &mut Vec<GenerateResponse>) {
    chunks.dedup_by(|next, chunk| match (words(chunk), words(next)) {
        (Some((kind, text)), Some((same, more))) if kind == same => {
            text.push_str(more);
            true
        }
        _ => false,
    });
}

/// The words, and whose and of which kind they are, of a chunk that tells nothing else.
fn words(chunk: &mut GenerateResponse) -> Option<((u32, bool), &mut String)> {
    let GenerateResponse {
        candidates,
        usage_metadata: None,
        model_version: None,
        response_id: None,
        prompt_feedback: None,
        extra,
    } = chunk
    else {
        return None;
    };
    let [
        Candidate {
            index,
            content: Some(Content { parts, extra: of_content, .. }),
            finish_reason: None,
            native_finish_reason: None,
            finish_message: None,
            citations,
            extra: of_candidate,
        },
    ] = candidates.as_mut_slice()
    else {
        return None;
    };
    let [Part { kind: PartKind::Text(text), thought, thought_signature: None, extra: of_part }] =
        parts.as_mut_slice()
    else {
        return None;
    };
    let is_plain = citations.is_empty()
        && [extra, of_content, of_candidate, of_part].into_iter().all(|extra| extra.is_empty());
    is_plain.then_some(((*index, *thought), text))
}

/// A decoder's complaint is about the middle of an answer, not about the server as such.
fn in_stream(mut error: LlmError) -> LlmError {
    if error.kind == LlmErrorKind::Protocol {
        error.detail.in_stream = true;
    }
    error
}
