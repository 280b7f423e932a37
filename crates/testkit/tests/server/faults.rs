//! What goes wrong, and at which byte.

use std::io::{Read, Write};

use charla_proto::WireKind;
use charla_testkit::{Cut, Document, Failure, FailureKind, LineEnds, Reply, Script, Server, Step};
use serde_json::json;

use crate::client::{Answer, End, ask, connect, path, prompt, request, stream};

fn streamed(wire: WireKind, reply: Reply) -> Answer {
    stream(&Server::start(Script::always(reply)).unwrap(), wire)
}

fn whole(wire: WireKind, reply: impl Into<Reply>) -> Answer {
    let server = Server::start(Script::always(reply)).unwrap();
    ask(&server, wire, &prompt(wire, "hi", false))
}

#[test]
fn statuses_and_words_are_the_vendors() {
    let table = [
        (
            FailureKind::BadRequest,
            [400; 4],
            ["INVALID_ARGUMENT", "invalid_request_error", "invalid_request_error", "invalid_request_error"],
        ),
        (
            FailureKind::Auth,
            [400, 401, 401, 401],
            ["API_KEY_INVALID", "invalid_api_key", "invalid_api_key", "authentication_error"],
        ),
        (
            FailureKind::Permission,
            [403; 4],
            ["PERMISSION_DENIED", "forbidden", "forbidden", "permission_error"],
        ),
        (
            FailureKind::NotFound,
            [404, 404, 400, 404],
            ["NOT_FOUND", "model_not_found", "model_not_found", "not_found_error"],
        ),
        (FailureKind::TooLarge, [413; 4], ["exceeds", "exceeds", "exceeds", "request_too_large"]),
        (
            FailureKind::ContextOverflow,
            [400; 4],
            [
                "exceeds the maximum number of tokens",
                "context_length_exceeded",
                "context window",
                "prompt is too long",
            ],
        ),
        (
            FailureKind::RateLimit,
            [429; 4],
            ["RESOURCE_EXHAUSTED", "rate_limit_exceeded", "rate_limit_exceeded", "rate_limit_error"],
        ),
        (FailureKind::Quota, [429; 4], ["PerDay", "insufficient_quota", "insufficient_quota", "billing"]),
        (FailureKind::Server, [500; 4], ["INTERNAL", "server_error", "server_error", "api_error"]),
        (FailureKind::BadGateway, [502; 4], ["<html>"; 4]),
        (FailureKind::Unavailable, [503; 4], ["UNAVAILABLE", "unavailable", "unavailable", "unavailable"]),
        (
            FailureKind::Overloaded,
            [503, 503, 503, 529],
            ["overloaded", "overloaded", "overloaded", "overloaded_error"],
        ),
    ];
    for (kind, statuses, words) in table {
        for (at, wire) in WireKind::ALL.into_iter().enumerate() {
            let answer = whole(wire, Failure::new(kind));
            assert_eq!(answer.status, statuses[at], "{kind:?} on {wire:?}");
            assert!(answer.text().contains(words[at]), "{kind:?} on {wire:?}: {}", answer.text());
        }
    }
}

#[test]
fn a_wait_is_named_in_headers_details_and_words() {
    let failure =
        Failure::rate_limit().retry_after("2").retry_after_ms(1500).retry_info("1.5s").retry_words("1.5s");
    for wire in WireKind::ALL {
        let answer = whole(wire, failure.clone());
        assert!(answer.head.contains("retry-after: 2\r\n"), "{}", answer.head);
        assert!(answer.head.contains("retry-after-ms: 1500"), "{}", answer.head);
        assert!(answer.text().contains("Please retry in 1.5s."));
        assert_eq!(answer.text().contains("\"retryDelay\":\"1.5s\""), wire == WireKind::Gemini);
    }
    let custom = Failure::rate_limit().status(418).header("x-odd", "1").body("{}").message("unused");
    let answer = whole(WireKind::Gemini, custom);
    assert_eq!((answer.status, answer.text().as_str()), (418, "{}"));
    assert!(answer.head.contains("x-odd: 1"));
}

#[test]
fn a_stream_ends_cleanly_without_its_end() {
    for wire in WireKind::ALL {
        let answer = streamed(wire, Reply::from("begun").cut(Cut::Eof));
        assert!(answer.whole && answer.text().contains("begun"), "{wire:?}");
        for word in ["finishReason\":\"", "[DONE]", "response.completed", "message_stop"] {
            assert!(!answer.text().contains(word), "{wire:?}: {}", answer.text());
        }
    }
}

#[test]
fn a_stream_breaks_in_the_middle_of_a_chunk() {
    for wire in WireKind::ALL {
        let answer = streamed(wire, Reply::from("begun").cut(Cut::Abort));
        assert_eq!((answer.whole, answer.end), (false, End::Closed));
        assert!(answer.text().ends_with("data: {"), "{}", answer.text());
    }
}

#[test]
fn a_connection_is_reset() {
    for wire in WireKind::ALL {
        let answer = streamed(wire, Reply::from("begun").cut(Cut::Reset));
        assert_eq!((answer.whole, answer.end), (false, End::Reset), "{wire:?}");
    }
}

#[test]
fn a_connection_closes_before_the_first_byte() {
    let answer = streamed(WireKind::Gemini, Reply::new().cut(Cut::NoAnswer));
    assert_eq!((answer.status, answer.end), (0, End::Closed));
}

#[test]
fn a_whole_answer_breaks_off_in_the_middle() {
    for wire in WireKind::ALL {
        let answer = whole(wire, Reply::from("all of it").cut(Cut::Abort));
        assert!(!answer.whole && !answer.body.is_empty());
        assert!(serde_json::from_slice::<serde_json::Value>(&answer.body).is_err());
    }
}

