//! Recorded exchanges with local servers, each through everything that stands between a session and a socket.
//!
//! See `recorded/PROVENANCE.md` for what they are. `expected.json` beside them was made by another reader
//! than the one that is tested here.

mod exchange;
mod replay;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use charla_proto::{
    ContentGenerator, FinishReason, GenerateRequest, GenerateResponse, LlmError, LlmErrorKind, WireKind,
};
use charla_providers::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks, Target};
use charla_providers::generator::list_models;
use charla_providers::layers::{
    Link, Logging, ParameterMap, Redactor, Resilient, RetryPolicy, StackOptions, ToolMode, stack,
};
use charla_providers::{Client, Credential, Generator, NetworkOptions};
use serde_json::{Value, json};

use crate::conversation::streamed;
use exchange::Exchange;
use replay::{Pieces, Replay};

fn endpoint(replay: &Replay) -> Endpoint {
    Endpoint {
        name: "own".to_owned(),
        wire: WireKind::OpenaiChat,
        base_url: replay.base_url(),
        auth: AuthStyle::None,
        headers: Vec::new(),
        quirks: Quirks::default(),
    }
}

/// The layers as the binary stacks them, without waits.
fn layers(replay: &Replay, model: &str, tools: ToolMode) -> Arc<dyn ContentGenerator> {
    let row = ModelRow { id: model.to_owned(), ..ModelRow::default() };
    let client = Client::new(NetworkOptions::default()).expect("a client");
    let target = Target::new(Arc::new(endpoint(replay)), row);
    let generator = Arc::new(Generator::new(target, Credential::None, client));
    let parameters = ParameterMap::new().with_usual();
    let options = StackOptions { tools, parameters, ..StackOptions::default() };
    let link = Link {
        reference: format!("own/{model}"),
        model: model.to_owned(),
        generator: stack(generator, options),
    };
    let (initial_delay, invalid_delay) = (Duration::ZERO, Duration::ZERO);
    let policy = RetryPolicy { initial_delay, invalid_delay, ..RetryPolicy::default() };
    let resilient = Arc::new(Resilient::new(vec![link], policy));
    Logging::over(resilient, "own", None, Arc::new(Redactor::new([])))
}

/// What came of asking, and what the server was sent.
struct Outcome {
    answer: Result<GenerateResponse, LlmError>,
    asked: Vec<Value>,
}

async fn ask(exchange: &Exchange, pieces: Pieces) -> Outcome {
    ask_in(ToolMode::Native, exchange, pieces).await
}

async fn ask_in(mode: ToolMode, exchange: &Exchange, pieces: Pieces) -> Outcome {
    let replay = Replay::start(exchange, pieces).await;
    let question = exchange.question().unwrap_or_else(|| {
        GenerateRequest::new(exchange.model(), vec![Arc::new(charla_proto::Content::user("Say hello."))])
    });
    let generator = layers(&replay, exchange.model(), mode);
    let answer = if exchange.wants_stream() {
        streamed(&*generator, &question).await.map(|(answer, _)| answer)
    } else {
        generator.generate(&question).await
    };
    Outcome { answer, asked: replay.asked() }
}

fn check(exchange: &Exchange, outcome: &Outcome) {
    let name = &exchange.name;
    if let Some(expected) = exchange.expected.get("error") {
        let error = outcome.answer.as_ref().expect_err(name);
        return check_error(name, expected, error, outcome.asked.len());
    }
    let answer = outcome.answer.as_ref().expect(name);
    let expected = &exchange.expected;
    assert_eq!(answer.text(), expected["text"].as_str().expect("a text"), "{name}");
    assert_eq!(answer.content().expect(name).thoughts(), "", "{name}");
    assert_eq!(answer.model_version.as_deref(), expected["model"].as_str(), "{name}");
    let word = expected["finish"].as_str().expect("a reason");
    let reason = if word == "length" { FinishReason::MaxTokens } else { FinishReason::Stop };
    assert_eq!(answer.finish_reason(), Some(&reason), "{name}");
    assert_eq!(answer.candidates[0].native_finish_reason.as_deref(), Some(word), "{name}");

    let calls: Vec<Value> = answer
        .function_calls()
        .map(|call| {
            assert!(call.invalid.is_none(), "{name}: {call:?}");
            json!({"id": call.id, "name": call.name, "args": call.args})
        })
        .collect();
    assert_eq!(calls, expected["calls"].as_array().cloned().unwrap_or_default(), "{name}");
    let ids: HashSet<&str> = answer.function_calls().filter_map(|call| call.id.as_deref()).collect();
    assert_eq!(ids.len(), calls.len(), "{name}: ids are unique");

    let usage = answer.usage_metadata.as_ref().map(|usage| {
        let figures = [
            ("prompt", usage.prompt_token_count),
            ("output", usage.candidates_token_count),
            ("total", usage.total_token_count),
            ("cached", usage.cached_content_token_count),
        ];
        let told = figures.into_iter().filter_map(|(key, count)| Some((key.to_owned(), json!(count?))));
        Value::Object(told.collect())
    });
    assert_eq!(usage.as_ref(), expected.get("usage"), "{name}");
    assert_eq!(outcome.asked.len(), 1, "{name}");
}

