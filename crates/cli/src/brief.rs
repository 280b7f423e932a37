//! Tools told in few words, for small windows and for machines that read slowly.

use std::sync::Arc;

use charla_proto::FunctionDeclaration;
use charla_proto::tool::{Tool, Toolbox};
use serde_json::Value;

/// A toolbox whose declarations have all their parameters but only the first sentence of each description. The
/// tools themselves are the same.
pub struct Brief<T> {
    inner: T,
    declarations: Vec<Arc<FunctionDeclaration>>,
}

impl<T: Toolbox> Brief<T> {
    /// Over this toolbox.
    pub fn new(inner: T) -> Self {
        let declarations = inner.declarations().iter().map(|full| Arc::new(shortened(full))).collect();
        Self { inner, declarations }
    }
}

impl<T: Toolbox> Toolbox for Brief<T> {
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.inner.get(name)
    }

    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>> {
        self.declarations.clone()
    }

    fn nearest(&self, name: &str) -> Option<String> {
        self.inner.nearest(name)
    }
}

fn shortened(full: &FunctionDeclaration) -> FunctionDeclaration {
    let mut short = full.clone();
    short.description = first_sentence(&full.description);
    shorten_schema(&mut short.parameters_json_schema);
    short
}

fn shorten_schema(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match value {
                    // A parameter may itself be called `description`: then this is a schema.
                    Value::String(text) if key == "description" => *text = first_sentence(text),
                    value => shorten_schema(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_schema),
        _ => {}
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
    fn a_brief_declaration_has_every_parameter_and_one_sentence_for_each() {
        let full = FunctionDeclaration {
            name: "read_file".to_owned(),
            description: "Reads a file. Long files come in parts.\nMore.".to_owned(),
            parameters_json_schema: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file. Relative or not."},
                    "description": {"type": "string", "enum": ["a. b"]},
                },
                "required": ["file_path"],
            }),
            ..FunctionDeclaration::default()
        };
        let short = shortened(&full);
        assert_eq!(short.description, "Reads a file.");
        let expected = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The file."},
                "description": {"type": "string", "enum": ["a. b"]},
            },
            "required": ["file_path"],
        });
        assert_eq!(short.parameters_json_schema, expected);
    }
}
