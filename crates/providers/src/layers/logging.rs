//! Writes down every call: what was asked, what came, how long it took.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::{
    Assembler, BoxFuture, ChunkStream, ContentGenerator, EmbedRequest, EmbedResponse, GenerateRequest,
    GenerateResponse, LlmError, LlmErrorKind, ModelSwitch, StreamEvent, TokenCount, UsageMetadata,
};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Redactor;

/// Takes what the [`Logging`] layer writes down.
pub trait LogSink: Send + Sync {
    /// One finished call. Called on the task that made the call: it must not block for long.
    fn record(&self, entry: LogEntry);
}

/// One call of a model. Holds no secrets and no media.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// What was called.
    pub call: LogCall,
    /// `provider/model` that answered, or was asked last.
    pub model: String,
    /// The request in our own form; media are replaced by their size.
    pub request: Value,
    /// The answer put together; of a call that failed or was dropped, what had come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<LogError>,
    /// How long it took, waits between attempts included.
    #[serde(rename = "durationMs", serialize_with = "milliseconds")]
    pub duration: Duration,
    /// How long the first piece of a streamed answer took.
    #[serde(
        rename = "firstChunkMs",
        serialize_with = "some_milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub first_chunk: Option<Duration>,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageMetadata>,
    /// Retries and changes of model, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<LogEvent>,
    /// The server's id of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The caller went away before the end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
}

/// What was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogCall {
    /// [`ContentGenerator::generate`].
    Generate,
    /// [`ContentGenerator::stream`].
    Stream,
    /// [`ContentGenerator::count_tokens`].
    CountTokens,
    /// [`ContentGenerator::embed`].
    Embed,
}

/// A failure, as it is written down.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogError {
    /// Its kind.
    pub kind: LlmErrorKind,
    /// What happened.
    pub message: String,
    /// HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The server's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The server's id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Attempts made, where they were counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempts: u32,
}

/// What happened between the attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum LogEvent {
    /// An attempt failed and another followed.
    Retry {
        /// The attempt that failed.
        attempt: u32,
        /// The wait before the next.
        #[serde(rename = "delayMs", serialize_with = "milliseconds")]
        delay: Duration,
        /// What went wrong.
        error: LogError,
    },
    /// Another model went on.
    ModelSwitched {
        /// Who failed.
        from: String,
        /// Who went on.
        to: String,
        /// Why.
        reason: String,
    },
}

fn milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_millis().try_into().unwrap_or(u64::MAX))
}

fn some_milliseconds<S: serde::Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    milliseconds(&duration.unwrap_or_default(), serializer)
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The layer. Stands outermost, so that one entry tells a call's whole record.
pub struct Logging {
    inner: Arc<dyn ContentGenerator>,
    log: Log,
}

#[derive(Clone)]
struct Log {
    sink: Arc<dyn LogSink>,
    redactor: Arc<Redactor>,
    reference: Arc<str>,
}

impl Logging {
    /// `inner` with its calls written down in `sink`; `inner` itself when there is none. `reference` is
    /// the `provider/model` named in entries whose answer does not tell.
    pub fn over(
        inner: Arc<dyn ContentGenerator>,
        reference: &str,
        sink: Option<Arc<dyn LogSink>>,
        redactor: Arc<Redactor>,
    ) -> Arc<dyn ContentGenerator> {
        match sink {
            None => inner,
            Some(sink) => Arc::new(Self { inner, log: Log { sink, redactor, reference: reference.into() } }),
        }
    }
}

impl ContentGenerator for Logging {
    fn generate<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        Box::pin(async move {
            let mut record = CallRecord::new(&self.log, LogCall::Generate, request);
            let answer = self.inner.generate(request).await;
            match &answer {
                Ok(answer) => record.chunk(answer),
                Err(error) => record.error(error),
            }
            record.ended = true;
            answer
        })
    }

    fn stream<'a>(&'a self, request: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        Box::pin(async move {
            let mut record = CallRecord::new(&self.log, LogCall::Stream, request);
            let events = match self.inner.stream(request).await {
                Ok(events) => events,
                Err(error) => {
                    record.error(&error);
                    record.ended = true;
                    return Err(error);
                }
            };
            let logged = stream::unfold((events, Box::new(record)), |(mut events, mut record)| async move {
                let event = events.next().await;
                match &event {
                    Some(Ok(event)) => record.event(event),
                    Some(Err(error)) => record.error(error),
                    None => record.ended = true,
                }
                Some((event?, (events, record)))
            });
            Ok(Box::pin(logged) as ChunkStream)
        })
    }

    fn count_tokens<'a>(
        &'a self,
        request: &'a GenerateRequest,
    ) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        Box::pin(async move {
            let mut record = CallRecord::new(&self.log, LogCall::CountTokens, request);
            let counted = self.inner.count_tokens(request).await;
            record.result(&counted, |count| json!(count));
            counted
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        Box::pin(async move {
            let mut record = CallRecord::new(&self.log, LogCall::Embed, request);
            let embedded = self.inner.embed(request).await;
            // The vectors are long and tell a reader nothing.
            record.result(&embedded, |response| json!({ "embeddings": response.embeddings.len() }));
            if let Ok(response) = &embedded {
                record.entry.usage.clone_from(&response.usage_metadata);
            }
            embedded
        })
    }
}

