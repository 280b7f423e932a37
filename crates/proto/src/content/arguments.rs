//! Argument texts as servers and models send them: JSON, and what they make of it.

use serde_json::{Map, Value};

use crate::json::mended;

/// The value of an argument text; the strict parser's complaint when it cannot be understood.
///
/// A text that ends too early is never repaired: what is missing from it may be what matters.
pub(super) fn read(text: &str) -> Result<Value, serde_json::Error> {
    let text = &*mended(text);
    match serde_json::from_str::<Value>(text) {
        // A text within a text.
        Ok(Value::String(inner)) => match serde_json::from_str::<Map<String, Value>>(&mended(&inner)) {
            Ok(args) => Ok(Value::Object(args)),
            Err(_) => Ok(Value::String(inner)),
        },
        Err(error) if !error.is_eof() => match repeated(text).or_else(|| grown(text)) {
            Some(args) => Ok(Value::Object(args)),
            None => Err(error),
        },
        read => read,
    }
}

/// The object of a text that says the same object several times.
fn repeated(text: &str) -> Option<Map<String, Value>> {
    let mut all = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    let first = all.next()?.ok()?;
    all.all(|next| next.is_ok_and(|next| next == first)).then_some(first)
}

/// The object of a text that has the beginnings of an object before it, each longer than the one before: a server
/// sent all it had with every piece.
fn grown(text: &str) -> Option<Map<String, Value>> {
    let starts = text.match_indices('{').map(|(at, _)| at).skip(1);
    starts.filter_map(|at| text.split_at_checked(at)).find_map(|(beginnings, whole)| {
        let args = serde_json::from_str::<Map<String, Value>>(whole).ok()?;
        are_beginnings(beginnings, whole).then_some(args)
    })
}

fn are_beginnings(mut text: &str, whole: &str) -> bool {
    while !text.is_empty() {
        let shared = text.chars().zip(whole.chars()).take_while(|(one, other)| one == other);
        let length: usize = shared.map(|(c, _)| c.len_utf8()).sum();
        match text.get(length..) {
            Some(rest) if length > 0 => text = rest,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_servers_make_of_arguments_is_understood() {
        let expected = json!({"command": "ls {x}", "n": 1});
        let plain = expected.to_string();
        let beginnings: String = (1..plain.len()).step_by(3).filter_map(|end| plain.get(..end)).collect();
        let rows = [
            ("plain", plain.clone()),
            ("twice", format!("{plain}{plain}")),
            ("three times", format!("{plain}\n{plain} {plain}")),
            ("grown", format!("{}{plain}", plain.get(..5).unwrap())),
            ("grown in many steps", format!("{beginnings}{plain}")),
            ("a text", json!(plain).to_string()),
        ];
        for (what, text) in rows {
            assert_eq!(read(&text).ok(), Some(expected.clone()), "{what}: {text}");
        }
    }

    #[test]
    fn what_ends_too_early_or_contradicts_itself_is_not() {
        let nested = r#"{"a":{"a":1}}"#;
        let texts = (1..nested.len()).filter_map(|end| nested.get(..end).map(str::to_owned));
        let others =
            [r#"{"a":1}{"a":2}"#, r#"{"a":1}{"a""#, r#"{"x{"command":"ls"}"#, "{a: 1}", r#"{"a":1} x"#];
        for text in texts.chain(others.map(str::to_owned)) {
            assert!(!matches!(read(&text), Ok(Value::Object(_))), "{text}");
        }
    }
}
