use std::sync::Mutex;
use std::time::Duration;

use charla_proto::{
    Candidate, EmbedRequest, EmbedResponse, FinishReason, FunctionCall, LlmErrorKind, Part, RetryNotice,
    TokenCount,
};
use futures_util::stream;
use serde_json::Map;

use super::*;

/// One item of a scripted stream; `None` stands for a model that says nothing more.
type Scene = Option<Result<StreamEvent, LlmError>>;

/// A generator that plays one list of scenes.
struct Scripted(Mutex<Option<Vec<Scene>>>);

impl Scripted {
    fn exchange(events: Vec<Scene>) -> Exchange {
        let generator = Arc::new(Self(Mutex::new(Some(events))));
        Exchange::new(generator, GenerateRequest::new("m", vec![]))
    }
}

fn unsupported<T>() -> BoxFuture<'static, Result<T, LlmError>>
where
    T: Send + 'static,
{
    Box::pin(async { Err(LlmError::new(LlmErrorKind::NotSupported, "scripted")) })
}

impl ContentGenerator for Scripted {
    fn generate<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        unsupported()
    }

    fn stream<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        let events = self.0.lock().unwrap().take().unwrap_or_default();
        let stream = stream::iter(events).then(|event| async move {
            match event {
                Some(event) => event,
                None => std::future::pending().await,
            }
        });
        Box::pin(async move { Ok(Box::pin(stream) as ChunkStream) })
    }

    fn count_tokens<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        unsupported()
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        unsupported()
    }
}

fn chunk(parts: Vec<Part>, finish: Option<FinishReason>) -> Scene {
    let candidate = Candidate {
        content: Some(Content::new(Role::Model, parts)),
        finish_reason: finish,
        ..Candidate::default()
    };
    let response = GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() };
    Some(Ok(StreamEvent::Chunk(response)))
}

fn retry() -> RetryNotice {
    RetryNotice {
        attempt: 1,
        max_attempts: 3,
        delay: Duration::from_secs(1),
        error: LlmError::new(LlmErrorKind::Network, "broke"),
        withdraws: true,
    }
}

/// Everything that is shown, and the end.
async fn all(exchange: &mut Exchange) -> (Vec<TurnEvent>, Progress) {
    let mut events = Vec::new();
    loop {
        match exchange.next().await {
            Progress::Event(event) => events.push(event),
            end => return (events, end),
        }
    }
}

fn thought(text: &str, subject: Option<&str>) -> TurnEvent {
    TurnEvent::Thought { content: text.to_owned(), subject: subject.map(str::to_owned), delta: true }
}

#[tokio::test]
async fn text_thoughts_and_the_end_come_in_order() {
    let mut exchange = Scripted::exchange(vec![
        chunk(vec![Part::thought("hm")], None),
        chunk(vec![Part::text("Hel"), Part::text("")], None),
        chunk(vec![Part::text("lo")], Some(FinishReason::Stop)),
    ]);
    let (events, end) = all(&mut exchange).await;
    assert_eq!(events, [thought("hm", None), TurnEvent::content("Hel"), TurnEvent::content("lo")]);
    assert_eq!(end, Progress::Complete);
    let said = exchange.said(3);
    assert_eq!(
        (said.turn, said.content.text(), said.finish),
        (3, "Hello".to_owned(), Some(FinishReason::Stop))
    );
}

#[tokio::test]
async fn a_thought_tells_its_subject_once_it_is_whole_and_each_new_one_its_own() {
    let pieces = ["**Read", "ing** the file", " and more", "**Writing** now", " on"];
    let scenes = pieces.iter().map(|piece| chunk(vec![Part::thought(*piece)], None)).collect();
    let (events, _) = all(&mut Scripted::exchange(scenes)).await;
    let subjects: Vec<Option<&str>> = events
        .iter()
        .map(|event| match event {
            TurnEvent::Thought { subject, .. } => subject.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(subjects, [None, Some("Reading"), None, Some("Writing"), None]);
}

#[tokio::test]
async fn a_call_of_a_withdrawn_attempt_is_never_part_of_the_answer() {
    let call = |id: &str| Part::function_call(FunctionCall::new(id, "shell", Map::new()));
    let mut exchange = Scripted::exchange(vec![
        chunk(vec![Part::text("a"), call("lost")], None),
        Some(Ok(StreamEvent::Retry(retry()))),
        chunk(vec![call("kept")], Some(FinishReason::Stop)),
    ]);
    all(&mut exchange).await;
    let said = exchange.said(1);
    let calls: Vec<_> = said.content.function_calls().map(|call| call.id.as_deref()).collect();
    assert_eq!(calls, [Some("kept")]);
    assert_eq!(said.content.text(), "");
}

#[tokio::test]
async fn waiting_may_be_interrupted_and_the_request_is_sent_once() {
    let mut exchange = Scripted::exchange(vec![chunk(vec![Part::text("a")], None), None]);
    assert_eq!(exchange.next().await, Progress::Event(TurnEvent::content("a")));
    for _ in 0..3 {
        let next = tokio::time::timeout(Duration::ZERO, exchange.next()).await;
        assert!(next.is_err(), "the model says nothing more");
    }
    assert_eq!(exchange.partial(1).unwrap().content.text(), "a");
}

#[tokio::test]
async fn a_failure_is_the_end() {
    let mut exchange = Scripted::exchange(vec![Some(Err(LlmError::new(LlmErrorKind::Auth, "x")))]);
    let (events, end) = all(&mut exchange).await;
    assert!(events.is_empty());
    assert_eq!(end, Progress::Failed(LlmError::new(LlmErrorKind::Auth, "x")));
    assert_eq!(exchange.partial(1), None);
}
