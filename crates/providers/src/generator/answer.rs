//! One answer on its way in.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use charla_proto::{Candidate, FinishReason, GenerateResponse, LlmError, LlmErrorKind, Origin};
use tokio::time::{Instant, timeout_at};

use super::judge::Judge;
use super::measure::Measure;
use super::name_model;
use crate::net::Body;
use crate::wire::BodyDecoder;

/// How long a body may take to end after the wire's own end has come. A connection whose body was read
/// to its end is used again, one that is dropped before is closed.
const TAIL_PATIENCE: Duration = Duration::from_millis(100);

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

    /// Reads until there is a chunk or the end.
    async fn read(&mut self) {
        while self.chunks.is_empty() && self.end.is_none() {
            let ended = match self.bytes().await {
                Ok(Some(bytes)) => match self.decoder.push(&bytes, &mut self.chunks) {
                    Ok(()) => None,
                    Err(_) if self.tail.is_some() => Some(Ok(())),
                    Err(error) => Some(Err(in_stream(error))),
                },
                Ok(None) => Some(self.decoder.end(&mut self.chunks).map_err(in_stream)),
                Err(error) => Some(Err(error)),
            };
            for chunk in &self.chunks {
                self.judge.see(chunk);
                self.measure.see(chunk);
            }
            self.end = match self.measure.check(self.decoder.held()) {
                Ok(()) => ended.map(|ended| self.conclude(ended)),
                Err(endless) => Some(Err(endless)),
            };
        }
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

/// A decoder's complaint is about the middle of an answer, not about the server as such.
fn in_stream(mut error: LlmError) -> LlmError {
    if error.kind == LlmErrorKind::Protocol {
        error.detail.in_stream = true;
    }
    error
}
