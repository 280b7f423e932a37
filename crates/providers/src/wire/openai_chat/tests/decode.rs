use charla_proto::{FinishReason, FunctionCall, Part, PartKind};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A stream whose deltas' `tool_calls` are these, and which then ends with `finish`.
fn calls_of(deltas: &[Value], finish: Option<&str>) -> Vec<FunctionCall> {
    let chunk =
        |calls: &Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}).to_string();
    let mut events: Vec<String> = deltas.iter().map(chunk).collect();
    events.extend(finish.map(|word| json!({"choices": [{"delta": {}, "finish_reason": word}]}).to_string()));
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let (answer, error) = stream(&events);
    assert_eq!(error, None);
    answer.function_calls().cloned().collect()
}

fn names_and_args(calls: &[FunctionCall]) -> Vec<(&str, Value)> {
    calls.iter().map(|call| (call.name.as_str(), Value::Object(call.args.clone()))).collect()
}

#[test]
fn argument_deltas_are_put_together_by_index() {
    let calls = calls_of(
        &[
            json!([{"index": 3, "id": "a", "function": {"name": "ls", "arguments": ""}}]),
            json!([{"index": 7, "id": "b", "function": {"name": "cat", "arguments": null}}]),
            json!([{"index": 3, "id": "", "function": {"name": "", "arguments": "{\"p\""}}]),
            json!([{"index": 7, "function": {"arguments": "{\"q\":2}"}}, {"index": 3, "function": {"arguments": ":1}"}}]),
        ],
        Some("tool_calls"),
    );
    assert_eq!(names_and_args(&calls), [("ls", json!({"p": 1})), ("cat", json!({"q": 2}))]);
    assert_eq!((calls[0].id.as_deref(), calls[1].id.as_deref()), (Some("a"), Some("b")));
}

#[test]
fn deltas_without_index_follow_the_newest_call() {
    let calls = calls_of(
        &[
            json!([{"id": "a", "function": {"name": "ls", "arguments": "{"}}]),
            json!([{"function": {"arguments": "}"}}]),
            json!([{"function": {"name": "cat", "arguments": "{\"q\":"}}]),
            json!([{"id": null, "function": {"name": null, "arguments": "2}"}}]),
        ],
        None,
    );
    assert_eq!(names_and_args(&calls), [("ls", json!({})), ("cat", json!({"q": 2}))]);
    assert!(calls[1].id.as_deref().is_some_and(|id| id.starts_with("charla_")));
}

#[test]
fn an_index_used_again_with_another_id_is_another_call() {
    let whole = |id: &str| json!([{"index": 0, "id": id, "function": {"name": "ls", "arguments": "{}"}}]);
    assert_eq!(calls_of(&[whole("a"), whole("b")], Some("tool_calls")).len(), 2);
}

#[test]
fn repeated_ids_and_names_are_not_appended() {
    let piece = |text: &str| json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": text}}]);
    let calls = calls_of(&[piece("{\"p\""), piece(":1}")], Some("tool_calls"));
    assert_eq!(names_and_args(&calls), [("ls", json!({"p": 1}))]);
    assert_eq!(calls[0].id.as_deref(), Some("a"));
}

#[test]
fn arguments_given_as_an_object_count_as_their_json() {
    let calls = calls_of(&[json!([{"index": 0, "function": {"name": "ls", "arguments": {"p": 1}}}])], None);
    assert_eq!(names_and_args(&calls), [("ls", json!({"p": 1}))]);
}

#[test]
fn cut_arguments_make_the_call_invalid() {
    let calls = calls_of(
        &[json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"p\""}}])],
        Some("length"),
    );
    assert_eq!(calls[0].invalid.as_ref().unwrap().raw, "{\"p\"");
}

#[test]
fn a_finish_named_early_does_not_cut_the_arguments() {
    let (answer, _) = stream(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"p\""}}]},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    assert_eq!(answer.function_calls().next().unwrap().args["p"], 1);
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Stop));
}

