//! What the log tells of a request's body: the choice that was made, not the words, and of a secret only that it was set.

use std::fmt;

use charla_proto::text::one_line;
use serde::Deserialize;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// How much of each value the log tells.
const MOST: usize = 500;

/// What is told by its value.
const TOLD: [&str; 19] = [
    "command",
    "outcome",
    "approval",
    "reason",
    "mode",
    "model",
    "workspace",
    "to",
    "target",
    "rules",
    "name",
    "user",
    "role",
    "right",
    "label",
    "provider",
    "identity",
    "network",
    "budget",
];
/// What is told to be there.
const SECRET: &str = "password";
/// What stands for a secret.
const SET: &str = "(set)";
/// The records of a session that comes from elsewhere: the first one names it.
const RECORDS: &str = "records";

/// A value as the log tells it: not all of a long one, on one line, with nothing in it that a terminal would obey.
pub(crate) fn shown(text: &str) -> Value {
    let cut: String = text.chars().take(MOST).collect();
    // What is shown by its number is longer than it was.
    Value::String(one_line(&cut).chars().take(MOST).collect())
}

/// What the log tells of a body. Nothing else of it is kept, however large it is.
pub(crate) fn told(body: &[u8]) -> Map<String, Value> {
    serde_json::Deserializer::from_slice(body).deserialize_map(Telling).unwrap_or_default()
}

/// A secret that is set, without a word of it.
pub(crate) fn secret() -> (String, Value) {
    (SECRET.to_owned(), SET.into())
}

struct Telling;

impl<'de> Visitor<'de> for Telling {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut told = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            match name.as_str() {
                SECRET => {
                    let is_set = fields.next_value::<Option<IgnoredAny>>()?;
                    told.extend(is_set.map(|_| secret()));
                }
                RECORDS => {
                    let session = fields.next_value::<FirstRecord>()?.0;
                    told.extend(session.map(|session| ("session".to_owned(), shown(&session))));
                }
                known if TOLD.contains(&known) => {
                    let value = value(fields.next_value::<&RawValue>()?);
                    told.extend(value.map(|value| (name, value)));
                }
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(told)
    }
}

/// A text as it is, anything else as JSON; nothing where nothing was said.
fn value(raw: &RawValue) -> Option<Value> {
    match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => Some(shown(&text)),
        Err(_) if raw.get() == "null" => None,
        Err(_) => Some(shown(raw.get())),
    }
}

/// The session that the first of many records names.
struct FirstRecord(Option<String>);

impl<'de> Deserialize<'de> for FirstRecord {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Started {
            session: Option<String>,
        }
        struct First;
        impl<'de> Visitor<'de> for First {
            type Value = FirstRecord;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("records")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut records: A) -> Result<FirstRecord, A::Error> {
                let first = records.next_element::<Started>()?;
                while records.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstRecord(first.and_then(|first| first.session)))
            }
        }
        deserializer.deserialize_seq(First)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(body: &Value) -> Value {
        Value::Object(told(body.to_string().as_bytes()))
    }

    #[test]
    fn a_choice_is_told_with_its_reason_and_a_secret_only_as_set() {
        let change = json!({"role": "viewer", "network": true, "identity": "a@b.example", "password": "the secret",
            "budget": {"tokens": 5}, "workspace": null});
        let told = json!({"role": "viewer", "network": "true", "identity": "a@b.example", "password": "(set)",
            "budget": "{\"tokens\":5}"});
        assert_eq!(of(&change), told);
        assert_eq!(
            of(&json!({"password": null, "key": "k", "old": "o", "new": "n", "code": "c"})),
            json!({})
        );
        let denied =
            json!({"command": "answer", "approval": "a:4", "outcome": "cancel", "reason": "not there"});
        assert_eq!(of(&denied), denied);
        assert_eq!(
            of(&json!({"command": "prompt", "content": {"parts": [{"text": "words"}]}})),
            json!({"command": "prompt"})
        );
    }

    #[test]
    fn a_value_is_cut_and_cannot_forge_what_a_person_reads() {
        let reason = format!("no\n{{\"number\":9}}\u{1b}[2J\u{9b}\u{202e}{}", "\u{e0001}".repeat(5000));
        let Value::Object(told) = of(&json!({"reason": reason})) else { panic!() };
        let reason = told["reason"].as_str().unwrap();
        assert!(reason.chars().count() <= MOST, "{}", reason.len());
        assert!(reason.starts_with(r"no\n{") && reason.chars().all(|c| matches!(c, ' '..='~')), "{reason}");
    }

    #[test]
    fn a_session_that_comes_in_is_named_and_nonsense_is_told_as_nothing() {
        let bundle =
            json!({"records": [{"kind": "session_started", "session": "01a1"}, {"session": "other"}]});
        assert_eq!(of(&bundle), json!({"session": "01a1"}));
        assert_eq!(of(&json!({"records": []})), json!({}));
        for nonsense in [&b""[..], b"[]", b"null", b"{", b"{\"name\": \xff}", b"{\"records\": 5}"] {
            assert_eq!(told(nonsense), Map::new(), "{nonsense:?}");
        }
        let deep = format!("{{\"name\": \"a\", \"x\": {}", "[".repeat(100_000));
        assert_eq!(told(deep.as_bytes()), Map::new());
    }
}
