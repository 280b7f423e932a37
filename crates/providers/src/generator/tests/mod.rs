//! The driver against a real socket on loopback.

use std::sync::Arc;

use charla_proto::{
    Candidate, Content, EmbedRequest, FinishReason, GenerateRequest, GenerateResponse, Origin, Part, Role,
    WireKind,
};
use futures_util::StreamExt;

use super::*;
use crate::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks};
use crate::net::{NetworkOptions, Proxy};

mod faults;
mod fixture;
mod joining;
mod reach;

use fixture::*;

#[tokio::test]
async fn a_streamed_answer_comes_in_order_and_is_signed_with_its_origin() {
    let server = Server::start().await;
    let generator = server.generator();
    let (events, request) = tokio::join!(collect(&generator), async {
        let mut connection = server.accept().await;
        let request = connection.request().await;
        connection.head("200 OK", "content-type: text/event-stream").await;
        connection.chunk(&text("Hel")).await;
        connection.chunk(&text("lo")).await;
        connection.chunk(&finish()).await;
        connection.end().await;
        request
    });
    let chunks = events.unwrap();
    let said: String = chunks.iter().map(GenerateResponse::text).collect();
    assert_eq!(said, "Hello");
    let origin = Origin { provider: "fake".into(), wire: WireKind::OpenaiChat, model: "m".into() };
    assert_eq!(chunks[0].content().unwrap().origin.as_deref(), Some(&origin));

    assert!(request.starts_with("POST /v1/ask?alt=sse HTTP/1.1\r\n"), "{request}");
    for header in [
        "authorization: Bearer sk-secret",
        "accept: text/event-stream",
        "content-type: application/json",
        "accept-encoding: gzip",
        "x-team: blue",
        "x-wire: fake",
    ] {
        assert!(request.contains(&format!("\r\n{header}\r\n")), "no {header} in {request}");
    }
    assert!(request.ends_with("\r\n\r\n\"hi\""), "{request}");
}

#[tokio::test]
async fn a_whole_answer_is_judged_like_a_streamed_one() {
    let server = Server::start().await;
    let generator = server.generator();
    let request = ask();
    let (answer, _) =
        tokio::join!(generator.generate(&request), server.answer("200 OK", "", answer_json("Hello")));
    let answer = answer.unwrap();
    assert_eq!(answer.text(), "Hello");
    assert!(answer.content().unwrap().origin.is_some());

    let (answer, _) =
        tokio::join!(generator.generate(&request), server.answer("200 OK", "", answer_json("  ")));
    let error = answer.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (LlmErrorKind::InvalidStream, "the answer is empty"));
}

#[tokio::test]
async fn an_end_the_wire_tells_is_enough_when_the_server_keeps_the_connection_open() {
    let server = Server::start().await;
    let generator = server.generator();
    let (chunks, _connection) = tokio::join!(collect(&generator), async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.head("200 OK", "").await;
        connection.chunk(&(text("hi") + &finish() + "data: [DONE]\n\n")).await;
        connection
    });
    assert_eq!(chunks.unwrap().len(), 2);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::start().await;
    let generator = server.generator();
    let (_, _) = tokio::join!(
        async {
            collect(&generator).await.unwrap();
            collect(&generator).await.unwrap();
        },
        async {
            let mut connection = server.accept().await;
            for _ in 0..2 {
                connection.request().await;
                connection.head("200 OK", "").await;
                connection.chunk(&(text("hi") + &finish() + "data: [DONE]\n\n")).await;
                connection.end().await;
            }
        }
    );
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = Server::start().await;
    let generator = server.generator();
    let request = ask();
    let (stream, mut connection) = tokio::join!(generator.stream(&request), async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.head("200 OK", "").await;
        connection.chunk(&text("Hel")).await;
        connection
    });
    let mut stream = stream.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    drop(stream);
    assert!(connection.is_closed().await);
}

#[tokio::test]
async fn a_refused_token_is_fetched_anew_once() {
    #[derive(Default)]
    struct Source(Mutex<u32>);
    impl TokenSource for Source {
        fn token(&self) -> BoxFuture<'_, Result<SecretString, LlmError>> {
            let number = *self.0.lock().unwrap();
            Box::pin(async move { Ok(format!("token-{number}").into()) })
        }
        fn invalidate(&self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let server = Server::start().await;
    let generator = server.generator_with(Credential::Source(Arc::new(Source::default())), fast());
    let request = ask();
    let (answer, requests) = tokio::join!(generator.generate(&request), async {
        let first = server.answer("401 Unauthorized", "", "expired").await;
        let second = server.answer("200 OK", "", answer_json("hi")).await;
        [first, second]
    });
    assert_eq!(answer.unwrap().text(), "hi");
    assert!(requests[0].contains("authorization: Bearer token-0\r\n"));
    assert!(requests[1].contains("authorization: Bearer token-1\r\n"));

    let (answer, _) = tokio::join!(generator.generate(&request), async {
        server.answer("401 Unauthorized", "", "expired").await;
        server.answer("401 Unauthorized", "", "expired").await;
    });
    assert_eq!(answer.unwrap_err().kind, LlmErrorKind::Auth);
}

#[tokio::test]
async fn tokens_are_counted_by_the_server_or_else_estimated() {
    let server = Server::start().await;
    let generator = server.generator();
    let request = ask();
    let (count, sent) = tokio::join!(generator.count_tokens(&request), server.answer("200 OK", "", "17"));
    assert_eq!(count.unwrap(), TokenCount { total_tokens: 17, exact: true });
    assert!(sent.starts_with("POST /v1/count "));
    let (count, _) = tokio::join!(generator.count_tokens(&request), server.answer("404 Not Found", "", "no"));
    assert!(!count.unwrap().exact);

    let mut target = server.target();
    Arc::make_mut(&mut target.endpoint).quirks.no_count_tokens = true;
    let client = Client::new(fast()).unwrap();
    let generator = Generator::new(target, Credential::None, client).with_wire(&FakeWire);
    assert!(!generator.count_tokens(&request).await.unwrap().exact);
}

#[tokio::test]
async fn embeddings_a_wire_does_not_have_are_told_so() {
    let server = Server::start().await;
    let error = server.generator().embed(&EmbedRequest::default()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::NotSupported);
    assert_eq!(error.detail.model.as_deref(), Some("fake/m"));
}
