//! A model without a server, for tests of what stands above the wires.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use charla_proto::{
    Assembler, BoxFuture, Candidate, ChunkStream, Content, ContentGenerator, EmbedRequest, EmbedResponse,
    FinishReason, GenerateRequest, GenerateResponse, LlmError, Part, Role, StreamEvent, TokenCount,
};
use futures_util::{StreamExt, stream};
use tokio::time::Instant;

/// What one attempt at a model does.
#[derive(Clone, Debug)]
pub struct Attempt {
    refusal: Option<LlmError>,
    events: Vec<Result<StreamEvent, LlmError>>,
    hangs: bool,
}

impl Attempt {
    /// Gives these events and ends.
    pub fn events(events: Vec<Result<StreamEvent, LlmError>>) -> Self {
        Self { refusal: None, events, hangs: false }
    }

    /// Gives each part by itself and then the reason.
    pub fn parts(parts: impl IntoIterator<Item = Part>, finish: FinishReason) -> Self {
        let said = parts.into_iter().map(|part| chunk(vec![part], None));
        Self::events(said.chain([chunk(Vec::new(), Some(finish))]).map(StreamEvent::Chunk).map(Ok).collect())
    }

    /// Says this in one piece and stops.
    pub fn text(text: impl Into<String>) -> Self {
        let chunk = chunk(vec![Part::text(text)], Some(FinishReason::Stop));
        Self::events(vec![Ok(StreamEvent::Chunk(chunk))])
    }

    /// Cannot even begin.
    pub fn refuse(error: LlmError) -> Self {
        Self { refusal: Some(error), ..Self::events(Vec::new()) }
    }

    /// The same, ended by an error.
    pub fn then_fail(mut self, error: LlmError) -> Self {
        self.events.push(Err(error));
        self
    }

    /// The same, but nothing more comes after it, not even the end.
    pub fn then_hang(self) -> Self {
        Self { hangs: true, ..self }
    }

    fn stream(self, alive: Arc<()>) -> Result<ChunkStream, LlmError> {
        if let Some(error) = self.refusal {
            return Err(error);
        }
        let silence = if self.hangs { stream::pending().boxed() } else { stream::empty().boxed() };
        let events = stream::iter(self.events).chain(silence).inspect(move |_| {
            let _held = &alive;
        });
        Ok(Box::pin(events))
    }
}

impl From<&str> for Attempt {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<LlmError> for Attempt {
    fn from(error: LlmError) -> Self {
        Self::refuse(error)
    }
}

/// A piece of an answer.
pub fn chunk(parts: Vec<Part>, finish: Option<FinishReason>) -> GenerateResponse {
    let content = (!parts.is_empty()).then(|| Content::new(Role::Model, parts));
    let candidate = Candidate { content, finish_reason: finish, ..Candidate::default() };
    GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() }
}

/// The method of [`ContentGenerator`] by which a [`Scripted`] was asked; counting needs no script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `generate`.
    Generate,
    /// `stream`.
    Stream,
    /// `embed`.
    Embed,
}

/// A request that a [`Scripted`] got.
#[derive(Clone, Debug)]
pub struct Asked {
    /// How it was asked.
    pub method: Method,
    /// When, on the runtime's clock.
    pub at: Instant,
    /// The request; that of an embedding has the model alone.
    pub request: GenerateRequest,
}

type Choose = dyn Fn(&Asked) -> Attempt + Send + Sync;

/// A model that does as its script says and remembers what it was asked.
pub struct Scripted {
    choose: Box<Choose>,
    asked: Mutex<Vec<Asked>>,
    /// Held by every stream.
    alive: Arc<()>,
}

impl Scripted {
    /// Makes these attempts, one for each request. One more than these panics.
    pub fn new<A: Into<Attempt>>(attempts: impl IntoIterator<Item = A>) -> Arc<Self> {
        let attempts: VecDeque<Attempt> = attempts.into_iter().map(Into::into).collect();
        let attempts = Mutex::new(attempts);
        Self::by(move |asked| {
            let next = attempts.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            next.unwrap_or_else(|| panic!("one request more than scripted: {asked:?}"))
        })
    }