#[test]
fn a_call_repeated_after_the_finish_is_given_out_once() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let (answer, _) = stream(&[call, call, "[DONE]"]);
    assert_eq!(answer.function_calls().count(), 1);
}

#[test]
fn calls_and_the_finish_come_in_one_chunk() {
    let mut decoder = OpenaiChat.decoder(&plain());
    let mut out = Vec::new();
    let call = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "ls"}}]}}]});
    decoder.event(None, &call.to_string(), &mut out).unwrap();
    assert!(out.is_empty());
    decoder.event(None, r#"{"choices":[{"finish_reason":"tool_calls"}]}"#, &mut out).unwrap();
    assert_eq!(out.len(), 1);
    assert_eq!((out[0].function_calls().count(), out[0].finish_reason()), (1, Some(&FinishReason::Stop)));
    assert!(!decoder.is_done());
    decoder.event(None, "[DONE]", &mut out).unwrap();
    assert!(decoder.is_done());
    assert_eq!(out.len(), 1);
}

#[test]
fn the_old_function_call_counts_only_where_no_tool_calls_came() {
    let (answer, _) = stream(&[
        r#"{"choices":[{"delta":{"function_call":{"name":"ls","arguments":"{\"p\""}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":":1}"}},"finish_reason":"function_call"}]}"#,
    ]);
    assert_eq!(answer.function_calls().next().unwrap().args["p"], 1);
    let (answer, _) = stream(&[
        r#"{"choices":[{"delta":{"function_call":{"name":"ls","arguments":"{}"},"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    assert_eq!(answer.function_calls().count(), 1);
    let (answer, _) = document(
        json!({"choices": [{"message": {"content": "hi", "function_call": {"name": "", "arguments": ""}}}]}),
    );
    assert_eq!(answer.function_calls().count(), 0);
}

#[test]
fn one_thought_in_several_fields_counts_once() {
    let (answer, _) = stream(&[
        r#"{"choices":[{"delta":{"reasoning":"a","reasoning_content":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"","reasoning":"b"}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"c","index":0,"signature":"sig"}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"answer"},"finish_reason":"stop"}]}"#,
    ]);
    let content = answer.content().unwrap();
    assert_eq!((content.thoughts().as_str(), content.text().as_str()), ("abc", "answer"));
    let merged = json!({"reasoning_details": [{"type": "reasoning.text", "text": "ac", "index": 0, "signature": "sig"}]});
    assert_eq!(content.parts.last(), Some(&Part::opaque(merged)));
}

#[test]
fn details_of_different_blocks_stay_apart() {
    let mut details = Vec::new();
    let pieces = [
        json!({"type": "reasoning.text", "text": "a", "index": 0, "signature": "one"}),
        json!({"type": "reasoning.text", "text": "", "index": 0, "signature": ""}),
        json!({"type": "reasoning.text", "text": "b", "index": 1}),
        json!({"type": "reasoning.encrypted", "data": "x", "index": 1}),
        json!({"type": "reasoning.encrypted", "data": "y", "index": 1}),
        json!({"type": "reasoning.summary", "summary": "s", "index": 2}),
        json!({"type": "reasoning.summary", "summary": "t", "index": 2}),
    ];
    pieces.into_iter().for_each(|piece| details::merge(&mut details, vec![piece]));
    assert_eq!(
        details,
        [
            json!({"type": "reasoning.text", "text": "a", "index": 0, "signature": "one"}),
            json!({"type": "reasoning.text", "text": "b", "index": 1}),
            json!({"type": "reasoning.encrypted", "data": "x", "index": 1}),
            json!({"type": "reasoning.encrypted", "data": "y", "index": 1}),
            json!({"type": "reasoning.summary", "summary": "st", "index": 2}),
        ]
    );
}

#[test]
fn a_refusal_is_marked_and_ends_as_safety() {
    let (answer, _) = stream(&[
        r#"{"choices":[{"delta":{"refusal":"I "}}]}"#,
        r#"{"choices":[{"delta":{"refusal":"can't"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(answer.text(), "I can't");
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Safety));
    assert_eq!(answer.candidates[0].native_finish_reason.as_deref(), Some("stop"));
}

#[test]
fn images_of_an_answer_become_media() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let message = json!({"content": [{"type": "text", "text": "here"}, image], "images": [image]});
    let (answer, _) = document(json!({"choices": [{"message": message, "finish_reason": "stop"}]}));
    let media =
        |part: &&Part| matches!(&part.kind, PartKind::InlineData(blob) if blob.mime_type == "image/png");
    assert_eq!(answer.content().unwrap().parts.iter().filter(media).count(), 2);
}

#[test]
fn sources_repeated_in_every_chunk_are_told_once() {
    let chunk = |text: &str| {
        json!({
            "citations": ["https://a.example", "https://b.example"],
            "search_results": [{"title": "A", "url": "https://a.example"}],
            "choices": [{"delta": {"content": text}}],
        })
        .to_string()
    };
    let (answer, _) = stream(&[&chunk("x"), &chunk("y")]);
    let citations = &answer.candidates[0].citations;
    assert_eq!(citations.len(), 2);
    assert_eq!(
        (citations[0].title.as_deref(), citations[0].uri.as_deref()),
        (Some("A"), Some("https://a.example"))
    );
    let noted = json!([{"type": "url_citation", "url_citation": {"url": "https://c.example", "title": "C"}}]);
    let (answer, _) = document(json!({"choices": [{"message": {"content": "z", "annotations": noted}}]}));
    assert_eq!(answer.candidates[0].citations[0].title.as_deref(), Some("C"));
}

#[test]
fn a_message_that_repeats_the_deltas_is_not_added_to_them() {
    let (answer, _) = stream(&[
        r#"{"choices":[{"delta":{"content":"a"},"message":{"content":"a"}}]}"#,
        r#"{"choices":[{"delta":null,"message":{"content":"a"},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(answer.text(), "a");
    let (answer, _) = stream(&[r#"{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]}"#]);
    assert_eq!(answer.text(), "whole");
}

#[test]
fn fields_of_odd_types_cost_nothing_but_themselves() {
    let (answer, error) = stream(&[
        r#"{"id":7,"model":null,"choices":[{"index":"0","delta":{"role":3,"content":"a","refusal":[],"tool_calls":{},"function_call":"","reasoning":false,"images":"x","annotations":5},"finish_reason":{}}],"usage":[]}"#,
        r#"{"id":"x","id":"y","choices":[null,{"index":0.0,"delta":{"content":["b",{"text":"c"},null,4]}}]}"#,
        r#"{"choices":null}"#,
        r#"[]"#,
        "",
    ]);
    assert_eq!((answer.text().as_str(), error), ("abc", None));
    assert_eq!(answer.response_id.as_deref(), Some("7"));
}

#[test]
fn an_event_cut_off_by_the_end_is_no_error_but_one_in_the_middle_is() {
    let text = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let (answer, error) = stream(&[text, r#"{"choices":[{"del"#]);
    assert_eq!((answer.text().as_str(), error), ("a", None));
    assert_eq!(answer.finish_reason(), None);
    let (_, error) = stream(&[r#"{"choices":[{"del"#, text]);
    assert_eq!(error.unwrap().kind, LlmErrorKind::Protocol);
    let (_, error) = stream(&["nonsense"]);
    assert_eq!(error.unwrap().kind, LlmErrorKind::Protocol);
}

#[test]
fn after_the_end_only_usage_counts() {
    let (answer, error) = stream(&[
        r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
        "[DONE]",
        r#"{"choices":[{"delta":{"content":"b"}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
    ]);
    assert_eq!((answer.text().as_str(), error), ("a", None));
    assert_eq!(answer.usage_metadata.unwrap().prompt_token_count, Some(1));
}

#[test]
fn thoughts_counted_beside_the_completion_are_told_by_the_total() {
    let counted = |total: u64| {
        let usage = json!({
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": total,
            "completion_tokens_details": {"reasoning_tokens": 3},
            "prompt_cache_hit_tokens": 4,
        });
        let (answer, _) = document(json!({"choices": [], "usage": usage}));
        answer.usage_metadata.unwrap()
    };
    assert_eq!(counted(15).candidates_token_count, Some(2));
    assert_eq!(counted(18).candidates_token_count, Some(5));
    assert_eq!(counted(18).cached_content_token_count, Some(4));
}

fn odd_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z{\"\\\\é:]{0,6}".prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "id",
        "choices",
        "delta",
        "message",
        "content",
        "text",
        "type",
        "thinking",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "index",
        "tool_calls",
        "function",
        "function_call",
        "name",
        "arguments",
        "custom",
        "input",
        "usage",
        "x_groq",
        "prompt_tokens",
        "completion_tokens",
        "finish_reason",
        "error",
        "code",
        "detail",
        "refusal",
        "images",
        "image_url",
        "url",
        "annotations",
        "signature",
        "data",
        "extra_content",
        "metadata",
        "raw",
        "citations",
    ]);
    leaf.prop_recursive(6, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_event_however_odd_panics(events in prop::collection::vec((odd_json(), any::<bool>()), 0..6)) {
        let chunk = |(value, wrap): &(Value, bool)| match wrap {
            true => json!({"choices": [{"delta": value}]}).to_string(),
            false => value.to_string(),
        };
        let events: Vec<String> = events.iter().map(chunk).collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        stream(&events);
    }

    #[test]
    fn no_document_or_error_body_however_odd_panics(value in odd_json(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        document(value.clone());
        for body in [value.to_string().as_bytes(), bytes.as_slice()] {
            OpenaiChat.error(&plain(), 500, &HeaderMap::new(), body);
            let _ = OpenaiChat.decode_embed(body);
        }
    }

    #[test]
    fn a_stream_cut_anywhere_reads_the_same(cuts in prop::collection::vec(0_usize..400, 0..8)) {
        let body = concat!(
            "data: {\"choices\":[{\"delta\":{\"content\":\"día \"}}]}\r\n\r\n",
            ": comment\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
        ).as_bytes();
        let mut decoder = BodyDecoder::new(OpenaiChat.decoder(&plain()), 1 << 20);
        let mut out = Vec::new();
        let mut places: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
        places.sort_unstable();
        places.push(body.len());
        let mut from = 0;
        for place in places {
            decoder.push(&body[from..place], &mut out).unwrap();
            from = place;
        }
        decoder.end(&mut out).unwrap();
        let mut assembler = Assembler::new();
        out.into_iter().for_each(|chunk| assembler.push(chunk));
        let answer = assembler.finish();
        prop_assert_eq!(answer.text(), "día ");
        prop_assert_eq!(answer.function_calls().count(), 1);
        prop_assert_eq!(answer.finish_reason(), Some(&FinishReason::Stop));
    }
}

#[test]
fn a_whole_message_beside_an_empty_delta_is_the_answer() {
    let message = json!({"role": "assistant", "content": "Hello"});
    for delta in [json!({}), json!({"role": "assistant", "content": ""}), json!(null)] {
        let choice = json!({"index": 0, "delta": delta, "message": message, "finish_reason": "stop"});
        let (answer, error) = document(json!({"choices": [choice]}));
        assert_eq!((answer.text().as_str(), error), ("Hello", None), "{delta}");
    }
    let choice =
        json!({"index": 0, "delta": {"content": "Hello"}, "message": message, "finish_reason": "stop"});
    assert_eq!(document(json!({"choices": [choice]})).0.text(), "Hello");
}
