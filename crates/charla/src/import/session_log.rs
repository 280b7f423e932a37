//! Conversations as newer versions of Gemini CLI write them: a line for each change, the last word of which counts.
//!
//! The first line is about the session. A message is written anew, whole, whenever something of it changes. `$set` changes what is
//! said about the session, and puts other messages in place of all (a compression); `$rewindTo` takes back a message and all
//! after it.

use serde_json::{Map, Value};

/// The conversation as older versions write it, and how many lines before the last cannot be read. The last one may be torn: a
/// program that was killed did not finish it.
pub(super) fn replayed(text: &str) -> (Value, usize) {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let (mut log, mut broken) = (Log::default(), 0);
    for (number, line) in lines.iter().enumerate() {
        match serde_json::from_str(line) {
            Ok(Value::Object(record)) => log.take(record),
            _ if number + 1 < lines.len() => broken += 1,
            _ => {}
        }
    }
    let Log { mut about, messages } = log;
    about.insert("messages".to_owned(), Value::Array(messages));
    (Value::Object(about), broken)
}

#[derive(Default)]
struct Log {
    /// What is said about the session.
    about: Map<String, Value>,
    messages: Vec<Value>,
}

impl Log {
    fn take(&mut self, mut record: Map<String, Value>) {
        if let Some(id) = record.get("$rewindTo").and_then(Value::as_str) {
            let at = self.messages.iter().position(|message| id_of(message) == Some(id));
            return self.messages.truncate(at.unwrap_or(0));
        }
        if record.get("id").is_some_and(Value::is_string) {
            return self.message(Value::Object(record));
        }
        let about = match record.remove("$set") {
            Some(Value::Object(changes)) => changes,
            _ => record,
        };
        for (key, value) in about {
            match (key.as_str(), value) {
                ("messages", Value::Array(messages)) => {
                    self.messages.clear();
                    messages.into_iter().for_each(|message| self.message(message));
                }
                (_, value) => drop(self.about.insert(key, value)),
            }
        }
    }

    /// A message, in the place of the one of the same id.
    fn message(&mut self, message: Value) {
        let known =
            self.messages.iter_mut().find(|known| id_of(known).is_some() && id_of(known) == id_of(&message));
        match known {
            Some(known) => *known = message,
            None => self.messages.push(message),
        }
    }
}

fn id_of(message: &Value) -> Option<&str> {
    message.get("id").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::replayed;

    /// What is left of these lines: the ids and words of messages, and how many lines were broken.
    fn left_of(lines: &[&str]) -> (Vec<String>, usize) {
        let (whole, broken) = replayed(&lines.join("\n"));
        let messages = whole["messages"].as_array().unwrap().iter();
        (
            messages
                .map(|message| format!("{} {}", message["id"], message["content"]).replace('"', ""))
                .collect(),
            broken,
        )
    }

    const ABOUT: &str = r#"{"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"}"#;
    const A: &str = r#"{"id": "a", "type": "user", "content": "one"}"#;
    const B: &str = r#"{"id": "b", "type": "gemini", "content": "two"}"#;
    const C: &str = r#"{"id": "c", "type": "user", "content": "three"}"#;

    #[test]
    fn the_last_word_counts() {
        let rewritten = r#"{"id": "a", "type": "user", "content": "first"}"#;
        let rows: [(&[&str], &[&str], usize); 8] = [
            (&[ABOUT, A, B, rewritten], &["a first", "b two"], 0),
            (&[ABOUT, A, B, C, r#"{"$rewindTo": "b"}"#, C], &["a one", "c three"], 0),
            (&[ABOUT, A, B, r#"{"$rewindTo": "unknown"}"#, C], &["c three"], 0),
            (
                &[ABOUT, A, B, r#"{"$set": {"messages": [{"id": "z", "content": "short"}]}}"#, C],
                &["z short", "c three"],
                0,
            ),
            (&[ABOUT, A, r#"{"$set": {"summary": "x"}}"#], &["a one"], 0),
            (&[ABOUT, A, "", r#"{"id": "b", "type": "gem"#], &["a one"], 0),
            (&[ABOUT, "garbage", "7", A, B], &["a one", "b two"], 2),
            (&[], &[], 0),
        ];
        for (lines, expected, broken) in rows {
            assert_eq!(
                left_of(lines),
                (expected.iter().map(|row| (*row).to_owned()).collect(), broken),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn what_is_said_about_the_session_is_kept_and_changed() {
        let (whole, _) =
            replayed(&format!("{ABOUT}\n{}\n", r#"{"$set": {"summary": "x", "startTime": "t"}}"#));
        let expected =
            json!({"sessionId": "s", "projectHash": "h", "startTime": "t", "summary": "x", "messages": []});
        assert_eq!(whole, expected);
    }
}
