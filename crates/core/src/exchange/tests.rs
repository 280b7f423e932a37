use std::sync::Mutex;
use std::time::Duration;

use charla_proto::{
    BoxFuture, Candidate, Content, EmbedRequest, EmbedResponse, FunctionCall, Part, RetryNotice, Role,
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
    fn turn(events: Vec<Scene>, cancel: &CancellationToken) -> Turn {
        let generator = Arc::new(Self(Mutex::new(Some(events))));
        Turn::new(generator, GenerateRequest::new("m", vec![]), cancel.clone())
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

async fn all(mut turn: Turn) -> (Vec<TurnEvent>, GenerateResponse) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    (events, turn.response().clone())
}

#[tokio::test]
async fn text_thoughts_and_the_end_come_in_order() {
    let turn = Scripted::turn(
        vec![
            chunk(vec![Part::thought("hm")], None),
            chunk(vec![Part::text("Hel"), Part::text("")], None),
            chunk(vec![Part::text("lo")], Some(FinishReason::Stop)),
        ],
        &CancellationToken::new(),
    );
    let (events, answer) = all(turn).await;
    let expected = [
        TurnEvent::Thought("hm".into()),
        TurnEvent::Content("Hel".into()),
        TurnEvent::Content("lo".into()),
        TurnEvent::Finished { reason: FinishReason::Stop, usage: None },
    ];
    assert_eq!(events, expected);
    assert_eq!(answer.text(), "Hello");
}

#[tokio::test]
async fn a_call_of_a_withdrawn_attempt_is_never_asked_for() {
    let call = |id: &str| Part::function_call(FunctionCall::new(id, "shell", Map::new()));
    let turn = Scripted::turn(
        vec![
            chunk(vec![Part::text("a"), call("lost")], None),
            Some(Ok(StreamEvent::Retry(retry()))),
            chunk(vec![call("kept")], Some(FinishReason::Stop)),
        ],
        &CancellationToken::new(),
    );
    let (events, answer) = all(turn).await;
    let asked: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::ToolCallRequest(call) => call.id.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(asked, ["kept"]);
    assert_eq!(answer.text(), "");
}

#[tokio::test]
async fn cancelling_ends_a_silent_stream_with_one_event() {
    let cancel = CancellationToken::new();
    let mut turn = Scripted::turn(vec![chunk(vec![Part::text("a")], None), None], &cancel);
    assert_eq!(turn.next().await, Some(TurnEvent::Content("a".into())));
    cancel.cancel();
    assert_eq!(turn.next().await, Some(TurnEvent::UserCancelled));
    assert_eq!(turn.next().await, None);
    assert_eq!(turn.response().text(), "a");
}

#[tokio::test]
async fn each_kind_of_failure_has_its_own_last_event() {
    for (kind, name) in [
        (LlmErrorKind::InvalidStream, "InvalidStream"),
        (LlmErrorKind::ContextOverflow, "ContextOverflow"),
        (LlmErrorKind::Auth, "Error"),
    ] {
        let turn = Scripted::turn(vec![Some(Err(LlmError::new(kind, "x")))], &CancellationToken::new());
        let (events, _) = all(turn).await;
        assert_eq!(events.len(), 1);
        assert!(format!("{:?}", events[0]).starts_with(name));
    }
}