#[test]
fn an_error_comes_inside_a_stream_in_the_wires_form() {
    let failure = Failure::new(FailureKind::Overloaded).message("too much");
    for wire in WireKind::ALL {
        let answer = streamed(wire, Reply::from("begun").stream_error(failure.clone()));
        assert_eq!(answer.status, 200);
        let text = answer.text();
        assert!(text.contains("too much"), "{text}");
        let form = match wire {
            WireKind::Gemini => "data: {\"error\":{\"code\":503",
            WireKind::OpenaiChat => "data: {\"error\":{\"message\"",
            WireKind::OpenaiResponses => "event: response.failed",
            WireKind::Anthropic => "event: error\ndata: {\"type\":\"error\"",
        };
        assert!(text.contains(form), "{text}");
    }
}

#[test]
fn broken_empty_and_giant_events_are_sent_as_told() {
    for wire in WireKind::ALL {
        let broken = streamed(wire, Reply::from("a").step(Step::Malformed).text("b")).text();
        assert!(broken.contains("data: {\"text\": \"bro"), "{broken}");
        let empty = streamed(wire, Reply::new().step(Step::Empty));
        assert!(empty.whole && empty.body.is_empty() && empty.status == 200);
        let giant = streamed(wire, Reply::new().step(Step::Giant(3_000_000)));
        assert!(giant.chunks.iter().any(|chunk| chunk.len() > 3_000_000));
        let broken = whole(wire, Reply::from("a").step(Step::Malformed));
        assert!(broken.whole && serde_json::from_slice::<serde_json::Value>(&broken.body).is_err());
    }
}

#[test]
fn bytes_are_framed_as_told() {
    let reply = |ends| {
        Reply::new()
            .step(Step::Bom)
            .step(Step::LineEnds(ends))
            .step(Step::Comment("wait".to_owned()))
            .text("Grüße")
    };
    for (ends, line_end) in [(LineEnds::Lf, "\n"), (LineEnds::Crlf, "\r\n"), (LineEnds::Cr, "\r")] {
        let text = streamed(WireKind::OpenaiChat, reply(ends)).text();
        assert!(text.starts_with("\u{feff}data: "), "{text:?}");
        assert!(text.contains(&format!(": wait{line_end}{line_end}data: ")), "{text:?}");
        assert!(text.ends_with(&format!("[DONE]{line_end}{line_end}")), "{text:?}");
    }
    let raw =
        streamed(WireKind::Gemini, Reply::new().step(Step::Raw("retry: 5\n\n".to_owned())).text("x")).text();
    assert!(raw.starts_with("retry: 5\n\n"), "{raw:?}");
}

#[test]
fn characters_are_cut_across_writes() {
    let answer = streamed(WireKind::Anthropic, Reply::new().step(Step::SplitCharacters).text("Grüße"));
    assert!(answer.chunks.iter().any(|chunk| std::str::from_utf8(chunk).is_err()));
    assert!(answer.text().contains("Grüße"));
}

#[test]
fn a_drip_sends_single_bytes() {
    let answer =
        streamed(WireKind::Gemini, Reply::new().step(Step::Drip { bytes: 1, delay: 0 }).text("你好"));
    assert!(answer.chunks.iter().all(|chunk| chunk.len() == 1));
    assert!(answer.text().contains("你好"));
}

#[test]
fn other_documents_and_redirects_take_the_place_of_an_answer() {
    let document =
        Document { status: 200, content_type: "text/html".to_owned(), body: "<p>Log in".to_owned() };
    let answer = streamed(WireKind::OpenaiChat, Reply::new().step(Step::Document(document)));
    assert_eq!((answer.status, answer.text().as_str()), (200, "<p>Log in"));
    assert!(answer.head.contains("content-type: text/html"));
    let answer = streamed(WireKind::OpenaiChat, Reply::new().step(Step::Redirect("/elsewhere".to_owned())));
    assert_eq!(answer.status, 307);
    assert!(answer.head.contains("location: /elsewhere"));
}

#[tokio::test]
async fn a_client_that_leaves_a_stalled_answer_is_noticed() {
    for (steps, wait_for) in [
        (Reply::from("begun").stall(), "begun"),
        (Reply::from("begun").delay(600_000).text("never"), "begun"),
        (Reply::new().step(Step::Hang), ""),
    ] {
        let server = Server::start(Script::always(steps)).unwrap();
        let mut stream = connect(&server);
        let body = prompt(WireKind::Anthropic, "hi", true);
        stream.write_all(&request(&path(WireKind::Anthropic, true), "", &body)).unwrap();
        server.wait_for_requests(1).await;
        let mut seen = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&seen).contains(wait_for) {
            assert_eq!(stream.read(&mut byte).unwrap(), 1);
            seen.push(byte[0]);
        }
        drop(stream);
        server.wait_for_disconnect().await;
    }
}

#[test]
fn arguments_break_off_where_told() {
    let call = charla_testkit::Call {
        name: "look".to_owned(),
        args: json!({}),
        raw_args: Some("{\"at\": \"ha".to_owned()),
        ..Default::default()
    };
    for wire in [WireKind::OpenaiChat, WireKind::OpenaiResponses, WireKind::Anthropic] {
        let reply = Reply::new().step(Step::Call(call.clone())).finish(charla_testkit::Finish::Length);
        assert!(streamed(wire, reply).text().contains(r#"{\"at\": \"ha"#), "{wire:?}");
    }
}