fn check_error(name: &str, expected: &Value, error: &LlmError, attempts: usize) {
    assert_eq!(error.kind.name(), expected["kind"].as_str().expect("a kind"), "{name}: {error}");
    assert_eq!(error.detail.status.map(u64::from), expected["status"].as_u64(), "{name}: {error}");
    for words in expected["words"].as_array().expect("words") {
        assert!(error.message.contains(words.as_str().expect("words")), "{name}: {error}");
    }
    assert!(error.hint().is_some() || error.kind == LlmErrorKind::InvalidRequest, "{name}: {error}");
    assert_eq!(attempts as u64, expected["attempts"].as_u64().unwrap_or(1), "{name}: {error}");
}

fn exchanges() -> Vec<Exchange> {
    let mut all = exchange::all();
    all.retain(|exchange| exchange.expected.get("models").is_none());
    all
}

#[tokio::test]
async fn every_recorded_answer_is_read_whole_and_byte_by_byte() {
    for exchange in exchanges() {
        check(&exchange, &ask(&exchange, Pieces::Whole).await);
        check(&exchange, &ask(&exchange, Pieces::Bytes).await);
    }
}

#[tokio::test]
async fn what_is_sent_is_what_these_servers_were_asked() {
    for exchange in exchanges() {
        let Some(wanted) = exchange.wanted() else { continue };
        let asked = ask(&exchange, Pieces::Whole).await.asked;
        assert_eq!(asked[0], wanted, "{}", exchange.name);
    }
}

/// llama-cpp-python answers a missing content beside calls with nothing and a null with status 500; what we
/// send for both is what it was seen to take.
#[tokio::test]
async fn a_turn_with_calls_is_sent_as_the_strictest_server_takes_it() {
    let all = exchanges();
    let named = |name: &str| all.iter().find(|exchange| exchange.name.ends_with(name)).expect(name);
    let taken = named("llama-cpp-python/15-tool-result-content-empty");
    let messages = &taken.request.as_ref().expect("a request")["messages"];
    assert!(taken.expected["text"].as_str().is_some_and(|text| !text.is_empty()));
    let refused = ["09-tool-result-turn-stream", "16-tool-result-content-omitted"];
    for name in refused.map(|name| format!("llama-cpp-python/{name}")) {
        assert_eq!(&ask(named(&name), Pieces::Whole).await.asked[0]["messages"], messages, "{name}");
    }
}

/// A stream may end after any event: only one whose end has come, or whose call is whole, is an answer.
#[tokio::test]
async fn a_stream_that_ends_too_early_is_never_an_answer() {
    for exchange in exchanges().iter().filter(|exchange| exchange.is_stream()) {
        if exchange.expected.get("error").is_some() {
            continue;
        }
        let text = std::str::from_utf8(&exchange.body).expect("text");
        let finish =
            text.find("\"finish_reason\": \"").or(text.find("\"finish_reason\":\"")).expect("an end");
        let ends = text.match_indices("\n\n").map(|(at, _)| at + 2).filter(|end| *end < finish);
        for end in ends {
            match ask(exchange, Pieces::First(end)).await.answer {
                Err(error) => assert_eq!(error.kind, LlmErrorKind::InvalidStream, "{}", exchange.name),
                Ok(answer) => {
                    let call = answer.function_calls().next().expect("a call");
                    assert_eq!(json!(call.args), exchange.expected["calls"][0]["args"], "{}", exchange.name);
                }
            }
        }
    }
}

/// What a small model says about tools is not what calls one.
#[tokio::test]
async fn in_text_mode_no_recorded_prose_is_taken_for_a_call() {
    let mut texts = 0;
    for exchange in exchanges() {
        let Some(text) = exchange.expected["text"].as_str().filter(|text| !text.is_empty()) else { continue };
        let answer = ask_in(ToolMode::Text, &exchange, Pieces::Whole).await.answer.expect(&exchange.name);
        assert_eq!((answer.text().as_str(), answer.function_calls().count()), (text.trim_end(), 0));
        texts += 1;
    }
    assert!(texts > 20, "{texts}");
}

#[tokio::test]
async fn the_models_of_each_server_are_listed() {
    let mut servers = 0;
    for exchange in exchange::all() {
        let Some(models) = exchange.expected.get("models") else { continue };
        let replay = Replay::start(&exchange, Pieces::Whole).await;
        let client = Client::new(NetworkOptions::default()).expect("a client");
        let listed = list_models(&client, &endpoint(&replay), None).await.expect(&exchange.name);
        assert_eq!(json!(listed), *models, "{}", exchange.name);
        servers += 1;
    }
    assert_eq!(servers, exchange::SERVERS.len());
}
