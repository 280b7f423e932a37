//! What the log tells of a request's body: the choice that was made, not the words, and of a secret only that it was set.

use std::fmt;

use charla_proto::Confirmation;
use charla_proto::text::one_line;
use serde::Deserialize;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::access::Digest;
use crate::forms::{self, Fields};

/// How much of each value the log tells.
const MOST: usize = 500;

/// The fields that the log tells of a body with this schema, and what it says in them; of commands and answers, see [`forms`].
fn chosen<'b>(schema: &str, body: &'b [u8]) -> serde_json::Result<(Vec<&'static str>, Fields<'b>)> {
    let names: &[&'static str] = match schema {
        "SignIn" => &["name"],
        "NewToken" => &["label"],
        "NewKey" => &["provider"],
        "NewUser" => &["name", "role", "workspace", "identity", "network", "budget", SECRET],
        "UserChange" => &["role", "workspace", "identity", "network", "budget", SECRET],
        "NewSession" => &["workspace", "model", "mode"],
        "Fork" => &["at"],
        "SessionBundle" => &[RECORDS],
        "NewShare" => &["user", "right"],
        schema => return forms::told(schema, body),
    };
    Ok((names.to_vec(), Fields::read(body, names)?))
}

/// What is told to be there.
const SECRET: &str = "password";
/// What stands for a secret.
const SET: &str = "(set)";
/// The records of a session that comes from elsewhere: the first one names it.
const RECORDS: &str = "records";

/// A value as the log tells it: on one line, with nothing in it that a terminal would obey; of a long one its beginning, its length and the
/// hash of all of it, so that nobody can say that it went on otherwise.
pub(crate) fn shown(text: &str) -> Value {
    let beginning: String = text.chars().take(MOST).collect();
    // What is shown by its number is longer than it was.
    let line = one_line(&beginning);
    if beginning.len() == text.len() && line.chars().count() <= MOST {
        return Value::String(line);
    }
    let rest = format!("... ({} characters, SHA-256 {})", text.chars().count(), Digest::of(text).text());
    let room = MOST.saturating_sub(rest.chars().count());
    Value::String(line.chars().take(room).collect::<String>() + &rest)
}

/// What somebody answers, as the log tells it: the tool that asked, and the hash of all that they were shown.
pub(crate) fn question(confirmation: &Confirmation) -> [(String, Value); 2] {
    let whole = serde_json::to_string(confirmation).unwrap_or_default();
    let hash = Value::String(Digest::of(&whole).text());
    [("tool".to_owned(), shown(&confirmation.tool)), ("confirmation".to_owned(), hash)]
}

/// What the log tells of a body with this schema: what was chosen there, and nothing that it has no field for. Nothing else of it is kept,
/// however large it is.
pub(crate) fn told(schema: Option<&str>, body: &[u8]) -> Map<String, Value> {
    let Some(Ok((names, fields))) = schema.map(|schema| chosen(schema, body)) else { return Map::new() };
    names.into_iter().filter_map(|name| tell(name, fields.get(name)?)).collect()
}

/// A field as the log tells it; nothing where nothing was said.
fn tell(name: &str, raw: &RawValue) -> Option<(String, Value)> {
    match name {
        SECRET => (raw.get() != "null").then(secret),
        RECORDS => {
            let session = serde_json::from_str::<FirstRecord>(raw.get()).ok()?.0?;
            Some(("session".to_owned(), shown(&session)))
        }
        name => Some((name.to_owned(), value(raw)?)),
    }
}

/// A secret that is set, without a word of it.
pub(crate) fn secret() -> (String, Value) {
    (SECRET.to_owned(), SET.into())
}

