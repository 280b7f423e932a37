//! What the session's protocol says, field by field: commands, answers and replies. The types are `proto`'s; a test holds these to the
//! examples of docs/protocol.md.

use serde_json::{Map, Value, json};

/// Who may leave a field out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Needed,
    Optional,
}
use Field::{Needed, Optional};

/// A field: its name, whether it may be left out, and its form.
type FieldForm = (&'static str, Field, Value);

/// One kind of a value that says by `tag` what it is. With `strict`, it has no other fields.
fn variant(tag: &str, name: &str, fields: &[FieldForm], strict: bool) -> Value {
    let mut properties = Map::new();
    properties.insert(tag.to_owned(), json!({ "const": name }));
    properties.extend(fields.iter().map(|(name, _, form)| ((*name).to_owned(), form.clone())));
    let needed = fields.iter().filter(|(_, field, _)| *field == Needed).map(|(name, ..)| *name);
    let required: Vec<&str> = std::iter::once(tag).chain(needed).collect();
    let mut form = json!({ "type": "object", "title": name, "required": required, "properties": properties });
    if strict {
        form["additionalProperties"] = json!(false);
    }
    form
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn texts() -> Value {
    json!({ "type": "array", "items": text() })
}

fn number() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64 })
}

/// What somebody says: words and files.
fn content() -> Value {
    let data = json!({ "type": "string", "contentEncoding": "base64" });
    let part = |name: &str, form: Value| json!({ "type": "object", "required": [name], "additionalProperties": false, "properties": { name: form } });
    let media = json!({ "type": "object", "required": ["mimeType", "data"], "additionalProperties": false, "properties": { "mimeType": text(), "data": data } });
    let file = json!({ "type": "object", "required": ["fileUri"], "additionalProperties": false, "properties": { "mimeType": text(), "fileUri": text() } });
    let parts = [part("text", text()), part("inlineData", media), part("fileData", file)];
    json!({
        "type": "object",
        "required": ["parts"],
        "additionalProperties": false,
        "properties": {
            "role": { "enum": ["user"] },
            "parts": { "type": "array", "minItems": 1, "items": { "oneOf": parts } },
        },
        "examples": [{ "role": "user", "parts": [{ "text": "Which tests fail?" }] }],
    })
}

fn target() -> Value {
    let one = |name: &str| json!({ "type": "object", "required": [name], "additionalProperties": false, "properties": { name: text() } });
    json!({ "anyOf": [{ "enum": ["turn", "mine"] }, one("prompt"), one("call")] })
}

/// The fields of each answer.
fn outcomes() -> Vec<(&'static str, Vec<FieldForm>)> {
    let reason = json!({ "type": ["string", "null"], "maxLength": 4096 });
    vec![
        ("proceed_once", vec![]),
        ("proceed_always", vec![]),
        ("proceed_always_tool", vec![]),
        ("proceed_always_server", vec![]),
        ("proceed_always_and_save", vec![]),
        ("modify", vec![("args", Needed, json!({ "type": "object" }))]),
        ("modify_with_editor", vec![("newContent", Needed, text())]),
        ("answers", vec![("answers", Needed, texts())]),
        ("cancel", vec![("reason", Optional, reason)]),
    ]
}

/// The fields of each command but `answer`.
fn commands() -> Vec<(&'static str, Vec<FieldForm>)> {
    let flag = || json!({ "type": "boolean" });
    let files = || {
        let turn = json!({ "type": ["integer", "null"], "minimum": 0, "maximum": 9_007_199_254_740_991_u64 });
        vec![("turn", Optional, turn), ("only", Optional, texts())]
    };
    let delivery = json!({ "enum": ["join", "after_turn"] });
    let mode = json!({ "enum": ["plan", "default", "auto_edit", "yolo"] });
    let args = json!({ "type": "object" });
    vec![
        ("prompt", vec![("content", Needed, reference("Content")), ("delivery", Optional, delivery)]),
        ("continue", vec![]),
        ("cancel", vec![("target", Optional, target())]),
        ("set_mode", vec![("mode", Needed, mode)]),
        ("set_model", vec![("model", Needed, text())]),
        ("compress", vec![]),
        ("restore", vec![]),
        ("undo", files()),
        ("redo", files()),
        ("rewind", vec![("to", Needed, number()), ("files", Optional, flag())]),
        (
            "run_tool",
            vec![
                ("name", Needed, text()),
                ("args", Optional, args),
                ("for_prompt", Optional, flag()),
                ("if_allowed", Optional, flag()),
            ],
        ),
        ("save_rules", vec![("rules", Needed, text())]),
        ("revoke", vec![("approval", Needed, text())]),
        ("refresh", vec![]),
        ("hand_over", vec![]),
        ("keep", vec![]),
    ]
}

