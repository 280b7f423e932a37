use std::collections::HashMap;
use std::sync::Mutex;

use charla_proto::{Args, BoxFuture, Invocation, SnapshotError, ToolContext, ToolError};
use serde_json::json;

use super::*;

/// Keeps contents in memory.
#[derive(Default)]
struct Kept(Mutex<HashMap<String, Vec<u8>>>);

impl Snapshots for Kept {
    fn keep(&self, bytes: &[u8]) -> Result<String, SnapshotError> {
        let mut kept = self.0.lock().unwrap();
        let hash = kept.len().to_string();
        kept.insert(hash.clone(), bytes.to_vec());
        Ok(hash)
    }

    fn load(&self, hash: &str) -> Result<Vec<u8>, SnapshotError> {
        self.0.lock().unwrap().get(hash).cloned().ok_or_else(|| SnapshotError::Missing(hash.to_owned()))
    }
}

fn registry(selection: Selection) -> Registry {
    let mut registry = Registry::new(selection);
    registry.register_files(Arc::new(Kept::default()), Some(PathBuf::from("/memory.md")));
    registry
}

fn names(registry: &Registry) -> Vec<String> {
    registry.declarations().iter().map(|declaration| declaration.name.clone()).collect()
}

/// A tool that does nothing.
struct Named(Arc<FunctionDeclaration>);

impl Named {
    fn tool(name: &str, description: &str) -> Arc<dyn Tool> {
        let (name, description) = (name.to_owned(), description.to_owned());
        Arc::new(Self(Arc::new(FunctionDeclaration { name, description, ..FunctionDeclaration::default() })))
    }
}

impl Tool for Named {
    fn declaration(&self) -> &Arc<FunctionDeclaration> {
        &self.0
    }

    fn prepare<'a>(
        &'a self,
        _: Args,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let error = ToolError { kind: "fake".to_owned(), message: "does nothing".to_owned() };
        Box::pin(std::future::ready(Err(error)))
    }
}

#[test]
fn the_tools_have_gemini_clis_names_in_a_stable_order() {
    let expected = [
        "list_directory",
        "read_file",
        "read_many_files",
        "grep_search",
        "glob",
        "replace",
        "write_file",
        "write_todos",
        "save_memory",
    ];
    assert_eq!(names(&registry(Selection::default())), expected);
}

#[test]
fn every_schema_compiles_and_takes_no_unknown_fields() {
    for declaration in registry(Selection::default()).declarations() {
        let schema = &declaration.parameters_json_schema;
        assert!(jsonschema::validator_for(schema).is_ok(), "{}", declaration.name);
        assert_eq!(schema["additionalProperties"], json!(false), "{}", declaration.name);
        assert!(!declaration.description.is_empty());
    }
}

#[test]
fn a_later_tool_of_the_same_name_wins_and_says_so() {
    let mut registry = registry(Selection::default());
    assert_eq!(registry.register(Source::Discovered, Named::tool("lint", "one")), None);
    let replaced = registry.register(Source::Discovered, Named::tool("lint", "two")).unwrap();
    assert_eq!(replaced.name, "lint");
    assert_eq!(registry.get("lint").unwrap().declaration().description, "two");
}

#[test]
fn tools_are_offered_by_where_they_come_from_whenever_they_came() {
    let mut registry = Registry::new(Selection::default());
    let mcp = |server: &str| Source::Mcp { server: server.to_owned() };
    registry.register(mcp("b"), Named::tool("mcp_b_x", ""));
    registry.register(Source::Discovered, Named::tool("lint", ""));
    registry.register(mcp("a"), Named::tool("mcp_a_x", ""));
    registry.register(Source::BuiltIn, Named::tool("first", ""));
    registry.register(Source::BuiltIn, Named::tool("second", ""));
    assert_eq!(names(&registry), ["first", "second", "lint", "mcp_a_x", "mcp_b_x"]);
}

#[test]
fn tools_that_are_not_selected_cannot_be_called() {
    let core = Some(vec!["read_file".to_owned(), "glob(src)".to_owned()]);
    let excluded = vec!["glob".to_owned(), "read_file(secret)".to_owned()];
    let registry = registry(Selection { core, excluded });
    assert_eq!(names(&registry), ["read_file"]);
    assert!(registry.get("write_file").is_none() && registry.get("glob").is_none());
    assert_eq!(registry.nearest("wirte_file"), None);
}

#[test]
fn a_wrong_name_is_answered_with_the_right_one() {
    let registry = registry(Selection::default());
    for (wrong, right) in [("readFile", "read_file"), ("ls", "list_directory"), ("Edit", "replace")] {
        assert_eq!(registry.nearest(wrong).as_deref(), Some(right));
    }
    assert_eq!(registry.nearest("bash"), None, "there is no shell here to suggest");
    assert_eq!(registry.get("search_file_content").unwrap().declaration().name, "grep_search");
}
