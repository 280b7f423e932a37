//! What commands and answers say, field by field: what has no field is refused, and the log tells what was chosen.
//!
//! Other bodies are structures that take nothing else by themselves. These are read by types that also read journals of other versions, which
//! must not mind what they do not know.

use std::collections::BTreeMap;
use std::fmt;

use charla_proto::{Content, Part, PartKind};
use http::StatusCode;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;

use crate::problem::Problem;

/// The fields of a body that were looked for, and the first of all others. A body may have millions of them: nothing else is kept.
#[derive(Default)]
pub(crate) struct Fields<'b> {
    found: BTreeMap<&'static str, &'b RawValue>,
    other: Option<String>,
}

impl<'b> Fields<'b> {
    /// Looks for fields of these names. An error where the body is no object.
    pub(crate) fn read(body: &'b [u8], names: &[&'static str]) -> serde_json::Result<Self> {
        let mut reader = serde_json::Deserializer::from_slice(body);
        let fields = reader.deserialize_map(Looking(names))?;
        reader.end().map(|()| fields)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'b RawValue> {
        self.found.get(name).copied()
    }
}

struct Looking<'n>(&'n [&'static str]);

impl<'b> Visitor<'b> for Looking<'_> {
    type Value = Fields<'b>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut entries: A) -> Result<Fields<'b>, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = entries.next_key::<String>()? {
            match self.0.iter().find(|known| **known == name) {
                Some(known) => drop(fields.found.insert(known, entries.next_value()?)),
                None => {
                    entries.next_value::<IgnoredAny>()?;
                    fields.other.get_or_insert(name);
                }
            }
        }
        Ok(fields)
    }
}

/// One kind of command or answer.
struct Kind {
    name: &'static str,
    /// The fields that say what is chosen, and those with words, arguments and contents.
    told: &'static [&'static str],
    untold: &'static [&'static str],
}

const fn kind(name: &'static str, told: &'static [&'static str], untold: &'static [&'static str]) -> Kind {
    Kind { name, told, untold }
}

/// How much of an unknown field's name is told.
pub(crate) const LONGEST_NAME: usize = 64;

/// The field that says which command it is, and the field that says which answer.
const COMMAND: &str = "command";
const OUTCOME: &str = "outcome";

const COMMANDS: &[Kind] = &[
    kind("prompt", &["delivery"], &["content"]),
    kind("continue", &[], &[]),
    kind("cancel", &["target"], &[]),
    kind("answer", &["approval"], &[]),
    kind("set_mode", &["mode"], &[]),
    kind("set_model", &["model"], &[]),
    kind("compress", &[], &[]),
    kind("restore", &[], &[]),
    kind("undo", &["turn", "only"], &[]),
    kind("redo", &["turn", "only"], &[]),
    kind("rewind", &["to", "files"], &[]),
    kind("run_tool", &["name"], &["args", "for_prompt", "if_allowed"]),
    kind("save_rules", &["rules"], &[]),
    kind("revoke", &["approval"], &[]),
    kind("refresh", &[], &[]),
    kind("hand_over", &[], &[]),
    kind("keep", &[], &[]),
];

const OUTCOMES: &[Kind] = &[
    kind("proceed_once", &[], &[]),
    kind("proceed_always", &[], &[]),
    kind("proceed_always_tool", &[], &[]),
    kind("proceed_always_server", &[], &[]),
    kind("proceed_always_and_save", &[], &[]),
    kind("modify", &[], &["args"]),
    kind("modify_with_editor", &[], &["newContent"]),
    kind("answers", &[], &["answers"]),
    kind("cancel", &["reason"], &[]),
];

/// What a body is: the fields that say so, and the kinds that it is of.
#[derive(Default)]
struct Form {
    tags: Vec<&'static str>,
    kinds: Vec<&'static Kind>,
}

/// The names of all fields that a command or an answer may have.
fn names() -> Vec<&'static str> {
    let of_kinds = COMMANDS.iter().chain(OUTCOMES).flat_map(|kind| kind.told.iter().chain(kind.untold));
    of_kinds.chain(&[COMMAND, OUTCOME]).copied().collect()
}

impl Form {
    /// A command or an answer, by the name of its schema.
    fn of(schema: &str, fields: &Fields<'_>) -> Self {
        let mut form = Self::default();
        let said = |tag: &str| serde_json::from_str::<String>(fields.get(tag)?.get()).ok();
        let mut add = |tag: &'static str, all: &'static [Kind]| {
            let found = all.iter().find(|kind| said(tag).as_deref() == Some(kind.name));
            form.tags.push(tag);
            form.kinds.extend(found);
            found.map(|kind| kind.name)
        };
        let command = if schema == "Command" { add(COMMAND, COMMANDS) } else { None };
        if schema == "Outcome" || command == Some("answer") {
            add(OUTCOME, OUTCOMES);
        }
        form
    }
}

/// The fields of a command or an answer that the log tells, and what this one says in them.
pub(crate) fn told<'b>(schema: &str, body: &'b [u8]) -> serde_json::Result<(Vec<&'static str>, Fields<'b>)> {
    let fields = Fields::read(body, &names())?;
    let Form { mut tags, kinds } = Form::of(schema, &fields);
    tags.extend(kinds.iter().flat_map(|kind| kind.told));
    Ok((tags, fields))
}

