//! Recorded responses: decoded, however the bytes are cut.

use charla_proto::{
    Assembler, Content, FunctionCall, GenerateResponse, LlmError, LlmErrorKind, PartKind, UsageMetadata,
    WireKind,
};
use charla_providers::sse::DEFAULT_MAX_EVENT;
use charla_providers::wire::{self, BodyDecoder};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::case::Case;

pub fn check(case: &Case) -> Result<(), String> {
    if case.status() >= 400 {
        return check_error(case);
    }
    if case.expect["kind"] == "count_tokens" {
        let count = wire::of(case.wire).decode_count(&case.response).map_err(|e| e.to_string())?;
        return same("count", &case.expect["count_tokens"], &Value::from(count.total_tokens)).or_else(|_| {
            same("usage.input", &case.expect["usage"]["input"], &Value::from(count.total_tokens))
        });
    }
    let whole = decode(case, &[]);
    check_answer(case, &whole)?;
    let every_byte: Vec<usize> = (0..case.response.len()).collect();
    let mut random = Random::new(&case.id);
    let mut ways = vec![random.cuts(case.response.len(), 7), random.cuts(case.response.len(), 60)];
    if case.response.len() < 40_000 {
        ways.push(every_byte);
    }
    for cuts in ways {
        // Ids that the server did not give are made up anew each time.
        if normal(&decode(case, &cuts)) != normal(&whole) {
            return Err(format!("cut into {} pieces it decodes differently", cuts.len() + 1));
        }
    }
    Ok(())
}

/// The answer and the error it ended in, if any.
type Decoded = (GenerateResponse, Option<LlmError>);

fn decode(case: &Case, cuts: &[usize]) -> Decoded {
    let mut body = BodyDecoder::new(wire::of(case.wire).decoder(&case.target()), DEFAULT_MAX_EVENT);
    let mut out = Vec::new();
    let mut from = 0;
    let mut error = None;
    for cut in cuts.iter().copied().chain([case.response.len()]) {
        if let Err(e) = body.push(&case.response[from..cut], &mut out) {
            error = Some(e);
            break;
        }
        from = cut;
    }
    if error.is_none() {
        error = body.end(&mut out).err();
    }
    let mut assembler = Assembler::new();
    for chunk in out {
        assembler.push(chunk);
    }
    (assembler.finish(), error)
}

fn normal((response, error): &Decoded) -> (Value, Option<LlmError>) {
    let mut json = serde_json::to_value(response).unwrap_or_default();
    for candidate in json["candidates"].as_array_mut().into_iter().flatten() {
        for part in candidate["content"]["parts"].as_array_mut().into_iter().flatten() {
            if let Some(call) = part.get_mut("functionCall").and_then(Value::as_object_mut)
                && call.get("id").and_then(Value::as_str).is_some_and(|id| id.starts_with("charla_"))
            {
                call.remove("id");
            }
        }
    }
    (json, error.clone())
}

fn same(what: &str, expected: &Value, got: &Value) -> Result<(), String> {
    if expected == got {
        Ok(())
    } else {
        Err(format!("{what}: expected {}, got {}", cut(expected), cut(got)))
    }
}

fn cut(value: &Value) -> String {
    value.to_string().chars().take(300).collect()
}

fn check_answer(case: &Case, (answer, error): &Decoded) -> Result<(), String> {
    let expect = &case.expect;
    check_in_stream_error(expect, error.as_ref())?;
    let empty = Content::default();
    let content = answer.content().unwrap_or(&empty);
    same("text", &expect["text"], &Value::from(words(content, false)))?;
    same("thoughts", &expect["thoughts"], &Value::from(content.thoughts()))?;
    if let Some(refusal) = expect.get("refusal").and_then(Value::as_str) {
        same("refusal", &Value::from(refusal), &Value::from(words(content, true)))?;
    }
    check_calls(expect, content)?;
    let finish = answer.candidates.first().and_then(|candidate| candidate.native_finish_reason.clone());
    let finish = finish.map_or(Value::Null, Value::from);
    if expect["finish_reason"] != "" {
        same("finish_reason", &expect["finish_reason"], &finish)?;
    }
    if let Some(id) = expect["id"].as_str() {
        same("id", &Value::from(id), &Value::from(answer.response_id.clone()))?;
    }
    check_usage(case, answer.usage_metadata.as_ref())?;
    check_alternatives(expect, answer)?;
    check_opaque(expect, content)
}

