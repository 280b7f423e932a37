use serde_json::json;

use super::*;
use charla_proto::tool::Tool;
use charla_proto::{RunContext, ToolContext, ToolOutput};

use crate::process::{Environment, ProcessSettings, SpillFolder, is_secret_name};

struct Bench {
    folder: tempfile::TempDir,
    processes: Processes,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::new(std::env::vars_os(), is_secret_name);
        let settings = ProcessSettings::new(environment, SpillFolder::new(folder.path()));
        Self { folder, processes: Processes::new(settings) }
    }

    fn settings(&self, discovery: &str, call: &str) -> DiscoverySettings {
        DiscoverySettings {
            discovery_command: discovery.to_owned(),
            call_command: call.to_owned(),
            cwd: self.folder.path().to_owned(),
            call_time: Duration::from_secs(20),
        }
    }

    async fn discover(&self, printed: &str, call: &str) -> Discovered {
        std::fs::write(self.folder.path().join("tools.json"), printed).unwrap();
        discover(&self.processes, &self.settings("cat tools.json", call)).await.unwrap()
    }

    async fn call(&self, script: &str, args: Value) -> ToolOutput {
        std::fs::write(self.folder.path().join("call.sh"), script).unwrap();
        let found = self.discover(r#"[{"name":"greet"}]"#, "sh call.sh").await;
        let args = args.as_object().cloned().unwrap();
        let invocation = found.tools[0].prepare(args, &ToolContext::default()).await;
        let cx = RunContext { cancelled: Box::pin(std::future::pending()), live: Box::new(|_| {}) };
        invocation.unwrap_or_else(|error| panic!("{error}")).run(cx).await
    }
}

fn names(found: &Discovered) -> Vec<&str> {
    found.tools.iter().map(|tool| tool.name()).collect()
}

#[tokio::test]
async fn declarations_come_bare_or_grouped_under_any_of_the_names() {
    let bench = Bench::new();
    let printed = json!([
        { "function_declarations": [{ "name": "a", "description": "A", "parameters": { "type": "object" } }] },
        { "functionDeclarations": [{ "name": "b", "parametersJsonSchema": { "type": "object" }, "parameters": 3 }] },
        { "name": "c" },
    ]);
    let found = bench.discover(&printed.to_string(), "run").await;
    assert_eq!(names(&found), ["a", "b", "c"]);
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    let declaration = found.tools[0].declaration();
    assert_eq!(declaration.name, "discovered_tool_a");
    assert_eq!(declaration.parameters_json_schema, json!({ "type": "object" }));
    assert!(declaration.description.starts_with("A\n\nThis tool was declared"));
    let found = bench.discover(r#"{"function_declarations":[{"name":"only"}]}"#, "run").await;
    assert_eq!(names(&found), ["only"]);
}

#[tokio::test]
async fn a_bad_declaration_does_not_spoil_the_others() {
    let bench = Bench::new();
    let printed = json!([
        { "name": "good" }, { "name": "good" }, { "description": "nameless" }, { "name": "a b" },
        { "name": "x".repeat(60) }, { "name": "odd", "parameters": 3 }, 7, null,
    ]);
    let found = bench.discover(&printed.to_string(), "run").await;
    assert_eq!(names(&found), ["good"]);
    assert_eq!(found.problems.len(), 7, "{:?}", found.problems);
}

#[tokio::test]
async fn a_discovery_that_fails_says_why() {
    let bench = Bench::new();
    let cases = [
        ("sh -c 'echo broken >&2; exit 2'", "exit status: 2: broken"),
        ("echo hello", "not JSON"),
        ("/no/such/program", "could not be started"),
        ("echo 'unclosed", "quotes do not match"),
        ("  ", "it is empty"),
        ("head -c 11000000 /dev/zero", "more than 10485760 bytes"),
    ];
    for (command, reason) in cases {
        let error = discover(&bench.processes, &bench.settings(command, "run")).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{error} lacks {reason}");
    }
}

#[tokio::test]
async fn nothing_in_the_command_is_expanded() {
    let bench = Bench::new();
    let found = discover(&bench.processes, &bench.settings("echo '[]' ; touch $HOME `pwd`", "run")).await;
    assert!(found.unwrap_err().to_string().contains("not JSON"));
    assert_eq!(std::fs::read_dir(bench.folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_call_gets_its_name_as_argument_and_its_arguments_on_its_input() {
    let bench = Bench::new();
    let output = bench.call("echo \"$1: $(cat)\"", json!({ "who": "Käthe" })).await;
    assert_eq!(output.error, None);
    assert_eq!(output.content[0].as_text(), Some("greet: {\"who\":\"Käthe\"}\n"));
}

#[tokio::test]
async fn a_call_that_fails_tells_everything() {
    let bench = Bench::new();
    let error = bench.call("echo half; echo oops >&2; exit 3", json!({})).await.error.unwrap();
    assert_eq!(error.message, "Stdout: half\n\nStderr: oops\n\nExit Code: 3\nSignal: (none)");
    let error = bench.call("echo warning >&2", json!({})).await.error.unwrap();
    assert!(error.message.starts_with("Stdout: (empty)\nStderr: warning"), "{}", error.message);
    let error = bench.call("kill -9 $$", json!({})).await.error.unwrap();
    assert!(error.message.ends_with("Exit Code: (none)\nSignal: 9"), "{}", error.message);
}

#[tokio::test]
async fn a_call_that_does_not_read_or_leaves_a_child_is_not_waited_for() {
    let bench = Bench::new();
    let begin = std::time::Instant::now();
    let large = "x".repeat(300_000);
    let output = bench.call("sleep 1000 & echo $!", json!({ "large": large })).await;
    assert!(begin.elapsed() < Duration::from_secs(5));
    let child: i32 = output.content[0].as_text().unwrap().trim().parse().unwrap();
    while crate::process::is_alive(child) {
        assert!(begin.elapsed() < Duration::from_secs(5));
        tokio::task::yield_now().await;
    }
}
