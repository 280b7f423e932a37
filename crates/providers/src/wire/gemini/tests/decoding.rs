use charla_proto::{Assembler, FinishReason, GenerateResponse, LlmError, LlmErrorKind};

use super::*;
use crate::sse::DEFAULT_MAX_EVENT;
use crate::wire::BodyDecoder;

fn decode(body: &str) -> (GenerateResponse, Option<LlmError>) {
    let mut decoder = BodyDecoder::new(Gemini.decoder(&vertex()), DEFAULT_MAX_EVENT);
    let mut out = Vec::new();
    let error = decoder.push(body.as_bytes(), &mut out).and_then(|()| decoder.end(&mut out)).err();
    let mut assembler = Assembler::new();
    out.into_iter().for_each(|chunk| assembler.push(chunk));
    (assembler.finish(), error)
}

/// The answer that these chunks make.
fn streamed(chunks: &[Value]) -> GenerateResponse {
    let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect();
    let (answer, error) = decode(&body);
    assert_eq!(error, None);
    answer
}

fn chunk(parts: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({ "candidates": [candidate] })
}

#[test]
fn a_call_without_an_id_gets_one_and_a_null_argument_object_is_empty() {
    let answer = streamed(&[chunk(
        json!([{"functionCall": {"name": "a", "args": null}}, {"functionCall": {"name": "b", "id": "x"}}]),
        Some("STOP"),
    )]);
    let calls: Vec<_> = answer.function_calls().collect();
    assert!(calls[0].id.as_deref().unwrap().starts_with("charla_") && calls[0].args.is_empty());
    assert_eq!(calls[1].id.as_deref(), Some("x"));
}

#[test]
fn arguments_that_are_no_object_make_the_call_invalid() {
    let answer = streamed(&[chunk(json!([{"functionCall": {"name": "a", "args": [1]}}]), Some("STOP"))]);
    assert_eq!(answer.function_calls().next().unwrap().invalid.as_ref().unwrap().raw, "[1]");
}

#[test]
fn a_streamed_call_is_whole_unless_the_answer_broke_off() {
    let begin = chunk(
        json!([{"functionCall": {"name": "write", "willContinue": true}, "thoughtSignature": "sig"}]),
        None,
    );
    let piece = json!({"partialArgs": [{"jsonPath": "$.path", "stringValue": "x"}], "willContinue": true});
    let piece = chunk(json!([{"functionCall": piece}]), None);
    let stop = chunk(json!([{"text": ""}]), Some("STOP"));
    let cut = chunk(json!([]), Some("MAX_TOKENS"));
    let other = chunk(json!([{"functionCall": {"name": "next"}}]), Some("STOP"));
    let first = |chunks: &[Value]| {
        let answer = streamed(chunks);
        let part = answer.content().unwrap().parts[0].clone();
        assert_eq!(part.thought_signature.as_deref(), Some("sig"));
        part.as_function_call().unwrap().clone()
    };
    let (begin, piece) = (&begin, &piece);
    for ending in [stop, other] {
        let whole = first(&[begin.clone(), piece.clone(), ending]);
        assert_eq!((whole.invalid, Value::Object(whole.args)), (None, json!({"path": "x"})));
    }
    assert!(first(&[begin.clone(), piece.clone(), cut]).invalid.is_some());
    assert!(first(&[begin.clone(), piece.clone()]).invalid.is_some());
}

#[test]
fn several_finishes_keep_the_text_between_them() {
    let answer = streamed(&[
        chunk(json!([{"text": "one "}]), Some("STOP")),
        chunk(json!([{"text": "two"}]), Some("MODEL_ARMOR")),
    ]);
    assert_eq!(answer.text(), "one two");
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Safety));
    assert_eq!(answer.candidates[0].native_finish_reason.as_deref(), Some("MODEL_ARMOR"));
    let answer = streamed(&[chunk(json!([{"text": "x"}]), Some("BRAND_NEW"))]);
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Other("BRAND_NEW".to_owned())));
}

