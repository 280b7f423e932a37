//! Tools for models that understand little.

use std::sync::Arc;

use charla_proto::FunctionDeclaration;
use charla_proto::tool::{Tool, Toolbox};
use serde_json::Value;

/// A toolbox whose declarations are as short as they can be: one sentence, and only the parameters that a
/// call cannot do without. The tools themselves are the same and take all their parameters.
pub struct Compact<T> {
    inner: T,
    declarations: Vec<Arc<FunctionDeclaration>>,
}

impl<T: Toolbox> Compact<T> {
    /// Over this toolbox.
    pub fn new(inner: T) -> Self {
        let declarations = inner.declarations().iter().map(|full| Arc::new(shortened(full))).collect();
        Self { inner, declarations }
    }
}

impl<T: Toolbox> Toolbox for Compact<T> {
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
    if let Some((first, _)) = full.description.split_once(". ") {
        short.description = format!("{first}.");
    }
    let schema = &mut short.parameters_json_schema;
    let required: Vec<String> = match schema.get("required").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
        None => Vec::new(),
    };
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| required.contains(name));
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_short_declaration_keeps_what_a_call_needs() {
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
        let short = shortened(&full);
        assert_eq!(short.description, "Reads a file.");
        assert_eq!(short.parameters_json_schema["properties"], json!({"file_path": {"type": "string"}}));
    }
}
