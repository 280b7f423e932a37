//! Answers in the form of OpenAI Responses.

use charla_proto::WireKind;
use serde_json::{Value, json};

use super::{Asked, Event};
use crate::fault::Failure;
use crate::opaque::{self, Ledger};
use crate::script::{Call, Finish, Usage};

pub(super) struct Encoder<'a> {
    asked: &'a Asked<'a>,
    ledger: &'a mut Ledger,
    sequence: u64,
    output: Vec<Value>,
    /// The text of the message item that is still open.
    writing: Option<String>,
    /// The newest reasoning item: what follows depends on it.
    reasoning: Option<String>,
    calls: usize,
    status: &'static str,
    incomplete: Value,
    error: Value,
    usage: Value,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(asked: &'a Asked<'a>, ledger: &'a mut Ledger) -> Self {
        Self {
            asked,
            ledger,
            sequence: 0,
            output: Vec::new(),
            writing: None,
            reasoning: None,
            calls: 0,
            status: "in_progress",
            incomplete: Value::Null,
            error: Value::Null,
            usage: Value::Null,
        }
    }

    fn event(&mut self, name: &'static str, data: Value, out: &mut Vec<Event>) {
        let mut event = json!({"type": name, "sequence_number": self.sequence});
        if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), data) {
            event.extend(fields);
        }
        self.sequence += 1;
        out.push(Event { name: Some(name), data: event.to_string() });
    }

    fn item_id(&self, prefix: &str) -> String {
        format!("{prefix}_{:06}_{}", self.asked.number, self.output.len())
    }

    fn added(&mut self, item: Value, out: &mut Vec<Event>) {
        let index = self.output.len();
        self.event("response.output_item.added", json!({"output_index": index, "item": item}), out);
    }

    fn done(&mut self, item: Value, out: &mut Vec<Event>) {
        let index = self.output.len();
        self.event("response.output_item.done", json!({"output_index": index, "item": item}), out);
        if let (Some(reasoning), Some(id)) = (&self.reasoning, item["id"].as_str())
            && item["type"] != "reasoning"
        {
            self.ledger.note_dependency(id, reasoning);
        }
        self.output.push(item);
    }

    /// An event about a part of the item that is being written.
    fn part(&mut self, name: &'static str, id: &str, mut fields: Value, out: &mut Vec<Event>) {
        fields["item_id"] = json!(id);
        fields["output_index"] = json!(self.output.len());
        self.event(name, fields, out);
    }

    fn wants_encrypted(&self) -> bool {
        let include = self.asked.body["include"].as_array();
        include.is_some_and(|list| list.iter().any(|entry| entry == "reasoning.encrypted_content"))
    }

    fn reasoning_item(&mut self, id: &str, summary: Value) -> Value {
        let mut item = json!({"id": id, "type": "reasoning", "summary": summary});
        if self.wants_encrypted() {
            item["encrypted_content"] = json!(opaque::mint(WireKind::OpenaiResponses, self.asked.model, id));
        }
        if self.asked.body["store"] != false {
            self.ledger.note_stored(id);
        }
        item
    }

    fn stop_writing(&mut self, out: &mut Vec<Event>) {
        let Some(text) = self.writing.take() else { return };
        let id = self.item_id("msg");
        let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
        self.part(
            "response.output_text.done",
            &id,
            json!({"content_index": 0, "text": text, "logprobs": []}),
            out,
        );
        self.part("response.content_part.done", &id, json!({"content_index": 0, "part": part}), out);
        let item = json!({
            "id": id, "type": "message", "status": "completed", "role": "assistant", "content": [part],
        });
        self.done(item, out);
    }
}

