use charla_proto::{Assembler, FinishReason};

use super::*;

fn decode(events: &[Value]) -> (GenerateResponse, Option<LlmError>) {
    let mut decoder = Anthropic.decoder(&target());
    let mut out = Vec::new();
    let mut error = None;
    for event in events {
        if let Err(e) = decoder.event(event["type"].as_str(), &event.to_string(), &mut out) {
            error = Some(e);
            break;
        }
    }
    if error.is_none() {
        error = decoder.end(&mut out).err();
    }
    let mut assembler = Assembler::new();
    out.into_iter().for_each(|chunk| assembler.push(chunk));
    (assembler.finish(), error)
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn parts(events: &[Value]) -> Vec<Part> {
    let (response, error) = decode(events);
    assert_eq!(error, None);
    response.content().map(|content| content.parts.clone()).unwrap_or_default()
}

#[test]
fn thinking_blocks_keep_their_borders_and_signatures() {
    let thinking = |index, text: &str, signature: &str| {
        [
            start(index, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(index, json!({"type": "thinking_delta", "thinking": text})),
            delta(index, json!({"type": "signature_delta", "signature": signature})),
            stop(index),
        ]
    };
    let events = [thinking(0, "one", "s1"), thinking(1, "", "s2"), thinking(2, "three", "")].concat();
    let expected = [("one", "s1"), ("", "s2"), ("three", "")];
    assert_eq!(parts(&events), expected.map(|(text, sig)| Part::thought(text).with_signature(sig)));
}

#[test]
fn a_call_comes_out_whole_or_marked_as_cut() {
    let tool = |input: Value| json!({"type": "tool_use", "id": "t", "name": "ls", "input": input});
    let piece = |text: &str| delta(0, json!({"type": "input_json_delta", "partial_json": text}));
    let call = |events: &[Value]| parts(events).remove(0).as_function_call().unwrap().clone();
    let whole = call(&[start(0, tool(json!({}))), piece(""), piece("{\"a\":"), piece("1}"), stop(0)]);
    assert_eq!((whole.args["a"].as_i64(), whole.invalid), (Some(1), None));
    let filled = call(&[start(0, tool(json!({"b": 2}))), stop(0)]);
    assert_eq!(filled.args["b"], 2);
    let empty = call(&[start(0, tool(json!({}))), piece(""), stop(0)]);
    assert!(empty.args.is_empty() && empty.invalid.is_none());
    let broken = call(&[start(0, tool(json!({}))), piece("{\"a\": \"x"), stop(0)]);
    assert_eq!(broken.invalid.unwrap().raw, "{\"a\": \"x");
    let never_begun = call(&[start(0, tool(json!({})))]);
    assert!(never_begun.invalid.is_some());
}

#[test]
fn blocks_of_the_provider_are_kept_as_they_came() {
    let events = [
        start(0, json!({"type": "mcp_tool_use", "id": "m", "name": "f", "input": {}, "server_name": "s"})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{\"q\":"})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "1}"})),
        stop(0),
        start(1, json!({"type": "compaction", "content": null})),
        delta(1, json!({"type": "compaction_delta", "content": "so "})),
        delta(1, json!({"type": "compaction_delta", "content": "far"})),
        stop(1),
    ];
    let used = json!({"type": "mcp_tool_use", "id": "m", "name": "f", "input": {"q": 1}, "server_name": "s"});
    let compacted = json!({"type": "compaction", "content": "so far"});
    assert_eq!(parts(&events), [Part::opaque(used), Part::opaque(compacted)]);
}

