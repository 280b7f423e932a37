//! The engine as a generator.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use charla_local::{Engine, InUse, Model};
use charla_proto::{
    BoxFuture, ChunkStream, Content, ContentGenerator, EmbedRequest, EmbedResponse, FinishReason,
    GenerateRequest, GenerateResponse, LlmError, LlmErrorKind, StreamEvent, TokenCount,
};
use charla_providers::endpoint::{Endpoint, ModelRow, Target};
use charla_providers::{Client, Credential, Generator};
use futures_util::Stream;

use super::plain::Vocabulary;
use super::repetition::Said;

/// The built-in model repeats itself when it is allowed to go on.
const BUILT_IN_OUTPUT: u32 = 512;

/// Asks a model of the engine. Makes sure before each request that the engine runs, and keeps it running
/// until the answer is complete.
pub struct EngineGenerator {
    engine: Engine,
    endpoint: Endpoint,
    model: ModelRow,
    client: Client,
    /// The generator for the address that was valid last.
    current: Mutex<Option<Arc<Generator>>>,
    address: Mutex<String>,
}

impl EngineGenerator {
    /// A generator over this engine. `endpoint` says all but where it is.
    pub fn new(engine: Engine, endpoint: Endpoint, model: ModelRow, client: Client) -> Self {
        Self { engine, endpoint, model, client, current: Mutex::default(), address: Mutex::default() }
    }

    async fn ready(&self) -> Result<(InUse, Arc<Generator>), LlmError> {
        let used = self.engine.ensure(&|_| {}).await;
        let used = used.map_err(|error| LlmError::new(LlmErrorKind::Network, error.to_string()))?;
        let mut address = self.address.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let known = current.clone().filter(|_| *address == used.base_url);
        let generator = known.unwrap_or_else(|| Arc::new(self.generator(&used)));
        address.clone_from(&used.base_url);
        *current = Some(generator.clone());
        Ok((used, generator))
    }

    fn generator(&self, used: &InUse) -> Generator {
        let mut endpoint = Endpoint { base_url: used.base_url.clone(), ..self.endpoint.clone() };
        // The engine closes idle connections at moments of its own; a new one costs nothing here.
        endpoint.headers.push(("connection".to_owned(), "close".to_owned()));
        let target = Target::new(Arc::new(endpoint), self.model.clone());
        Generator::new(target, Credential::Key(used.key.clone()), self.client.clone())
    }

    /// The smallest model answers best when it is spoken to plainly, nothing is left to chance and it is
    /// stopped in time.
    fn in_its_words(&self, request: &GenerateRequest) -> (GenerateRequest, Option<Vocabulary>) {
        if self.engine.options().model != Model::BuiltIn {
            return (request.clone(), None);
        }
        let (mut request, vocabulary) = Vocabulary::of(request);
        request.temperature = request.temperature.or(Some(0.0));
        request.max_output_tokens = request.max_output_tokens.or(Some(BUILT_IN_OUTPUT));
        (request, Some(vocabulary))
    }
}

/// An engine that has gone is started by the next attempt: unlike somebody else's server it is worth one.
fn starts_again(mut error: LlmError) -> LlmError {
    error.detail.code = error.detail.code.filter(|code| code != "not_running");
    error
}

impl ContentGenerator for EngineGenerator {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move {
            let (_used, generator) = self.ready().await?;
            let (request, vocabulary) = self.in_its_words(request);
            let answer = generator.generate(&request).await.map_err(starts_again)?;
            Ok(match vocabulary {
                Some(vocabulary) => vocabulary.restore(answer),
                None => answer,
            })
        })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move {
            let (used, generator) = self.ready().await?;
            let (request, vocabulary) = self.in_its_words(request);
            let inner = generator.stream(&request).await.map_err(starts_again)?;
            let held = Held { inner, vocabulary, said: Said::default(), ended: false, _used: used };
            Ok(Box::pin(held) as ChunkStream)
        })
    }

    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async move {
            let (_used, generator) = self.ready().await?;
            generator.count_tokens(request).await
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(async move {
            let (_used, generator) = self.ready().await?;
            generator.embed(request).await
        })
    }
}

/// A stream that keeps the engine running. That of the built-in model is in our words, and ends when it only
/// repeats itself.
struct Held {
    inner: ChunkStream,
    vocabulary: Option<Vocabulary>,
    said: Said,
    ended: bool,
    _used: InUse,
}

impl Held {
    fn heard(&mut self, chunk: GenerateResponse) -> GenerateResponse {
        let Some(vocabulary) = &self.vocabulary else { return chunk };
        let mut chunk = vocabulary.restore(chunk);
        if let Some(candidate) = chunk.candidates.first_mut() {
            let more = candidate.content.as_ref().map(Content::text).unwrap_or_default();
            self.ended = !vocabulary.quotes && self.said.repeats_itself(&more);
            if self.ended {
                candidate.finish_reason = Some(FinishReason::Stop);
            }
        }
        chunk
    }
}

impl Stream for Held {
    type Item = Result<StreamEvent, LlmError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        Poll::Ready(match ready!(self.inner.as_mut().poll_next(cx)) {
            Some(Ok(StreamEvent::Chunk(chunk))) => Some(Ok(StreamEvent::Chunk(self.heard(chunk)))),
            event => event,
        })
    }
}
