use serde_json::json;

use super::*;
use crate::endpoint::ReasoningReplay;

fn error(quirks: Quirks, status: u16, body: &str) -> LlmError {
    OpenaiChat.error(&target(quirks), status, &HeaderMap::new(), body.as_bytes())
}

fn message(status: u16, body: &Value) -> String {
    error(Quirks::default(), status, &body.to_string()).message
}

#[test]
fn every_envelope_gives_its_words() {
    let problems = json!([{"loc": ["body", "messages", 0], "msg": "field required"}, {"msg": "too short"}]);
    let listed = "body.messages.0: field required; too short";
    for (body, words) in [
        (json!({"error": {"message": "nested"}}), "nested"),
        (json!({"error": "plain"}), "plain"),
        (json!({"message": "top"}), "top"),
        (json!({"object": "error", "message": {"detail": problems}}), listed),
        (json!({"detail": "Not Found"}), "Not Found"),
        (json!({"detail": problems}), listed),
        (json!([{"error": {"message": "in a list"}}]), "in a list"),
        (json!({"success": false, "errors": [{"code": 7, "message": "of several"}]}), "of several"),
        (json!({"error": {"code": 1}, "message": "beside"}), "beside"),
        (json!("bare"), "bare"),
    ] {
        assert_eq!(message(400, &body), words, "{body}");
    }
    let silent = "the server answered with status 500 and no explanation";
    for body in [json!({}), json!(null), json!({"error": {}}), json!([])] {
        assert_eq!(message(500, &body), silent, "{body}");
    }
}

#[test]
fn codes_may_be_text_number_or_null() {
    let code = |code: Value| {
        let body = json!({"error": {"message": "x", "code": code, "type": "kind"}}).to_string();
        let error = error(Quirks::default(), 400, &body);
        assert_eq!(error.detail.vendor_type.as_deref(), Some("kind"));
        error.detail.code
    };
    assert_eq!(code(json!("bad")).as_deref(), Some("bad"));
    assert_eq!(code(json!(400)).as_deref(), Some("400"));
    assert_eq!(code(Value::Null), None);
}

#[test]
fn the_words_of_the_server_behind_a_gateway_are_the_hint_and_tell_the_kind() {
    let raw = json!({"error": {"message": "maximum context length is 8192 tokens"}}).to_string();
    let body =
        json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}});
    let error = error(Quirks::default(), 400, &body.to_string());
    assert_eq!(error.message, "Provider returned error");
    assert_eq!(error.kind, LlmErrorKind::ContextOverflow);
    assert_eq!(error.hint(), Some("the upstream server said: maximum context length is 8192 tokens".into()));
}

#[test]
fn a_web_page_is_told_by_its_title_and_never_dumped() {
    let page = "<!DOCTYPE html><html><head><TITLE>502 Bad\n Gateway</TITLE></head><body>…</body></html>";
    let error_of = |status, page: &str| error(Quirks::default(), status, page);
    let error = error_of(502, page);
    assert_eq!(error.message, "the server answered with a web page instead of JSON: 502 Bad Gateway");
    assert_eq!(error.kind, LlmErrorKind::Server);
    let nameless = error_of(503, "<p>down</p>");
    assert_eq!(nameless.message, "the server answered with a web page instead of JSON");
    assert_eq!(error_of(500, "upstream\n  gone").message, "upstream gone");
    assert!(error_of(500, &"x".repeat(5000)).message.len() <= 300);
    let long = json!({"error": {"message": "y".repeat(5000)}}).to_string();
    assert!(error_of(500, &long).message.chars().count() <= 2001);
}

#[test]
fn client_mistakes_told_as_500_are_not_retried() {
    let quirks = || Quirks { client_errors_as_500: true, ..Quirks::default() };
    let body =
        json!({"error": {"message": "Cannot use both json_schema and grammar", "code": 500}}).to_string();
    let wrong = error(quirks(), 500, &body);
    assert_eq!((wrong.kind, wrong.detail.status), (LlmErrorKind::InvalidRequest, Some(500)));
    assert_eq!(error(Quirks::default(), 500, &body).kind, LlmErrorKind::Server);
    let body = json!({"error": {"message": "the prompt exceeds the context size", "code": 500}}).to_string();
    assert_eq!(error(quirks(), 500, &body).kind, LlmErrorKind::ContextOverflow);
    let loading = json!({"error": {"message": "Loading model", "code": 503}}).to_string();
    assert_eq!(error(quirks(), 503, &loading).kind, LlmErrorKind::Overloaded);
}

#[test]
fn a_client_mistake_told_as_500_is_known_by_the_servers_name_and_by_its_words() {
    let broken = json!({"error": {"message": "it broke", "code": 500}}).to_string();
    let mut headers = HeaderMap::new();
    headers.insert("server", "llama.cpp".parse().unwrap());
    let named = OpenaiChat.error(&plain(), 500, &headers, broken.as_bytes());
    assert_eq!((named.kind, named.detail.status), (LlmErrorKind::InvalidRequest, Some(500)));
    let invalid =
        json!({"error": {"message": "7 validation errors:\n  {'type': 'string_type'}"}}).to_string();
    assert_eq!(error(Quirks::default(), 500, &invalid).kind, LlmErrorKind::InvalidRequest);
    assert_eq!(error(Quirks::default(), 502, &invalid).kind, LlmErrorKind::Server);
    assert_eq!(error(Quirks::default(), 500, &broken).kind, LlmErrorKind::Server);
}

