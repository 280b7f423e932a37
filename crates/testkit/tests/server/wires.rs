//! One script, four wires.

use charla_proto::WireKind;
use charla_testkit::{Call, ChatThoughts, Finish, Reply, Script, Server, Step, Usage, When};
use serde_json::{Value, json};

use crate::client::{ask, exchange, model, path, post, prompt, request, stream};

fn rich() -> Reply {
    Reply::new()
        .chunk(2)
        .thought("hm, hm")
        .text("Grüße")
        .call("look", json!({"at": "ünï"}))
        .call("look", json!({}))
        .usage(Usage { prompt: 10, output: 5, thoughts: 3, cached: 2 })
}

/// Text, thoughts, arguments of the calls and the finish word of a whole answer.
fn gist(wire: WireKind, answer: &Value) -> (String, String, Vec<Value>, String) {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parsed = |value: &Value| serde_json::from_str(value.as_str().unwrap()).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match wire {
        WireKind::Gemini => {
            let candidate = &answer["candidates"][0];
            let parts = list(&candidate["content"]["parts"]);
            let texts = |thought: bool| {
                let wanted = parts.iter().filter(|part| (part["thought"] == true) == thought);
                wanted.map(|part| string(&part["text"])).collect()
            };
            let calls =
                parts.iter().filter_map(|part| part.get("functionCall")).map(|call| call["args"].clone());
            (texts(false), texts(true), calls.collect(), string(&candidate["finishReason"]))
        }
        WireKind::OpenaiChat => {
            let choice = &answer["choices"][0];
            let message = &choice["message"];
            let calls = list(&message["tool_calls"]);
            let calls = calls.iter().map(|call| parsed(&call["function"]["arguments"])).collect();
            (
                string(&message["content"]),
                string(&message["reasoning_content"]),
                calls,
                string(&choice["finish_reason"]),
            )
        }
        WireKind::OpenaiResponses => {
            let items = list(&answer["output"]);
            let of = |kind: &'static str| items.iter().filter(move |item| item["type"] == kind);
            let text = of("message").map(|item| string(&item["content"][0]["text"])).collect();
            let thought = of("reasoning").map(|item| string(&item["summary"][0]["text"])).collect();
            let calls = of("function_call").map(|item| parsed(&item["arguments"])).collect();
            (text, thought, calls, string(&answer["status"]))
        }
        WireKind::Anthropic => {
            let blocks = list(&answer["content"]);
            let of = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
            let text = of("text").map(|block| string(&block["text"])).collect();
            let thought = of("thinking").map(|block| string(&block["thinking"])).collect();
            (
                text,
                thought,
                of("tool_use").map(|block| block["input"].clone()).collect(),
                string(&answer["stop_reason"]),
            )
        }
    }
}

#[test]
fn every_wire_says_the_same() {
    let server = Server::start(Script::always(rich())).unwrap();
    let finishes = ["STOP", "tool_calls", "completed", "tool_use"];
    for (wire, finish) in WireKind::ALL.into_iter().zip(finishes) {
        let answer = ask(&server, wire, &prompt(wire, "hi", false));
        let wanted = (
            "Grüße".to_owned(),
            "hm, hm".to_owned(),
            vec![json!({"at": "ünï"}), json!({})],
            finish.to_owned(),
        );
        assert_eq!(gist(wire, &answer.json()), wanted, "{wire:?}");
    }
    assert_eq!(server.problems(), []);
}

#[test]
fn a_stream_adds_up_to_the_whole_answer() {
    let server = Server::start(Script::always(rich())).unwrap();
    for wire in WireKind::ALL {
        let answer = stream(&server, wire);
        assert!(answer.head.contains("content-type: text/event-stream"), "{}", answer.head);
        let text: String = answer.events().iter().map(|event| text_delta(wire, event)).collect();
        assert_eq!(text, "Grüße", "{wire:?}");
        let pieces = answer.events().iter().filter(|event| !text_delta(wire, event).is_empty()).count();
        assert_eq!(pieces, 3, "{wire:?}");
        assert!(answer.whole);
    }
}

