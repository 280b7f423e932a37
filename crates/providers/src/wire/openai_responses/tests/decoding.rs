use super::*;

fn delta(kind: &str, place: u64, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": place, "delta": text})
}

fn done(place: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": place, "item": item})
}

fn added(place: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": place, "item": item})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "model": "gpt", "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "not shown"}]}],
        "usage": {"input_tokens": 10, "output_tokens": 7, "total_tokens": 17,
            "input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 5}}}})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": text}]})
}

fn parts(response: &GenerateResponse) -> Vec<Part> {
    response.content().map(|content| content.parts.clone()).unwrap_or_default()
}

#[test]
fn deltas_are_shown_once_and_the_finished_item_adds_what_was_missing() {
    let (answer, error) = decode(&[
        delta("output_text", 0, "Hel"),
        delta("output_text", 0, "lo \"you\""),
        done(0, message("Hello \"you\", friend")),
        completed(),
    ]);
    assert_eq!(error, None);
    assert_eq!(parts(&answer), [Part::text("Hello \"you\", friend")]);
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Stop));
    let usage = answer.usage_metadata.expect("usage");
    assert_eq!((usage.prompt_token_count, usage.cached_content_token_count), (Some(10), Some(4)));
    assert_eq!((usage.candidates_token_count, usage.thoughts_token_count), (Some(2), Some(5)));
    assert_eq!(
        (answer.response_id.as_deref(), answer.model_version.as_deref()),
        (Some("resp_1"), Some("gpt"))
    );
}

#[test]
fn a_finished_text_that_contradicts_its_deltas_wins() {
    let (answer, _) =
        decode(&[delta("output_text", 0, "It ran."), done(0, message("It ran in the box.")), completed()]);
    assert_eq!(answer.text(), "It ran in the box.");
}

#[test]
fn the_responses_own_output_counts_only_without_item_events() {
    let (answer, _) = decode(&[completed()]);
    assert_eq!(answer.text(), "not shown");
}

#[test]
fn reasoning_is_kept_exactly_behind_its_thoughts_and_before_its_call() {
    let item = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "new_field": 1,
        "summary": [{"type": "summary_text", "text": "I think"}]});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read",
        "arguments": "{\"path\":\"a\"}"});
    let (answer, _) = decode(&[
        delta("reasoning_summary_text", 0, "I "),
        delta("reasoning_summary_text", 0, "think"),
        done(0, item.clone()),
        delta("function_call_arguments", 1, "{\"pa"),
        done(1, call),
        completed(),
    ]);
    let [thought, opaque, call] = &parts(&answer)[..] else { panic!("three parts: {answer:?}") };
    assert_eq!(thought, &Part::thought("I think"));
    assert_eq!(opaque, &Part::opaque(item));
    let call = call.as_function_call().expect("a call");
    assert_eq!((call.id.as_deref(), &call.args["path"]), (Some("call_1"), &json!("a")));
    assert_eq!(call.extra.get("itemId"), Some(&json!("fc_1")));
}

#[test]
fn what_was_decoded_goes_back_to_its_origin_item_by_item() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": []});
    let (answer, _) = decode(&[
        done(0, reasoning.clone()),
        delta("output_text", 1, "Wait."),
        done(
            1,
            json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
            "phase": "commentary", "content": [{"type": "output_text", "text": "Wait."}]}),
        ),
        done(
            2,
            json!({"type": "function_call", "id": "fc_1", "call_id": "c", "name": "read",
            "arguments": "{}"}),
        ),
        completed(),
    ]);
    let content = Content { origin: Some(target().origin), ..answer.content().expect("content").clone() };
    let request = GenerateRequest::new("gpt", vec![Arc::new(content)]);
    let encoded = OpenaiResponses.encode(&request, &target(), Mode::Unary, &mut Fragments::default());
    let body: Value = serde_json::from_slice(&encoded.expect("encodes").body).expect("JSON");
    assert_eq!(
        body["input"],
        json!([
            reasoning,
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
                "phase": "commentary", "content": [{"type": "output_text", "text": "Wait."}]},
            {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "read", "arguments": "{}"},
        ])
    );
}

#[test]
fn interleaved_calls_are_told_apart_by_place_not_by_id() {
    let call = |id: &str, arguments: &str| {
        json!({"type": "function_call", "id": id, "call_id": format!("call_{arguments}"), "name": "f",
            "arguments": arguments})
    };
    let (answer, _) = decode(&[
        added(0, call("a", "")),
        added(1, call("b", "")),
        delta("function_call_arguments", 1, "{\"n\":1}"),
        delta("function_call_arguments", 0, "{\"n\":0}"),
        done(0, call("other", "{\"n\":0}")),
        done(0, call("other", "{\"n\":0}")),
        done(1, call("b", "{\"n\":1}")),
        completed(),
    ]);
    let args: Vec<Value> = answer.function_calls().map(|call| call.args["n"].clone()).collect();
    assert_eq!(args, [0, 1]);
}

