//! The layer over scripted models, on a clock that stands still until nothing else is to be done.

use charla_proto::Hint;
use charla_testkit::{Attempt, Scripted};

use super::*;

fn error(kind: LlmErrorKind) -> LlmError {
    LlmError::new(kind, format!("it is {}", kind.name()))
}

fn named(kind: LlmErrorKind, seconds: u64) -> LlmError {
    let mut error = error(kind);
    error.detail.retry_after = Some(Duration::from_secs(seconds));
    error
}

fn busy() -> Attempt {
    Attempt::refuse(error(LlmErrorKind::RateLimit))
}

/// A chain of `a/model-a`, `b/model-b`, … with jitter in its middle.
fn chain(models: &[&Arc<Scripted>]) -> Resilient {
    let link = |(index, model): (usize, &&Arc<Scripted>)| {
        let name = char::from(b'a' + index as u8);
        Link {
            reference: format!("{name}/model-{name}"),
            model: format!("model-{name}"),
            generator: Arc::clone(model) as Arc<dyn ContentGenerator>,
        }
    };
    let links = models.iter().enumerate().map(link).collect();
    Resilient::with_random(links, RetryPolicy::default(), Arc::new(|| 0.5))
}

fn ask() -> GenerateRequest {
    GenerateRequest { temperature: Some(0.2), ..GenerateRequest::new("asked", vec![]) }
}

/// What a stream gave, one line for each thing.
async fn story(generator: &Resilient) -> Vec<String> {
    let mut stream = generator.stream(&ask()).await.unwrap();
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        lines.push(match event {
            Ok(StreamEvent::Chunk(chunk)) => chunk.text(),
            Ok(StreamEvent::Retry(notice)) => format!(
                "retry {}/{} after {:?}: {}{}",
                notice.attempt,
                notice.max_attempts,
                notice.delay,
                notice.error,
                if notice.withdraws { ", withdrawn" } else { "" },
            ),
            Ok(StreamEvent::ModelSwitched(ModelSwitch { from, to, reason })) => {
                format!("{from} -> {to}: {reason}")
            }
            Err(error) => {
                let model = error.detail.model.clone().unwrap_or_default();
                format!("error: {error}, {} attempts, {model}", error.detail.attempts)
            }
        });
    }
    lines
}