fn text_delta(wire: WireKind, event: &Value) -> String {
    let delta = match wire {
        WireKind::Gemini => {
            let part = &event["candidates"][0]["content"]["parts"][0];
            if part["thought"] == true { &Value::Null } else { &part["text"] }
        }
        WireKind::OpenaiChat => &event["choices"][0]["delta"]["content"],
        WireKind::OpenaiResponses if event["type"] == "response.output_text.delta" => &event["delta"],
        WireKind::OpenaiResponses => &Value::Null,
        WireKind::Anthropic => &event["delta"]["text"],
    };
    delta.as_str().unwrap_or_default().to_owned()
}

#[test]
fn gemini_streams_an_array_without_alt_sse() {
    let server = Server::start(Script::always(rich())).unwrap();
    let path = path(WireKind::Gemini, true).replace("?alt=sse", "");
    let answer = post(&server, &path, &prompt(WireKind::Gemini, "hi", false));
    let elements = answer.json();
    assert!(elements.as_array().unwrap().len() > 4);
    assert!(server.requests()[0].streaming);
}

#[test]
fn vertex_paths_lead_to_gemini() {
    let server = Server::start(Script::always("hi")).unwrap();
    for prefix in ["/v1/projects/p/locations/l/publishers/google", "/v1beta1/publishers/google", "/v1"] {
        let path = format!("{prefix}/models/gemini-3-test:generateContent");
        assert_eq!(post(&server, &path, &prompt(WireKind::Gemini, "hi", false)).status, 200, "{path}");
    }
}

#[test]
fn usage_comes_in_a_chat_stream_only_when_asked_for() {
    let server = Server::start(Script::always(rich())).unwrap();
    let mut body = prompt(WireKind::OpenaiChat, "hi", true);
    let without = ask(&server, WireKind::OpenaiChat, &body);
    assert!(without.events().iter().all(|event| event.get("usage").is_none()));
    body["stream_options"] = json!({"include_usage": true});
    let with = ask(&server, WireKind::OpenaiChat, &body).events().pop().unwrap();
    assert_eq!((&with["choices"], &with["usage"]["total_tokens"]), (&json!([]), &json!(18)));
}

#[test]
fn finish_reasons_are_in_the_words_of_the_wire() {
    let table = [
        (Finish::Length, ["MAX_TOKENS", "length", "incomplete", "max_tokens"]),
        (Finish::Safety, ["SAFETY", "content_filter", "incomplete", "refusal"]),
        (Finish::MalformedCall, ["MALFORMED_FUNCTION_CALL", "stop", "completed", "end_turn"]),
        (Finish::Pause, ["STOP", "stop", "completed", "pause_turn"]),
        (Finish::Missing, ["", "", "in_progress", ""]),
        (Finish::Other("ODD".to_owned()), ["ODD", "ODD", "incomplete", "ODD"]),
    ];
    for (finish, words) in table {
        let server = Server::start(Script::always(Reply::from("x").finish(finish.clone()))).unwrap();
        for (wire, word) in WireKind::ALL.into_iter().zip(words) {
            let answer = ask(&server, wire, &prompt(wire, "hi", false)).json();
            assert_eq!(gist(wire, &answer).3, word, "{finish:?} on {wire:?}");
        }
    }
}

#[test]
fn rules_come_before_replies_and_can_run_out() {
    let mut script = Script::new(["first", "second"]).rule(When::text("weather"), "sunny");
    script.rules[0].times = Some(1);
    let server = Server::start(script).unwrap();
    let said = |text: &str| {
        let answer = ask(&server, WireKind::OpenaiChat, &prompt(WireKind::OpenaiChat, text, false));
        (answer.status, gist(WireKind::OpenaiChat, &answer.json()).0)
    };
    assert_eq!(said("hi"), (200, "first".to_owned()));
    assert_eq!(said("the weather?"), (200, "sunny".to_owned()));
    assert_eq!(said("the weather?"), (200, "second".to_owned()));
    assert_eq!(said("more").0, 400);
    assert_eq!(server.problems().len(), 1);
}

