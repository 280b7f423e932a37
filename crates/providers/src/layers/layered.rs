//! What most layers are: something done to every request and to every answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use charla_proto::{
    Assembler, BoxFuture, ChunkStream, ContentGenerator, EmbedRequest, EmbedResponse, GenerateRequest,
    GenerateResponse, LlmError, StreamEvent, TokenCount,
};
use futures_util::Stream;

/// What a layer does. Both halves are optional: a layer may only rewrite requests, or only read answers.
pub trait Layer: Send + Sync {
    /// The request as the generator below gets it; `None` where it stays as it is.
    fn outgoing(&self, _: &GenerateRequest) -> Option<GenerateRequest> {
        None
    }

    /// What reads the answer to this request; `None` where it passes as it is.
    fn incoming(&self, _: &GenerateRequest) -> Option<Box<dyn Reader>> {
        None
    }
}

/// Reads one answer on its way in, chunk by chunk.
pub trait Reader: Send {
    /// The chunk as the caller gets it.
    fn read(&mut self, chunk: GenerateResponse) -> GenerateResponse;

    /// Forgets everything: the attempt was withdrawn.
    fn reset(&mut self) {}

    /// What was held back when the answer ends.
    fn finish(&mut self) -> Option<GenerateResponse> {
        None
    }

    /// Whether what was read is an answer. Asked at the end.
    fn verdict(&self) -> Result<(), LlmError> {
        Ok(())
    }
}

/// A generator with a layer over it. Tokens are counted of the request as it would be sent.
pub struct Layered<L> {
    inner: Arc<dyn ContentGenerator>,
    layer: L,
}

impl<L: Layer> Layered<L> {
    /// The layer over a generator.
    pub fn over(inner: Arc<dyn ContentGenerator>, layer: L) -> Self {
        Self { inner, layer }
    }
}

impl<L: Layer> ContentGenerator for Layered<L> {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move {
            let sent = self.layer.outgoing(request);
            let answer = self.inner.generate(sent.as_ref().unwrap_or(request)).await?;
            match self.layer.incoming(request) {
                Some(reader) => whole(reader, answer),
                None => Ok(answer),
            }
        })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move {
            let sent = self.layer.outgoing(request);
            let source = self.inner.stream(sent.as_ref().unwrap_or(request)).await?;
            Ok(match self.layer.incoming(request) {
                Some(reader) => Box::pin(Reading { source, reader, stage: Stage::Streaming }),
                None => source,
            })
        })
    }

    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async move {
            let sent = self.layer.outgoing(request);
            self.inner.count_tokens(sent.as_ref().unwrap_or(request)).await
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        self.inner.embed(request)
    }
}

/// A whole answer, read. Assembled anew: reading takes parts apart, and may take words back.
fn whole(mut reader: Box<dyn Reader>, answer: GenerateResponse) -> Result<GenerateResponse, LlmError> {
    let mut whole = Assembler::new();
    whole.push(reader.read(answer));
    if let Some(rest) = reader.finish() {
        whole.push(rest);
    }
    reader.verdict()?;
    Ok(whole.finish())
}

/// A stream that is being read.
struct Reading {
    source: ChunkStream,
    reader: Box<dyn Reader>,
    stage: Stage,
}

enum Stage {
    Streaming,
    /// The source has ended and what was held back is given.
    Finished,
    Over,
}

impl Reading {
    /// The source has ended.
    fn end(&mut self) -> Option<Result<StreamEvent, LlmError>> {
        if let Stage::Streaming = self.stage
            && let Some(rest) = self.reader.finish()
        {
            self.stage = Stage::Finished;
            return Some(Ok(StreamEvent::Chunk(rest)));
        }
        self.stage = Stage::Over;
        self.reader.verdict().err().map(Err)
    }
}

