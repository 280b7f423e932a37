//! Answers in the form of `generateContent`.

use charla_proto::WireKind;
use serde_json::{Value, json};

use super::{Asked, Event, arguments};
use crate::fault::Failure;
use crate::opaque::{self, Ledger};
use crate::script::{Call, Finish, Usage};

pub(super) struct Encoder<'a> {
    asked: &'a Asked<'a>,
    ledger: &'a mut Ledger,
    parts: Vec<Value>,
    thought: bool,
    calls: usize,
    last: Value,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(asked: &'a Asked<'a>, ledger: &'a mut Ledger) -> Self {
        Self { asked, ledger, parts: Vec::new(), thought: false, calls: 0, last: Value::Null }
    }

    fn chunk(&self, parts: Vec<Value>) -> Value {
        json!({
            "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
            "modelVersion": self.asked.model,
            "responseId": format!("testkit-{}", self.asked.number),
        })
    }

    fn part(&mut self, part: Value, out: &mut Vec<Event>) {
        let chunk = self.chunk(vec![part.clone()]);
        out.push(Event { name: None, data: chunk.to_string() });
        self.collect(part);
    }

    /// A whole answer has each run of text in one part.
    fn collect(&mut self, part: Value) {
        if let (Some(last), Some(more)) = (self.parts.last_mut(), part["text"].as_str())
            && last["thought"] == part["thought"]
            && let Some(text) = last["text"].as_str()
        {
            let text = format!("{text}{more}");
            last["text"] = Value::String(text);
            if let Some(signature) = part.get("thoughtSignature") {
                last["thoughtSignature"] = signature.clone();
            }
            return;
        }
        self.parts.push(part);
    }

    fn signature(&self, content: &str) -> String {
        opaque::mint(WireKind::Gemini, self.asked.model, content)
    }
}

impl super::Encoder for Encoder<'_> {
    fn open(&mut self, _out: &mut Vec<Event>) {}

    fn text(&mut self, piece: &str, out: &mut Vec<Event>) {
        self.part(json!({"text": piece}), out);
    }

    fn thought(&mut self, pieces: &[String], out: &mut Vec<Event>) {
        self.thought = true;
        self.ledger.note_thought(&pieces.concat(), WireKind::Gemini, self.asked.model);
        for piece in pieces {
            self.part(json!({"text": piece, "thought": true}), out);
        }
    }

    fn call(&mut self, call: &Call, _pieces: &[String], out: &mut Vec<Event>) {
        let mut function = json!({"name": call.name, "args": arguments(call)});
        if let (Some(id), false) = (&call.id, call.bare) {
            function["id"] = json!(id);
        }
        let mut part = json!({"functionCall": function});
        if self.calls == 0 {
            part["thoughtSignature"] = json!(self.signature(&call.name));
        }
        self.calls += 1;
        self.part(part, out);
    }

    fn image(&mut self, mime_type: &str, data: &str, out: &mut Vec<Event>) {
        self.part(json!({"inlineData": {"mimeType": mime_type, "data": data}}), out);
    }

    fn close(&mut self, finish: &Finish, usage: Usage, out: &mut Vec<Event>) {
        let signature = (self.thought && self.calls == 0).then(|| self.signature("text"));
        let closing = signature.map(|signature| json!({"text": "", "thoughtSignature": signature}));
        if let Some(part) = &closing {
            self.collect(part.clone());
        }
        let mut chunk = self.chunk(closing.into_iter().collect());
        finish_chunk(&mut chunk, finish, usage, self.calls > 0);
        out.push(Event { name: None, data: chunk.to_string() });
        if !self.parts.is_empty() && chunk.get("candidates").is_some() {
            chunk["candidates"][0]["content"] = json!({"parts": self.parts, "role": "model"});
        }
        self.last = chunk;
    }

    fn error(&mut self, failure: &Failure, out: &mut Vec<Event>) {
        out.push(Event { name: None, data: failure.value(WireKind::Gemini, self.asked.model).to_string() });
    }

    fn document(&self) -> Value {
        self.last.clone()
    }
}

fn finish_chunk(chunk: &mut Value, finish: &Finish, usage: Usage, calls: bool) {
    let empty = chunk["candidates"][0]["content"]["parts"].as_array().is_none_or(Vec::is_empty);
    let candidate = &mut chunk["candidates"][0];
    if empty {
        candidate["content"] = json!({"role": "model"});
    }
    let word = match finish {
        Finish::Stop | Finish::Pause => Some("STOP"),
        Finish::Length => Some("MAX_TOKENS"),
        Finish::Safety => Some("SAFETY"),
        Finish::MalformedCall => Some("MALFORMED_FUNCTION_CALL"),
        Finish::Blocked | Finish::Missing => None,
        Finish::Other(word) => Some(word.as_str()),
    };
    if let Some(word) = word {
        candidate["finishReason"] = json!(word);
    }
    if calls && *finish == Finish::Stop {
        candidate["finishMessage"] = json!("Model generated function call(s).");
    }
    if *finish == Finish::Blocked {
        if let Some(chunk) = chunk.as_object_mut() {
            chunk.shift_remove("candidates");
        }
        chunk["promptFeedback"] = json!({"blockReason": "PROHIBITED_CONTENT"});
    }
    let mut counts = json!({"promptTokenCount": usage.prompt});
    for (name, count) in [
        ("candidatesTokenCount", usage.output),
        ("thoughtsTokenCount", usage.thoughts),
        ("cachedContentTokenCount", usage.cached),
    ] {
        if count > 0 {
            counts[name] = json!(count);
        }
    }
    counts["totalTokenCount"] = json!(usage.prompt + usage.output + usage.thoughts);
    chunk["usageMetadata"] = counts;
}