#[test]
fn a_script_file_says_what_builders_say() {
    let script: Script = serde_json::from_value(json!({
        "replies": [
            "Hello!",
            [{"thought": "hm"}, {"call": {"name": "look", "args": {"at": 1}}}, {"finish": "length"}],
            [{"status": {"kind": "rate_limit", "retry_after": "2"}}],
            [{"text": "a"}, {"drip": {"bytes": 1, "delay": 0}}, "malformed", {"cut": "reset"}]
        ],
        "rules": [{"when": {"wire": "gemini"}, "reply": "G"}],
        "otherwise": "echo"
    }))
    .unwrap();
    assert_eq!(script.replies[0], Reply::from("Hello!"));
    assert_eq!(
        script.replies[1],
        Reply::new().thought("hm").call("look", json!({"at": 1})).finish(Finish::Length)
    );
    assert_eq!(script.replies[3].steps[2], Step::Malformed);
    let again: Script = serde_json::from_value(serde_json::to_value(&script).unwrap()).unwrap();
    assert_eq!(again, script);
    assert!(serde_json::from_value::<Script>(json!({"repplies": []})).is_err());
}

#[test]
fn an_echo_calls_a_tool_when_told_to() {
    let server = Server::start(Script::echo()).unwrap();
    for wire in WireKind::ALL {
        let answer = ask(&server, wire, &prompt(wire, r#"call read {"path": "a"}"#, false)).json();
        assert_eq!(gist(wire, &answer).2, [json!({"path": "a"})]);
    }
}

#[test]
fn wrong_keys_and_unknown_models_fail_as_at_the_vendor() {
    let server = Server::start(Script::always("hi").with_key("right").with_models(["known"])).unwrap();
    let wrong_key = [400, 401, 401, 401];
    let unknown = [404, 404, 400, 404];
    let right = [
        "x-goog-api-key: right\r\n",
        "authorization: Bearer right\r\n",
        "authorization: Bearer right\r\n",
        "x-api-key: right\r\n",
    ];
    for (at, wire) in WireKind::ALL.into_iter().enumerate() {
        let body = prompt(wire, "hi", true);
        let answer = exchange(&server, &request(&path(wire, true), "", &body));
        assert_eq!(answer.status, wrong_key[at], "{wire:?}");
        assert!(answer.text().to_lowercase().contains("key"), "{}", answer.text());
        let answer = exchange(&server, &request(&path(wire, true), right[at], &body));
        assert_eq!(answer.status, unknown[at], "{wire:?}");
        assert!(answer.text().contains(model(wire)), "{}", answer.text());
    }
    assert_eq!(server.problems(), []);
}

#[test]
fn chat_thoughts_and_careless_calls_take_their_forms() {
    let call = Call {
        name: "look".to_owned(),
        raw_args: Some("{\"at\":".to_owned()),
        bare: true,
        ..Call::default()
    };
    let mut script = Script::always(Reply::new().thought("hm").step(Step::Call(call)));
    script.chat_thoughts = ChatThoughts::ReasoningDetails;
    let server = Server::start(script).unwrap();
    let events = stream(&server, WireKind::OpenaiChat).events();
    let deltas: Vec<&Value> = events.iter().map(|event| &event["choices"][0]["delta"]).collect();
    assert!(deltas.iter().any(|delta| delta["reasoning_details"][0]["signature"].is_string()));
    let calls: Vec<&&Value> = deltas.iter().filter(|delta| delta.get("tool_calls").is_some()).collect();
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|delta| delta["tool_calls"][0].get("index").is_none()));
    assert_eq!(calls[1]["tool_calls"][0]["function"]["arguments"], "{\"at\":");
}

#[test]
fn counts_and_vectors_come_back() {
    let server = Server::start(Script::echo()).unwrap();
    let contents = prompt(WireKind::Gemini, "hello", false);
    let count = post(&server, "/v1beta/models/m:countTokens", &contents).json();
    assert!(count["totalTokens"].as_u64().unwrap() > 0);
    let mut messages = prompt(WireKind::Anthropic, "hello", false);
    messages.as_object_mut().unwrap().remove("max_tokens");
    let count = post(&server, "/v1/messages/count_tokens", &messages).json();
    assert!(count["input_tokens"].as_u64().unwrap() > 0);
    let one = json!({"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 4});
    let single = post(&server, "/v1beta/models/m:embedContent", &one).json();
    let batch = post(&server, "/v1beta/models/m:batchEmbedContents", &json!({"requests": [one]})).json();
    assert_eq!(single["embedding"], batch["embeddings"][0]);
    let openai =
        post(&server, "/v1/embeddings", &json!({"model": "m", "input": "a", "dimensions": 4})).json();
    assert_eq!(openai["data"][0]["embedding"], single["embedding"]["values"]);
}