impl Stream for Reading {
    type Item = Result<StreamEvent, LlmError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.stage {
            Stage::Over => return Poll::Ready(None),
            Stage::Finished => return Poll::Ready(self.end()),
            Stage::Streaming => {}
        }
        Poll::Ready(match ready!(self.source.as_mut().poll_next(cx)) {
            Some(Ok(StreamEvent::Chunk(chunk))) => Some(Ok(StreamEvent::Chunk(self.reader.read(chunk)))),
            Some(Ok(event)) => {
                if let StreamEvent::Retry(_) = event {
                    self.reader.reset();
                }
                Some(Ok(event))
            }
            Some(Err(error)) => {
                self.stage = Stage::Over;
                Some(Err(error))
            }
            None => self.end(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use charla_proto::{Content, LlmErrorKind, Part, RetryNotice};
    use charla_testkit::{Attempt, Scripted, chunk};
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    /// Asks in capitals; holds the last letter of what is said back, and wants it to be a point.
    struct Loud;

    #[derive(Default)]
    struct Holding(String);

    impl Layer for Loud {
        fn outgoing(&self, request: &GenerateRequest) -> Option<GenerateRequest> {
            let loud = |content: &Arc<Content>| Arc::new(Content::user(content.text().to_uppercase()));
            Some(GenerateRequest { contents: request.contents.iter().map(loud).collect(), ..request.clone() })
        }

        fn incoming(&self, request: &GenerateRequest) -> Option<Box<dyn Reader>> {
            (request.model != "unread").then(|| Box::new(Holding::default()) as Box<dyn Reader>)
        }
    }

    impl Reader for Holding {
        fn read(&mut self, read: GenerateResponse) -> GenerateResponse {
            let mut text = std::mem::take(&mut self.0) + &read.text();
            self.0 = text.pop().map(String::from).unwrap_or_default();
            chunk(vec![Part::text(text)], read.finish_reason().cloned())
        }

        fn reset(&mut self) {
            self.0.clear();
        }

        fn finish(&mut self) -> Option<GenerateResponse> {
            (!self.0.is_empty()).then(|| chunk(vec![Part::text(self.0.clone())], None))
        }

        fn verdict(&self) -> Result<(), LlmError> {
            match self.0.as_str() {
                "." => Ok(()),
                _ => Err(LlmError::new(LlmErrorKind::InvalidStream, "no point")),
            }
        }
    }

    fn ask(model: &str) -> GenerateRequest {
        GenerateRequest::new(model, vec![Arc::new(Content::user("hi"))])
    }

    /// What a stream gave, one word for each thing.
    fn streamed(attempt: Attempt, model: &str) -> Vec<String> {
        let layered = Layered::over(Scripted::new([attempt]), Loud);
        let stream = layered.stream(&ask(model)).now_or_never().unwrap().unwrap();
        let told = |event: Result<StreamEvent, LlmError>| match event {
            Ok(StreamEvent::Chunk(chunk)) => chunk.text(),
            Ok(other) => format!("{other:?}").split('(').next().unwrap_or_default().to_owned(),
            Err(error) => format!("error: {error}"),
        };
        stream.map(told).collect::<Vec<_>>().now_or_never().unwrap()
    }

    fn said(texts: &[&str]) -> Attempt {
        let events = texts.iter().map(|text| Ok(StreamEvent::Chunk(chunk(vec![Part::text(*text)], None))));
        Attempt::events(events.collect())
    }

    #[test]
    fn an_answer_is_read_and_what_was_held_back_comes_last() {
        assert_eq!(streamed(said(&["So be", " it."]), "m"), ["So b", "e it", "."]);
        assert_eq!(streamed(said(&["So"]), "m"), ["S", "o", "error: no point"]);
        assert_eq!(streamed(said(&[]), "m"), ["error: no point"]);
        assert_eq!(streamed(said(&["So"]), "unread"), ["So"]);
    }

    #[test]
    fn a_withdrawn_attempt_is_forgotten_and_an_error_ends_it() {
        let broken = || LlmError::new(LlmErrorKind::Network, "broken");
        let notice = RetryNotice {
            attempt: 1,
            max_attempts: 2,
            delay: Duration::ZERO,
            error: broken(),
            withdraws: true,
        };
        let chunk = |text: &str| Ok(StreamEvent::Chunk(chunk(vec![Part::text(text)], None)));
        let events = vec![chunk("no"), Ok(StreamEvent::Retry(notice)), chunk("Yes.")];
        assert_eq!(streamed(Attempt::events(events), "m"), ["n", "Retry", "Yes", "."]);
        assert_eq!(streamed(said(&["So"]).then_fail(broken()), "m"), ["S", "error: broken"]);
    }

    #[test]
    fn a_whole_answer_goes_the_same_way_and_the_request_is_rewritten() {
        let model = Scripted::new(["So be it.", "So"]);
        let layered = Layered::over(model.clone(), Loud);
        let generate = || layered.generate(&ask("m")).now_or_never().unwrap();
        assert_eq!(generate().unwrap().text(), "So be it.");
        assert_eq!(generate().unwrap_err().message, "no point");
        assert_eq!(model.asked()[0].request.contents[0].text(), "HI");
        let count = layered.count_tokens(&ask("m")).now_or_never().unwrap().unwrap();
        assert_eq!(count.total_tokens, "mHI".len() as u64);
    }
}