#[test]
fn usage_is_replaced_field_by_field_and_the_prompt_includes_the_cache() {
    let first = json!({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 5});
    let last =
        json!({"input_tokens": 20, "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 30}});
    let (response, _) = decode(&[
        json!({"type": "message_start", "message": {"id": "m", "model": "c", "usage": first}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}),
        json!({"type": "message_stop"}),
    ]);
    let usage = response.usage_metadata.unwrap();
    assert_eq!(usage.prompt_token_count, Some(125));
    assert_eq!((usage.candidates_token_count, usage.thoughts_token_count), (Some(20), Some(30)));
    assert_eq!((usage.cached_content_token_count, usage.cache_write_token_count), (Some(100), Some(5)));
    assert_eq!(response.response_id.as_deref(), Some("m"));
}

#[test]
fn stop_reasons_are_translated_and_kept() {
    let reasons = [
        ("end_turn", FinishReason::Stop),
        ("tool_use", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::MaxTokens),
        ("model_context_window_exceeded", FinishReason::Other("model_context_window_exceeded".to_owned())),
        ("refusal", FinishReason::Safety),
        ("pause_turn", FinishReason::Pause),
        ("new_reason", FinishReason::Other("new_reason".to_owned())),
    ];
    for (native, expected) in reasons {
        let details = json!({"type": "refusal", "explanation": "because"});
        let ended = json!({"stop_reason": native, "stop_details": details});
        let (response, _) = decode(&[json!({"type": "message_delta", "delta": ended})]);
        let candidate = &response.candidates[0];
        assert_eq!(candidate.finish_reason, Some(expected));
        assert_eq!(candidate.native_finish_reason.as_deref(), Some(native));
        assert_eq!(candidate.finish_message.as_deref(), Some("because"));
        assert_eq!(candidate.extra.get("stopDetails"), Some(&details));
    }
}

#[test]
fn an_error_event_ends_the_stream_after_what_came() {
    let (response, error) = decode(&[
        delta(0, json!({"type": "text_delta", "text": "half"})),
        start(1, json!({"type": "tool_use", "id": "t", "name": "ls", "input": {}})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "{\"a"})),
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ]);
    assert_eq!(response.text(), "half");
    assert!(response.function_calls().next().unwrap().invalid.is_some());
    let error = error.unwrap();
    assert_eq!(error.kind, LlmErrorKind::Overloaded);
    assert!(error.detail.in_stream);
}

#[test]
fn the_end_is_told_by_message_stop() {
    let mut decoder = Anthropic.decoder(&target());
    let mut out = Vec::new();
    decoder.event(None, r#"{"type":"ping"}"#, &mut out).unwrap();
    assert!(!decoder.is_done() && out.is_empty());
    decoder.event(None, r#"{"type":"message_stop"}"#, &mut out).unwrap();
    assert!(decoder.is_done());
}

#[test]
fn citations_are_kept_with_their_source() {
    let cited =
        json!({"type": "web_search_result_location", "url": "https://x.y", "title": "T", "cited_text": "c"});
    let (response, _) = decode(&[delta(0, json!({"type": "citations_delta", "citation": cited}))]);
    let citation = &response.candidates[0].citations[0];
    assert_eq!((citation.title.as_deref(), citation.uri.as_deref()), (Some("T"), Some("https://x.y")));
    assert_eq!(citation.extra.get("cited_text"), Some(&json!("c")));
}

#[test]
fn a_document_is_read_like_a_stream() {
    let mut decoder = Anthropic.decoder(&target());
    let mut out = Vec::new();
    let document = json!({
        "id": "m", "type": "message", "role": "assistant", "model": "c", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "let me look"},
            {"type": "tool_use", "id": "t", "name": "ls", "input": {"p": "."}},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    decoder.document(document, &mut out).unwrap();
    let content = out[0].content().unwrap();
    assert_eq!(content.parts[0], Part::thought("hm").with_signature("s"));
    assert_eq!(content.text(), "let me look");
    assert_eq!(content.function_calls().next().unwrap().args["p"], ".");
    assert!(decoder.document(json!({"hello": 1}), &mut out).is_err());
    let failed = json!({"type": "error", "error": {"type": "api_error", "message": "oops"}});
    assert_eq!(decoder.document(failed, &mut out).unwrap_err().message, "oops");
}

#[test]
fn events_of_any_shape_never_panic() {
    let shapes =
        [json!(null), json!(7), json!("x"), json!([]), json!({}), json!({"type": 3}), json!([{"type": []}])];
    let kinds = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
        "news",
    ];
    for kind in kinds {
        for key in ["message", "content_block", "delta", "usage", "index", "error"] {
            for shape in &shapes {
                let mut decoder = Anthropic.decoder(&target());
                let mut out = Vec::new();
                let mut event = json!({"type": kind});
                event[key] = shape.clone();
                // Whether it is an error does not matter here, only that it is one or the other.
                let _ = decoder.event(None, &event.to_string(), &mut out);
                let _ = decoder.document(event, &mut out);
                let _ = decoder.end(&mut out);
            }
        }
    }
    let mut decoder = Anthropic.decoder(&target());
    let mut out = Vec::new();
    assert!(decoder.event(None, r#"{"type":"news","delta":"a text"}"#, &mut out).is_ok());
    assert!(decoder.event(None, "", &mut out).is_ok());
    assert_eq!(decoder.event(None, "{\"type\":", &mut out).unwrap_err().kind, LlmErrorKind::Protocol);
    assert!(out.is_empty());
}
