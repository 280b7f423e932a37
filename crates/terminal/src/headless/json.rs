//! One JSON document: the answer on standard output, or the error on standard error.

use charla::Failure;
use charla_proto::TurnEvent;
use serde_json::json;

use super::Renderer;
use super::ending::error_json;
use super::state::RunState;
use crate::printer::Printer;

pub(super) struct Json {
    thoughts: bool,
}

impl Json {
    pub fn new(thoughts: bool) -> Self {
        Self { thoughts }
    }
}

impl Renderer for Json {
    fn event(&mut self, event: &TurnEvent, _: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        if let TurnEvent::Thought { content, .. } = event
            && self.thoughts
        {
            printer.aside(content);
        }
        Ok(())
    }

    fn success(&mut self, state: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        let mut document = json!({
            "session_id": state.session_id,
            "model": state.stats.current_model(),
            "response": state.text,
            "finish_reason": state.finish_reason,
            "stats": state.stats.to_json(&state.prices),
        });
        if let (false, Some(fields)) = (state.compressions.is_empty(), document.as_object_mut()) {
            fields.insert("compressions".to_owned(), json!(state.compressions));
        }
        state.sources.put_into(&mut document);
        state.tell_stop(&mut document);
        printer.result(&format!("{document:#}\n"))
    }

    fn failure(&mut self, failure: &Failure, state: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        let document = json!({ "session_id": state.session_id, "error": error_json(failure) });
        printer.error_document(&format!("{document:#}"));
        Ok(())
    }
}