/// An error where a command or an answer says something that it has no field for: it would be done without that.
pub(crate) fn must_be_known(schema: &str, body: &[u8]) -> Result<(), Problem> {
    let unreadable = |error| Problem::bad_request(format!("the body is no JSON: {error}"));
    let fields = Fields::read(body, &names()).map_err(unreadable)?;
    let Form { tags, kinds } = Form::of(schema, &fields);
    let is_known = |name: &str| {
        let mut all = kinds.iter().flat_map(|kind| kind.told.iter().chain(kind.untold));
        tags.contains(&name) || all.any(|known| *known == name)
    };
    let others = fields.found.keys().copied().filter(|name| !is_known(name));
    match fields.other.as_deref().into_iter().chain(others).next() {
        None => Ok(()),
        Some(unknown) => {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
            let unknown: String = unknown.chars().take(LONGEST_NAME).collect();
            let detail = format!("`{}` has no field `{unknown}`", names.join(", "));
            Err(Problem::bad_request(detail).with_hint("nothing was done; docs/protocol.md has its fields"))
        }
    }
}

/// Who speaks in a request, where it says so. The types that read contents also take what other programs call the sides of a conversation.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    #[default]
    User,
}

#[derive(Deserialize)]
struct Said {
    #[serde(default, rename = "role")]
    _role: Speaker,
}

/// An error where what somebody says in this field of a body is said for somebody else, has more than a prompt has (words and files), or is
/// nothing that a model could be sent. The types that read it keep what they do not know for journals of other versions, and what a
/// model and its tools say has no place in it.
pub(crate) fn must_be_a_prompt(content: &Content, body: &[u8], field: &'static str) -> Result<(), Problem> {
    let unreadable = |error| Problem::bad_request(format!("`{field}` is no prompt: {error}"));
    if let Some(said) = Fields::read(body, &[field]).map_err(unreadable)?.get(field) {
        serde_json::from_str::<Said>(said.get()).map_err(unreadable)?;
    }
    must_be_plain(content)?;
    match content.prompt_problem() {
        None => Ok(()),
        Some(why) => {
            let detail = format!("{why}, so nothing was said");
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "prompt", detail))
        }
    }
}

fn must_be_plain(content: &Content) -> Result<(), Problem> {
    let is_plain = |part: &Part| {
        let is_known = match &part.kind {
            PartKind::Text(_) => true,
            PartKind::InlineData(blob) => blob.extra.is_empty(),
            PartKind::FileData(file) => file.extra.is_empty(),
            _ => false,
        };
        is_known && part.extra.is_empty() && !part.thought && part.thought_signature.is_none()
    };
    let Content { parts, origin, extra, .. } = content;
    match origin.is_none() && extra.is_empty() && parts.iter().all(is_plain) {
        true => Ok(()),
        false => {
            let detail =
                "a prompt has `role` and `parts`, and a part one of `text`, `inlineData` and `fileData`";
            Err(Problem::bad_request(detail).with_hint("nothing was done; docs/protocol.md has its fields"))
        }
    }
}

#[cfg(test)]
mod tests {
    use charla_proto::{Command, Outcome};
    use serde_json::{Value, json};

    use super::*;

    fn is_known(schema: &str, value: &Value) -> bool {
        must_be_known(schema, value.to_string().as_bytes()).is_ok()
    }

