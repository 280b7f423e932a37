//! JSON lines, as things happen; exactly one `result` line ends them.

use charla::{Failure, FailureKind};
use charla_proto::TurnEvent;
use serde_json::{Value, json};

use super::Renderer;
use super::ending::error_json;
use super::state::RunState;
use crate::printer::Printer;

pub(super) struct StreamJson;

/// Prints one line: its type, the time, and these fields.
fn line(printer: &mut Printer, kind: &str, fields: Value) -> Result<(), Failure> {
    let timestamp = charla::timestamp();
    let mut line = json!({ "type": kind, "timestamp": timestamp });
    if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
        line.extend(fields);
    }
    printer.result(&format!("{line}\n"))
}

impl Renderer for StreamJson {
    fn begin(&mut self, state: &RunState, prompt: &str, printer: &mut Printer) -> Result<(), Failure> {
        line(printer, "init", json!({ "session_id": state.session_id, "model": state.model }))?;
        if prompt.is_empty() {
            // An earlier turn is gone on with.
            return Ok(());
        }
        line(printer, "message", json!({ "role": "user", "content": prompt }))
    }

    fn event(&mut self, event: &TurnEvent, _: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(event) else { return Ok(()) };
        let Some(Value::String(kind)) = fields.shift_remove("type") else { return Ok(()) };
        // Advice is worded by each front end.
        if let TurnEvent::Retry(notice) = event {
            fields.insert("error".to_owned(), error_json(&Failure::from(&notice.error)));
        }
        line(printer, &kind, Value::Object(fields))
    }

    fn success(&mut self, state: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        let mut fields = json!({
            "status": "success",
            "session_id": state.session_id,
            "model": state.stats.current_model(),
            "finish_reason": state.finish_reason,
            "stats": state.stats.to_json(&state.prices),
        });
        // Of several answers that were held to a schema, this one fits.
        if state.wants_json
            && let Some(fields) = fields.as_object_mut()
        {
            fields.insert("response".to_owned(), state.text.clone().into());
        }
        state.sources.put_into(&mut fields);
        state.tell_stop(&mut fields);
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
            "stats": state.stats.to_json(&state.prices),
        });
        line(printer, "result", fields)?;
        printer.flush()?;
        printer.failure(failure);
        Ok(())
    }
}
