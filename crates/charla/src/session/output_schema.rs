//! The form that an answer was asked to have.

use std::path::Path;
use std::sync::Arc;

use charla_core::session::AnswerCheck;
use charla_schema::Schema;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::failure::Failure;

/// How many mistakes of an answer are told at once.
const TOLD: usize = 5;

/// The schema an answer must fit.
pub struct OutputSchema {
    text: String,
    schema: Schema,
}

impl OutputSchema {
    /// Reads the schema in a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let refused =
            |reason: String| Failure::input(format!("the output schema {}: {reason}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| {
            refused(error.to_string())
                .with_hint("it is the path of a JSON Schema, from the current folder on")
        })?;
        let schema: Value = serde_json::from_str(&text).map_err(|error| {
            refused(format!("it is no JSON: {error}"))
                .with_hint("a schema is an object such as {\"type\": \"object\", \"properties\": {…}}")
        })?;
        Ok(Self { text: schema.to_string(), schema: Schema::new(schema).map_err(refused)? })
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
        let value: Value = match serde_json::from_str(bare_json(answer)) {
            Ok(value) => value,
            Err(error) => return Some(format!("it is not JSON: {error}")),
        };
        let problems = self.schema.problems(&value, TOLD);
        let problems: Vec<String> =
            problems.iter().map(|problem| format!("at `{}`: {problem}", problem.place)).collect();
        (!problems.is_empty()).then(|| problems.join("; "))
    }
}

/// The JSON of an answer: all of it, or the one object or list in it where a fence or words stand around. An answer
/// with none, or with several, is given as it is.
pub fn bare_json(answer: &str) -> &str {
    let answer = answer.trim();
    if serde_json::from_str::<IgnoredAny>(answer).is_ok() {
        return answer;
    }
    let mut found = Vec::new();
    let mut rest = answer;
    while let Some((_, from)) = rest.find(['{', '[']).and_then(|at| rest.split_at_checked(at)) {
        let mut values = serde_json::Deserializer::from_str(from).into_iter::<IgnoredAny>();
        let length = match values.next() {
            Some(Ok(_)) => values.byte_offset(),
            _ => 1,
        };
        if length > 1 {
            found.extend(from.get(..length));
        }
        rest = from.get(length..).unwrap_or_default();
    }
    match found.as_slice() {
        [one] => one,
        _ => answer,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_value_is_found_within_a_fence_or_words() {
        let value = r#"{"a": [1, {"b": "}"}]}"#;
        for answer in [
            value.to_owned(),
            format!("\n{value}\n"),
            format!("```json\n{value}\n```"),
            format!("```\n{value}\n```\n"),
            format!("Here it is:\n\n```json\n{value}\n```\n\nAnything else?"),
            format!("The answer is {value}."),
            format!("{{curly}} words and {value}"),
        ] {
            assert_eq!(bare_json(&answer), value, "{answer}");
        }
        for answer in ["no JSON", "[1] and [2]", "{broken", "see {\"a\": 1} or {\"a\": 2}"] {
            assert_eq!(bare_json(answer), answer);
        }
    }

    #[test]
    fn a_fenced_answer_fits_and_a_wrong_one_does_not() {
        let schema = json!({"type": "object", "required": ["a"]});
        let schema = OutputSchema { text: schema.to_string(), schema: Schema::new(schema).unwrap() };
        assert_eq!(schema.problem("```json\n{\"a\": 1}\n```"), None);
        assert!(schema.problem("```json\n{\"b\": 1}\n```").unwrap().contains("required"));
        assert!(schema.problem("Sorry, no.").unwrap().starts_with("it is not JSON"));
    }
}