    #[test]
    fn every_command_of_the_protocol_is_known_with_its_fields() {
        let protocol = include_str!("../../../docs/protocol.md");
        let examples = protocol.lines().filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok());
        let mut names = Vec::new();
        for mut example in examples.filter(|example| example["command"].is_string()) {
            example.as_object_mut().unwrap().remove("by");
            if serde_json::from_value::<Command>(example.clone()).is_ok() {
                assert!(is_known("Command", &example), "{example}");
                names.push(example["command"].as_str().unwrap().to_owned());
            }
        }
        let missing = COMMANDS.iter().find(|kind| !names.iter().any(|name| name == kind.name));
        assert!(missing.is_none(), "{:?} is in no example", missing.map(|kind| kind.name));
    }

    #[test]
    fn every_answer_is_known_with_its_fields() {
        for kind in OUTCOMES {
            let mut answer =
                json!({"outcome": kind.name, "args": {}, "newContent": "", "answers": [], "reason": ""});
            answer.as_object_mut().unwrap().retain(|name, _| {
                name == OUTCOME || kind.told.iter().chain(kind.untold).any(|known| known == name)
            });
            let read: Outcome = serde_json::from_value(answer.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), answer, "nothing of it is lost");
            assert!(is_known("Outcome", &answer));
            let command = json!({"command": "answer", "approval": "a:4", "outcome": kind.name});
            assert!(is_known("Command", &command));
        }
    }

    #[test]
    fn a_prompt_has_words_and_files_and_nothing_else() {
        let is_prompt = |content: Value| {
            let body = json!({"content": content}).to_string();
            let content: Content = serde_json::from_value(content).unwrap();
            must_be_a_prompt(&content, body.as_bytes(), "content").is_ok()
        };
        let media = json!({"mimeType": "image/png", "data": "AAAA"});
        for part in [
            json!({"text": "hi"}),
            json!({"inlineData": media}),
            json!({"fileData": {"fileUri": "https://x.example/a.png"}}),
        ] {
            assert!(is_prompt(json!({"role": "user", "parts": [part]})), "{part}");
            for (name, value) in
                [("more", json!(1)), ("thought", json!(true)), ("thoughtSignature", json!("x"))]
            {
                let mut other = part.clone();
                other[name] = value;
                assert!(!is_prompt(json!({"parts": [{"text": "hi"}, other]})), "{name} in {part}");
            }
        }
        for part in [
            json!({}),
            json!({"txt": "hi"}),
            json!({"inlineData": {"mimeType": "image/png", "data": "AAAA", "name": "x"}}),
            json!({"functionCall": {"name": "x", "args": {}}}),
            json!({"functionResponse": {"name": "x", "response": {}}}),
        ] {
            assert!(!is_prompt(json!({"parts": [part]})), "{part}");
        }
        let words = json!([{"text": "hi"}]);
        assert!(!is_prompt(json!({"parts": words, "delivery": "join"})));
        assert!(!is_prompt(
            json!({"parts": words, "origin": {"provider": "p", "wire": "gemini", "model": "m"}})
        ));
        for role in ["model", "assistant", "tool", "function"] {
            assert!(!is_prompt(json!({"role": role, "parts": words})), "{role}");
        }
        assert!(is_prompt(json!({"parts": words})), "the user is meant where nobody is named");
        for parts in [
            json!([]),
            json!([{"text": " \n"}]),
            json!([{"inlineData": {"mimeType": "a/b\r\nc", "data": "AAAA"}}]),
        ] {
            assert!(!is_prompt(json!({"parts": parts})), "{parts}");
        }
    }

    #[test]
    fn what_would_not_be_done_is_refused() {
        for (schema, body) in [
            ("Outcome", json!({"outcome": "proceed_once", "args": {}})),
            ("Outcome", json!({"outcome": "cancel", "Reason": "no"})),
            ("Outcome", json!({"outcome": "modify_with_editor", "new_content": "x"})),
            ("Command", json!({"command": "set_mode", "mode": "plan", "by": "anna"})),
            ("Command", json!({"command": "refresh", "outcome": "cancel"})),
            (
                "Command",
                json!({"command": "answer", "approval": "a", "outcome": "proceed_once", "reason": ""}),
            ),
            ("Command", json!({"command": "cancel", "turn": 3})),
        ] {
            assert!(!is_known(schema, &body), "{body}");
        }
    }
}