/// A text as it is, anything else as JSON in its shortest form, so that blanks and zeros hide nothing; nothing where nothing was said.
fn value(raw: &RawValue) -> Option<Value> {
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(Value::String(text)) => Some(shown(&text)),
        Ok(Value::Null) => None,
        Ok(value) => Some(shown(&value.to_string())),
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

    fn of(schema: &str, body: &Value) -> Value {
        Value::Object(told(Some(schema), body.to_string().as_bytes()))
    }

    #[test]
    fn of_a_long_value_the_beginning_and_the_hash_of_all_are_told() {
        let exact = "x".repeat(MOST);
        assert_eq!(shown(&exact), exact.as_str());
        let [one, other] = ["one", "other"].map(|end| shown(&format!("{exact}{end}")));
        let (one, other) = (one.as_str().unwrap(), other.as_str().unwrap());
        assert!(one != other && one.chars().count() == MOST && one.starts_with("xxx"), "{one}");
        assert!(
            one.ends_with(&format!(
                "(503 characters, SHA-256 {})",
                Digest::of(&format!("{exact}one")).text()
            ))
        );
    }

    #[test]
    fn a_choice_is_told_with_its_reason_and_a_secret_only_as_set() {
        let change = json!({"role": "viewer", "network": true, "identity": "a@b.example", "password": "the secret",
            "budget": {"tokens": 5}, "workspace": null});
        let told = json!({"role": "viewer", "network": "true", "identity": "a@b.example", "password": "(set)",
            "budget": "{\"tokens\":5}"});
        assert_eq!(of("UserChange", &change), told);
        assert_eq!(of("UserChange", &json!({"password": null})), json!({}));
        assert_eq!(of("NewPassword", &json!({"old": "o", "new": "n"})), json!({}));
        assert_eq!(of("NewKey", &json!({"provider": "openai", "key": "k"})), json!({"provider": "openai"}));
        let denied =
            json!({"command": "answer", "approval": "a:4", "outcome": "cancel", "reason": "not there"});
        assert_eq!(of("Command", &denied), denied);
        assert_eq!(
            of("Command", &json!({"command": "prompt", "content": {"parts": [{"text": "words"}]}})),
            json!({"command": "prompt"})
        );
    }

    #[test]
    fn nothing_is_told_that_the_request_has_no_field_for() {
        let forged = json!({"outcome": "cancel", "reason": "no", "user": "ben", "role": "admin", "password": "x",
            "command": "set_mode", "mode": "yolo", "records": [{"session": "s"}]});
        assert_eq!(of("Outcome", &forged), json!({"outcome": "cancel", "reason": "no"}));
        assert_eq!(of("Command", &forged), json!({"command": "set_mode", "mode": "yolo"}));
        assert_eq!(of("SessionBundle", &forged), json!({"session": "s"}));
        assert_eq!(of("Explain", &forged), json!({}));
        assert_eq!(told(None, forged.to_string().as_bytes()), Map::new());
    }

    #[test]
    fn a_value_is_cut_and_cannot_forge_what_a_person_reads() {
        let reason = format!("no\n{{\"number\":9}}\u{1b}[2J\u{9b}\u{202e}{}", "\u{e0001}".repeat(5000));
        let Value::Object(told) = of("Outcome", &json!({"outcome": "cancel", "reason": reason})) else {
            panic!()
        };
        let reason = told["reason"].as_str().unwrap();
        assert!(reason.chars().count() <= MOST, "{}", reason.len());
        assert!(reason.starts_with(r"no\n{") && reason.chars().all(|c| matches!(c, ' '..='~')), "{reason}");
    }

    #[test]
    fn neither_blanks_nor_zeros_nor_other_fields_hide_what_was_chosen() {
        let (blanks, zeros) = (" ".repeat(600), "0".repeat(600));
        let budget = format!(r#"{{"budget": {{{blanks}"usd": 1.{zeros},{blanks}"tokens": 7}}}}"#);
        let told_budget = told(Some("UserChange"), budget.as_bytes())["budget"].as_str().unwrap().to_owned();
        assert_eq!(serde_json::from_str::<Value>(&told_budget).unwrap(), json!({"usd": 1.0, "tokens": 7}));
        let forged = json!({"outcome": "proceed_always", "records": 5});
        assert_eq!(of("Outcome", &forged), json!({"outcome": "proceed_always"}));
    }

    #[test]
    fn a_session_that_comes_in_is_named_and_nonsense_is_told_as_nothing() {
        let bundle =
            json!({"records": [{"kind": "session_started", "session": "01a1"}, {"session": "other"}]});
        assert_eq!(of("SessionBundle", &bundle), json!({"session": "01a1"}));
        assert_eq!(of("SessionBundle", &json!({"records": []})), json!({}));
        for nonsense in [&b""[..], b"[]", b"null", b"{", b"{\"name\": \xff}", b"{\"records\": 5}"] {
            assert_eq!(told(Some("SessionBundle"), nonsense), Map::new(), "{nonsense:?}");
        }
        let deep = format!("{{\"name\": \"a\", \"x\": {}", "[".repeat(100_000));
        assert_eq!(told(Some("SignIn"), deep.as_bytes()), Map::new());
    }
}
