//! Tools declared in few words, for small windows, for machines that read slowly and for models that understand
//! little.

use std::sync::Arc;

use charla_proto::FunctionDeclaration;
use charla_proto::tool::{Tool, Toolbox};
use serde_json::Value;

/// What a call cannot do without knowing is in the descriptions; the tools check these bounds themselves.
const BOUNDS: [&str; 6] = ["minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"];

/// A toolbox whose declarations say each thing in one sentence. The tools themselves are the same and take
/// all their parameters.
pub(super) struct CompactToolbox<T> {
    inner: T,
    declarations: Vec<Arc<FunctionDeclaration>>,
}

impl<T: Toolbox> CompactToolbox<T> {
    /// Over this toolbox: no bounds, and no optional parameters that are objects with fields of their own.
    pub(super) fn new(inner: T) -> Self {
        Self::with(inner, shorten_schema)
    }

    /// Over this toolbox: only the parameters that a call cannot do without.
    pub(super) fn minimal(inner: T) -> Self {
        Self::with(inner, leave_required)
    }

    fn with(inner: T, shorten: fn(&mut Value)) -> Self {
        let declarations = inner.declarations();
        let short = declarations.iter().map(|full| Arc::new(shortened(full, shorten)));
        Self { declarations: short.collect(), inner }
    }
}

impl<T: Toolbox> Toolbox for CompactToolbox<T> {
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.inner.get(name)
    }

    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>> {
        self.declarations.clone()
    }

    fn nearest(&self, name: &str) -> Option<String> {
        self.inner.nearest(name)
    }

    fn withholds(&self, name: &str) -> bool {
        self.inner.withholds(name)
    }
}

fn shortened(full: &FunctionDeclaration, shorten: fn(&mut Value)) -> FunctionDeclaration {
    let mut short = full.clone();
    short.description = first_sentence(&full.description);
    shorten(&mut short.parameters_json_schema);
    short
}

fn leave_required(schema: &mut Value) {
    let required = schema.get("required").cloned().unwrap_or_default();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| names(&required, name));
    }
}

/// True when a schema's list of required parameters has this one.
fn names(required: &Value, parameter: &str) -> bool {
    required.as_array().is_some_and(|names| names.iter().any(|name| name == parameter))
}

fn shorten_schema(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.retain(|key, value| {
        let nothing = match key.as_str() {
            "required" => value.as_array().is_some_and(Vec::is_empty),
            "additionalProperties" => *value == false,
            _ => false,
        };
        !BOUNDS.contains(&key.as_str()) && !nothing
    });
    let required = fields.get("required").cloned().unwrap_or_default();
    for (key, value) in fields.iter_mut() {
        match (key.as_str(), value) {
            ("description", Value::String(text)) => *text = first_sentence(text),
            ("properties", Value::Object(properties)) => {
                properties.retain(|name, field| names(&required, name) || field.get("properties").is_none());
                properties.values_mut().for_each(shorten_schema);
            }
            ("items", inner) => shorten_schema(inner),
            ("anyOf" | "oneOf" | "allOf", Value::Array(forms)) => forms.iter_mut().for_each(shorten_schema),
            _ => {}
        }
    }
}

fn first_sentence(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_compact_declaration_has_what_a_call_needs_in_one_sentence_each() {
        let full = FunctionDeclaration {
            name: "read_file".to_owned(),
            description: "Reads a file. Long files come in parts.\nMore.".to_owned(),
            parameters_json_schema: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "minLength": 1, "description": "The file. Relative or not."},
                    "description": {"type": "string", "enum": ["a. b"]},
                    "minimum": {"type": "array", "maxItems": 9, "items": {"type": "string", "minLength": 1}},
                    "options": {"type": "object", "properties": {"a": {"type": "string"}}},
                    "step": {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": true},
                },
                "required": ["file_path", "step"],
                "additionalProperties": false,
            }),
            ..FunctionDeclaration::default()
        };
        let short = shortened(&full, shorten_schema);
        assert_eq!(short.description, "Reads a file.");
        let expected = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The file."},
                "description": {"type": "string", "enum": ["a. b"]},
                "minimum": {"type": "array", "items": {"type": "string"}},
                "step": {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": true},
            },
            "required": ["file_path", "step"],
        });
        assert_eq!(short.parameters_json_schema, expected);
    }

    #[test]
    fn the_minimal_declaration_has_only_what_a_call_needs() {
        let full = FunctionDeclaration {
            name: "read_file".to_owned(),
            description: "Reads a file. Long files come in parts.".to_owned(),
            parameters_json_schema: json!({
                "type": "object",
                "properties": {"file_path": {"type": "string"}, "start_line": {"type": "integer"}},
                "required": ["file_path"],
            }),
            ..FunctionDeclaration::default()
        };
        let short = shortened(&full, leave_required);
        assert_eq!(short.description, "Reads a file.");
        assert_eq!(short.parameters_json_schema["properties"], json!({"file_path": {"type": "string"}}));
    }
}