/// Further answers to one request stay apart by their index.
fn check_alternatives(expect: &Value, answer: &GenerateResponse) -> Result<(), String> {
    for expected in expect["alternatives"].as_array().into_iter().flatten() {
        let index = expected["index"].as_u64().unwrap_or_default();
        let mut candidates = answer.candidates.iter();
        let Some(candidate) = candidates.find(|candidate| u64::from(candidate.index) == index) else {
            return Err(format!("answer {index} is lost"));
        };
        let content = candidate.content.clone().unwrap_or_default();
        same("text of another answer", &expected["text"], &Value::from(words(&content, false)))?;
        same("thoughts of another answer", &expected["thoughts"], &Value::from(content.thoughts()))?;
        check_calls(expected, &content)?;
        let finish = candidate.native_finish_reason.clone().map_or(Value::Null, Value::from);
        same("finish_reason of another answer", &expected["finish_reason"], &finish)?;
    }
    Ok(())
}

/// The visible words, or the words of a refusal.
fn words(content: &Content, refusal: bool) -> String {
    let parts = content.parts.iter().filter(|part| !part.thought);
    let parts = parts.filter(|part| part.extra.get("refusal").is_some() == refusal);
    parts.filter_map(|part| part.as_text()).collect()
}

fn check_calls(expect: &Value, content: &Content) -> Result<(), String> {
    let expected = expect["tool_calls"].as_array().cloned().unwrap_or_default();
    let calls: Vec<&FunctionCall> = content.function_calls().collect();
    if expected.len() != calls.len() {
        return Err(format!("expected {} calls, got {}", expected.len(), calls.len()));
    }
    for (expected, call) in expected.iter().zip(calls) {
        same("call name", &expected["name"], &Value::from(call.name.clone()))?;
        match expected["id"].as_str().filter(|id| !id.is_empty()) {
            Some(id) => same("call id", &Value::from(id), &Value::from(call.id.clone()))?,
            None if call.id.as_deref().is_some_and(|id| id.starts_with("charla_")) => {}
            None => return Err(format!("call {} has no id made up for it: {:?}", call.name, call.id)),
        }
        if expected["args_invalid_json"] == true {
            let Some(invalid) = &call.invalid else {
                return Err(format!("call {} should be invalid", call.name));
            };
            same("raw args", &expected["args_raw"], &Value::from(invalid.raw.clone()))?;
        } else if expected["args"].is_string() || expected["type"] == "custom" {
            // Free-text input of a custom tool.
            let text = if expected["args"].is_string() { &expected["args"] } else { &expected["args_raw"] };
            same("input", text, call.args.get("input").unwrap_or(&Value::Null))?;
        } else {
            let args = if expected["args"].is_null() {
                Value::Object(Default::default())
            } else {
                expected["args"].clone()
            };
            same("args", &args, &Value::from(call.args.clone()))?;
        }
    }
    Ok(())
}

/// Wire figures into ours: the prompt includes cached tokens, the candidates exclude thoughts.
fn check_usage(case: &Case, usage: Option<&UsageMetadata>) -> Result<(), String> {
    let expect = &case.expect["usage"];
    let figure = |key: &str| expect[key].as_u64();
    if expect.as_object().is_none_or(|usage| usage.is_empty()) {
        return Ok(());
    }
    let Some(usage) = usage else { return Err("no usage".to_owned()) };
    let (input, cached) = (figure("input"), figure("cached_input"));
    // The figures of the Responses wire leave cache writes out; the recorded object has them.
    let raw = &case.expect["usage_raw"]["input_tokens_details"]["cache_write_tokens"];
    let write = figure("cache_write").or(raw.as_u64());
    let prompt = match case.wire {
        WireKind::Anthropic => input.map(|input| input + cached.unwrap_or(0) + write.unwrap_or(0)),
        _ => input,
    };
    let reasoning = thinking(case).unwrap_or(0);
    let output = match (case.wire, figure("output")) {
        (_, None) => None,
        (WireKind::Gemini, Some(output)) => Some(output),
        // A server that counts thoughts beside the completion shows it in the total.
        (_, Some(output))
            if figure("total")
                .is_some_and(|total| reasoning > 0 && total == input.unwrap_or(0) + output + reasoning) =>
        {
            Some(output)
        }
        (_, Some(output)) => Some(output.saturating_sub(reasoning)),
    };
    let number = |n: Option<u64>| n.map_or(Value::Null, Value::from);
    same("usage prompt", &number(prompt), &number(usage.prompt_token_count))?;
    same("usage candidates", &number(output), &number(usage.candidates_token_count))?;
    same("usage thoughts", &number(thinking(case)), &number(usage.thoughts_token_count))?;
    same("usage cached", &number(cached), &number(usage.cached_content_token_count))?;
    same("usage cache write", &number(write), &number(usage.cache_write_token_count))?;
    same("usage tool prompt", &number(figure("tool_prompt")), &number(usage.tool_use_prompt_token_count))?;
    same("usage total", &number(figure("total")), &number(usage.total_token_count))
}

/// Thinking tokens. The corpus leaves Anthropic's, a part of its output tokens, in the raw figures.
fn thinking(case: &Case) -> Option<u64> {
    let named = case.expect["usage"]["reasoning"].as_u64();
    let raw = &case.expect["usage_raw"]["output_tokens_details"]["thinking_tokens"];
    named.or_else(|| raw.as_u64().filter(|_| case.wire == WireKind::Anthropic))
}

