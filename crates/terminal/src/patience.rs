//! What a person at a terminal sees while a model has not said anything yet.

use std::time::{Duration, Instant};

use charla_proto::TurnEvent;

/// A wait shorter than this needs no words.
const UNTOLD: Duration = Duration::from_secs(2);

/// Whether the model is waited for, and since when.
pub struct Patience {
    since: Instant,
    /// Calls that have no response yet: their tools, or the person who is asked about them, are waited for.
    calls: usize,
    /// Something else stands on the terminal: the beginning of an answer, a thought, a compression under way.
    busy: bool,
}

impl Patience {
    /// Waits from now on.
    pub fn new(now: Instant) -> Self {
        Self { since: now, calls: 0, busy: false }
    }

    /// Takes an event in.
    pub fn note(&mut self, event: &TurnEvent, now: Instant) {
        match event {
            TurnEvent::Content { .. } | TurnEvent::Thought { .. } | TurnEvent::PreCompress(_) => {
                self.busy = true;
            }
            TurnEvent::ToolCallRequest { .. } => self.calls += 1,
            TurnEvent::ToolCallResponse(_) => {
                self.calls = self.calls.saturating_sub(1);
                self.begin(now);
            }
            TurnEvent::StepEnded { .. }
            | TurnEvent::Retry(_)
            | TurnEvent::ModelSwitched(_)
            | TurnEvent::ChatCompressed(_) => self.begin(now),
            _ => {}
        }
    }

    fn begin(&mut self, now: Instant) {
        self.busy = false;
        self.since = now;
    }

    /// True while nothing but the model is waited for.
    pub fn is_for_model(&self) -> bool {
        self.calls == 0 && !self.busy
    }

    /// What to show, once there is something to tell.
    pub fn line(&self, model: &str, now: Instant) -> Option<String> {
        let waited = now.saturating_duration_since(self.since);
        (self.is_for_model() && waited >= UNTOLD)
            .then(|| format!("waiting for {model} ({} s)", waited.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use charla_proto::{CallEnded, CallStatus, FunctionResponse};
    use serde_json::Map;

    use super::*;

    #[test]
    fn a_silent_model_is_waited_for_in_sight_but_not_a_tool_or_an_answer_under_way() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut patience = Patience::new(start);
        assert_eq!(patience.line("m", at(1)), None);
        assert_eq!(patience.line("m", at(3)).as_deref(), Some("waiting for m (3 s)"));
        let (name, call) = ("list".to_owned(), "1".to_owned());
        patience.note(&TurnEvent::ToolCallRequest { name, call, parameters: Map::new() }, at(4));
        patience.note(&TurnEvent::StepEnded { usage: None }, at(4));
        assert_eq!(patience.line("m", at(9)), None);
        let ended = CallEnded {
            turn: 1,
            call: "1".to_owned(),
            status: CallStatus::Success,
            response: FunctionResponse::output("1", "list", "harbour.rs"),
            tool: None,
            display: None,
            error: None,
            whole_output: None,
            changes: Vec::new(),
        };
        patience.note(&TurnEvent::tool_result(&ended), at(10));
        assert_eq!(patience.line("m", at(12)).as_deref(), Some("waiting for m (2 s)"));
        patience.note(&TurnEvent::content("har"), at(13));
        assert_eq!(patience.line("m", at(20)), None);
    }
}
