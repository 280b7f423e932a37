//! One exchange with a model: a request, and its answer as it comes.

use std::collections::VecDeque;
use std::sync::Arc;

use charla_proto::{
    Assembler, BoxFuture, Candidate, ChunkStream, Content, ContentGenerator, FinishReason, GenerateRequest,
    GenerateResponse, LlmError, ModelContent, PartKind, Role, StreamEvent, TurnEvent, thought_subject,
};
use futures_util::StreamExt;

use crate::repetition::Repetition;

/// Asks a model once. A `Retry` withdraws every text and thought since the exchange began: the answer starts
/// anew. Dropping it ends the request.
pub struct Exchange {
    state: State,
    answer: Assembler,
    pending: VecDeque<TurnEvent>,
    thoughts: Thoughts,
    repetition: Repetition,
}

/// The finish of an answer that was ended because it said the same again and again.
pub(crate) const REPEATED: &str = "REPETITION";

enum State {
    Opening(BoxFuture<'static, Result<ChunkStream, LlmError>>),
    Streaming(ChunkStream),
    Ended,
}

/// What an exchange comes to next.
#[derive(Debug, PartialEq)]
pub enum Progress {
    /// Something to show.
    Event(TurnEvent),
    /// The answer is whole: [`Exchange::response`] has it.
    Complete,
    /// There is no answer.
    Failed(LlmError),
}

impl Exchange {
    /// An exchange that will ask `generator`.
    pub fn new(generator: Arc<dyn ContentGenerator>, request: GenerateRequest) -> Self {
        // The request is sent once, however often the waiting for its answer is interrupted.
        let opening = Box::pin(async move { generator.stream(&request).await });
        Self {
            state: State::Opening(opening),
            answer: Assembler::new(),
            pending: VecDeque::new(),
            thoughts: Thoughts::default(),
            repetition: Repetition::default(),
        }
    }

    /// What comes next. Nothing comes after `Complete` and `Failed`. Safe to drop and call again.
    pub async fn next(&mut self) -> Progress {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Progress::Event(event);
            }
            let item = match &mut self.state {
                State::Ended => std::future::pending().await,
                State::Opening(opening) => match opening.await {
                    Ok(stream) => {
                        self.state = State::Streaming(stream);
                        continue;
                    }
                    Err(error) => Some(Err(error)),
                },
                State::Streaming(stream) => stream.next().await,
            };
            match item {
                Some(Ok(StreamEvent::Chunk(chunk))) => self.take_chunk(chunk),
                Some(Ok(StreamEvent::Retry(notice))) => {
                    self.answer = Assembler::new();
                    self.thoughts = Thoughts::default();
                    self.repetition = Repetition::default();
                    return Progress::Event(TurnEvent::Retry(notice));
                }
                Some(Ok(StreamEvent::ModelSwitched(switch))) => {
                    return Progress::Event(TurnEvent::ModelSwitched(switch));
                }
                Some(Err(error)) => {
                    self.state = State::Ended;
                    return Progress::Failed(error);
                }
                None => {
                    self.state = State::Ended;
                    return Progress::Complete;
                }
            }
        }
    }

    /// What has come of the current attempt so far; the whole answer after `Complete`.
    pub fn response(&self) -> &GenerateResponse {
        self.answer.response()
    }

    /// The whole answer, for the record.
    pub fn said(&self, turn: u64) -> ModelContent {
        let response = self.answer.response();
        let candidate = response.candidates.first().cloned().unwrap_or_default();
        let content = Content { role: Role::Model, ..candidate.content.unwrap_or_default() };
        ModelContent {
            turn,
            content: Arc::new(content),
            finish: candidate.finish_reason,
            usage: response.usage_metadata.clone(),
            citations: candidate.citations,
            hook: None,
        }
    }

    /// The visible words of an answer that was broken off, if there are any; half calls are none.
    pub fn partial(&self, turn: u64) -> Option<ModelContent> {
        let content = self.answer.response().content().cloned().unwrap_or_default();
        let shown = content.parts.into_iter().filter(|part| !part.thought);
        let shown = shown.filter(|part| matches!(part.kind, PartKind::Text(_)));
        let kept = Content { role: Role::Model, parts: shown.collect(), ..Content::default() };
        let content = Arc::new(kept);
        content.is_valid().then_some(ModelContent {
            turn,
            content,
            finish: None,
            usage: None,
            citations: Vec::new(),
            hook: None,
        })
    }

    fn take_chunk(&mut self, chunk: GenerateResponse) {
        let mut circles = false;
        if let Some(candidate) = chunk.candidates.first() {
            for part in candidate.content.iter().flat_map(|content| &content.parts) {
                match &part.kind {
                    PartKind::Text(text) if text.is_empty() => {}
                    PartKind::Text(text) if part.thought => {
                        let subject = self.thoughts.subject(text);
                        let content = text.clone();
                        self.pending.push_back(TurnEvent::Thought { content, subject, delta: true });
                    }
                    PartKind::Text(text) => {
                        circles |= self.repetition.push(text);
                        self.pending.push_back(TurnEvent::content(text.as_str()));
                    }
                    _ => {}
                }
            }
            let citations = candidate.citations.iter().cloned();
            self.pending.extend(citations.map(TurnEvent::Citation));
        }
        self.answer.push(chunk);
        if circles {
            // What was said is kept; the rest would be paid for and say nothing new.
            let finish_reason = Some(FinishReason::Other(REPEATED.to_owned()));
            let candidates = vec![Candidate { finish_reason, ..Candidate::default() }];
            self.answer.push(GenerateResponse { candidates, ..GenerateResponse::default() });
            self.state = State::Streaming(Box::pin(futures_util::stream::empty()));
        }
    }
}

/// Characters of thoughts that are looked through for a subject.
const SUBJECT: usize = 400;

/// Finds the subject of a thought, however it is cut into pieces.
#[derive(Default)]
struct Thoughts {
    begun: String,
    found: bool,
}

impl Thoughts {
    fn subject(&mut self, piece: &str) -> Option<String> {
        // A piece that brings a subject of its own begins a new thought.
        if let Some(subject) = thought_subject(piece) {
            self.found = true;
            return Some(subject.to_owned());
        }
        if self.found || self.begun.len() > SUBJECT {
            return None;
        }
        self.begun.push_str(piece);
        let subject = thought_subject(&self.begun).map(str::to_owned);
        self.found = subject.is_some();
        subject
    }
}

#[cfg(test)]
mod tests;
