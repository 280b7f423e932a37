//! One JSON document: the answer on standard output, or the error on standard error.

use charla_proto::TurnEvent;
use serde_json::json;

use super::{Renderer, Story, error_json};
use crate::failure::Failure;
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
    fn event(&mut self, event: &TurnEvent, _: &Story, printer: &mut Printer) -> Result<(), Failure> {
        if let TurnEvent::Thought(text) = event
            && self.thoughts
        {
            printer.aside(text);
        }
        Ok(())
    }

    fn success(&mut self, story: &Story, printer: &mut Printer) -> Result<(), Failure> {
        let mut document = json!({
            "session_id": story.session_id,
            "model": story.stats.current_model(),
            "response": story.text,
            "finish_reason": story.finish_reason,
            "stats": story.stats.to_json(),
        });
        if !story.compressions.is_empty()
            && let Some(fields) = document.as_object_mut()
        {
            fields.insert("compressions".to_owned(), json!(story.compressions));
        }
        printer.result(&format!("{document:#}\n"))
    }

    fn failure(&mut self, failure: &Failure, story: &Story, printer: &mut Printer) -> Result<(), Failure> {
        let document = json!({ "session_id": story.session_id, "error": error_json(failure) });
        printer.error_document(&format!("{document:#}"));
        Ok(())
    }
}
