//! For embedders: conversions between parts, contents and loose JSON that programs with prompts of their own need.
//! Nothing of Charla itself calls them.

use serde_json::Value;

use crate::{Content, Part, PartKind, Role, part_to_string};

/// Several parts as one text, see [`part_to_string`].
pub fn parts_to_string(parts: &[Part], verbose: bool) -> String {
    parts.iter().map(|part| part_to_string(part, verbose)).collect()
}

/// Replaces each text part that is no thought by the parts `transform` makes of it; others stay.
pub fn flat_map_text_parts(parts: Vec<Part>, mut transform: impl FnMut(&str) -> Vec<Part>) -> Vec<Part> {
    parts
        .into_iter()
        .flat_map(|part| match &part.kind {
            PartKind::Text(text) if !part.thought => transform(text),
            _ => vec![part],
        })
        .collect()
}

/// Appends `text` to the last part if that is plain text, after `separator` when it is not empty; else
/// adds a text part.
pub fn append_to_last_text_part(parts: &mut Vec<Part>, text: &str, separator: &str) {
    if text.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some(Part { kind: PartKind::Text(last), thought: false, thought_signature: None, .. }) => {
            if !last.is_empty() {
                last.push_str(separator);
            }
            last.push_str(text);
        }
        _ => parts.push(Part::text(text)),
    }
}

/// One content from anything that can stand for one in JSON: a string, a part, a list of strings and
/// parts, or a content.
pub fn to_content(value: Value) -> Result<Content, serde_json::Error> {
    match value {
        Value::String(text) => Ok(Content::user(text)),
        Value::Array(items) => {
            let parts = items.into_iter().map(to_part).collect::<Result<_, _>>()?;
            Ok(Content::new(Role::User, parts))
        }
        Value::Object(ref map) if map.contains_key("parts") || map.contains_key("role") => {
            serde_json::from_value(value)
        }
        other => Ok(Content::new(Role::User, vec![to_part(other)?])),
    }
}

/// Contents from anything that can stand for them: one content (see [`to_content`]) or a list of
/// contents.
pub fn to_contents(value: Value) -> Result<Vec<Content>, serde_json::Error> {
    match value {
        Value::Array(items) if items.iter().any(is_content) => items.into_iter().map(to_content).collect(),
        other => Ok(vec![to_content(other)?]),
    }
}

fn is_content(value: &Value) -> bool {
    value.get("parts").is_some() || value.get("role").is_some()
}

fn to_part(value: Value) -> Result<Part, serde_json::Error> {
    match value {
        Value::String(text) => Ok(Part::text(text)),
        other => serde_json::from_value(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn verbose_text_names_media_with_its_size() {
        let parts = [Part::text("see "), Part::inline_data("image/png", "A".repeat(4096))];
        assert_eq!(parts_to_string(&parts, false), "see ");
        assert_eq!(parts_to_string(&parts, true), "see [Image: image/png, 3 KB]");
    }

    #[test]
    fn text_is_appended_to_the_last_words_only() {
        let mut parts = vec![Part::text("one")];
        append_to_last_text_part(&mut parts, "two", "\n\n");
        assert_eq!(parts, [Part::text("one\n\ntwo")]);
        parts.push(Part::thought("hm"));
        append_to_last_text_part(&mut parts, "three", "\n\n");
        assert_eq!(parts.len(), 3);
        assert_eq!(parts[2], Part::text("three"));
    }

    #[test]
    fn anything_becomes_contents() {
        let from = |value| to_contents(value).unwrap();
        assert_eq!(from(json!("hi")), [Content::user("hi")]);
        assert_eq!(from(json!(["a", {"text": "b"}]))[0].parts, [Part::text("a"), Part::text("b")]);
        assert_eq!(from(json!({"role": "model", "parts": [{"text": "x"}]})), [Content::model("x")]);
        assert_eq!(from(json!([{"role": "user", "parts": []}, "then"])).len(), 2);
        assert!(to_contents(json!(7)).is_err());
    }

    #[test]
    fn text_parts_are_mapped_and_others_stay() {
        let parts = vec![Part::text("ab"), Part::thought("t")];
        let mapped = flat_map_text_parts(parts, |text| text.chars().map(Part::text).collect());
        assert_eq!(mapped, [Part::text("a"), Part::text("b"), Part::thought("t")]);
    }
}
