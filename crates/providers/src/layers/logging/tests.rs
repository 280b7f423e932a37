use std::sync::Mutex;

use charla_proto::{
    Candidate, Content, ErrorDetail, FinishReason, Origin, Part, RetryNotice, Role, WireKind,
};
use charla_testkit::{Attempt, Scripted};

use super::*;

type Items = Vec<Result<StreamEvent, LlmError>>;

#[derive(Default)]
struct Memory(Mutex<Vec<LogEntry>>);

impl LogSink for Memory {
    fn record(&self, entry: LogEntry) {
        self.0.lock().unwrap().push(entry);
    }
}

const SECRET: &str = "top-secret-value";

fn logged(items: Items) -> (Arc<dyn ContentGenerator>, Arc<Memory>) {
    let memory = Arc::new(Memory::default());
    let redactor = Arc::new(Redactor::new([SECRET.into()]));
    let sink = Some(memory.clone() as Arc<dyn LogSink>);
    let model = Scripted::by(move |_| Attempt::events(items.clone()));
    (Logging::over(model, "p/m", sink, redactor), memory)
}

fn chunk(text: &str) -> StreamEvent {
    let origin = Origin { provider: "p".into(), wire: WireKind::Gemini, model: "m2".into() };
    let content = Content { origin: Some(Arc::new(origin)), ..Content::model(text) };
    StreamEvent::Chunk(GenerateResponse {
        candidates: vec![Candidate {
            content: Some(content),
            finish_reason: Some(FinishReason::Stop),
            ..Candidate::default()
        }],
        usage_metadata: Some(UsageMetadata { prompt_token_count: Some(7), ..UsageMetadata::default() }),
        response_id: Some("r-1".into()),
        ..GenerateResponse::default()
    })
}

fn failure() -> LlmError {
    let detail = ErrorDetail { status: Some(429), code: Some(SECRET.into()), ..ErrorDetail::default() };
    LlmError {
        kind: LlmErrorKind::RateLimit,
        message: format!("key {SECRET} and sk-0123456789abcdef are limited"),
        detail: Box::new(detail),
    }
}

fn ask() -> GenerateRequest {
    let parts = vec![Part::text(format!("use {SECRET}")), Part::inline_data("image/png", "A".repeat(4000))];
    GenerateRequest::new("m", vec![Arc::new(Content::new(Role::User, parts))])
}

async fn read(generator: &dyn ContentGenerator, at_most: usize) -> usize {
    let stream = generator.stream(&ask()).await.unwrap();
    stream.take(at_most).collect::<Vec<_>>().await.len()
}

fn only(memory: &Memory) -> LogEntry {
    let entries = memory.0.lock().unwrap();
    assert_eq!(entries.len(), 1);
    entries[0].clone()
}

#[tokio::test(start_paused = true)]
async fn one_entry_tells_the_whole_story_of_a_stream() {
    let notice = RetryNotice {
        attempt: 1,
        max_attempts: 10,
        delay: Duration::from_secs(5),
        error: failure(),
        withdraws: true,
    };
    let switched = StreamEvent::ModelSwitched(ModelSwitch {
        from: "p/m".into(),
        to: "p/m2".into(),
        reason: format!("{SECRET}!"),
    });
    let (generator, memory) = logged(vec![
        Ok(chunk("withdrawn")),
        Ok(StreamEvent::Retry(notice)),
        Ok(switched),
        Ok(chunk("Hel")),
        Ok(chunk(&format!("lo {SECRET}"))),
    ]);
    assert_eq!(read(&*generator, 100).await, 5);
    insta::assert_json_snapshot!(only(&memory), @r#"
    {
      "call": "stream",
      "model": "p/m2",
      "request": {
        "model": "m",
        "contents": [
          {
            "role": "user",
            "parts": [
              {
                "text": "use [redacted]"
              },
              {
                "inlineData": {
                  "mimeType": "image/png",
                  "data": "[3000 bytes]"
                }
              }
            ]
          }
        ]
      },
      "response": {
        "candidates": [
          {
            "content": {
              "role": "model",
              "parts": [
                {
                  "text": "Hello [redacted]"
                }
              ],
              "origin": {
                "provider": "p",
                "wire": "gemini",
                "model": "m2"
              }
            },
            "finishReason": "STOP"
          }
        ],
        "usageMetadata": {
          "promptTokenCount": 7
        },
        "responseId": "r-1"
      },
      "durationMs": 0,
      "firstChunkMs": 0,
      "usage": {
        "promptTokenCount": 7
      },
      "events": [
        {
          "type": "retry",
          "attempt": 1,
          "delayMs": 5000,
          "error": {
            "kind": "rate_limit",
            "message": "key [redacted] and [redacted] are limited",
            "status": 429,
            "code": "[redacted]"
          }
        },
        {
          "type": "model_switched",
          "from": "p/m",
          "to": "p/m2",
          "reason": "[redacted]!"
        }
      ],
      "responseId": "r-1"
    }
    "#);
}

#[tokio::test]
async fn an_error_is_written_down_without_secrets() {
    let (generator, memory) = logged(vec![Ok(chunk("Hel")), Err(failure())]);
    read(&*generator, 100).await;
    let entry = only(&memory);
    let error = entry.error.unwrap();
    assert_eq!(error.message, "key [redacted] and [redacted] are limited");
    assert_eq!(error.code.as_deref(), Some("[redacted]"));
    assert_eq!(entry.response.unwrap()["candidates"][0]["content"]["parts"][0]["text"], "Hel");
    assert!(!entry.dropped);
}

#[tokio::test]
async fn a_stream_that_is_dropped_is_written_down_as_such() {
    let (generator, memory) = logged(vec![Ok(chunk("Hel")), Ok(chunk("lo"))]);
    read(&*generator, 1).await;
    let entry = only(&memory);
    assert!(entry.dropped);
    assert_eq!(entry.response.unwrap()["candidates"][0]["content"]["parts"][0]["text"], "Hel");
}

#[tokio::test]
async fn every_kind_of_call_is_written_down() {
    let (generator, memory) = logged(vec![Ok(chunk("hi"))]);
    generator.generate(&ask()).await.unwrap();
    generator.count_tokens(&ask()).await.unwrap();
    let texts = EmbedRequest { texts: vec!["a".into(), "b".into()], ..EmbedRequest::default() };
    generator.embed(&texts).await.unwrap();
    let entries = memory.0.lock().unwrap();
    let calls: Vec<LogCall> = entries.iter().map(|entry| entry.call).collect();
    assert_eq!(calls, [LogCall::Generate, LogCall::CountTokens, LogCall::Embed]);
    assert!(entries.iter().all(|entry| entry.response.is_some() && !entry.dropped));
    assert_eq!(entries[2].response, Some(json!({ "embeddings": 2 })));
}

#[test]
fn without_a_sink_there_is_no_layer() {
    let inner: Arc<dyn ContentGenerator> = Scripted::by(|_| Attempt::text("x"));
    let over = Logging::over(inner.clone(), "p/m", None, Arc::default());
    assert!(Arc::ptr_eq(&inner, &over));
}