#[tokio::test(start_paused = true)]
async fn a_request_that_may_be_sent_once_is_tried_neither_again_nor_elsewhere() {
    let (first, second) = (Scripted::new(vec![busy()]), Scripted::new([] as [Attempt; 0]));
    let once = GenerateRequest { max_attempts: Some(1), ..ask() };
    let error = chain(&[&first, &second]).generate(&once).await.unwrap_err();
    assert_eq!((error.kind, error.detail.attempts), (LlmErrorKind::RateLimit, 1));
    assert_eq!((first.asked().len(), second.asked().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn failures_that_pass_are_tried_again_after_growing_waits() {
    let model = Scripted::new(vec![
        busy(),
        Attempt::refuse(error(LlmErrorKind::Server)),
        Attempt::refuse(named(LlmErrorKind::Overloaded, 40)),
        Attempt::text("hello"),
    ]);
    let start = Instant::now();
    let expected = [
        "retry 1/10 after 500ms: it is rate_limit",
        "retry 2/10 after 1s: it is server",
        "retry 3/10 after 44s: it is overloaded",
        "hello",
    ];
    assert_eq!(story(&chain(&[&model])).await, expected);
    let times: Vec<u64> =
        model.asked().iter().map(|asked| asked.at.duration_since(start).as_millis() as u64).collect();
    assert_eq!(times, [0, 500, 1500, 45_500]);
    let sent = model.asked().into_iter().map(|asked| (asked.request.model, asked.request.temperature));
    assert!(sent.into_iter().all(|sent| sent == ("model-a".to_owned(), Some(0.2))));
}

#[tokio::test(start_paused = true)]
async fn the_notice_comes_before_the_wait() {
    let model = Scripted::new(vec![busy(), Attempt::text("hello")]);
    let start = Instant::now();
    let mut stream = chain(&[&model]).stream(&ask()).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::Retry(_)))));
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::Chunk(_)))));
    assert_eq!(start.elapsed(), Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_attempt_has_shown_is_withdrawn() {
    let model = Scripted::new(vec![
        Attempt::text("Hel").then_fail(error(LlmErrorKind::Network)),
        busy(),
        Attempt::text("Hello"),
    ]);
    let expected = [
        "Hel",
        "retry 1/10 after 500ms: it is network, withdrawn",
        "retry 2/10 after 1s: it is rate_limit",
        "Hello",
    ];
    assert_eq!(story(&chain(&[&model])).await, expected);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_bounded() {
    let model = Scripted::new(vec![busy(); 10]);
    let lines = story(&chain(&[&model])).await;
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[9], "error: it is rate_limit, 10 attempts, a/model-a");
    assert_eq!(model.asked().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_over_the_whole_chain() {
    let models = [(); 3].map(|()| Scripted::new(vec![busy(); 10]));
    let chain = chain(&[&models[0], &models[1], &models[2]]);
    let lines = story(&chain).await;
    assert_eq!(models.each_ref().map(|model| model.asked().len()), [3, 3, 4]);
    assert_eq!(lines.last().unwrap(), "error: it is rate_limit, 10 attempts, c/model-c");
}

#[tokio::test(start_paused = true)]
async fn with_few_attempts_every_model_still_gets_one() {
    let models = [(); 3].map(|()| Scripted::new(vec![busy(); 10]));
    let few = GenerateRequest { max_attempts: Some(4), ..ask() };
    let error = chain(&[&models[0], &models[1], &models[2]]).generate(&few).await.unwrap_err();
    assert_eq!(models.each_ref().map(|model| model.asked().len()), [2, 1, 1]);
    assert_eq!(error.detail.attempts, 4);
}

#[tokio::test(start_paused = true)]
async fn wrong_requests_and_refusals_end_at_once_and_never_go_elsewhere() {
    use LlmErrorKind::*;
    for kind in [InvalidRequest, Auth, Permission, NotFound, Blocked, ContextOverflow, Config] {
        let (first, second) =
            (Scripted::new(vec![Attempt::refuse(error(kind))]), Scripted::new([] as [Attempt; 0]));
        let lines = story(&chain(&[&first, &second])).await;
        assert_eq!(lines, [format!("error: it is {}, 1 attempts, a/model-a", kind.name())]);
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_answers_are_asked_for_again_with_temperature_one_and_a_bound() {
    let invalid = || Attempt::text("…").then_fail(error(LlmErrorKind::InvalidStream));
    let model = Scripted::new(vec![invalid(), invalid(), invalid()]);
    let expected = [
        "…",
        "retry 1/3 after 500ms: it is invalid_stream, withdrawn",
        "…",
        "retry 2/3 after 1s: it is invalid_stream, withdrawn",
        "…",
        "error: it is invalid_stream, 3 attempts, a/model-a",
    ];
    assert_eq!(story(&chain(&[&model])).await, expected);
    let temperatures: Vec<_> = model.asked().iter().map(|asked| asked.request.temperature).collect();
    assert_eq!(temperatures, [Some(0.2), Some(1.0), Some(1.0)]);
}

#[tokio::test(start_paused = true)]
async fn the_notice_tells_how_many_attempts_there_will_be() {
    use LlmErrorKind::*;
    let silent = |code: &str| {
        let mut error = error(Network);
        error.detail.code = Some(code.to_owned());
        error
    };
    let rows: [(&[LlmError], bool, &[&str]); 6] = [
        (&[error(RateLimit)], false, &["1/10"]),
        (&[error(RateLimit)], true, &["1/3"]),
        (&[error(InvalidStream), error(InvalidStream)], false, &["1/3", "2/3"]),
        (&[error(Server), error(InvalidStream)], false, &["1/10", "2/4"]),
        (&[error(Timeout)], false, &["1/3"]),
        (&[silent("unreachable")], false, &["1/3"]),
    ];
    for (failures, has_next, expected) in rows {
        let attempts = failures.iter().cloned().map(Attempt::refuse).chain([Attempt::text("done")]);
        let (first, second) =
            (Scripted::new(attempts.collect::<Vec<_>>()), Scripted::new([] as [Attempt; 0]));
        let models: &[&Arc<Scripted>] = if has_next { &[&first, &second] } else { &[&first] };
        let lines = story(&chain(models)).await;
        let told: Vec<&str> =
            lines.iter().filter_map(|line| line.strip_prefix("retry ")?.split(' ').next()).collect();
        assert_eq!(told, expected, "{failures:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_local_server_that_does_not_run_is_not_waited_for() {
    let mut failure = error(LlmErrorKind::Network);
    failure.detail.code = Some(crate::net::NOT_RUNNING.to_owned());
    let start = Instant::now();
    let alone = Scripted::new(vec![Attempt::refuse(failure.clone())]);
    assert_eq!(story(&chain(&[&alone])).await, ["error: it is network, 1 attempts, a/model-a"]);
    let (first, second) =
        (Scripted::new(vec![Attempt::refuse(failure)]), Scripted::new(vec![Attempt::text("two")]));
    assert_eq!(story(&chain(&[&first, &second])).await.last().unwrap(), "two");
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_keeps_failing_is_left_and_comes_back_after_its_cooldown() {
    let first = Scripted::new(vec![
        busy(),
        busy(),
        Attempt::text("He").then_fail(error(LlmErrorKind::Server)),
        Attempt::text("one"),
    ]);
    let second = Scripted::new(vec![Attempt::text("two"), Attempt::text("two again")]);
    let chain = chain(&[&first, &second]);
    let expected = [
        "retry 1/3 after 500ms: it is rate_limit",
        "retry 2/3 after 1s: it is rate_limit",
        "He",
        "retry 3/10 after 0ns: it is server, withdrawn",
        "a/model-a -> b/model-b: it is server",
        "two",
    ];
    assert_eq!(story(&chain).await, expected);
    assert_eq!(second.asked()[0].request.model, "model-b");
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(story(&chain).await, ["a/model-a -> b/model-b: it is server", "two again"]);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(story(&chain).await, ["one"]);
}

#[tokio::test(start_paused = true)]
async fn a_spent_quota_or_a_long_wait_goes_to_the_next_model_at_once() {
    for (failure, rest) in [(error(LlmErrorKind::Quota), 60), (named(LlmErrorKind::RateLimit, 301), 301)] {
        let first = Scripted::new(vec![Attempt::refuse(failure), Attempt::text("one")]);
        let second = Scripted::new(vec![Attempt::text("two"), Attempt::text("two")]);
        let chain = chain(&[&first, &second]);
        assert_eq!(story(&chain).await.last().unwrap(), "two");
        tokio::time::advance(Duration::from_secs(rest - 1)).await;
        assert_eq!(story(&chain).await.last().unwrap(), "two");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(story(&chain).await, ["one"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_does_not_go_back_to_a_model_it_has_left() {
    let first = Scripted::new(vec![Attempt::refuse(named(LlmErrorKind::Quota, 1))]);
    let second = Scripted::new(vec![busy(); 9]);
    let lines = story(&chain(&[&first, &second])).await;
    assert_eq!(lines.last().unwrap(), "error: it is rate_limit, 10 attempts, b/model-b");
    assert_eq!(first.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_ends_it_when_nobody_else_is_there() {
    let model = Scripted::new(vec![Attempt::refuse(named(LlmErrorKind::RateLimit, 3600))]);
    let mut stream = chain(&[&model]).stream(&ask()).await.unwrap();
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.hint(), Some(Hint::LongWait { minutes: 60 }));
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn when_all_rest_the_one_that_is_back_first_is_asked() {
    let first = Scripted::new(vec![Attempt::refuse(named(LlmErrorKind::Quota, 500))]);
    let second = Scripted::new(vec![Attempt::refuse(named(LlmErrorKind::Quota, 100)), Attempt::text("two")]);
    let third = Scripted::new(vec![Attempt::refuse(error(LlmErrorKind::Quota)), Attempt::text("three")]);
    let chain = chain(&[&first, &second, &third]);
    assert!(story(&chain).await.last().unwrap().starts_with("error: it is quota, 3 attempts, c/"));
    // The last one was not left for another, so it does not rest.
    assert_eq!(story(&chain).await.last().unwrap(), "three");
    tokio::time::advance(Duration::from_secs(100)).await;
    assert_eq!(story(&chain).await, ["a/model-a -> b/model-b: it is quota", "two"]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_ends_the_attempt_and_the_wait() {
    let model = Scripted::new(vec![Attempt::text("Hel").then_hang(), busy()]);
    let chain = chain(&[&model]);
    let mut stream = chain.stream(&ask()).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::Chunk(_)))));
    assert_eq!(model.open_streams(), 1);
    drop(stream);
    assert_eq!(model.open_streams(), 0);

    let mut stream = chain.stream(&ask()).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::Retry(_)))));
    let waiting = tokio::time::timeout(Duration::from_millis(100), stream.next()).await;
    assert!(waiting.is_err());
    drop(stream);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_is_closed_before_the_wait() {
    let model = Scripted::new(vec![
        Attempt::text("Hel").then_fail(error(LlmErrorKind::Network)),
        Attempt::text("Hello"),
    ]);
    let mut stream = chain(&[&model]).stream(&ask()).await.unwrap();
    stream.next().await;
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::Retry(_)))));
    assert_eq!(model.open_streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn whole_answers_go_the_same_way() {
    let first = Scripted::new(vec![busy(); 3]);
    let second = Scripted::new(vec![busy(), Attempt::text("two")]);
    let start = Instant::now();
    let answer = chain(&[&first, &second]).generate(&ask()).await.unwrap();
    assert_eq!(answer.text(), "two");
    assert_eq!(start.elapsed().as_millis(), 500 + 1000 + 500);
}

#[tokio::test(start_paused = true)]
async fn embeddings_are_tried_again_but_never_by_another_model() {
    let first = Scripted::new(vec![busy(); 10]);
    let second = Scripted::new([] as [Attempt; 0]);
    let error = chain(&[&first, &second]).embed(&EmbedRequest::default()).await.unwrap_err();
    assert_eq!(error.detail.attempts, 10);
    assert!(second.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn tokens_are_counted_by_the_model_that_would_answer() {
    let count = chain(&[&Scripted::new([] as [Attempt; 0])]).count_tokens(&ask()).await.unwrap();
    assert_eq!(count.total_tokens, "model-a".len() as u64);
}

#[tokio::test(start_paused = true)]
async fn an_empty_chain_is_an_error_and_no_panic() {
    assert_eq!(story(&chain(&[])).await, ["error: no model is configured, 0 attempts, "]);
    assert_eq!(chain(&[]).generate(&ask()).await.unwrap_err().kind, LlmErrorKind::Config);
}

#[test]
fn jitter_is_a_number_from_zero_to_one() {
    let numbers: Vec<f64> = (0..100).map(|_| random_unit()).collect();
    assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
    assert!(numbers.iter().any(|number| *number < 0.5) && numbers.iter().any(|number| *number >= 0.5));
}
