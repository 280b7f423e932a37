//! The answer of a session, held to the schema that was asked for.

use std::collections::VecDeque;
use std::path::Path;

use charla_core::session::{Command, Follower, SessionHandle};
use charla_proto::{CompressionTrigger, Content, FinishReason, LlmError, LlmErrorKind, TurnEvent};
use serde_json::Value;

use crate::approver::Approver;
use crate::compression;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::headless::Events;

/// How often the model may mend an answer that does not fit.
const REPAIRS: u32 = 2;

/// The schema an answer must fit.
pub struct OutputSchema {
    text: String,
    validator: jsonschema::Validator,
}

impl OutputSchema {
    /// Reads the schema in a file.
    pub fn read(path: Option<&Path>, environment: &Environment) -> Result<Option<Self>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let path = environment.directory.join(path);
        let refused =
            |reason: String| Failure::input(format!("the output schema {}: {reason}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|error| refused(error.to_string()))?;
        let schema: Value = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let validator = jsonschema::validator_for(&schema).map_err(|error| refused(error.to_string()))?;
        Ok(Some(Self { text: schema.to_string(), validator }))
    }

    /// The schema, in one line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong with an answer, if anything.
    fn problem(&self, answer: &str) -> Option<String> {
        let value: Value = match serde_json::from_str(answer.trim()) {
            Ok(value) => value,
            Err(error) => return Some(format!("it is not JSON: {error}")),
        };
        let problems: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(5)
            .map(|error| format!("at `{}`: {error}", error.instance_path()))
            .collect();
        (!problems.is_empty()).then(|| problems.join("; "))
    }
}

/// A session's turn, and where a schema holds as many more as it takes to mend the answer.
pub struct Answer {
    session: SessionHandle,
    follower: Follower,
    schema: Option<OutputSchema>,
    approver: Option<Approver>,
    text: String,
    repairs: u32,
    /// What is still to be told before the next event is waited for.
    pending: VecDeque<TurnEvent>,
}

impl Answer {
    /// Follows the turn that begins next. Questions go to the approver, if there is one.
    pub fn new(session: SessionHandle, schema: Option<OutputSchema>, approver: Option<Approver>) -> Self {
        let follower = Follower::new(session.subscribe());
        Self {
            session,
            follower,
            schema,
            approver,
            text: String::new(),
            repairs: 0,
            pending: VecDeque::new(),
        }
    }

    /// Asks the model to mend its answer.
    async fn mend(&mut self, problem: &str) {
        self.repairs += 1;
        self.text.clear();
        self.follower = Follower::new(self.session.subscribe());
        let words = format!(
            "Your answer does not fit the JSON Schema: {problem}. Answer again with the corrected JSON value and nothing else."
        );
        self.session.send(Command::Prompt(Content::user(words))).await;
    }
}

impl Events for Answer {
    async fn next(&mut self) -> Option<TurnEvent> {
        if let Some(event) = self.pending.pop_front() {
            return Some(event);
        }
        let event = self.follower.next().await?;
        match &event {
            // Asked for, it is the answer of the run; by itself, it happens beside it.
            TurnEvent::ChatCompressed(report) if report.trigger == CompressionTrigger::Manual => {
                match compression::told(report) {
                    Ok(words) => self.pending.extend([
                        TurnEvent::Content(words),
                        TurnEvent::Finished { reason: FinishReason::Stop, usage: None },
                    ]),
                    Err(error) => self.pending.push_back(TurnEvent::Error(error)),
                }
            }
            TurnEvent::Content(text) => self.text.push_str(text),
            TurnEvent::WholeText(text) => self.text.clone_from(text),
            TurnEvent::StepEnded { .. } | TurnEvent::Retry(_) => self.text.clear(),
            TurnEvent::ToolCallConfirmation(asked) => {
                if let Some(approver) = &self.approver {
                    approver.put(asked.clone());
                }
            }
            TurnEvent::Finished { usage, .. } => {
                let usage = usage.clone();
                let problem = self.schema.as_ref().and_then(|schema| schema.problem(&self.text));
                let Some(problem) = problem else { return Some(event) };
                if self.repairs < REPAIRS {
                    self.mend(&problem).await;
                    return Some(TurnEvent::StepEnded { usage });
                }
                let message =
                    format!("the answer does not fit the schema after {REPAIRS} corrections: {problem}");
                return Some(TurnEvent::Error(LlmError::new(LlmErrorKind::OutputSchema, message)));
            }
            _ => {}
        }
        Some(event)
    }
}
