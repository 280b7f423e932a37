//! Keeps secrets out of what is written down.

use std::borrow::Cow;
use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

const HIDDEN: &str = "[redacted]";

/// Shorter texts are no secrets; hiding them would only eat holes into ordinary words.
const SHORTEST_SECRET: usize = 6;

/// How keys of known vendors begin, and how much must follow to be one.
const KEY_SHAPES: [(&str, usize); 10] = [
    ("sk-", 12),
    ("AIza", 20),
    ("AQ.", 20),
    ("ya29.", 12),
    ("gsk_", 12),
    ("xai-", 12),
    ("hf_", 12),
    ("ghp_", 12),
    ("github_pat_", 12),
    ("AKIA", 12),
];

/// Names whose value is a secret, whatever it looks like. Lower case.
const SECRET_NAMES: [&str; 8] = [
    "proxy-authorization",
    "authorization",
    "x-goog-api-key",
    "x-api-key",
    "api-key",
    "api_key",
    "apikey",
    "access_token",
];

/// Replaces secrets in texts: the configured ones by their value, others by their shape.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<SecretString>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

impl Redactor {
    /// A redactor that knows these secrets beside the common shapes.
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let long = |secret: &SecretString| secret.expose_secret().trim().len() >= SHORTEST_SECRET;
        let mut secrets: Vec<_> = secrets.into_iter().filter(long).collect();
        // A secret that is part of another must not leave the rest of it standing.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        Self { secrets }
    }

    /// The text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            let secret = secret.expose_secret().trim();
            if text.contains(secret) {
                text = Cow::Owned(text.replace(secret, HIDDEN));
            }
        }
        match hide_shapes(&text) {
            Some(hidden) => Cow::Owned(hidden),
            None => text,
        }
    }

    /// Takes the secrets out of every text of a JSON value, keys included.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.text(text) {
                    *text = hidden;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(key, mut value)| {
                        if value.is_string() && SECRET_NAMES.contains(&key.to_ascii_lowercase().as_str()) {
                            value = Value::String(HIDDEN.to_owned());
                        }
                        self.value(&mut value);
                        (self.text(&key).into_owned(), value)
                    })
                    .collect::<Map<_, _>>();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The text with everything hidden that looks like a key; `None` when there is nothing.
fn hide_shapes(text: &str) -> Option<String> {
    let mut hidden: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    let mut word_before = false;
    for (index, letter) in text.char_indices() {
        let starts_word = !word_before;
        word_before = letter.is_ascii_alphanumeric();
        if index < at || !starts_word || !word_before {
            continue;
        }
        let Some(rest) = text.get(index..) else { continue };
        let Some((keep, hide)) = key_shape(rest).or_else(|| named_secret(rest)) else { continue };
        let out = hidden.get_or_insert_default();
        out.push_str(text.get(copied..index + keep).unwrap_or_default());
        out.push_str(HIDDEN);
        copied = index + keep + hide;
        at = copied;
    }
    let mut hidden = hidden?;
    hidden.push_str(text.get(copied..).unwrap_or_default());
    Some(hidden)
}

/// A vendor's key at the beginning of `text`: how many bytes to keep and then to hide.
fn key_shape(text: &str) -> Option<(usize, usize)> {
    let (prefix, least) = KEY_SHAPES.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    let length = token_length(text.get(prefix.len()..)?);
    (length >= *least).then_some((0, prefix.len() + length))
}

/// `Bearer TOKEN` or `x-api-key: VALUE` (also with quotes or `=`) at the beginning of `text`.
fn named_secret(text: &str) -> Option<(usize, usize)> {
    let begins = |name: &str| text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    if begins("bearer ") {
        let length = token_length(text.get(7..)?);
        return (length >= SHORTEST_SECRET).then_some((7, length));
    }
    // `key=` stands in addresses; in prose it would hide too much.
    let names = SECRET_NAMES.iter().copied().chain(["key="]);
    let name = names.into_iter().find(|name| begins(name))?;
    let rest = text.get(name.len()..)?;
    let lead = rest.len() - rest.trim_start_matches(['"', '\'', '\\', ' ', ':', '=']).len();
    let separated = name.ends_with('=') || rest.get(..lead)?.contains([':', '=']);
    let value = rest.get(lead..)?;
    let length = if name.ends_with("authorization") {
        value.find(['"', '\'', '\\', '\n', '\r', ',']).unwrap_or(value.len())
    } else {
        token_length(value)
    };
    let known = value.starts_with(HIDDEN);
    (separated && length >= SHORTEST_SECRET && !known).then_some((name.len() + lead, length))
}

/// How many bytes at the beginning can belong to a key.
fn token_length(text: &str) -> usize {
    let part = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=".contains(c);
    text.find(|c| !part(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(["correct horse battery".into(), "corr".into(), "hunter2-long".into()])
    }

    #[test]
    fn secrets_are_hidden_by_value_and_by_shape() {
        let hidden = |text: &str| redactor().text(text).into_owned();
        let rows = [
            ("my key is correct horse battery!", "my key is [redacted]!"),
            ("hunter2-longhunter2-long", "[redacted][redacted]"),
            (
                "Incorrect API key provided: sk-proj-abcDEF1234567890.",
                "Incorrect API key provided: [redacted]",
            ),
            ("sk-ant-api03-AAAAAAAAAAAA,", "[redacted],"),
            ("AIzaSyA1234567890abcdefghijklmnopqrstu", "[redacted]"),
            ("Authorization: Bearer abc.def-ghi", "Authorization: [redacted]"),
            ("sent bearer abcdefgh12 to", "sent bearer [redacted] to"),
            (r#"{"x-api-key": "0123456789", "a": 1}"#, r#"{"x-api-key": "[redacted]", "a": 1}"#),
            (r#"{\"api_key\":\"0123456789\"}"#, r#"{\"api_key\":\"[redacted]\"}"#),
            ("http://h/v1?key=0123456789&alt=sse", "http://h/v1?key=[redacted]&alt=sse"),
            ("x-goog-api-key=0123456789", "x-goog-api-key=[redacted]"),
            ("Grüße sk-0123456789abcdef Grüße", "Grüße [redacted] Grüße"),
        ];
        for (text, expected) in rows {
            assert_eq!(hidden(text), expected);
        }
    }

    #[test]
    fn ordinary_words_stay() {
        for text in [
            "a task-force-for-something-long",
            "sk-short",
            "the bearer of news",
            "corr",
            "set the api-key first",
            "",
        ] {
            assert!(matches!(redactor().text(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn json_is_searched_through_keys_and_values() {
        let mut value = json!({
            "a": ["x hunter2-long", {"hunter2-long": 1}],
            "Authorization": "tiny",
            "n": 5,
        });
        redactor().value(&mut value);
        assert_eq!(
            value,
            json!({"a": ["x [redacted]", {"[redacted]": 1}], "Authorization": "[redacted]", "n": 5})
        );
    }

    #[test]
    fn a_redactor_does_not_print_what_it_knows() {
        assert_eq!(format!("{:?}", redactor()), "Redactor(2 secrets)");
    }
}
