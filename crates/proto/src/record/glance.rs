//! What a list of sessions tells of a record, read without the rest of it.

use memchr::memmem;
use serde::Deserialize;

use crate::{Content, Origin};

/// What can be told of a session by a line of its journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Glance {
    /// The model that answers, or answers from now on, as `provider/model`.
    Model(String),
    /// What a turn was begun with.
    Prompt(Content),
}

#[derive(Deserialize)]
struct Line<'a> {
    kind: &'a str,
    model: Option<String>,
    content: Option<Said>,
    prompt: Option<Content>,
}

#[derive(Deserialize)]
struct Said {
    origin: Option<Origin>,
}

impl Glance {
    /// The kind of the record in a line that begins as this program writes it; it may be cut behind that.
    pub fn kind(line: &str) -> Option<&str> {
        let rest = behind_number(line, "{\"seq\":")?;
        let rest = behind_number(rest, ",\"at\":")?;
        rest.strip_prefix(",\"kind\":\"")?.split_once('"').map(|(kind, _)| kind)
    }

    /// Reads one line; nothing where it is cut, or tells neither.
    pub fn of(line: &str) -> Option<Self> {
        // Answers are long, and those of old journals do not say whose they are.
        if Self::kind(line) == Some("model_content") && memmem::find(line.as_bytes(), b"\"origin\"").is_none()
        {
            return None;
        }
        let line: Line = serde_json::from_str(line).ok()?;
        match line.kind {
            "model_changed" => line.model.map(Self::Model),
            "model_content" => line.content?.origin.map(|origin| Self::Model(origin.name())),
            "turn_started" => line.prompt.map(Self::Prompt),
            _ => None,
        }
    }
}

/// What is behind `name` and the number after it.
fn behind_number<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name).map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_and_the_prompt_are_told_and_nothing_else() {
        let model = |name: &str| Some(Glance::Model(name.to_owned()));
        let said = r#"{"seq":3,"at":3,"kind":"model_content","turn":1,"content":{"role":"model","parts":[{"text":"x"}],
            "origin":{"provider":"openai","wire":"openai-chat","model":"m/1"}},"usage":{"new":[1]}}"#;
        assert_eq!(Glance::of(said), model("openai/m/1"));
        let changed = r#"{"seq":4,"at":4,"kind":"model_changed","model":"gemini/x","by":"anna"}"#;
        assert_eq!(Glance::of(changed), model("gemini/x"));
        let prompt = r#"{"seq":2,"at":2,"kind":"turn_started","turn":1,"prompt":{"role":"user","parts":[{"text":"hi"}]}}"#;
        assert_eq!(Glance::of(prompt), Some(Glance::Prompt(Content::user("hi"))));
        let started = r#"{"seq":1,"at":1,"kind":"session_started","version":1,"session":"s","model":"a/b"}"#;
        let cut = said.split_once("\"usage\"").unwrap().0;
        for nothing in [started, cut, r#"{"seq":1}"#, "", "[1]"] {
            assert_eq!(Glance::of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn the_kind_is_read_from_a_head_as_it_is_written_and_from_no_other() {
        for (line, kind) in [
            (r#"{"seq":12,"at":1700000000000,"kind":"turn_ended","turn":1}"#, Some("turn_ended")),
            (
                r#"{"seq":12,"at":1,"kind":"model_content","turn":1,"content":{"parts":[{"te"#,
                Some("model_content"),
            ),
            (r#"{"seq":12,"at":1,"kind":"model_con"#, None),
            (r#"{"seq": 12, "at": 1, "kind": "turn_ended"}"#, None),
            (r#"{"at":1,"seq":12,"kind":"turn_ended"}"#, None),
            (r#"{"seq":1,"at":1,"content":{"kind":"turn_ended"}}"#, None),
            ("", None),
        ] {
            assert_eq!(Glance::kind(line), kind, "{line}");
        }
    }

    #[test]
    fn an_answer_that_does_not_say_whose_it_is_tells_no_model() {
        let said = r#"{"seq":3,"at":3,"kind":"model_content","turn":1,"content":{"role":"model","parts":[{"text":"x"}]}}"#;
        assert_eq!(Glance::of(said), None);
    }
}
