use std::sync::Arc;

use charla_proto::{Content, FinishReason, PartKind};
use futures_util::StreamExt;
use serde_json::json;

use super::*;
use crate::endpoint::ModelRow;
use crate::generator::Recording;

fn target() -> Target {
    let endpoint = crate::catalog::provider("gemini").unwrap().endpoint();
    Target::new(Arc::new(endpoint), ModelRow { id: "gemini-test".to_owned(), ..ModelRow::default() })
}

fn recorded(order: RecordedOrder, lines: &[Value]) -> Recorded {
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    Recorded::new(RecordedLines::read(&text.join("\n\n")).unwrap(), order, target())
}

fn request() -> GenerateRequest {
    GenerateRequest::new("gemini-test", vec![Arc::new(Content::user("How many?"))])
}

/// The answer to a stream: its words and calls, and what was wrong with it.
async fn streamed(generator: &dyn ContentGenerator) -> (String, Option<LlmError>) {
    let mut stream = match generator.stream(&request()).await {
        Ok(stream) => stream,
        Err(error) => return (String::new(), Some(error)),
    };
    let mut said = String::new();
    while let Some(event) = stream.next().await {
        let chunk = match event {
            Ok(StreamEvent::Chunk(chunk)) => chunk,
            Ok(_) => continue,
            Err(error) => return (said, Some(error)),
        };
        for content in chunk.candidates.iter().filter_map(|candidate| candidate.content.as_ref()) {
            assert_eq!(content.origin.as_deref(), Some(&*target().origin));
            for part in &content.parts {
                match &part.kind {
                    PartKind::Text(text) if !part.thought => said.push_str(text),
                    PartKind::FunctionCall(call) => said.push_str(&format!("[{}]", call.name)),
                    _ => {}
                }
            }
        }
    }
    (said, None)
}

fn stream_of(chunks: Value) -> Value {
    json!({"method": "generateContentStream", "response": chunks})
}

fn words(text: &str) -> Value {
    json!([{"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}]}])
}

#[tokio::test]
async fn every_form_of_chunk_is_understood() {
    let call = json!({"functionCall": {"name": "a", "args": {}}, "thoughtSignature": "c2ln"});
    let rows = [
        (
            json!([{"candidates": [{"content": {"parts": [{"text": "hm", "thought": true}], "role": "model"}}]},
                {"candidates": [{"content": {"parts": [{"text": "yes"}], "role": "model"}, "finishReason": "STOP"}]}]),
            "yes",
        ),
        (json!([{"usageMetadata": {"promptTokenCount": 3}}, words("x")[0]]), "x"),
        (json!([{"candidates": [{"index": 0}]}, words("x")[0]]), "x"),
        (json!([{"candidates": [{"content": {"role": "model"}}]}, words("x")[0]]), "x"),
        (
            json!([{"candidates": [{"content": {"parts": [{"text": "now "}, call, call], "role": "model"}, "finishReason": "STOP"}]}]),
            "now [a][a]",
        ),
    ];
    for (chunks, said) in rows {
        let recorded = recorded(RecordedOrder::Strict, &[stream_of(chunks.clone())]);
        let (heard, error) = streamed(&recorded).await;
        assert_eq!((heard.as_str(), error), (said, None), "{chunks}");
    }
}

#[tokio::test]
async fn a_malformed_call_is_an_answer_to_ask_for_again() {
    let broken = json!([{"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}]);
    let (said, error) = streamed(&recorded(RecordedOrder::Strict, &[stream_of(broken)])).await;
    let error = error.unwrap();
    assert_eq!((said.as_str(), error.kind), ("", LlmErrorKind::InvalidStream));
    assert_eq!(error.detail.model.as_deref(), Some("gemini/gemini-test"));
}

#[tokio::test]
async fn strict_lines_come_in_order_and_others_by_method() {
    let lines = || {
        let whole = json!({"method": "generateContent", "response": words("whole")[0]});
        let count = json!({"method": "countTokens", "response": {"totalTokens": 7}});
        [whole, count, stream_of(words("piece"))]
    };
    let strict = recorded(RecordedOrder::Strict, &lines());
    let error = strict.count_tokens(&request()).await.unwrap_err();
    let expected = "Unexpected response type, next response was for generateContent but expected countTokens";
    assert_eq!(error.message, expected);
    assert_eq!(strict.count_tokens(&request()).await.unwrap().total_tokens, 7);
    assert_eq!(streamed(&strict).await.0, "piece");
    let (_, error) = streamed(&strict).await;
    let message = error.unwrap().message;
    let expected = "No more mock responses for generateContentStream, got request:\n{";
    assert!(message.starts_with(expected) && message.contains("How many?"), "{message}");

    let loose = recorded(RecordedOrder::ByMethod, &lines());
    assert_eq!(streamed(&loose).await.0, "piece");
    let whole = loose.generate(&request()).await.unwrap();
    assert_eq!(whole.candidates[0].finish_reason, Some(FinishReason::Stop));
    let message = loose.generate(&request()).await.unwrap_err().message;
    assert!(message.starts_with("No more mock responses for generateContent, got"), "{message}");
}

#[tokio::test]
async fn what_another_program_asked_beside_the_conversation_is_passed_over() {
    let whole = |text| json!({"method": "generateContent", "response": words(text)[0]});
    let count = json!({"method": "countTokens", "response": {"totalTokens": 7}});
    let lines =
        [whole("a"), count, stream_of(words("piece")), whole("b"), stream_of(words("more")), whole("c")];
    let strict = recorded(RecordedOrder::Strict, &lines);
    assert_eq!(streamed(&strict).await.0, "piece");
    assert_eq!(streamed(&strict).await.0, "more");
    let (_, error) = streamed(&strict).await;
    let expected =
        "Unexpected response type, next response was for generateContent but expected generateContentStream";
    assert_eq!(error.unwrap().message, expected);
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    for (text, line) in
        [("\n{", "line 2"), (r#"{"method": "other", "response": {}}"#, "line 1"), ("[]", "line 1")]
    {
        let why = RecordedLines::read(text).err().unwrap();
        assert!(why.starts_with(line), "{text}: {why}");
    }
}

#[tokio::test]
async fn what_is_written_down_can_be_given_again() {
    let call = json!([{"candidates": [{"content": {"role": "model", "parts": [
        {"text": "so", "thought": true}, {"functionCall": {"name": "a", "args": {"b": 1}, "id": "c1"}, "thoughtSignature": "c2ln"}]},
        "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 5}}]);
    let lines = [stream_of(call), json!({"method": "generateContent", "response": words("whole")[0]})];
    let written: Arc<Mutex<Vec<Value>>> = Arc::default();
    let sink = {
        let written = written.clone();
        Arc::new(move |line: &RecordedLine| written.lock().unwrap().push(serde_json::to_value(line).unwrap()))
    };
    let recording = Recording::over(Arc::new(recorded(RecordedOrder::Strict, &lines)), sink);
    assert_eq!(streamed(&recording).await.0, "[a]");
    recording.generate(&request()).await.unwrap();
    assert!(streamed(&recording).await.1.is_some(), "nothing is left");
    let written = written.lock().unwrap().clone();
    assert_eq!(written.len(), 2, "only answers are written down: {written:?}");
    let again = recorded(RecordedOrder::Strict, &written);
    assert_eq!(streamed(&again).await.0, "[a]");
    assert_eq!(
        again.generate(&request()).await.unwrap().candidates[0].finish_reason,
        Some(FinishReason::Stop)
    );
}