/// The fields of each reply. Later versions may tell more.
fn replies() -> Vec<(&'static str, Vec<FieldForm>)> {
    let files = json!({ "type": "array", "items": {
        "type": "object",
        "required": ["path"],
        "properties": { "path": text(), "before": text(), "after": text(), "mode": number() },
    } });
    vec![
        ("prompted", vec![("prompt", Needed, text()), ("waits", Needed, json!({ "type": "boolean" }))]),
        ("called", vec![("call", Needed, text())]),
        ("done", vec![]),
        ("reverted", vec![("turn", Needed, number()), ("files", Needed, files)]),
        ("saved", vec![("place", Needed, text())]),
        ("refused", vec![("reason", Needed, text())]),
    ]
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn one_of(tag: &str, kinds: Vec<(&'static str, Vec<FieldForm>)>, strict: bool) -> Vec<Value> {
    kinds.into_iter().map(|(name, fields)| variant(tag, name, &fields, strict)).collect()
}

/// An answer as a command: it names its question, and says what the answer is.
fn answers() -> impl Iterator<Item = Value> {
    outcomes().into_iter().map(|(name, mut fields)| {
        fields.extend([("approval", Needed, text()), ("outcome", Needed, json!({ "const": name }))]);
        let mut form = variant("command", "answer", &fields, true);
        form["title"] = json!(format!("answer: {name}"));
        form
    })
}

/// The forms of the protocol by their names.
pub(super) fn schemas() -> [(&'static str, Value); 4] {
    let commands: Vec<Value> = one_of("command", commands(), true).into_iter().chain(answers()).collect();
    let about =
        |forms: Vec<Value>, about: &str| json!({ "type": "object", "description": about, "oneOf": forms });
    [
        ("Command", about(commands, "A command, without `by`: docs/protocol.md")),
        ("Content", content()),
        ("Outcome", about(one_of("outcome", outcomes(), true), "An answer: docs/protocol.md")),
        ("Reply", about(one_of("reply", replies(), false), "A reply: docs/protocol.md")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of a kind, and the fields that it has.
    fn fields<'f>(forms: &'f Value, tags: &[(&str, &str)]) -> Option<&'f Map<String, Value>> {
        let is_meant =
            |form: &&Value| tags.iter().all(|(tag, name)| form["properties"][*tag]["const"] == *name);
        forms["oneOf"].as_array()?.iter().find(is_meant)?["properties"].as_object()
    }

    #[test]
    fn every_example_of_the_protocol_has_its_form() {
        let protocol = include_str!("../../../../docs/protocol.md");
        let schemas = schemas();
        let form = |name: &str| &schemas.iter().find(|(known, _)| *known == name).unwrap().1;
        let mut seen = 0;
        for line in protocol.lines() {
            let Ok(Value::Object(mut example)) = serde_json::from_str::<Value>(line.trim()) else { continue };
            // What is named by its type is an event, or what a question shows.
            if example.contains_key("type") {
                continue;
            }
            let said = |tag: &str| example.get(tag).and_then(Value::as_str).map(str::to_owned);
            let (schema, tags) = match (said("command"), said("outcome"), said("reply")) {
                (Some(command), Some(outcome), _) => {
                    ("Command", vec![("command", command), ("outcome", outcome)])
                }
                (Some(command), None, _) => ("Command", vec![("command", command)]),
                (None, _, Some(reply)) => ("Reply", vec![("reply", reply)]),
                _ => continue,
            };
            example.remove("by");
            let tags: Vec<(&str, &str)> = tags.iter().map(|(tag, name)| (*tag, name.as_str())).collect();
            let known = fields(form(schema), &tags).unwrap_or_else(|| panic!("{line} has no form"));
            // Refusals have fields of their own, which the problem's `detail` says in words.
            if schema == "Command" {
                let unknown = example.keys().find(|name| !known.contains_key(*name));
                assert_eq!(unknown, None, "{line}");
            }
            seen += 1;
        }
        assert!(seen > 30, "{seen} examples");
    }

    #[test]
    fn the_forms_have_the_fields_that_are_taken() {
        let schemas = schemas();
        for (schema, tag) in [("Command", "command"), ("Outcome", "outcome")] {
            let forms = &schemas.iter().find(|(known, _)| *known == schema).unwrap().1;
            for form in forms["oneOf"].as_array().unwrap() {
                let names: Vec<&String> = form["properties"].as_object().unwrap().keys().collect();
                let value: Map<String, Value> = names
                    .iter()
                    .map(|name| {
                        let said = form["properties"][name.as_str()].get("const").cloned();
                        ((*name).clone(), said.unwrap_or_default())
                    })
                    .collect();
                let body = Value::Object(value).to_string();
                assert!(crate::forms::must_be_known(schema, body.as_bytes()).is_ok(), "{tag}: {body}");
            }
        }
    }
}
