//! Answers in the form of OpenAI Chat Completions.

use charla_proto::WireKind;
use serde_json::{Value, json};

use super::{Asked, Event};
use crate::fault::Failure;
use crate::opaque::{self, Ledger};
use crate::script::{Call, ChatThoughts, Finish, Usage};

pub(super) struct Encoder<'a> {
    asked: &'a Asked<'a>,
    ledger: &'a mut Ledger,
    text: String,
    thoughts: String,
    details: Vec<Value>,
    calls: Vec<Value>,
    finish: Value,
    usage: Value,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(asked: &'a Asked<'a>, ledger: &'a mut Ledger) -> Self {
        Self {
            asked,
            ledger,
            text: String::new(),
            thoughts: String::new(),
            details: Vec::new(),
            calls: Vec::new(),
            finish: Value::Null,
            usage: Value::Null,
        }
    }

    fn wants_usage(&self) -> bool {
        self.asked.body["stream_options"]["include_usage"] == true
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({
            "id": self.id(),
            "object": "chat.completion.chunk",
            "created": 1_760_000_000,
            "model": self.asked.model,
            "choices": choices,
        });
        if self.wants_usage() {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    fn id(&self) -> String {
        format!("chatcmpl-{:06}", self.asked.number)
    }

    fn delta(&self, delta: Value, finish: &Value, out: &mut Vec<Event>) {
        let chunk = self.chunk(json!([
            {"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}
        ]));
        out.push(Event { name: None, data: chunk.to_string() });
    }

    /// The fields of a piece of thought; `last` carries the proof where there is one.
    fn thought_fields(&self, piece: &str, last: bool) -> Value {
        match self.asked.chat_thoughts {
            ChatThoughts::ReasoningContent => json!({"reasoning_content": piece}),
            ChatThoughts::Reasoning => json!({"reasoning": piece}),
            ChatThoughts::ReasoningDetails => {
                let mut detail = json!({"type": "reasoning.text", "text": piece, "index": 0});
                if last {
                    detail["signature"] = json!(self.proof());
                }
                json!({"reasoning": piece, "reasoning_details": [detail]})
            }
        }
    }

    fn proof(&self) -> String {
        opaque::mint(WireKind::OpenaiChat, self.asked.model, "reasoning")
    }
}

impl super::Encoder for Encoder<'_> {
    fn open(&mut self, out: &mut Vec<Event>) {
        self.delta(json!({"role": "assistant", "content": "", "refusal": null}), &Value::Null, out);
    }

    fn text(&mut self, piece: &str, out: &mut Vec<Event>) {
        self.text.push_str(piece);
        self.delta(json!({"content": piece}), &Value::Null, out);
    }

    fn thought(&mut self, pieces: &[String], out: &mut Vec<Event>) {
        let text = pieces.concat();
        self.ledger.note_thought(&text, WireKind::OpenaiChat, self.asked.model);
        for (at, piece) in pieces.iter().enumerate() {
            self.delta(self.thought_fields(piece, at + 1 == pieces.len()), &Value::Null, out);
        }
        if self.asked.chat_thoughts == ChatThoughts::ReasoningDetails {
            let detail =
                json!({"type": "reasoning.text", "text": text, "index": 0, "signature": self.proof()});
            self.details.push(detail);
        }
        self.thoughts.push_str(&text);
    }

    fn call(&mut self, call: &Call, pieces: &[String], out: &mut Vec<Event>) {
        let index = self.calls.len();
        let id = call.id.clone().unwrap_or_else(|| format!("call_{:06}_{index}", self.asked.number));
        let named = |arguments: &str| {
            if call.bare {
                json!({"function": {"name": call.name, "arguments": arguments}})
            } else {
                json!({
                    "index": index,
                    "id": id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": arguments},
                })
            }
        };
        self.delta(json!({"tool_calls": [named("")]}), &Value::Null, out);
        for piece in pieces {
            let mut delta = json!({"function": {"arguments": piece}});
            if !call.bare {
                delta["index"] = json!(index);
            }
            self.delta(json!({"tool_calls": [delta]}), &Value::Null, out);
        }
        let mut whole = named(&pieces.concat());
        if let Some(call) = whole.as_object_mut() {
            call.shift_remove("index");
        }
        self.calls.push(whole);
    }

    fn close(&mut self, finish: &Finish, usage: Usage, out: &mut Vec<Event>) {
        self.finish = match finish {
            Finish::Stop | Finish::Pause | Finish::MalformedCall if !self.calls.is_empty() => {
                json!("tool_calls")
            }
            Finish::Stop | Finish::Pause | Finish::MalformedCall => json!("stop"),
            Finish::Length => json!("length"),
            Finish::Safety | Finish::Blocked => json!("content_filter"),
            Finish::Missing => Value::Null,
            Finish::Other(word) => json!(word),
        };
        self.usage = json!({
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.output + usage.thoughts,
            "total_tokens": usage.prompt + usage.output + usage.thoughts,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens_details": {"reasoning_tokens": usage.thoughts},
        });
        if !self.finish.is_null() {
            self.delta(json!({}), &self.finish, out);
        }
        if self.wants_usage() {
            let mut chunk = self.chunk(json!([]));
            chunk["usage"] = self.usage.clone();
            out.push(Event { name: None, data: chunk.to_string() });
        }
        out.push(Event { name: None, data: "[DONE]".to_owned() });
    }

    fn error(&mut self, failure: &Failure, out: &mut Vec<Event>) {
        let data = failure.value(WireKind::OpenaiChat, self.asked.model).to_string();
        out.push(Event { name: None, data });
    }

    fn document(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text, "refusal": null});
        if self.text.is_empty() && !self.calls.is_empty() {
            message["content"] = Value::Null;
        }
        if !self.thoughts.is_empty() {
            let field = match self.asked.chat_thoughts {
                ChatThoughts::ReasoningContent => "reasoning_content",
                ChatThoughts::Reasoning | ChatThoughts::ReasoningDetails => "reasoning",
            };
            message[field] = json!(self.thoughts);
        }
        if !self.details.is_empty() {
            message["reasoning_details"] = json!(self.details);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = json!(self.calls);
        }
        json!({
            "id": self.id(),
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": self.asked.model,
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": self.finish}],
            "usage": self.usage,
        })
    }
}