impl super::Encoder for Encoder<'_> {
    fn open(&mut self, out: &mut Vec<Event>) {
        let response = self.document();
        self.event("response.created", json!({"response": response}), out);
        self.event("response.in_progress", json!({"response": response}), out);
    }

    fn text(&mut self, piece: &str, out: &mut Vec<Event>) {
        let id = self.item_id("msg");
        if self.writing.is_none() {
            self.added(
                json!({"id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": []}),
                out,
            );
            let part = json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
            self.part("response.content_part.added", &id, json!({"content_index": 0, "part": part}), out);
        }
        self.part(
            "response.output_text.delta",
            &id,
            json!({"content_index": 0, "delta": piece, "logprobs": []}),
            out,
        );
        self.writing.get_or_insert_default().push_str(piece);
    }

    fn thought(&mut self, pieces: &[String], out: &mut Vec<Event>) {
        self.stop_writing(out);
        let text = pieces.concat();
        self.ledger.note_thought(&text, WireKind::OpenaiResponses, self.asked.model);
        let id = self.item_id("rs");
        let empty = self.reasoning_item(&id, json!([]));
        self.added(empty, out);
        let part = |text: &str| json!({"summary_index": 0, "part": {"type": "summary_text", "text": text}});
        self.part("response.reasoning_summary_part.added", &id, part(""), out);
        for piece in pieces {
            let delta = json!({"summary_index": 0, "delta": piece});
            self.part("response.reasoning_summary_text.delta", &id, delta, out);
        }
        let whole = json!({"summary_index": 0, "text": text});
        self.part("response.reasoning_summary_text.done", &id, whole, out);
        self.part("response.reasoning_summary_part.done", &id, part(&text), out);
        let item = self.reasoning_item(&id, json!([{"type": "summary_text", "text": text}]));
        self.done(item, out);
        self.reasoning = Some(id);
    }

    fn redacted_thought(&mut self, out: &mut Vec<Event>) {
        self.stop_writing(out);
        let id = self.item_id("rs");
        let item = self.reasoning_item(&id, json!([]));
        self.added(item.clone(), out);
        self.done(item, out);
        self.reasoning = Some(id);
    }

    fn call(&mut self, call: &Call, pieces: &[String], out: &mut Vec<Event>) {
        self.stop_writing(out);
        let id = self.item_id("fc");
        let call_id =
            call.id.clone().unwrap_or_else(|| format!("call_{:06}_{}", self.asked.number, self.calls));
        self.calls += 1;
        let item = |status: &str, arguments: &str| {
            json!({
                "id": id,
                "type": "function_call",
                "status": status,
                "call_id": call_id,
                "name": call.name,
                "arguments": arguments,
            })
        };
        self.added(item("in_progress", ""), out);
        for piece in pieces {
            self.part("response.function_call_arguments.delta", &id, json!({"delta": piece}), out);
        }
        let arguments = pieces.concat();
        let whole = json!({"name": call.name, "arguments": arguments});
        self.part("response.function_call_arguments.done", &id, whole, out);
        self.done(item("completed", &arguments), out);
    }

    fn image(&mut self, _mime_type: &str, data: &str, out: &mut Vec<Event>) {
        self.stop_writing(out);
        let id = self.item_id("ig");
        let item = |status: &str, result: Value| json!({"id": id, "type": "image_generation_call", "status": status, "result": result});
        self.added(item("in_progress", Value::Null), out);
        self.done(item("completed", json!(data)), out);
    }

    fn close(&mut self, finish: &Finish, usage: Usage, out: &mut Vec<Event>) {
        self.stop_writing(out);
        self.usage = json!({
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output + usage.thoughts,
            "output_tokens_details": {"reasoning_tokens": usage.thoughts},
            "total_tokens": usage.prompt + usage.output + usage.thoughts,
        });
        let reason = match finish {
            Finish::Missing => return,
            Finish::Stop | Finish::Pause | Finish::MalformedCall => None,
            Finish::Length => Some("max_output_tokens"),
            Finish::Safety | Finish::Blocked => Some("content_filter"),
            Finish::Other(word) => Some(word.as_str()),
        };
        let name = match reason {
            None => {
                self.status = "completed";
                "response.completed"
            }
            Some(reason) => {
                self.status = "incomplete";
                self.incomplete = json!({"reason": reason});
                "response.incomplete"
            }
        };
        let response = self.document();
        self.event(name, json!({"response": response}), out);
    }

    fn error(&mut self, failure: &Failure, out: &mut Vec<Event>) {
        let value = failure.value(WireKind::OpenaiResponses, self.asked.model);
        let mut error = value["error"].clone();
        if error["code"].is_null() {
            error["code"] = json!("server_error");
        }
        self.event("error", json!({"error": error}), out);
        self.status = "failed";
        self.error = json!({"code": error["code"], "message": error["message"]});
        let response = self.document();
        self.event("response.failed", json!({"response": response}), out);
    }

    fn document(&self) -> Value {
        let body = self.asked.body;
        let or = |name: &str, other: Value| body.get(name).cloned().unwrap_or(other);
        json!({
            "id": format!("resp_{:06}", self.asked.number),
            "object": "response",
            "created_at": 1_760_000_000,
            "status": self.status,
            "error": self.error,
            "incomplete_details": self.incomplete,
            "instructions": or("instructions", Value::Null),
            "max_output_tokens": or("max_output_tokens", Value::Null),
            "model": self.asked.model,
            "output": self.output,
            "parallel_tool_calls": or("parallel_tool_calls", json!(true)),
            "previous_response_id": null,
            "reasoning": or("reasoning", json!({"effort": null, "summary": null})),
            "store": or("store", json!(true)),
            "temperature": or("temperature", json!(1.0)),
            "text": or("text", json!({"format": {"type": "text"}})),
            "tool_choice": or("tool_choice", json!("auto")),
            "tools": or("tools", json!([])),
            "top_p": or("top_p", json!(1.0)),
            "truncation": "disabled",
            "usage": self.usage,
            "metadata": {},
        })
    }
}