#[test]
fn a_call_that_was_cut_is_never_a_call_without_arguments() {
    let announced = json!({"type": "function_call", "call_id": "c", "name": "wipe", "arguments": ""});
    let (answer, _) = decode(&[added(0, announced.clone())]);
    let call = answer.function_calls().next().expect("the call").clone();
    assert!(call.invalid.is_some() && answer.finish_reason().is_none());
    let (answer, _) = decode(&[added(0, announced), delta("function_call_arguments", 0, "{\"path\":\"/\"")]);
    let call = answer.function_calls().next().expect("the call");
    assert_eq!(call.invalid.as_ref().expect("invalid").raw, "{\"path\":\"/\"");
}

#[test]
fn free_text_of_a_custom_tool_is_the_argument_input() {
    let item = json!({"type": "custom_tool_call", "call_id": "c", "name": "calc", "input": "4 + 4"});
    let (answer, _) = decode(&[done(0, item), completed()]);
    let call = answer.function_calls().next().expect("a call");
    assert_eq!(call.args["input"], "4 + 4");
}

#[test]
fn a_refusal_is_marked_text_and_a_safety_finish() {
    let item = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]});
    let (answer, _) =
        decode(&[delta("refusal", 0, "I "), delta("refusal", 0, "cannot."), done(0, item), completed()]);
    let [part] = &parts(&answer)[..] else { panic!("one part: {answer:?}") };
    assert_eq!((part.as_text(), part.extra.get("refusal")), (Some("I cannot."), Some(&json!(true))));
    assert_eq!(answer.finish_reason(), Some(&FinishReason::Safety));
}

#[test]
fn endings_are_mapped() {
    let ending = |reason: &str| {
        let response = json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
        let (answer, _) = decode(&[json!({"type": "response.incomplete", "response": response})]);
        assert_eq!(answer.candidates[0].native_finish_reason.as_deref(), Some("incomplete"));
        answer.finish_reason().cloned()
    };
    assert_eq!(ending("max_output_tokens"), Some(FinishReason::MaxTokens));
    assert_eq!(ending("content_filter"), Some(FinishReason::Safety));
    assert_eq!(ending("odd"), Some(FinishReason::Other("odd".to_owned())));
}

#[test]
fn citations_are_read_once() {
    let annotation = json!({"type": "url_citation", "url": "https://e.org", "title": "E", "start_index": 1});
    let item = json!({"type": "message",
        "content": [{"type": "output_text", "text": "x", "annotations": [annotation]}]});
    let event =
        json!({"type": "response.output_text.annotation.added", "output_index": 0, "annotation": annotation});
    let (answer, _) = decode(&[event, done(0, item), completed()]);
    let [citation] = &answer.candidates[0].citations[..] else { panic!("one citation") };
    assert_eq!((citation.uri.as_deref(), citation.title.as_deref()), (Some("https://e.org"), Some("E")));
    assert_eq!(citation.extra.get("start_index"), Some(&json!(1)));
}

#[test]
fn an_error_in_the_stream_comes_after_what_was_said() {
    let said = delta("output_text", 0, "Some te");
    let (answer, error) =
        decode(&[said.clone(), json!({"type": "error", "code": "server_error", "message": "it broke"})]);
    assert_eq!((answer.text().as_str(), answer.finish_reason()), ("Some te", None));
    let error = error.expect("an error");
    assert_eq!((error.message.as_str(), error.detail.in_stream), ("it broke", true));
    let failed = json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "insufficient_quota", "message": "spent"}}});
    let (answer, error) = decode(&[said, failed]);
    assert_eq!(answer.candidates[0].native_finish_reason.as_deref(), Some("failed"));
    assert_eq!(error.map(|error| error.kind), Some(LlmErrorKind::Quota));
}

