//! The local token estimate beside the figures that servers recorded.
//!
//! Two kinds of figures are used. Answers: the tokens of a visible text, where nothing else (thoughts, calls,
//! server-side tools) was written. Requests: the tokens of the prompt, where it holds only words. The estimate
//! of all texts of a class together must be within 15 % of the recorded sum; single cases may be further off,
//! and the median is printed.
//!
//! What is not asserted: prompts with tools, only reported and held to a wide bound, because a server's own
//! manual for tools is as large as a small prompt and differs by vendor. A class with little text is reported
//! and not judged: the corpus that lies here has no Chinese and little code, which the unit tests of
//! `tokens` judge by public vocabularies instead.

#[path = "../wire_corpus/case.rs"]
#[allow(dead_code, reason = "shared with another test")]
mod case;
#[path = "../wire_corpus/meaning.rs"]
#[allow(dead_code, reason = "shared with another test")]
mod meaning;

#[path = "../wire_corpus/requests"]
#[allow(dead_code, reason = "shared with another test")]
mod requests {
    pub mod anthropic;
    pub mod gemini;
    pub mod openai_chat;
    pub mod openai_responses;
    mod shape;
}

use std::path::{Path, PathBuf};

use case::Case;
use charla_proto::{GenerateRequest, Part, PartKind, WireKind};
use charla_providers::tokens::{estimate, estimate_text};
use serde_json::Value;

/// A class of text is judged when at least this many tokens of it were recorded.
const ENOUGH: u64 = 400;
/// Shorter texts say more about the words around them than about the estimate.
const SHORTEST: u64 = 50;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    English,
    Code,
    Chinese,
    WithTools,
}

struct Sample {
    class: Class,
    recorded: u64,
    estimated: u64,
}

#[test]
fn recorded_figures_are_met_in_each_class() {
    let root = std::env::var_os("WIRE_CORPUS").map_or_else(own_corpus, PathBuf::from);
    let cases = Case::load_all(&root).expect("the corpus can be read");
    let samples: Vec<Sample> = cases.iter().flat_map(|case| [answer(case), prompt(case)]).flatten().collect();
    assert!(!samples.is_empty());
    let mut wrong = Vec::new();
    for (class, bound) in
        [(Class::English, 0.15), (Class::Code, 0.15), (Class::Chinese, 0.15), (Class::WithTools, 0.30)]
    {
        let of_class: Vec<&Sample> = samples.iter().filter(|sample| sample.class == class).collect();
        if of_class.is_empty() {
            println!("{class:?}: none");
            continue;
        }
        let recorded: u64 = of_class.iter().map(|sample| sample.recorded).sum();
        let estimated: u64 = of_class.iter().map(|sample| sample.estimated).sum();
        let off = estimated as f64 / recorded.max(1) as f64 - 1.0;
        let median = median_error(&of_class);
        println!(
            "{class:?}: {} texts, {recorded} tokens recorded, {estimated} estimated ({:+.1} %), median error {:.1} %",
            of_class.len(),
            off * 100.0,
            median * 100.0
        );
        if recorded < ENOUGH {
            println!("  too little of it to judge");
        } else if off.abs() > bound {
            wrong.push(format!("{class:?} is off by {:+.1} %", off * 100.0));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn own_corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn median_error(samples: &[&Sample]) -> f64 {
    let mut errors: Vec<f64> =
        samples.iter().map(|sample| (sample.estimated as f64 / sample.recorded as f64 - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    errors.get(errors.len() / 2).copied().unwrap_or(0.0)
}

fn class_of(text: &str) -> Class {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let han = text.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count();
    if han * 4 > letters {
        Class::Chinese
    } else if text.contains("```") {
        Class::Code
    } else {
        Class::English
    }
}

/// A count that is about this text at all. Hidden thoughts, hidden prompts and figures made up for a
/// fixture show as far more tokens than any vocabulary needs.
fn plausible(text: &str, recorded: u64) -> bool {
    let characters = text.chars().count() as u64;
    let densest = if class_of(text) == Class::Chinese { 0.7 } else { 2.0 };
    recorded >= SHORTEST && characters as f64 >= densest * recorded as f64
}

/// The visible text of an answer and its tokens.
fn answer(case: &Case) -> Option<Sample> {
    let expect = &case.expect;
    let absent = |key: &str| match &expect[key] {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    let only_text =
        ["thoughts", "tool_calls", "server_items", "code", "error", "alternatives", "refusal", "media"]
            .iter()
            .chain(&["signatures", "redacted_thinking"])
            .all(|key| absent(key));
    if expect["kind"] != "message" || !only_text {
        return None;
    }
    let usage = &expect["usage"];
    let reasoning = usage["reasoning"].as_u64().unwrap_or(0);
    let output = usage["output"].as_u64()?;
    let recorded = if case.wire == WireKind::Gemini { output } else { output.checked_sub(reasoning)? };
    let text = expect["text"].as_str()?;
    plausible(text, recorded).then(|| Sample {
        class: class_of(text),
        recorded,
        estimated: estimate_text(text),
    })
}

/// A prompt of words, and its tokens.
fn prompt(case: &Case) -> Option<Sample> {
    let usage = &case.expect["usage"];
    let mut recorded = usage["input"].as_u64()?;
    if case.wire == WireKind::Anthropic {
        recorded += usage["cached_input"].as_u64().unwrap_or(0) + usage["cache_write"].as_u64().unwrap_or(0);
    }
    let import = match case.wire {
        WireKind::Gemini => requests::gemini::import,
        WireKind::OpenaiChat => requests::openai_chat::import,
        WireKind::OpenaiResponses => requests::openai_responses::import,
        WireKind::Anthropic => requests::anthropic::import,
    };
    let request = import(case.request.as_ref()?, &case.target()).ok()?;
    let server_side = case.expect.get("server_items").is_some() || case.expect.get("code").is_some();
    if server_side || !usage["tool_prompt"].is_null() || !is_words(&request) {
        return None;
    }
    let text = words_of(&request);
    let with_tools = request.function_declarations().next().is_some();
    if recorded < SHORTEST || (!with_tools && !plausible(&text, recorded)) {
        return None;
    }
    let class = if with_tools { Class::WithTools } else { class_of(&text) };
    Some(Sample { class, recorded, estimated: estimate(&request) })
}

/// No media, no thoughts, nothing of the provider's own, nothing that the server remembers.
fn is_words(request: &GenerateRequest) -> bool {
    let plain = |part: &Part| {
        !part.thought
            && match &part.kind {
                PartKind::Text(_) | PartKind::FunctionCall(_) => true,
                PartKind::FunctionResponse(response) => response.parts.is_empty(),
                _ => false,
            }
    };
    request.contents.iter().all(|content| content.parts.iter().all(plain))
        && request.tools.iter().all(|tool| tool.native.is_none())
        && request.response_json_schema.is_none()
        && request.extra.is_empty()
}

fn words_of(request: &GenerateRequest) -> String {
    let contents = request.system_instruction.iter().chain(&request.contents);
    let mut text = String::new();
    for part in contents.flat_map(|content| &content.parts) {
        match &part.kind {
            PartKind::Text(words) => text.push_str(words),
            PartKind::FunctionCall(call) => text.push_str(&Value::from(call.args.clone()).to_string()),
            PartKind::FunctionResponse(response) => text.push_str(&response.to_text()),
            _ => {}
        }
        text.push(' ');
    }
    text
}
