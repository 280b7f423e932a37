use super::*;

fn read(status: u16, body: &str) -> LlmError {
    Anthropic.error(&target(), status, &HeaderMap::new(), body.as_bytes())
}

#[test]
fn the_envelope_is_read_with_and_without_a_request_id() {
    let body =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":null}"#;
    let error = read(529, body);
    assert_eq!((error.kind, error.message.as_str()), (LlmErrorKind::Overloaded, "Overloaded"));
    assert_eq!(error.detail.code.as_deref(), Some("overloaded_error"));
    assert_eq!(error.detail.request_id, None);
    assert!(!error.detail.in_stream);
    let error = read(404, r#"{"error":{"type":"not_found_error","message":"model: x"},"request_id":"r"}"#);
    assert_eq!((error.kind, error.detail.request_id.as_deref()), (LlmErrorKind::NotFound, Some("r")));
}

#[test]
fn the_kind_follows_the_type_where_the_status_says_less() {
    let kind = |status, word: &str, message: &str| {
        read(status, &json!({"type": "error", "error": {"type": word, "message": message}}).to_string()).kind
    };
    let invalid = "invalid_request_error";
    assert_eq!(kind(400, invalid, "prompt is too long: 9 > 8"), LlmErrorKind::ContextOverflow);
    assert_eq!(kind(400, invalid, "Your credit balance is too low"), LlmErrorKind::Quota);
    assert_eq!(kind(400, invalid, "max_tokens: required"), LlmErrorKind::InvalidRequest);
    assert_eq!(kind(413, "request_too_large", "Request too large"), LlmErrorKind::ContextOverflow);
    assert_eq!(kind(403, "permission_error", "no"), LlmErrorKind::Permission);
    assert_eq!(kind(500, "api_error", "Internal server error"), LlmErrorKind::Server);
    assert_eq!(kind(429, "rate_limit_error", "slow down"), LlmErrorKind::RateLimit);
}

#[test]
fn a_body_that_is_no_json_gives_a_short_message() {
    let page = format!("<html><head><TITLE>502 Bad\n Gateway</TITLE></head>{}</html>", "x".repeat(9000));
    assert_eq!(read(502, &page).message, "the server answered with a web page: 502 Bad Gateway");
    assert_eq!(read(502, "<p>sorry</p>").message, "the server answered with a web page");
    assert_eq!(read(503, "upstream\nis down").message, "upstream is down");
    assert_eq!(read(500, &"ü".repeat(5000)).message.chars().count(), 201);
    assert!(read(500, "").message.contains("500"));
}

#[test]
fn a_server_that_answers_mistakes_with_500_is_not_retried() {
    let quirks = Quirks { client_errors_as_500: true, ..Quirks::default() };
    let target = target_with(quirks, ModelRow::default());
    let error = Anthropic.error(&target, 500, &HeaderMap::new(), br#"{"error":"bad tool"}"#);
    assert_eq!((error.kind, error.message.as_str()), (LlmErrorKind::InvalidRequest, "bad tool"));
}