#[test]
fn whole_documents_are_read_too() {
    let (answer, error) = decode_body(br#"{"id":"r","status":"queued","output":[]}"#);
    assert_eq!((error, answer.candidates[0].native_finish_reason.as_deref()), (None, Some("queued")));
    let (_, error) = decode_body(br#"{"error":{"message":"no","code":"model_not_found"}}"#);
    assert_eq!(error.map(|error| error.message), Some("no".to_owned()));
    let (_, error) = decode_body(br#"{"hello":1}"#);
    assert_eq!(error.map(|error| error.kind), Some(LlmErrorKind::Protocol));
}

#[test]
fn unknown_and_odd_events_are_passed_over() {
    let (answer, error) = decode(&[
        json!({"type": "keepalive"}),
        json!({"type": "response.output_text.delta", "output_index": "zero", "delta": "x"}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": {"not": "text"}}),
        json!({"type": "response.output_item.done", "output_index": 9}),
        json!(["what"]),
        json!(7),
        delta("output_text", 0, "fine"),
        completed(),
    ]);
    assert_eq!((answer.text().as_str(), error), ("fine", None));
}

#[test]
fn an_event_cut_by_the_end_is_no_error_but_one_in_the_middle_is() {
    let (answer, error) = decode_body(b"data: {\"type\":\"response.output_te");
    assert_eq!((answer.finish_reason(), error), (None, None));
    let (_, error) = decode_body(b"data: {\"type\":\"respo\n\ndata: {\"type\":\"keepalive\"}\n\n");
    assert_eq!(error.map(|error| error.kind), Some(LlmErrorKind::Protocol));
    let (_, error) = decode_body(b"data: oops\n\n");
    assert_eq!(error.map(|error| error.kind), Some(LlmErrorKind::Protocol));
}

#[test]
fn the_end_is_known_without_waiting_for_the_connection() {
    let mut decoder = OpenaiResponses.decoder(&target());
    let mut out = Vec::new();
    assert!(!decoder.is_done());
    decoder.event(None, &completed().to_string(), &mut out).expect("fine");
    assert!(decoder.is_done());
}

#[test]
fn error_bodies_of_every_form_are_read() {
    let read = |status: u16, body: &str| {
        OpenaiResponses.error(&target(), status, &HeaderMap::new(), body.as_bytes())
    };
    let quota =
        read(429, r#"{"error":{"message":"spent","type":"insufficient_quota","code":"insufficient_quota"}}"#);
    assert_eq!(quota.kind, LlmErrorKind::Quota);
    let rate = read(
        429,
        r#"{"error":{"message":"try again in 2.5s","type":"tokens","code":"rate_limit_exceeded"}}"#,
    );
    assert_eq!(rate.kind, LlmErrorKind::RateLimit);
    assert_eq!(rate.detail.retry_after.map(|wait| wait.as_millis()), Some(2500));
    let model = read(400, r#"{"error":{"message":"no such model","code":"model_not_found"}}"#);
    assert_eq!(model.kind, LlmErrorKind::NotFound);
    assert_eq!(read(401, r#"{"detail":"sign in"}"#).message, "sign in");
    assert_eq!(read(422, r#"{"detail":[{"msg":"a"},{"msg":"b"}]}"#).message, "a; b");
    assert_eq!(read(500, r#"{"error":"broken","code":7}"#).detail.code.as_deref(), Some("7"));
    let page = read(502, "<html><head><TITLE>502 Bad Gateway</TITLE></head></html>");
    assert_eq!(page.message, "the server answered with a web page: 502 Bad Gateway");
    assert!(read(500, &"x".repeat(9000)).message.chars().count() < 400);
    assert!(!read(500, "").message.is_empty());
}

#[test]
fn garbage_never_panics() {
    let seeds: [&[u8]; 5] = [
        b"data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"content\":7}}\n\n",
        b"data: {\"type\":\"response.completed\",\"response\":{\"output\":[null,3,{\"type\":4}],\"usage\":[]}}\n\n",
        b"data: {\"type\":\"response.output_text.delta\",\"output_index\":18446744073709551615,\"delta\":\"\\ud83d\"}\n\n",
        b"{\"output\":[{\"type\":\"function_call\",\"arguments\":{\"a\":1}}],\"status\":\"completed\"}",
        b"event: error\ndata: \xff\xfe\n\n",
    ];
    for seed in seeds {
        for cut in 0..=seed.len() {
            let mut bytes = seed[..cut].to_vec();
            decode_body(&bytes);
            if let Some(last) = bytes.last_mut() {
                *last = last.wrapping_mul(31).wrapping_add(7);
            }
            decode_body(&bytes);
        }
    }
}

#[test]
fn a_long_stream_gives_one_chunk_for_each_delta() {
    let body: String = (0..5000).map(|_| format!("data: {}\n\n", delta("output_text", 0, "word "))).collect();
    let mut decoder = BodyDecoder::new(OpenaiResponses.decoder(&target()), DEFAULT_MAX_EVENT);
    let mut out = Vec::new();
    decoder.push(body.as_bytes(), &mut out).expect("decodes");
    assert_eq!(out.len(), 5000);
}
