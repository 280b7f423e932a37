//! One choice of an answer: what it gives out at once and what it holds back.

use charla_proto::{Candidate, FinishReason, Part};

use super::calls::Calls;
use super::chunk::{Body, Delta, Item};
use super::*;

/// Whether an answer comes in pieces.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    Stream,
    Whole,
}

/// What is held back of one choice.
#[derive(Default)]
pub struct ChoiceState {
    pub index: u32,
    calls: Calls,
    details: Vec<Value>,
    details_weight: usize,
    extra_content: Option<Value>,
    refused: bool,
    /// Some delta or message was read.
    pub started: bool,
    /// A finish reason not given out yet, with the upstream server's word.
    finish: Option<(String, Option<String>)>,
    finish_given: Option<String>,
}

impl ChoiceState {
    /// The choice of this index, nothing said yet.
    pub fn new(index: u32) -> Self {
        Self { index, ..Self::default() }
    }

    /// Reads one delta, or the message of a whole answer; what may be shown goes to `parts`.
    pub fn delta(&mut self, delta: Delta, form: Form, parts: &mut Vec<Part>) {
        self.started = true;
        let details = delta.reasoning_details.0;
        self.thoughts([delta.reasoning_content, delta.reasoning], &details, parts);
        self.details_weight += details.iter().map(weight).sum::<usize>();
        match form {
            Form::Stream => details::merge(&mut self.details, details),
            Form::Whole => self.details.extend(details),
        }
        self.body(delta.content, parts);
        self.refusal(delta.refusal.get(), parts);
        for image in delta.images.0 {
            parts.extend(image.image_url.0.as_ref().and_then(|image| media::from_url(image.url.get()?)));
        }
        for call in delta.tool_calls.0 {
            self.calls.push(call);
        }
        if let Some(function) = delta.function_call.0 {
            self.calls.push_legacy(*function);
        }
        if delta.extra_content.is_some() {
            self.extra_content = delta.extra_content.map(|fields| *fields);
        }
    }

    /// Several fields of one delta carry the same thought: the first that says anything counts.
    fn thoughts(&self, fields: [Body; 2], details: &[Value], parts: &mut Vec<Part>) {
        let before = parts.len();
        for field in fields {
            push_thought(field, parts);
            if parts.len() > before {
                return;
            }
        }
        let words = details::words(details);
        if !words.is_empty() {
            parts.push(Part::thought(words));
        }
    }

    fn body(&mut self, body: Body, parts: &mut Vec<Part>) {
        match body {
            Body::Nothing => {}
            Body::Text(text) => push_text(text.into_owned(), parts),
            Body::Items(items) => {
                for Item { text, thinking, refusal, image_url } in items {
                    push_thought(thinking, parts);
                    push_text(text.take().unwrap_or_default().into_owned(), parts);
                    self.refusal(refusal.get(), parts);
                    parts.extend(image_url.0.as_ref().and_then(|image| media::from_url(image.url.get()?)));
                }
            }
        }
    }

    fn refusal(&mut self, words: Option<&str>, parts: &mut Vec<Part>) {
        if let Some(words) = words {
            self.refused = true;
            let mut part = Part::text(words);
            part.extra.insert("refusal", Value::Bool(true));
            parts.push(part);
        }
    }

    /// Takes the finish reason; true when everything held back can go with it. A reason that is repeated
    /// is old news, and arguments that are not whole yet may go on: some servers name the reason early.
    pub fn finish(&mut self, word: &str, upstream: Option<&str>) -> bool {
        if self.finish_given.as_deref() == Some(word) {
            return false;
        }
        self.finish = Some((word.to_owned(), upstream.map(str::to_owned)));
        self.calls.are_complete()
    }

    /// See [`EventDecoder::held`].
    pub fn held(&self) -> usize {
        ENTRY + self.details_weight + self.calls.held()
    }

    /// Gives out calls, data for the origin and the finish reason, in this order.
    pub fn flush(&mut self, parts: &mut Vec<Part>, candidate: &mut Candidate) {
        parts.extend(self.calls.take());
        let mut fields = serde_json::Map::new();
        if !self.details.is_empty() {
            let details = std::mem::take(&mut self.details);
            self.details_weight = 0;
            fields.insert("reasoning_details".to_owned(), Value::Array(details));
        }
        if let Some(extra_content) = self.extra_content.take() {
            fields.insert("extra_content".to_owned(), extra_content);
        }
        if !fields.is_empty() {
            parts.push(Part::opaque(Value::Object(fields)));
        }
        if let Some((word, upstream)) = self.finish.take() {
            candidate.finish_reason = Some(finish_reason(&word, upstream.as_deref(), self.refused));
            candidate.native_finish_reason = Some(word.clone());
            self.finish_given = Some(word);
        }
    }
}

fn push_text(text: String, parts: &mut Vec<Part>) {
    if !text.is_empty() {
        parts.push(Part::text(text));
    }
}

fn push_thought(body: Body, parts: &mut Vec<Part>) {
    let words = match body {
        Body::Nothing => return,
        Body::Text(text) => text.into_owned(),
        Body::Items(items) => items.into_iter().filter_map(|item| item.text.take()).collect(),
    };
    if !words.is_empty() {
        parts.push(Part::thought(words));
    }
}

fn finish_reason(word: &str, upstream: Option<&str>, refused: bool) -> FinishReason {
    if upstream.is_some_and(|word| word.eq_ignore_ascii_case("malformed_function_call")) {
        return FinishReason::MalformedFunctionCall;
    }
    match word.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "end_turn" | "stop_sequence" | "tool_calls" | "tool_use" | "function_call" => {
            if refused {
                FinishReason::Safety
            } else {
                FinishReason::Stop
            }
        }
        "length" | "max_tokens" | "model_length" => FinishReason::MaxTokens,
        "content_filter" | "safety" | "refusal" | "sensitive" => FinishReason::Safety,
        "recitation" => FinishReason::Recitation,
        "malformed_function_call" => FinishReason::MalformedFunctionCall,
        _ => FinishReason::Other(word.to_owned()),
    }
}
