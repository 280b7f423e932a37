//! Plays the model: gives out the recorded answers, after checking that it is asked what it was asked then.

use std::sync::Arc;

use charla_proto::{
    BoxFuture, Candidate, ChunkStream, Content, ContentGenerator, EmbedRequest, EmbedResponse, Fact,
    GenerateRequest, GenerateResponse, LlmError, LlmErrorKind, ModelContent, StreamEvent, TokenCount,
    TurnEnd, TurnEnded,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::playback::Playback;
use super::view::View;
use crate::Chat;

pub(super) struct RecordedModel(pub(super) Arc<Playback>);

/// What the model did when it was asked.
enum Did {
    Answer(Box<ModelContent>),
    /// It was cut short after these words.
    Begin(Box<ModelContent>),
    Fail(LlmError),
    /// It was not asked.
    Nothing,
}

impl RecordedModel {
    async fn ask(&self, request: &GenerateRequest) -> Result<ChunkStream, LlmError> {
        let expected = self.0.look(|view| Chat::new(view.conversation.sent().into_iter().map(|said| said.1)));
        if let Some((expected, got)) = other_request(&expected.curated(), &request.contents) {
            self.0.differs("the model is asked something else", expected, got);
            return Err(over());
        }
        let did = self.0.until(what_it_did).await;
        self.0.count_request();
        match did {
            Did::Answer(said) => Ok(Box::pin(stream::iter([Ok(StreamEvent::Chunk(chunk(&said)))]))),
            Did::Begin(said) => {
                let begun = stream::iter([Ok(StreamEvent::Chunk(chunk(&said)))]);
                Ok(Box::pin(begun.chain(cut_short(self.0.clone()))))
            }
            Did::Fail(error) => Err(error),
            Did::Nothing => {
                let what = "the model is asked once more than recorded";
                self.0.differs(what, Value::Null, json!("a request"));
                Err(over())
            }
        }
    }
}

fn what_it_did(view: &View) -> Option<Did> {
    match (view.next()?, view.after_next()) {
        (Fact::ModelContent(said), after) => Some(match is_cut_short(said, after) {
            true => Did::Begin(said.clone()),
            false => Did::Answer(said.clone()),
        }),
        (Fact::TurnEnded(ended), _) if ended.end == TurnEnd::Error => Some(Did::Fail(failure(ended))),
        (Fact::TurnEnded(ended), _) if !ended.end.is_cancelled() => Some(Did::Nothing),
        _ => None,
    }
}

/// An answer without an end is what was shown of one until somebody cancelled.
fn is_cut_short(said: &ModelContent, after: Option<&Fact>) -> bool {
    let cancelled = match after {
        Some(Fact::TurnEnded(ended)) => ended.end.is_cancelled(),
        after => after.is_none(),
    };
    cancelled && said.finish.is_none() && said.content.function_calls().next().is_none()
}

/// Nothing more comes until somebody cancels.
fn cut_short(playback: Arc<Playback>) -> ChunkStream {
    Box::pin(stream::once(async move {
        playback.cancel();
        std::future::pending().await
    }))
}

fn failure(ended: &TurnEnded) -> LlmError {
    let kind = ended.error.unwrap_or(LlmErrorKind::Server);
    LlmError::new(kind, ended.detail.clone().unwrap_or_default())
}

fn over() -> LlmError {
    LlmError::new(LlmErrorKind::Cancelled, "the replay is over")
}

/// The first content in which two requests differ.
fn other_request(expected: &[Arc<Content>], got: &[Arc<Content>]) -> Option<(Value, Value)> {
    let json = |content: Option<&Arc<Content>>| serde_json::to_value(content).unwrap_or(Value::Null);
    for index in 0..expected.len().max(got.len()) {
        let (recorded, now) = (expected.get(index), got.get(index));
        let same = match (recorded, now) {
            (Some(recorded), Some(now)) => Arc::ptr_eq(recorded, now) || recorded == now,
            _ => false,
        };
        if !same {
            return Some((json(recorded), json(now)));
        }
    }
    None
}

fn chunk(said: &ModelContent) -> GenerateResponse {
    let candidate = Candidate {
        content: Some((*said.content).clone()),
        finish_reason: said.finish.clone(),
        citations: said.citations.clone(),
        ..Candidate::default()
    };
    GenerateResponse {
        candidates: vec![candidate],
        usage_metadata: said.usage.clone(),
        ..GenerateResponse::default()
    }
}

fn unsupported<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, LlmError>> {
    let error = LlmError::new(LlmErrorKind::NotSupported, "a recording only answers as it did");
    Box::pin(std::future::ready(Err(error)))
}

impl ContentGenerator for RecordedModel {
    fn generate<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        unsupported()
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(self.ask(request))
    }

    fn count_tokens<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        unsupported()
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        unsupported()
    }
}
