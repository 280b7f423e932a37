//! Answers from a recording in place of a model: nothing is sent anywhere.
//!
//! A recording is lines of JSON, `{"method": M, "response": R}`, as Gemini CLI writes them. What stands in them goes through
//! the codec of the Gemini wire and is judged like an answer from a server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::{
    Assembler, BoxFuture, ChunkStream, ContentGenerator, EmbedRequest, EmbedResponse, GenerateRequest,
    GenerateResponse, LlmError, LlmErrorKind, StreamEvent, TokenCount,
};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::sign;
use super::judge::Judge;
use super::name_model;
use crate::endpoint::Target;
use crate::history;
use crate::wire::{Fragments, Gemini, Mode, Wire};

/// What a line of a recording answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedMethod {
    /// A whole answer; its response is one document.
    GenerateContent,
    /// An answer as it comes; its response is an array of chunks.
    GenerateContentStream,
    /// A count of tokens.
    CountTokens,
    /// Vectors of texts.
    EmbedContent,
}

impl RecordedMethod {
    fn name(self) -> &'static str {
        match self {
            RecordedMethod::GenerateContent => "generateContent",
            RecordedMethod::GenerateContentStream => "generateContentStream",
            RecordedMethod::CountTokens => "countTokens",
            RecordedMethod::EmbedContent => "embedContent",
        }
    }
}

/// A line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedLine {
    /// What it answers.
    pub method: RecordedMethod,
    /// The answer, in the form of the Gemini wire.
    pub response: Value,
}

/// In which order the lines of a recording are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedOrder {
    /// One after the other: the next line must answer what is asked. Before an answer that streams, lines of other methods are
    /// passed over: they answer what the program that recorded them asked beside the conversation.
    Strict,
    /// The first line that is left and answers what is asked.
    ByMethod,
}

/// The lines of a recording that are left. Clones are the same: what one takes is gone for all.
#[derive(Clone, Debug, Default)]
pub struct RecordedLines {
    /// Locked only to take a line.
    left: Arc<Mutex<VecDeque<RecordedLine>>>,
}

impl RecordedLines {
    /// Those in this text, or what is wrong with it, and in which line. Blank lines say nothing.
    pub fn read(text: &str) -> Result<Self, String> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = |(at, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1))
        };
        let lines = lines.map(read).collect::<Result<_, _>>()?;
        Ok(Self { left: Arc::new(Mutex::new(lines)) })
    }
}

/// A recording that answers in place of a model.
pub struct Recorded {
    target: Target,
    order: RecordedOrder,
    lines: RecordedLines,
}

impl Recorded {
    /// The recording of these lines, for answers that seem to come from `target`.
    pub fn new(lines: RecordedLines, order: RecordedOrder, target: Target) -> Self {
        Self { target, order, lines }
    }

    /// The next answer to this method. `asked` tells what was asked, for an error.
    fn take(&self, method: RecordedMethod, asked: impl FnOnce() -> String) -> Result<Value, LlmError> {
        let mut lines = self.lines.left.lock().unwrap_or_else(PoisonError::into_inner);
        let next = lines.iter().position(|line| line.method == method);
        let at = match self.order {
            RecordedOrder::Strict if method == RecordedMethod::GenerateContentStream => {
                lines.drain(..next.unwrap_or(0));
                0
            }
            RecordedOrder::Strict => 0,
            RecordedOrder::ByMethod => next.unwrap_or(lines.len()),
        };
        match lines.remove(at) {
            Some(line) if line.method == method => Ok(line.response),
            Some(line) => Err(unusable(format!(
                "Unexpected response type, next response was for {} but expected {}",
                line.method.name(),
                method.name(),
            ))),
            None => Err(unusable(format!(
                "No more mock responses for {}, got request:\n{}",
                method.name(),
                asked(),
            ))),
        }
    }

    /// The request as it would have been sent.
    fn as_sent(&self, request: &GenerateRequest, mode: Mode) -> String {
        let contents = history::prepare(&request.contents, &self.target);
        let request = GenerateRequest { contents: contents.into_owned(), ..request.clone() };
        let sent = Gemini.encode(&request, &self.target, mode, &mut Fragments::default());
        sent.map_or_else(|error| error.to_string(), |sent| String::from_utf8_lossy(&sent.body).into_owned())
    }

    /// The chunks of an answer, and after them what is wrong with it.
    fn answer(&self, documents: Vec<Value>) -> (Vec<GenerateResponse>, Result<(), LlmError>) {
        let mut decoder = Gemini.decoder(&self.target);
        let mut chunks = Vec::new();
        let read = || {
            for document in documents {
                decoder.document(document, &mut chunks)?;
            }
            decoder.end(&mut chunks)
        };
        let read = read();
        let mut judge = Judge::default();
        chunks.iter().for_each(|chunk| judge.see(chunk));
        let judged = read.and_then(|()| judge.verdict());
        let chunks = chunks.into_iter().map(|chunk| sign(chunk, &self.target.origin)).collect();
        (chunks, judged.map_err(|error| self.named(error)))
    }

    fn named(&self, error: LlmError) -> LlmError {
        name_model(error, &self.target.reference())
    }
}

/// A recording that does not fit what is asked; asking again would not help.
fn unusable(message: String) -> LlmError {
    LlmError::new(LlmErrorKind::InvalidRequest, message)
}

fn documents(response: Value) -> Vec<Value> {
    match response {
        Value::Array(documents) => documents,
        document => vec![document],
    }
}

impl ContentGenerator for Recorded {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move {
            let taken = self.take(RecordedMethod::GenerateContent, || self.as_sent(request, Mode::Unary));
            let (chunks, judged) = self.answer(documents(taken.map_err(|error| self.named(error))?));
            judged?;
            let mut whole = Assembler::new();
            chunks.into_iter().for_each(|chunk| whole.push(chunk));
            Ok(whole.finish())
        })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move {
            let taken =
                self.take(RecordedMethod::GenerateContentStream, || self.as_sent(request, Mode::Stream));
            let (chunks, judged) = self.answer(documents(taken.map_err(|error| self.named(error))?));
            let chunks = chunks.into_iter().map(|chunk| Ok(StreamEvent::Chunk(chunk)));
            Ok(Box::pin(stream::iter(chunks.chain(judged.err().map(Err)))) as ChunkStream)
        })
    }

    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async move {
            let taken = self.take(RecordedMethod::CountTokens, || self.as_sent(request, Mode::Unary));
            taken.and_then(|count| Gemini.decode_count(count.to_string().as_bytes()))
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(async move {
            let taken = self.take(RecordedMethod::EmbedContent, || format!("{request:?}"));
            taken.and_then(|vectors| Gemini.decode_embed(vectors.to_string().as_bytes()))
        })
    }
}

#[cfg(test)]
mod tests;
