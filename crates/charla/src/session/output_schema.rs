//! The form that an answer was asked to have.

use std::path::Path;
use std::sync::Arc;

use charla_core::session::AnswerCheck;
use serde_json::Value;

use crate::failure::Failure;

/// How many mistakes of an answer are told at once.
const TOLD: usize = 5;

/// The schema an answer must fit.
pub struct OutputSchema {
    text: String,
    validator: jsonschema::Validator,
}

impl OutputSchema {
    /// Reads the schema in a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let refused =
            |reason: String| Failure::input(format!("the output schema {}: {reason}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let schema: Value = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let validator = jsonschema::validator_for(&schema).map_err(|error| refused(error.to_string()))?;
        Ok(Self { text: schema.to_string(), validator })
    }

    /// The schema, in one line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The schema as a session holds answers to it.
    pub(super) fn into_check(self) -> AnswerCheck {
        Arc::new(move |answer| self.problem(answer))
    }

    /// What is wrong with an answer, if anything.
    pub fn problem(&self, answer: &str) -> Option<String> {
        let value: Value = match serde_json::from_str(answer.trim()) {
            Ok(value) => value,
            Err(error) => return Some(format!("it is not JSON: {error}")),
        };
        let problems: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(TOLD)
            .map(|error| format!("at `{}`: {error}", error.instance_path()))
            .collect();
        (!problems.is_empty()).then(|| problems.join("; "))
    }
}