#[test]
fn candidates_are_kept_apart_and_a_missing_index_is_the_first() {
    let answer = streamed(&[json!({"candidates": [
        {"index": 1, "content": {"parts": [{"text": "b"}]}},
        {"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"},
    ]})]);
    let texts: Vec<String> = answer.candidates.iter().map(|c| c.content.as_ref().unwrap().text()).collect();
    assert_eq!(texts, ["a", "b"]);
}

#[test]
fn sources_become_citations_once_and_the_data_stays() {
    let grounding = json!({"groundingChunks": [
        {"web": {"uri": "https://a", "title": "A"}},
        {"retrievedContext": {"text": "words", "fileSearchStore": "s"}},
    ]});
    let mut one = chunk(json!([{"text": "x"}]), None);
    one["candidates"][0]["groundingMetadata"] = grounding.clone();
    let mut two = chunk(json!([]), Some("STOP"));
    two["candidates"][0]["groundingMetadata"] = grounding.clone();
    two["candidates"][0]["citationMetadata"] = json!({"citations": [{"uri": "https://b", "startIndex": 3}]});
    let candidate = streamed(&[one, two]).candidates.remove(0);
    let named: Vec<_> = candidate.citations.iter().map(|c| (c.title.as_deref(), c.uri.as_deref())).collect();
    assert_eq!(named, [(Some("A"), Some("https://a")), (Some("words"), None), (None, Some("https://b"))]);
    assert_eq!(candidate.citations[2].extra.get("startIndex"), Some(&json!(3)));
    assert_eq!(candidate.extra.get("groundingMetadata"), Some(&grounding));
}

#[test]
fn a_blocked_prompt_is_told_and_plain_feedback_is_not() {
    let answer = streamed(&[json!({"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []}})]);
    assert_eq!(answer.prompt_feedback.unwrap().block_reason.as_deref(), Some("SAFETY"));
    assert_eq!(streamed(&[json!({"promptFeedback": {"safetyRatings": []}})]).prompt_feedback, None);
}

#[test]
fn the_last_usage_with_figures_counts() {
    let answer = streamed(&[
        json!({"usageMetadata": {"promptTokenCount": 1, "trafficType": "ON_DEMAND"}, "responseId": "r"}),
        json!({"usageMetadata": {"promptTokenCount": 2, "thoughtsTokenCount": 3}, "modelVersion": "m"}),
        json!({"usageMetadata": {"trafficType": "ON_DEMAND"}}),
    ]);
    let usage = answer.usage_metadata.unwrap();
    assert_eq!((usage.prompt_token_count, usage.thoughts_token_count), (Some(2), Some(3)));
    assert_eq!((answer.response_id.as_deref(), answer.model_version.as_deref()), (Some("r"), Some("m")));
}

#[test]
fn json_arrays_and_nulls_are_read_too() {
    let (answer, error) = decode(
        r#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},
            {"candidates":[{"content":null,"finishReason":"STOP","index":null}],"usageMetadata":null}]"#,
    );
    assert_eq!(error, None);
    assert_eq!((answer.text(), answer.finish_reason()), ("a".to_owned(), Some(&FinishReason::Stop)));
}

#[test]
fn an_error_in_the_stream_ends_it_and_keeps_what_came() {
    let text = r#"data: {"candidates":[{"content":{"parts":[{"text":"half"}]}}]}"#;
    let event = r#"data: {"error":{"code":503,"message":"Overloaded.","status":"UNAVAILABLE"}}"#;
    let bare = r#"{"error":{"code":503,"message":"Overloaded.","status":"UNAVAILABLE"}}"#;
    for end in [event, bare] {
        let (answer, error) = decode(&format!("{text}\n\n{end}\n\n"));
        let error = error.unwrap();
        assert_eq!(answer.text(), "half");
        assert_eq!((error.kind, error.detail.status), (LlmErrorKind::Overloaded, None));
        assert_eq!((error.detail.in_stream, error.detail.code.as_deref()), (true, Some("UNAVAILABLE")));
    }
    let (_, error) = decode("data: {\"candidates\":[\n\n");
    assert_eq!(error.unwrap().kind, LlmErrorKind::Protocol);
}