#[test]
fn a_server_that_misses_thoughts_teaches_to_send_them() {
    let learned = |words: &str, quirks: &Quirks| {
        let body = json!({"error": {"message": words, "type": "invalid_request_error"}}).to_string();
        OpenaiChat.learn(quirks, &error(Quirks::default(), 400, &body))
    };
    let insisting = Quirks { reasoning_replay: ReasoningReplay::ToolCalls, ..Quirks::default() };
    for words in [
        "Missing `reasoning_content` field in the assistant message at message index 2.",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3",
    ] {
        assert_eq!(learned(words, &Quirks::default()), Some(insisting.clone()), "{words}");
        assert_eq!(learned(words, &insisting), None, "it was sent already");
    }
    for words in ["property 'reasoning_content' is unsupported", "a parameter is missing"] {
        assert_eq!(learned(words, &Quirks::default()), None, "{words}");
    }
}

#[test]
fn a_filter_blocks_and_a_refused_call_may_be_tried_again() {
    let kind = |code: &str| {
        let body = json!({"error": {"message": "x", "code": code}}).to_string();
        error(Quirks::default(), 400, &body).kind
    };
    assert_eq!(kind("content_filter"), LlmErrorKind::Blocked);
    assert_eq!(kind("tool_use_failed"), LlmErrorKind::InvalidStream);
}

#[test]
fn an_error_in_a_stream_keeps_what_came_before_it() {
    let text = r#"{"choices":[{"delta":{"content":"so far"}}]}"#;
    for failure in [
        r#"{"error":{"message":"gone","code":429}}"#,
        r#"{"object":"error","message":"gone","code":429}"#,
        r#"{"detail":"gone","status":429}"#,
    ] {
        let (answer, error) = stream(&[text, failure]);
        let error = error.unwrap();
        assert_eq!(answer.text(), "so far", "{failure}");
        assert_eq!((error.message.as_str(), error.kind), ("gone", LlmErrorKind::RateLimit), "{failure}");
        assert!(error.detail.in_stream && error.detail.status.is_none());
    }
}

#[test]
fn an_error_beside_choices_waits_for_usage_and_the_end() {
    let (answer, error) = stream(&[
        r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}],"error":{"message":"limit"}}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
        "[DONE]",
    ]);
    assert_eq!(error.unwrap().message, "limit");
    assert_eq!(answer.usage_metadata.unwrap().total_token_count, Some(3));
    let (_, error) = stream(&[r#"{"choices":[{"delta":{},"error":{"message":"inside"}}]}"#]);
    assert_eq!(error.unwrap().message, "inside");
}

#[test]
fn an_event_named_error_is_one_whatever_it_holds() {
    let mut decoder = OpenaiChat.decoder(&plain());
    let failed = decoder.event(Some("error"), "out of memory", &mut Vec::new()).unwrap_err();
    assert_eq!(failed.message, "out of memory");
}

#[test]
fn a_document_without_choices_is_an_error() {
    let (_, error) = document(json!({"error": {"message": "filtered", "code": "content_filter"}}));
    assert_eq!(error.unwrap().kind, LlmErrorKind::Blocked);
    let (_, error) = document(json!({"object": "list", "data": []}));
    assert_eq!(error.unwrap().kind, LlmErrorKind::Protocol);
}

#[test]
fn zero_values_are_no_errors() {
    let (answer, error) =
        stream(&[r#"{"error":{},"message":"","choices":[{"delta":{"content":"fine"}}]}"#, "[DONE]"]);
    assert_eq!((answer.text().as_str(), error), ("fine", None));
}

#[test]
fn minimax_tells_its_errors_beside_a_status_of_success() {
    use LlmErrorKind::*;
    for (code, words, kind) in [
        (1002, "rate limit", RateLimit),
        (1004, "login fail: Please carry the API secret key", Auth),
        (1008, "insufficient balance", Quota),
        (1027, "output new_sensitive", Blocked),
        (2013, "invalid params, context window exceeds limit (2013)", ContextOverflow),
        (2013, "invalid params, wrong tool name", InvalidRequest),
        (1000, "unknown error, 999", Server),
    ] {
        let told =
            json!({"id": "x", "choices": null, "base_resp": {"status_code": code, "status_msg": words}});
        for body in [told.to_string(), format!("data: {told}\n\n")] {
            let mut decoder = BodyDecoder::new(OpenaiChat.decoder(&plain()), 1 << 20);
            let mut chunks = Vec::new();
            let read = decoder.push(body.as_bytes(), &mut chunks).and_then(|()| decoder.end(&mut chunks));
            let error = read.unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (kind, words), "{body}");
        }
    }
}
