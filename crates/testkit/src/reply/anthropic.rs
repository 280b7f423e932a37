//! Answers in the form of Anthropic Messages.

use charla_proto::WireKind;
use serde_json::{Value, json};

use super::{Asked, Event, arguments};
use crate::fault::Failure;
use crate::opaque::{self, Ledger};
use crate::script::{Call, Finish, Usage};

pub(super) struct Encoder<'a> {
    asked: &'a Asked<'a>,
    ledger: &'a mut Ledger,
    blocks: Vec<Value>,
    /// The last block is a text block that is still open.
    writing: bool,
    calls: usize,
    stop_reason: Value,
    usage: Value,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(asked: &'a Asked<'a>, ledger: &'a mut Ledger) -> Self {
        Self {
            asked,
            ledger,
            blocks: Vec::new(),
            writing: false,
            calls: 0,
            stop_reason: Value::Null,
            usage: json!({"input_tokens": asked.prompt_tokens, "output_tokens": 1}),
        }
    }

    fn event(&self, name: &'static str, mut data: Value, out: &mut Vec<Event>) {
        data["type"] = json!(name);
        out.push(Event { name: Some(name), data: data.to_string() });
    }

    fn start(&mut self, shown: &Value, whole: Value, out: &mut Vec<Event>) {
        self.stop_writing(out);
        let index = self.blocks.len();
        self.event("content_block_start", json!({"index": index, "content_block": shown}), out);
        self.blocks.push(whole);
    }

    fn delta(&self, delta: Value, out: &mut Vec<Event>) {
        let index = self.blocks.len().saturating_sub(1);
        self.event("content_block_delta", json!({"index": index, "delta": delta}), out);
    }

    fn stop(&self, out: &mut Vec<Event>) {
        self.event("content_block_stop", json!({"index": self.blocks.len().saturating_sub(1)}), out);
    }

    fn stop_writing(&mut self, out: &mut Vec<Event>) {
        if std::mem::take(&mut self.writing) {
            self.stop(out);
        }
    }
}

impl super::Encoder for Encoder<'_> {
    fn open(&mut self, out: &mut Vec<Event>) {
        self.event("message_start", json!({"message": self.document()}), out);
        self.event("ping", json!({}), out);
    }

    fn text(&mut self, piece: &str, out: &mut Vec<Event>) {
        if !self.writing {
            self.start(&json!({"type": "text", "text": ""}), json!({"type": "text", "text": ""}), out);
            self.writing = true;
        }
        self.delta(json!({"type": "text_delta", "text": piece}), out);
        if let Some(block) = self.blocks.last_mut() {
            block["text"] = json!(format!("{}{piece}", block["text"].as_str().unwrap_or_default()));
        }
    }

    fn thought(&mut self, pieces: &[String], out: &mut Vec<Event>) {
        let text = pieces.concat();
        self.ledger.note_thought(&text, WireKind::Anthropic, self.asked.model);
        let signature = opaque::mint(WireKind::Anthropic, self.asked.model, &text);
        self.start(
            &json!({"type": "thinking", "thinking": "", "signature": ""}),
            json!({"type": "thinking", "thinking": text, "signature": signature}),
            out,
        );
        for piece in pieces {
            self.delta(json!({"type": "thinking_delta", "thinking": piece}), out);
        }
        self.delta(json!({"type": "signature_delta", "signature": signature}), out);
        self.stop(out);
    }

    fn redacted_thought(&mut self, out: &mut Vec<Event>) {
        let data = opaque::mint(WireKind::Anthropic, self.asked.model, "redacted");
        let block = json!({"type": "redacted_thinking", "data": data});
        self.start(&block, block.clone(), out);
        self.stop(out);
    }

    fn call(&mut self, call: &Call, pieces: &[String], out: &mut Vec<Event>) {
        self.calls += 1;
        let id = call.id.clone().unwrap_or_else(|| format!("toolu_{:06}_{}", self.asked.number, self.calls));
        let block = |input: Value| json!({"type": "tool_use", "id": id, "name": call.name, "input": input});
        self.start(&block(json!({})), block(arguments(call)), out);
        self.delta(json!({"type": "input_json_delta", "partial_json": ""}), out);
        let empty = pieces.concat() == "{}";
        for piece in pieces.iter().filter(|_| !empty) {
            self.delta(json!({"type": "input_json_delta", "partial_json": piece}), out);
        }
        self.stop(out);
    }

    fn close(&mut self, finish: &Finish, usage: Usage, out: &mut Vec<Event>) {
        self.stop_writing(out);
        self.stop_reason = match finish {
            Finish::Stop | Finish::MalformedCall if self.calls > 0 => json!("tool_use"),
            Finish::Stop | Finish::MalformedCall => json!("end_turn"),
            Finish::Length => json!("max_tokens"),
            Finish::Safety | Finish::Blocked => json!("refusal"),
            Finish::Pause => json!("pause_turn"),
            Finish::Missing => Value::Null,
            Finish::Other(word) => json!(word),
        };
        self.usage = json!({
            "input_tokens": usage.prompt.saturating_sub(usage.cached),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": usage.output + usage.thoughts,
            "output_tokens_details": {"thinking_tokens": usage.thoughts},
        });
        let delta = json!({"stop_reason": self.stop_reason, "stop_sequence": null});
        self.event("message_delta", json!({"delta": delta, "usage": self.usage}), out);
        self.event("message_stop", json!({}), out);
    }

    fn error(&mut self, failure: &Failure, out: &mut Vec<Event>) {
        self.event("error", failure.value(WireKind::Anthropic, self.asked.model), out);
    }

    fn document(&self) -> Value {
        json!({
            "id": format!("msg_{:06}", self.asked.number),
            "type": "message",
            "role": "assistant",
            "model": self.asked.model,
            "content": self.blocks,
            "stop_reason": self.stop_reason,
            "stop_sequence": null,
            "usage": self.usage,
        })
    }
}
