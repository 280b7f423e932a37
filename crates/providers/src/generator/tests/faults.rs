//! What servers and networks do wrong.

use std::time::Duration;

use super::*;

/// An error's advice that needs no front end to word it.
fn advice(error: &LlmError) -> String {
    match error.hint() {
        Some(Hint::Text { text }) => text,
        other => panic!("{other:?}"),
    }
}

/// The error of a stream whose server sends exactly these bytes and closes.
async fn after(bytes: &str) -> LlmError {
    after_with(fast(), bytes).await
}

async fn after_with(options: NetworkOptions, bytes: &str) -> LlmError {
    let server = Server::start().await;
    let generator = server.generator_with(Credential::None, options);
    let (chunks, ()) = tokio::join!(collect(&generator), async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.send(bytes).await;
    });
    let error = chunks.unwrap_err();
    assert_eq!(error.detail.model.as_deref(), Some("fake/m"), "{error:?}");
    error
}

#[tokio::test]
async fn a_body_cut_in_the_middle_is_a_broken_connection() {
    let words = text("Hel");
    let too_long = format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{words}");
    let no_terminator =
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{words}\r\n", words.len());
    for reply in [too_long, no_terminator] {
        let error = after(&reply).await;
        assert_eq!(error.kind, LlmErrorKind::Network, "{error}");
        assert!(error.detail.in_stream);
        assert!(error.message.contains("broke off in the middle of the answer: "), "{error}");
    }
}

#[tokio::test]
async fn a_break_after_the_wires_own_end_takes_nothing_away() {
    let server = Server::start().await;
    let generator = server.generator();
    let (chunks, ()) = tokio::join!(collect(&generator), async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.head("200 OK", "").await;
        connection.chunk(&(text("hi") + &finish() + "data: [DONE]\n\n")).await;
    });
    assert_eq!(chunks.unwrap().len(), 2);
}

#[tokio::test]
async fn garbage_after_the_wires_own_end_is_not_judged() {
    let server = Server::start().await;
    let generator = server.generator();
    let (chunks, ()) = tokio::join!(collect(&generator), async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.head("200 OK", "").await;
        connection.chunk(&(text("hi") + &finish() + "data: [DONE]\n\n")).await;
        connection.chunk("data: {broken\n\n").await;
        connection.end().await;
    });
    assert_eq!(chunks.unwrap().len(), 2);
}

#[tokio::test]
async fn a_stream_that_just_ends_is_an_answer_that_broke_off() {
    let error = after(&format!("HTTP/1.1 200 OK\r\n\r\n{}", text("Hel"))).await;
    assert_eq!(error.kind, LlmErrorKind::InvalidStream);
    assert!(error.message.contains("without a finish reason"), "{error}");
}

