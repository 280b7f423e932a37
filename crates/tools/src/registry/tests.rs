use std::collections::HashMap;
use std::sync::Mutex;

use charla_proto::{
    Args, BoxFuture, Confinement, RunContext, SnapshotError, ToolContext, ToolError, part_to_string,
};
use serde_json::{Value, json};

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
    registry.register_files(
        Arc::new(Kept::default()),
        Some(PathBuf::from("/memory.md")),
        &Buffers::default(),
    );
    registry
}

fn names(registry: &Registry) -> Vec<String> {
    registry.declarations().iter().map(|declaration| declaration.name.clone()).collect()
}

/// Answers every command with what it was given.
struct Echo(CommandOutput);

impl CommandRunner for Echo {
    fn run(&self, command: ToolCommand) -> BoxFuture<'static, Result<CommandOutput, ToolError>> {
        let mut output = self.0.clone();
        if let Some(argument) = command.argument {
            output.stdout = format!("{} {argument} < ", command.command).into_bytes();
            output.stdout.extend(command.stdin);
        }
        Box::pin(std::future::ready(Ok(output)))
    }
}

async fn discovered(json: Value) -> Discovery {
    let output = CommandOutput { stdout: json.to_string().into_bytes(), exit: Some(0), ..Default::default() };
    discover(Arc::new(Echo(output)), "find-tools", "call-tool", PathBuf::from("/")).await.unwrap()
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
fn every_schema_can_be_used_and_takes_no_unknown_fields() {
    for declaration in registry(Selection::default()).declarations() {
        let schema = &declaration.parameters_json_schema;
        assert!(charla_schema::Schema::new(schema.clone()).is_ok(), "{}", declaration.name);
        assert_eq!(schema["additionalProperties"], json!(false), "{}", declaration.name);
        assert!(!declaration.description.is_empty());
    }
}

#[tokio::test]
async fn a_later_tool_of_the_same_name_wins_and_says_so() {
    let mut registry = registry(Selection::default());
    let tools = discovered(json!([{"name": "lint", "description": "one"}])).await.tools;
    assert_eq!(registry.register(Source::Discovered, tools[0].clone()), None);
    let tools = discovered(json!([{"name": "lint", "description": "two"}])).await.tools;
    let replaced = registry.register(Source::Discovered, tools[0].clone()).unwrap();
    assert_eq!(replaced.name, "discovered_tool_lint");
    assert_eq!(registry.get("discovered_tool_lint").unwrap().declaration().description, "two");
    registry.add(WriteTodos);
    assert_eq!(names(&registry).last().unwrap(), "discovered_tool_lint");
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
    for (wrong, right) in [
        ("readFile", "read_file"),
        ("ls", "list_directory"),
        ("Edit", "replace"),
        ("search_file_contents", "grep_search"),
    ] {
        let near = registry.nearest(wrong);
        assert!(near.as_deref() == Some(right) || wrong == "search_file_contents", "{wrong}: {near:?}");
    }
    assert_eq!(registry.nearest("bash"), None, "there is no shell here to suggest");
    assert_eq!(registry.get("search_file_content").unwrap().declaration().name, "grep_search");
}

#[test]
fn declarations_are_found_in_every_form_and_bad_ones_are_skipped_with_a_reason() {
    let json = json!([
        {"function_declarations": [{"name": "a", "parameters": {"type": "OBJECT", "properties": {"type": {"type": "STRING"}}}}, 7]},
        {"functionDeclarations": [{"name": "b", "description": "B", "parametersJsonSchema": {"type": "object"}}]},
        {"name": "c"},
        {"functionDeclarations": {"name": "d"}},
        {"name": "a"},
        {"name": "no good"},
        {"name": "x".repeat(60)},
        {"description": "nameless"},
        {"name": "e", "parameters": "string"},
        {"name": "f", "description": 4},
        {"function_declarations": "g"},
        "text",
        null,
    ]);
    let announced = parse_declarations(&json.to_string()).unwrap();
    let names: Vec<&str> = announced.declarations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(announced.declarations[0].parameters_json_schema["properties"]["type"]["type"], "string");
    assert_eq!(announced.skipped.len(), 10, "{:#?}", announced.skipped);
    assert!(announced.skipped.iter().any(|reason| reason == "entry 6: `no good` is no name for a tool"));
    let one = parse_declarations(r#"{"name": "only"}"#).unwrap();
    assert_eq!(one.declarations.len(), 1);
    for bad in ["", "hello", "7", "{"] {
        assert!(matches!(parse_declarations(bad), Err(DiscoveryError::Output(_))), "{bad}");
    }
}

#[tokio::test]
async fn a_discovered_tool_runs_the_call_command_with_its_arguments_on_stdin() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tools = discovered(json!([{"name": "double", "parameters": schema}])).await.tools;
    let cx = ToolContext { cwd: PathBuf::from("/w"), roots: vec![], ..ToolContext::default() };
    let error = tools[0].prepare(Args::new(), &cx).await.err().unwrap();
    assert!(error.message.contains("`n` is missing"), "{}", error.message);
    let args = json!({"n": 2}).as_object().unwrap().clone();
    let call = tools[0].prepare(args, &cx).await.unwrap();
    assert_eq!(call.plan().title, "Run call-tool double");
    let run = RunContext {
        cancelled: Box::pin(std::future::pending()),
        live: Box::new(|_| ()),
        confinement: Confinement::Open,
        only_git_reads: false,
        consent: charla_proto::Consent::Named,
        files: charla_proto::FileJudge::default(),
    };
    let output = call.run(run).await;
    assert_eq!(part_to_string(&output.content[0], false), r#"call-tool double < {"n":2}"#);
}

#[tokio::test]
async fn a_discovery_command_that_fails_says_how() {
    let output = CommandOutput { stderr: b"boom".to_vec(), exit: Some(3), ..Default::default() };
    let result = discover(Arc::new(Echo(output)), "x", "y", PathBuf::from("/")).await;
    let error = result.err().unwrap().to_string();
    assert!(error.contains("boom") && error.contains('3'), "{error}");
}
