use std::time::Duration;

use charla_proto::{LlmError, LlmErrorKind};
use http::HeaderMap;

use super::*;

fn read(status: u16, body: &str) -> LlmError {
    Gemini.error(&vertex(), status, &HeaderMap::new(), body.as_bytes())
}

fn exhausted(details: Value) -> LlmError {
    let words = "You exceeded your current quota, please check your plan and billing details.";
    let error = json!({"code": 429, "message": words, "status": "RESOURCE_EXHAUSTED", "details": details});
    read(429, &json!([{ "error": error }]).to_string())
}

fn detail(name: &str, mut value: Value) -> Value {
    value["@type"] = json!(format!("type.googleapis.com/google.rpc.{name}"));
    value
}

#[test]
fn a_minute_limit_is_worth_waiting_for_and_a_daily_one_is_not() {
    let wait = detail("RetryInfo", json!({"retryDelay": "34.4s"}));
    let quota = |id: &str| detail("QuotaFailure", json!({"violations": [{"quotaId": id}]}));
    let minute = exhausted(json!([quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), wait]));
    assert_eq!(minute.kind, LlmErrorKind::RateLimit);
    assert_eq!(minute.detail.retry_after, Some(Duration::from_millis(34_400)));
    assert_eq!(minute.detail.code.as_deref(), Some("RESOURCE_EXHAUSTED"));
    let day = exhausted(json!([quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), wait]));
    assert_eq!(day.kind, LlmErrorKind::Quota);
    let nothing = detail("QuotaFailure", json!({"violations": [{"quotaId": "x", "quotaValue": "0"}]}));
    assert_eq!(exhausted(json!([nothing])).kind, LlmErrorKind::Quota);
    assert_eq!(exhausted(json!([wait])).kind, LlmErrorKind::RateLimit);
}

#[test]
fn a_wrong_key_is_told_by_its_reason() {
    let info = detail("ErrorInfo", json!({"reason": "API_KEY_INVALID"}));
    let error =
        json!({"error": {"code": 400, "message": "Bad.", "status": "INVALID_ARGUMENT", "details": [info]}});
    let error = read(400, &error.to_string());
    assert_eq!(error.kind, LlmErrorKind::Auth);
    assert_eq!(error.detail.vendor_type.as_deref(), Some("API_KEY_INVALID"));
}

#[test]
fn a_prompt_too_long_is_told_by_its_words() {
    let words = "The input token count (1048600) exceeds the maximum number of tokens allowed (1048575).";
    let error = read(400, &json!({"error": {"code": 400, "message": words}}).to_string());
    assert_eq!(error.kind, LlmErrorKind::ContextOverflow);
}

#[test]
fn bodies_of_no_known_form_become_short_messages() {
    let page = format!("<!DOCTYPE html><html><TITLE>502 Bad\n Gateway</TITLE>{}</html>", "x".repeat(5000));
    let error = read(502, &page);
    assert_eq!(error.kind, LlmErrorKind::Server);
    assert_eq!(error.message, "the server answered with a web page: 502 Bad Gateway");
    let hint = "check the base URL: it may point at a web page or at another kind of server";
    assert_eq!(read(404, "<html></html>").hint(), Some(hint.into()));
    assert_eq!(read(500, &"é ".repeat(5000)).message.chars().count(), 301);
    assert_eq!(read(503, "").message, "the server answered with status 503 and no explanation");
    let oauth = read(400, r#"{"error":"invalid_grant","error_description":"Token expired."}"#);
    assert_eq!(
        (oauth.message.as_str(), oauth.detail.code.as_deref()),
        ("Token expired.", Some("invalid_grant"))
    );
    assert_eq!(read(400, r#"{"detail":"odd"}"#).message, r#"{"detail":"odd"}"#);
    assert_eq!(read(500, "\u{ff}\u{fe}").kind, LlmErrorKind::Server);
}