    /// Decides about each request when it comes.
    pub fn by(choose: impl Fn(&Asked) -> Attempt + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { choose: Box::new(choose), asked: Mutex::default(), alive: Arc::default() })
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many streams are neither at their end nor dropped.
    pub fn open_streams(&self) -> usize {
        Arc::strong_count(&self.alive) - 1
    }

    fn attempt(&self, method: Method, request: GenerateRequest) -> Attempt {
        let asked = Asked { method, at: Instant::now(), request };
        let attempt = (self.choose)(&asked);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        attempt
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Scripted").field("asked", &self.asked().len()).finish_non_exhaustive()
    }
}

impl ContentGenerator for Scripted {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move {
            let mut events = self.attempt(Method::Generate, request.clone()).stream(self.alive.clone())?;
            let mut whole = Assembler::new();
            while let Some(event) = events.next().await {
                if let StreamEvent::Chunk(chunk) = event? {
                    whole.push(chunk);
                }
            }
            Ok(whole.finish())
        })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move { self.attempt(Method::Stream, request.clone()).stream(self.alive.clone()) })
    }

    /// One token for each byte of the model's name and of the texts.
    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        let texts = request.contents.iter().map(|content| content.text().len());
        let total_tokens = (request.model.len() + texts.sum::<usize>()) as u64;
        Box::pin(async move { Ok(TokenCount { total_tokens, exact: true }) })
    }

    /// A vector of one number for each text, unless the attempt fails.
    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(async move {
            let asked = GenerateRequest::new(request.model.clone(), Vec::new());
            let mut events = self.attempt(Method::Embed, asked).stream(self.alive.clone())?;
            while let Some(event) = events.next().await {
                event?;
            }
            let embeddings = request.texts.iter().map(|text| vec![text.len() as f32]).collect();
            Ok(EmbedResponse { embeddings, usage_metadata: None })
        })
    }
}

#[cfg(test)]
mod tests {
    use charla_proto::LlmErrorKind;
    use futures_util::FutureExt;

    use super::*;

    fn ask() -> GenerateRequest {
        GenerateRequest::new("m", vec![Arc::new(Content::user("hi"))])
    }

    #[test]
    fn attempts_follow_each_other_and_requests_are_remembered() {
        let broken = LlmError::new(LlmErrorKind::Network, "broken");
        let model = Scripted::new([
            Attempt::text("one"),
            Attempt::refuse(broken.clone()),
            Attempt::text("half").then_fail(broken.clone()),
        ]);
        let generate = || model.generate(&ask()).now_or_never().unwrap();
        assert_eq!(generate().unwrap().text(), "one");
        assert_eq!(generate().unwrap_err(), broken);
        assert_eq!(generate().unwrap_err(), broken);
        assert!(model.asked().iter().all(|asked| asked.request == ask() && asked.method == Method::Generate));
        assert_eq!(model.asked().len(), 3);
    }

    #[test]
    fn a_stream_gives_part_by_part_and_may_never_end() {
        let model = Scripted::by(|asked| {
            let parts = [Part::thought("hm"), Part::text(asked.request.contents[0].text())];
            Attempt::parts(parts, FinishReason::MaxTokens).then_hang()
        });
        let mut stream = model.stream(&ask()).now_or_never().unwrap().unwrap();
        assert_eq!(model.open_streams(), 1);
        let mut next = || stream.next().now_or_never();
        let parts = |event| match event {
            Some(Some(Ok(StreamEvent::Chunk(chunk)))) => chunk,
            other => panic!("{other:?}"),
        };
        assert_eq!(parts(next()).content().unwrap().thoughts(), "hm");
        assert_eq!(parts(next()).text(), "hi");
        assert_eq!(parts(next()).finish_reason(), Some(&FinishReason::MaxTokens));
        assert!(next().is_none(), "it hangs");
        drop(stream);
        assert_eq!(model.open_streams(), 0);
    }
}