/// One call being written down; recorded when it is dropped, so that a call the caller abandons is
/// recorded, too.
struct CallRecord {
    log: Log,
    entry: LogEntry,
    answer: Option<Assembler>,
    start: Instant,
    ended: bool,
}

impl CallRecord {
    fn new(log: &Log, call: LogCall, request: &impl Serialize) -> Self {
        let mut request = serde_json::to_value(request).unwrap_or_default();
        shrink_media(&mut request);
        log.redactor.value(&mut request);
        let entry = LogEntry {
            call,
            model: log.reference.to_string(),
            request,
            response: None,
            error: None,
            duration: Duration::ZERO,
            first_chunk: None,
            usage: None,
            events: Vec::new(),
            response_id: None,
            dropped: false,
        };
        Self { log: log.clone(), entry, answer: None, start: Instant::now(), ended: false }
    }

    fn chunk(&mut self, chunk: &GenerateResponse) {
        if let Some(origin) = chunk.content().and_then(|content| content.origin.as_ref())
            && self.answer.is_none()
        {
            self.entry.model = origin.name();
        }
        self.answer.get_or_insert_default().push(chunk.clone());
    }

    fn event(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Chunk(chunk) => {
                self.entry.first_chunk.get_or_insert_with(|| self.start.elapsed());
                self.chunk(chunk);
            }
            StreamEvent::Retry(notice) => {
                (self.answer, self.entry.first_chunk) = (None, None);
                let error = self.log.error(&notice.error);
                let (attempt, delay) = (notice.attempt, notice.delay);
                self.entry.events.push(LogEvent::Retry { attempt, delay, error });
            }
            StreamEvent::ModelSwitched(ModelSwitch { from, to, reason }) => {
                self.entry.model.clone_from(to);
                self.entry.events.push(LogEvent::ModelSwitched {
                    from: from.clone(),
                    to: to.clone(),
                    reason: self.log.redactor.text(reason).into_owned(),
                });
            }
        }
    }

    fn error(&mut self, error: &LlmError) {
        if let Some(model) = &error.detail.model {
            self.entry.model.clone_from(model);
        }
        self.entry.error = Some(self.log.error(error));
        self.ended = true;
    }

    fn result<T>(&mut self, result: &Result<T, LlmError>, show: impl Fn(&T) -> Value) {
        match result {
            Ok(value) => self.entry.response = Some(show(value)),
            Err(error) => self.error(error),
        }
        self.ended = true;
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        let mut entry = LogEntry {
            request: std::mem::take(&mut self.entry.request),
            response: self.entry.response.take(),
            events: std::mem::take(&mut self.entry.events),
            duration: self.start.elapsed(),
            dropped: !self.ended,
            ..self.entry.clone()
        };
        if let Some(answer) = self.answer.take().map(Assembler::finish) {
            entry.usage.clone_from(&answer.usage_metadata);
            entry.response_id = answer.response_id.as_ref().map(|id| self.log.redactor.text(id).into_owned());
            let mut response = serde_json::to_value(answer).unwrap_or_default();
            shrink_media(&mut response);
            self.log.redactor.value(&mut response);
            entry.response = Some(response);
        }
        self.log.sink.record(entry);
    }
}

impl Log {
    fn error(&self, error: &LlmError) -> LogError {
        let clean = |text: &String| self.redactor.text(text).into_owned();
        LogError {
            kind: error.kind,
            message: clean(&error.message),
            status: error.detail.status,
            code: error.detail.code.as_ref().map(clean),
            request_id: error.detail.request_id.as_ref().map(clean),
            attempts: error.detail.attempts,
        }
    }
}

/// Replaces the data of every `inlineData` by its size.
fn shrink_media(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(shrink_media),
        Value::Object(fields) => {
            if let Some(Value::Object(blob)) = fields.get_mut("inlineData")
                && let Some(Value::String(data)) = blob.get_mut("data")
            {
                let bytes = data.trim_end_matches('=').len() * 3 / 4;
                *data = format!("[{bytes} bytes]");
            }
            fields.values_mut().for_each(shrink_media);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