/// Signatures and redacted thinking must be somewhere in the content, exactly.
fn check_opaque(expect: &Value, content: &Content) -> Result<(), String> {
    let kept: Vec<&str> = content.parts.iter().filter_map(|part| part.thought_signature.as_deref()).collect();
    let opaque: String = content
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Opaque(value) => Some(value.to_string()),
            _ => None,
        })
        .collect();
    let signatures = expect["signatures"].as_array().into_iter().flatten().map(|s| &s["value"]);
    let redacted = expect["redacted_thinking"].as_array().into_iter().flatten();
    let redacted = redacted.map(|item| if item.is_string() { item } else { &item["data"] });
    for value in signatures.chain(redacted) {
        let Some(text) = value.as_str() else { continue };
        let quoted = Value::from(text).to_string();
        if !kept.contains(&text) && !opaque.contains(&quoted) {
            return Err(format!("opaque data is lost: {}", cut(value)));
        }
    }
    Ok(())
}

fn check_in_stream_error(expect: &Value, error: Option<&LlmError>) -> Result<(), String> {
    let expected = &expect["error"];
    match (expected.is_null(), error) {
        (true, None) => Ok(()),
        (true, Some(error)) => Err(format!("unexpected error: {error}")),
        (false, None) => Err(format!("expected the error {}", cut(expected))),
        (false, Some(error)) => check_error_words(expected, error),
    }
}

fn check_error_words(expected: &Value, error: &LlmError) -> Result<(), String> {
    if let Some(message) = expected["message"].as_str().filter(|message| !message.is_empty()) {
        same("error message", &Value::from(message), &Value::from(error.message.clone()))?;
    }
    let code = match &expected["code"] {
        Value::String(code) => Some(code.clone()),
        Value::Number(code) => Some(code.to_string()),
        _ => None,
    };
    if let Some(code) = code
        && error.detail.code.as_deref() != Some(&*code)
        && error.detail.vendor_type.as_deref() != Some(&*code)
    {
        return Err(format!("error code: expected {code}, got {:?}", error.detail.code));
    }
    if let Some(delay) = expected["retry_delay"].as_str().and_then(|text| text.strip_suffix('s')) {
        let got = error.detail.retry_after.map(|wait| wait.as_secs_f64());
        same("retry delay", &Value::from(delay.parse::<f64>().ok()), &Value::from(got))?;
    }
    Ok(())
}

fn check_error(case: &Case) -> Result<(), String> {
    let mut headers = HeaderMap::new();
    for (name, value) in case.meta["response_headers"].as_object().into_iter().flatten() {
        if let (Ok(name), Ok(value)) =
            (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.as_str().unwrap_or_default()))
        {
            headers.insert(name, value);
        }
    }
    let status = case.status();
    let error = wire::of(case.wire).error(&case.target(), status, &headers, &case.response);
    if error.detail.status != Some(status) {
        return Err(format!("status {status} became {:?}", error.detail.status));
    }
    check_error_words(&case.expect["error"], &error)?;
    let possible: &[LlmErrorKind] = match status {
        // The model's malformed call, which its server tells as the client's mistake.
        400 if case.expect["error"]["code"] == "tool_use_failed" => &[LlmErrorKind::InvalidStream],
        401 => &[LlmErrorKind::Auth],
        403 => &[LlmErrorKind::Permission, LlmErrorKind::Auth],
        404 => &[LlmErrorKind::NotFound],
        429 => &[LlmErrorKind::RateLimit, LlmErrorKind::Quota],
        529 => &[LlmErrorKind::Overloaded],
        500..=599 => &[
            LlmErrorKind::Server,
            LlmErrorKind::Overloaded,
            LlmErrorKind::InvalidRequest,
            LlmErrorKind::ContextOverflow,
        ],
        _ => &[
            LlmErrorKind::InvalidRequest,
            LlmErrorKind::ContextOverflow,
            LlmErrorKind::Auth,
            LlmErrorKind::NotFound,
            LlmErrorKind::Blocked,
            LlmErrorKind::Quota,
        ],
    };
    if possible.contains(&error.kind) {
        Ok(())
    } else {
        Err(format!("status {status} became {:?}", error.kind))
    }
}

/// A small generator, seeded by the case so that a failure repeats.
struct Random(u64);

impl Random {
    fn new(seed: &str) -> Self {
        Self(
            seed.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            }),
        )
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn cuts(&mut self, len: usize, count: usize) -> Vec<usize> {
        let mut cuts: Vec<usize> = (0..count).map(|_| (self.next() % (len as u64 + 1)) as usize).collect();
        cuts.sort_unstable();
        cuts
    }
}
