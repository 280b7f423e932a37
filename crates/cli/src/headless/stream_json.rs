//! JSON lines, as things happen; exactly one `result` line ends them.

use charla::{Failure, FailureKind};
use charla_proto::{CallStatus, TurnEvent};
use serde_json::{Value, json};

use super::state::RunState;
use super::{Renderer, error_json};
use crate::printer::Printer;

pub(super) struct StreamJson;

/// Prints one line: its type, the time, and these fields.
fn line(printer: &mut Printer, kind: &str, fields: Value) -> Result<(), Failure> {
    let timestamp = format!("{:.3}", jiff::Timestamp::now());
    let mut line = json!({ "type": kind, "timestamp": timestamp });
    if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
        line.extend(fields);
    }
    printer.result(&format!("{line}\n"))
}

impl Renderer for StreamJson {
    fn begin(&mut self, state: &RunState, prompt: &str, printer: &mut Printer) -> Result<(), Failure> {
        line(printer, "init", json!({ "session_id": state.session_id, "model": state.model }))?;
        line(printer, "message", json!({ "role": "user", "content": prompt }))
    }

    fn event(&mut self, event: &TurnEvent, _: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        match event {
            TurnEvent::Content(text) => {
                line(printer, "message", json!({ "role": "assistant", "content": text, "delta": true }))
            }
            TurnEvent::Thought(text) => line(printer, "thought", json!({ "content": text, "delta": true })),
            TurnEvent::WholeText(text) => {
                line(printer, "message", json!({ "role": "assistant", "content": text, "delta": false }))
            }
            TurnEvent::ToolCallRequest(call) => {
                let fields = json!({ "tool_name": call.name, "tool_id": call.id, "parameters": call.args });
                line(printer, "tool_use", fields)
            }
            TurnEvent::ToolCallConfirmation(asked) => {
                let fields = json!({
                    "tool_id": asked.call,
                    "approval": asked.approval,
                    "confirmation": asked.confirmation,
                });
                line(printer, "tool_confirmation", fields)
            }
            TurnEvent::ToolCallLive { call, text } => {
                line(printer, "tool_output", json!({ "tool_id": call, "content": text, "delta": true }))
            }
            TurnEvent::ToolCallResponse(ended) => {
                let success = ended.status == CallStatus::Success;
                let text = ended.response.to_text();
                let mut fields = json!({
                    "tool_id": ended.call,
                    "tool_name": ended.response.name,
                    "status": if success { "success" } else { "error" },
                    "output": text,
                });
                if !success && let Some(object) = fields.as_object_mut() {
                    let kind = ended.error.map_or_else(|| json!(ended.status), |kind| json!(kind));
                    object.insert("error".to_owned(), json!({ "type": kind, "message": text }));
                }
                line(printer, "tool_result", fields)
            }
            TurnEvent::PreCompress(coming) => line(printer, "pre_compress", json!(coming)),
            TurnEvent::ChatCompressed(report) => line(printer, "chat_compressed", json!(report)),
            TurnEvent::Citation(citation) => line(printer, "citation", json!(citation)),
            TurnEvent::Retry(notice) => {
                let delay = u64::try_from(notice.delay.as_millis()).unwrap_or(u64::MAX);
                let fields = json!({
                    "attempt": notice.attempt,
                    "max_attempts": notice.max_attempts,
                    "delay_ms": delay,
                    "error": error_json(&Failure::from(&notice.error)),
                    "withdraws": notice.withdraws,
                });
                line(printer, "retry", fields)
            }
            TurnEvent::ModelSwitched { from, to, reason } => {
                line(printer, "model_switched", json!({ "from": from, "to": to, "reason": reason }))
            }
            _ => Ok(()),
        }
    }

    fn success(&mut self, state: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        let fields = json!({
            "status": "success",
            "session_id": state.session_id,
            "model": state.stats.current_model(),
            "finish_reason": state.finish_reason,
            "stats": state.stats.to_json(),
        });
        line(printer, "result", fields)
    }

    fn failure(&mut self, failure: &Failure, state: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        let error = error_json(failure);
        line(printer, "error", json!({ "error": error.clone() }))?;
        let status = if failure.kind == FailureKind::Cancelled { "cancelled" } else { "error" };
        let fields = json!({
            "status": status,
            "session_id": state.session_id,
            "error": error,
            "stats": state.stats.to_json(),
        });
        line(printer, "result", fields)?;
        printer.flush()?;
        printer.failure(failure);
        Ok(())
    }
}
