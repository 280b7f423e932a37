//! One exchange with a model, as events.

use std::collections::VecDeque;
use std::sync::Arc;

use charla_proto::{
    Assembler, ChunkStream, ContentGenerator, FinishReason, GenerateRequest, GenerateResponse, LlmError,
    LlmErrorKind, PartKind, StreamEvent, TurnEvent,
};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

/// Asks a model and tells what comes back.
///
/// The events end with exactly one of `Finished`, `UserCancelled`, `InvalidStream`, `ContextOverflow` and
/// `Error`. A `Retry` withdraws every text and thought since the turn began: the answer starts anew.
/// Calls are told once the attempt that made them has finished, so a withdrawn attempt asks for nothing.
pub struct Turn {
    generator: Arc<dyn ContentGenerator>,
    request: GenerateRequest,
    cancel: CancellationToken,
    state: State,
    answer: Assembler,
    pending: VecDeque<TurnEvent>,
}

enum State {
    Fresh,
    Streaming(ChunkStream),
    Ended,
}

impl Turn {
    /// A turn that will ask `generator`. Cancelling `cancel` ends it at its next await point.
    pub fn new(
        generator: Arc<dyn ContentGenerator>,
        request: GenerateRequest,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            generator,
            request,
            cancel,
            state: State::Fresh,
            answer: Assembler::new(),
            pending: VecDeque::new(),
        }
    }

    /// The next event; `None` after the last one. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            let item = match &mut self.state {
                State::Ended => return None,
                State::Fresh => {
                    let opened = tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => None,
                        opened = self.generator.stream(&self.request) => Some(opened),
                    };
                    match opened {
                        None => return Some(self.cancelled()),
                        Some(Ok(stream)) => self.state = State::Streaming(stream),
                        Some(Err(error)) => return Some(self.failed(error)),
                    }
                    continue;
                }
                State::Streaming(stream) => tokio::select! {
                    biased;
                    () = self.cancel.cancelled() => return Some(self.cancelled()),
                    item = stream.next() => item,
                },
            };
            match item {
                Some(Ok(StreamEvent::Chunk(chunk))) => self.take_chunk(chunk),
                Some(Ok(StreamEvent::Retry(notice))) => {
                    self.answer = Assembler::new();
                    return Some(TurnEvent::Retry(notice));
                }
                Some(Ok(StreamEvent::ModelSwitched { from, to, reason })) => {
                    return Some(TurnEvent::ModelSwitched { from, to, reason });
                }
                Some(Err(error)) => return Some(self.failed(error)),
                None => self.finished(),
            }
        }
    }

    /// What has come of the current attempt so far; the whole answer after `Finished`.
    pub fn response(&self) -> &GenerateResponse {
        self.answer.response()
    }

    fn take_chunk(&mut self, chunk: GenerateResponse) {
        if let Some(candidate) = chunk.candidates.first() {
            for part in candidate.content.iter().flat_map(|content| &content.parts) {
                match &part.kind {
                    PartKind::Text(text) if text.is_empty() => {}
                    PartKind::Text(text) if part.thought => {
                        self.pending.push_back(TurnEvent::Thought(text.clone()));
                    }
                    PartKind::Text(text) => self.pending.push_back(TurnEvent::Content(text.clone())),
                    _ => {}
                }
            }
            let citations = candidate.citations.iter().cloned();
            self.pending.extend(citations.map(TurnEvent::Citation));
        }
        self.answer.push(chunk);
    }

    fn finished(&mut self) {
        self.state = State::Ended;
        let answer = self.answer.response();
        self.pending.extend(answer.function_calls().cloned().map(TurnEvent::ToolCallRequest));
        // A generator ends without a reason only when the answer holds complete calls.
        let reason = answer.finish_reason().cloned().unwrap_or(FinishReason::Stop);
        self.pending.push_back(TurnEvent::Finished { reason, usage: answer.usage_metadata.clone() });
    }

    fn cancelled(&mut self) -> TurnEvent {
        self.state = State::Ended;
        TurnEvent::UserCancelled
    }

    fn failed(&mut self, error: LlmError) -> TurnEvent {
        self.state = State::Ended;
        match error.kind {
            LlmErrorKind::Cancelled => TurnEvent::UserCancelled,
            LlmErrorKind::InvalidStream => TurnEvent::InvalidStream(error),
            LlmErrorKind::ContextOverflow => TurnEvent::ContextOverflow(error),
            _ => TurnEvent::Error(error),
        }
    }
}

#[cfg(test)]
mod tests;
