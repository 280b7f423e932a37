//! A call in a few words.

use charla_proto::Args;
use charla_proto::text::one_line;
use serde_json::Value;

/// No more of it is looked at, however long it is.
const LONGEST: usize = 2000;

/// The arguments that say best what a call is about, in the order they are looked for.
const TELLING: [&str; 10] = [
    "command",
    "file_path",
    "path",
    "dir_path",
    "absolute_path",
    "pattern",
    "url",
    "prompt",
    "query",
    "fact",
];

/// What a call is about, on one line: the argument that tells most, else all of them.
pub fn about(args: &Args) -> String {
    let telling = TELLING.iter().find_map(|name| args.get(*name)?.as_str());
    let text = match telling {
        Some(text) => text.to_owned(),
        None if args.is_empty() => String::new(),
        None => match args.values().next() {
            Some(Value::String(only)) if args.len() == 1 => only.clone(),
            Some(Value::Array(items)) if args.len() == 1 => listed(items),
            _ => serde_json::to_string(args).unwrap_or_default(),
        },
    };
    one_line(&text.trim().chars().take(LONGEST).collect::<String>())
}

/// A list in words: what is asked, the steps, the names.
fn listed(items: &[Value]) -> String {
    let words = |item: &Value| {
        let telling = ["question", "description"].iter().find_map(|name| item.get(name)?.as_str());
        telling.or_else(|| item.as_str()).map(str::to_owned).unwrap_or_else(|| item.to_string())
    };
    items.iter().map(words).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_argument_that_tells_most_stands_for_all() {
        for (args, told) in [
            (json!({"content": "one\ntwo", "file_path": "a.txt"}), "a.txt"),
            (json!({"command": "make", "description": "Builds."}), "make"),
            (json!({"questions": [{"question": "Which?"}, {"question": "When?"}]}), "Which? · When?"),
            (json!({"a": 1, "b": 2}), r#"{"a":1,"b":2}"#),
            (json!({}), ""),
        ] {
            assert_eq!(about(args.as_object().unwrap()), told);
        }
    }
}
