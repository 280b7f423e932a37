//! Writes answers down, in the form that [`super::Recorded`] reads.

use std::sync::Arc;

use charla_proto::{
    BoxFuture, ChunkStream, ContentGenerator, EmbedRequest, EmbedResponse, GenerateRequest, GenerateResponse,
    LlmError, StreamEvent, TokenCount,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::recorded::{RecordedLine, RecordedMethod};

/// Takes the lines of a recording. Called on the task that asked: it must not block for long.
pub type RecordingSink = Arc<dyn Fn(&RecordedLine) + Send + Sync>;

/// A generator whose answers are written down. Only whole ones are: what broke off is no answer to give again.
pub struct Recording {
    inner: Arc<dyn ContentGenerator>,
    sink: RecordingSink,
}

impl Recording {
    /// The generator with its answers written to `sink`.
    pub fn over(inner: Arc<dyn ContentGenerator>, sink: RecordingSink) -> Self {
        Self { inner, sink }
    }
}

/// The chunk as a recording has it: who said it is not part of it.
fn document(chunk: &GenerateResponse) -> Value {
    let mut chunk = chunk.clone();
    for content in chunk.candidates.iter_mut().filter_map(|candidate| candidate.content.as_mut()) {
        content.origin = None;
    }
    let whole = serde_json::to_value(chunk).unwrap_or_default();
    let kept = ["candidates", "usageMetadata"].into_iter();
    let kept = kept.filter_map(|key| Some((key.to_owned(), whole.get(key)?.clone())));
    Value::Object(kept.collect())
}

/// The chunks of a stream so far.
struct Heard {
    source: ChunkStream,
    chunks: Vec<Value>,
    sink: RecordingSink,
}

impl Heard {
    async fn next(mut self) -> Option<(Result<StreamEvent, LlmError>, Self)> {
        let event = self.source.next().await;
        match &event {
            Some(Ok(StreamEvent::Chunk(chunk))) => self.chunks.push(document(chunk)),
            Some(Ok(_)) => self.chunks.clear(),
            Some(Err(_)) => {}
            None => {
                let response = Value::Array(std::mem::take(&mut self.chunks));
                (self.sink)(&RecordedLine { method: RecordedMethod::GenerateContentStream, response });
            }
        }
        // After an error nothing follows: the stream is never asked for its end.
        Some((event?, self))
    }
}

impl ContentGenerator for Recording {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move {
            let answer = self.inner.generate(request).await?;
            let response = document(&answer);
            (self.sink)(&RecordedLine { method: RecordedMethod::GenerateContent, response });
            Ok(answer)
        })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move {
            let source = self.inner.stream(request).await?;
            let heard = Heard { source, chunks: Vec::new(), sink: self.sink.clone() };
            Ok(Box::pin(stream::unfold(heard, Heard::next)) as ChunkStream)
        })
    }

    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async move {
            let count = self.inner.count_tokens(request).await?;
            let response = json!({"totalTokens": count.total_tokens});
            (self.sink)(&RecordedLine { method: RecordedMethod::CountTokens, response });
            Ok(count)
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        self.inner.embed(request)
    }
}
