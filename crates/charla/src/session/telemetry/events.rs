//! From the records of a session to the events that readers of telemetry know.

use std::collections::HashMap;
use std::sync::Arc;

use charla_proto::{Args, CallEnded, CallStatus, Fact, HookEffect, HookRan, PartKind, Record};
use serde_json::{Value, json};

use super::outfile::{Outfile, put};

/// Reads records and writes events.
pub(super) struct Watcher {
    file: Arc<Outfile>,
    prompts: bool,
    /// The prompt that is worked on.
    prompt: String,
    /// Calls that are not over, by id.
    calls: HashMap<String, Call>,
    /// The calls that questions are about.
    asked: HashMap<String, String>,
}

/// A call that is not over.
struct Call {
    args: Args,
    began: Option<u64>,
}

impl Watcher {
    pub(super) fn new(file: Arc<Outfile>, prompts: bool) -> Self {
        Self { file, prompts, prompt: String::new(), calls: HashMap::new(), asked: HashMap::new() }
    }

    /// Takes a record in.
    pub(super) fn record(&mut self, record: &Record) {
        match &record.fact {
            Fact::TurnStarted(started) => {
                self.prompt.clone_from(&started.id);
                self.prompted(&started.prompt.text());
            }
            Fact::ModelContent(said) => {
                for part in &said.content.parts {
                    if let PartKind::FunctionCall(call) = &part.kind {
                        self.begin(call.id.clone().unwrap_or_default(), call.args.clone(), None);
                    }
                }
            }
            Fact::CallAsked(asked) => drop(self.asked.insert(asked.approval.clone(), asked.call.clone())),
            Fact::ApprovalAnswered(answered) => {
                let call = self.asked.remove(&answered.approval).and_then(|call| self.calls.get_mut(&call));
                if let (Some(call), Some(args)) = (call, &answered.args) {
                    call.args.clone_from(args);
                }
            }
            Fact::HookActed(acted) => self.hook_acted(&acted.effect),
            Fact::CallStarted(started) => {
                if let Some(call) = self.calls.get_mut(&started.call) {
                    call.began = Some(record.at);
                }
            }
            Fact::ClientCallStarted(started) => {
                let call = &started.call;
                self.begin(call.id.clone().unwrap_or_default(), call.args.clone(), Some(record.at));
            }
            Fact::CallEnded(ended) | Fact::ClientCallEnded(ended) => self.called(ended, record.at),
            Fact::Compressed(compressed) => {
                let (before, after) = compressed.tokens;
                let tokens = json!({ "tokens_before": before, "tokens_after": after });
                self.file.event("chat_compression", tokens);
            }
            _ => {}
        }
    }

    /// A hook ran.
    pub(super) fn hooked(&self, ran: &HookRan) {
        let words = |text: &str| json!(if self.prompts { text } else { "" });
        self.file.event(
            "hook_call",
            json!({
                "hook_event_name": ran.hook_event_name,
                "hook_name": ran.hook_name,
                "hook_type": "command",
                "hook_input": words(&ran.hook_input),
                "hook_output": words(&ran.hook_output),
                "exit_code": ran.exit_code,
                "stdout": words(&ran.stdout),
                "stderr": words(&ran.stderr),
                "duration_ms": ran.duration_ms,
                "success": ran.success,
            }),
        );
    }

    fn prompted(&self, text: &str) {
        let mut attributes = json!({ "prompt_length": text.chars().count(), "prompt_id": self.prompt });
        put(&mut attributes, "prompt", self.prompts.then(|| text.into()));
        self.file.event("user_prompt", attributes);
    }

    fn begin(&mut self, id: String, args: Args, began: Option<u64>) {
        self.calls.insert(id, Call { args, began });
    }

    /// What a call is made with is what hooks leave of it.
    fn hook_acted(&mut self, effect: &HookEffect) {
        let (HookEffect::Call { call, args: Some(args), .. } | HookEffect::TailCall { call, args, .. }) =
            effect
        else {
            return;
        };
        if let Some(known) = self.calls.get_mut(call) {
            known.args.clone_from(args);
        }
    }

    fn called(&mut self, ended: &CallEnded, at: u64) {
        let call = self.calls.remove(&ended.call);
        let began = call.as_ref().and_then(|call| call.began).unwrap_or(at);
        let args = call.map(|call| Value::Object(call.args)).unwrap_or_else(|| json!({}));
        let name = ended.tool.as_ref().unwrap_or(&ended.response.name);
        let mut attributes = json!({
            "function_name": name,
            "function_args": args.to_string(),
            "success": ended.status == CallStatus::Success,
            "status": ended.status,
            "duration_ms": at.saturating_sub(began),
            "prompt_id": self.prompt,
        });
        if ended.status != CallStatus::Success {
            put(&mut attributes, "error", Some(ended.response.to_text().into()));
            put(&mut attributes, "error_type", ended.error.map(|kind| json!(kind)));
        }
        self.file.event("tool_call", attributes);
        let counted = json!({ "function_name": name, "success": ended.status == CallStatus::Success });
        self.file.count("tool.call.count", counted, 1);
    }
}