#[tokio::test]
async fn a_connection_closed_before_any_answer_is_told_with_the_host() {
    let error = after("").await;
    assert_eq!(error.kind, LlmErrorKind::Network);
    assert!(error.message.starts_with("the request to 127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn events_that_cannot_be_read_are_the_streams_fault() {
    let error = after("HTTP/1.1 200 OK\r\n\r\ndata: {broken\n\n").await;
    assert_eq!(error.kind, LlmErrorKind::Protocol);
    assert!(error.detail.in_stream);
}

#[tokio::test]
async fn a_giant_event_is_refused() {
    let options = NetworkOptions { max_event: 4096, ..fast() };
    let reply = format!("HTTP/1.1 200 OK\r\n\r\n{}", text(&"x".repeat(5000)));
    let error = after_with(options, &reply).await;
    assert_eq!(error.message, "the server sent one event larger than 4 KiB");
}

#[tokio::test]
async fn a_404_that_speaks_of_no_model_is_about_the_address() {
    for body in ["404 page not found", r#"{"detail":"Not Found"}"#] {
        let length = body.len();
        let error = after(&format!("HTTP/1.1 404 Not Found\r\ncontent-length: {length}\r\n\r\n{body}")).await;
        assert!(advice(&error).contains("it may lack a path such as /v1"), "{error:?}");
    }
    let body = r#"{"error":{"message":"no such model"}}"#;
    let length = body.len();
    let error = after(&format!("HTTP/1.1 404 Not Found\r\ncontent-length: {length}\r\n\r\n{body}")).await;
    assert_eq!(error.hint(), Some(Hint::CheckModelName));
}

#[tokio::test]
async fn a_web_page_is_no_answer() {
    let reply = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n\r\n<!doctype html>";
    let error = after(reply).await;
    assert_eq!(error.kind, LlmErrorKind::Protocol);
    assert!(!error.detail.in_stream);
    assert!(advice(&error).contains("check the base URL http://127.0.0.1:"), "{error:?}");
}

#[tokio::test]
async fn a_web_page_with_a_403_is_a_gateways() {
    let page = "<html><head><title>Attention Required! | Cloudflare</title></head></html>";
    let length = page.len();
    let head =
        format!("HTTP/1.1 403 Forbidden\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\r\n");
    let error = after(&(head + page)).await;
    assert_eq!(error.kind, LlmErrorKind::Permission);
    assert!(advice(&error).starts_with("a gateway or firewall before http://127.0.0.1:"), "{error:?}");
}

#[tokio::test]
async fn a_body_that_cannot_be_unpacked_is_told_as_such() {
    for status in ["200 OK", "400 Bad Request"] {
        let head = format!("HTTP/1.1 {status}\r\ncontent-encoding: br\r\ncontent-length: 3\r\n\r\n");
        let error = after(&(head + "\u{b}\u{2}x")).await;
        assert_eq!(error.kind, LlmErrorKind::Protocol);
        assert!(error.message.contains("compressed with br"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start().await;
    let location = format!("http://127.0.0.1:{}/v2", elsewhere.port());
    let reply =
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    // Somebody who follows finds nobody speaking there.
    let options = NetworkOptions { first_byte_timeout: Duration::from_millis(500), ..fast() };
    let error = after_with(options, &reply).await;
    assert_eq!((error.kind, error.detail.status), (LlmErrorKind::Config, Some(307)));
    assert!(error.message.contains(&location), "{error}");
}

#[tokio::test]
async fn an_error_status_is_read_by_the_wire() {
    let reply = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 9\r\n\r\nslow down";
    let error = after(reply).await;
    assert_eq!((error.kind, error.detail.status), (LlmErrorKind::RateLimit, Some(429)));
    assert_eq!(error.detail.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(error.message, "slow down");
}

#[tokio::test]
async fn an_error_body_that_is_cut_still_explains() {
    let error = after("HTTP/1.1 500 Oops\r\ncontent-length: 999\r\n\r\nthe disk is full").await;
    assert_eq!((error.kind, error.message.as_str()), (LlmErrorKind::Server, "the disk is full"));
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_after_the_first_byte_limit() {
    let limit = Duration::from_millis(300);
    for (sent, limit_of) in [("", "head"), ("HTTP/1.1 200 OK\r\n\r\n", "body")] {
        let server = Server::start().await;
        let options = NetworkOptions { first_byte_timeout: limit, ..fast() };
        let generator = server.generator_with(Credential::None, options);
        let (chunks, _connection) = tokio::join!(collect(&generator), async {
            let mut connection = server.accept().await;
            connection.request().await;
            connection.send(sent).await;
            connection
        });
        let error = chunks.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Timeout, "{limit_of}");
        assert!(error.message.ends_with("sent no answer within 300 ms"), "{error}");
    }
}

#[tokio::test]
async fn silence_in_the_middle_ends_the_stream_and_closes_the_connection() {
    let server = Server::start().await;
    let options = NetworkOptions { idle_timeout: Duration::from_millis(50), ..fast() };
    let generator = server.generator_with(Credential::None, options);
    let (chunks, mut connection) = tokio::join!(collect(&generator), async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.head("200 OK", "").await;
        connection.chunk(&text("Hel")).await;
        connection
    });
    let error = chunks.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Timeout);
    assert!(error.message.ends_with("sent nothing for 50 ms in the middle of the answer"), "{error}");
    assert!(connection.is_closed().await);
}
