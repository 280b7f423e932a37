//! The servers that people have: from npm and PyPI, as `./test` installs them.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use charla_testkit::{Reply, Script, Server};
use serde_json::{Value, json};

use super::{ask, call};
use crate::place::{Place, Run, server};

/// A program of an npm package.
fn node(package: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.test-env/mcp");
    let root = std::env::var_os("CHARLA_TEST_MCP").map_or(root, PathBuf::from);
    let path = root.join("node_modules/@modelcontextprotocol").join(package).join("dist/index.js");
    assert!(path.is_file(), "{} is not installed; `./test` does it", path.display());
    path.to_str().unwrap().to_owned()
}

fn python() -> String {
    std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Asks a server for one call, and gives what the model was told of it.
fn told(entry: impl FnOnce(&Place) -> Value, tool: &str, args: Value) -> String {
    let server = server(Script::new([call(&format!("s__{tool}"), args), "Done.".into()]));
    let place = Place::with_server(&server);
    let mut entry = entry(&place);
    entry["trust"] = json!(true);
    let place =
        place.file("a.txt", "the text of a file").settings(&json!({"mcpServers": {"s": entry}}).to_string());
    let run = ask(&place, "openai/gpt-test", &[]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(server.problems().is_empty(), "{:?}", server.problems());
    server.requests()[1].body.to_string()
}

#[test]
fn everything_does_everything() {
    let entry = |_: &Place| json!({"command": "node", "args": [node("server-everything")]});
    assert!(told(entry, "echo", json!({"message": "hello there"})).contains("Echo: hello there"));
    assert!(told(entry, "get-sum", json!({"a": 2, "b": 40})).contains("42"));
    assert!(told(entry, "get-tiny-image", json!({})).contains("image/png"));
    let slow = json!({"duration": 1, "steps": 2});
    assert!(told(entry, "trigger-long-running-operation", slow).contains("completed"));
}

#[test]
fn files_are_read_where_the_session_works() {
    let entry = |place: &Place| json!({"command": "node", "args": [node("server-filesystem"), place.work()]});
    let told = told(entry, "read_text_file", json!({"path": "a.txt"}));
    assert!(told.contains("the text of a file"), "{told}");
}

#[test]
fn a_memory_is_kept() {
    let entry = |place: &Place| {
        let file = place.work().join("memory.json");
        json!({"command": "node", "args": [node("server-memory")], "env": {"MEMORY_FILE_PATH": file}})
    };
    let entities = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]});
    assert!(told(entry, "create_entities", entities).contains("Ada"));
}

#[test]
fn the_time_is_told() {
    let entry = |_: &Place| json!({"command": python(), "args": ["-m", "mcp_server_time"]});
    let told = told(entry, "get_current_time", json!({"timezone": "Asia/Tokyo"}));
    assert!(told.contains("+09:00"), "{told}");
}

#[test]
fn git_is_asked() {
    let entry = |place: &Place| {
        let init = Command::new("git").args(["init", "-q"]).arg(place.work()).status().unwrap();
        assert!(init.success());
        json!({"command": python(), "args": ["-m", "mcp_server_git", "--repository", place.work()], "cwd": "."})
    };
    let told = told(entry, "git_status", json!({"repo_path": "."}));
    assert!(told.contains("a.txt") || told.contains("Repository status"), "{told}");
}

/// A server that listens, ended with the test.
struct Listening(Child, u16);

impl Listening {
    fn start(form: &str) -> Self {
        // Free now, and taken at once.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut child = Command::new("node")
            .args([&node("server-everything"), form])
            .env("PORT", port.to_string())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = Vec::new();
        let mut byte = [0];
        let errors = child.stderr.as_mut().unwrap();
        while !String::from_utf8_lossy(&said).contains(&port.to_string()) {
            assert_eq!(errors.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
            said.push(byte[0]);
        }
        Self(child, port)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn servers_at_an_address_are_spoken_to_in_both_forms() {
    let echo = || json!({"message": "over the wire"});
    let http = Listening::start("streamableHttp");
    let entry =
        |key: &str| json!({ key: format!("http://127.0.0.1:{}/mcp", http.1), "headers": {"X-A": "b"} });
    assert!(told(|_| entry("httpUrl"), "echo", echo()).contains("Echo: over the wire"));
    assert!(told(|_| entry("url"), "echo", echo()).contains("Echo: over the wire"));
    let events = Listening::start("sse");
    let url = format!("http://127.0.0.1:{}/sse", events.1);
    assert!(told(|_| json!({"url": url, "type": "sse"}), "echo", echo()).contains("Echo: over the wire"));
    assert!(told(|_| json!({"url": url}), "echo", echo()).contains("Echo: over the wire"));
}

/// The server of the reference, which writes down its process in `pid` when it starts.
fn everything(place: &Place) -> Value {
    let line =
        format!("echo $$ > {}; exec node {}", place.work().join("pid").display(), node("server-everything"));
    json!({"command": "sh", "args": ["-c", line]})
}

/// A run with that server, trusted or not, in which the model says these things.
fn with_everything<R: Into<Reply>>(
    replies: impl IntoIterator<Item = R>,
    trust: bool,
    arguments: &[&str],
) -> (Run, Server, Place) {
    let model = server(Script::new(replies));
    let place = Place::with_server(&model);
    let mut entry = everything(&place);
    entry["trust"] = json!(trust);
    let place = place.settings(&json!({"mcpServers": {"s": entry}}).to_string());
    let run = place.run(&[&["-m", "openai/gpt-test"], arguments].concat());
    assert_eq!(run.code, Some(0), "{}", run.err);
    (run, model, place)
}

/// What the model is sent, without the marks of JSON in JSON.
fn sent(model: &Server, request: usize) -> String {
    model.requests()[request].body.to_string().replace("\\\"", "\"")
}

#[test]
fn the_reference_server_asks_the_model_through_us() {
    let asks = call("s__trigger-sampling-request", json!({"prompt": "What is 2 and 2?"}));
    let replies = || [asks.clone(), Reply::new().text("Four."), Reply::new().text("Done.")];
    let (_, model, _) = with_everything(replies(), true, &["-p", "go"]);
    assert!(sent(&model, 1).contains("What is 2 and 2?"), "{}", sent(&model, 1));
    assert!(model.requests()[1].body.get("tools").is_none());
    assert!(sent(&model, 2).contains("LLM sampling result"), "{}", sent(&model, 2));
    assert!(sent(&model, 2).contains("Four."), "{}", sent(&model, 2));

    // With nobody there to allow it, the model is not asked.
    let allowed = ["-p", "go", "--allowed-tools", "s__trigger-sampling-request"];
    let (_, model, _) = with_everything([asks.clone(), Reply::new().text("Done.")], false, &allowed);
    assert!(sent(&model, 1).contains("nobody is there to allow it"), "{}", sent(&model, 1));
}

#[test]
fn the_reference_server_asks_the_person_through_us() {
    let asks = call("s__trigger-elicitation-request", json!({}));
    let (_, model, _) = with_everything([asks.clone(), Reply::new().text("Done.")], true, &["-p", "go"]);
    assert!(sent(&model, 1).contains("cancelled the elicitation dialog"), "{}", sent(&model, 1));
}

#[test]
fn the_reference_servers_resources_and_prompts_are_read_and_said() {
    let uri = "demo://resource/static/document/architecture.md";
    let read = call("read_mcp_resource", json!({"uri": uri}));
    let list = call("list_mcp_resources", json!({}));
    let replies = [list, read, Reply::new().text("Done.")];
    let allowed = ["-p", "go", "--allowed-tools", "read_mcp_resource"];
    let (_, model, _) = with_everything(replies, true, &allowed);
    assert!(sent(&model, 1).contains(uri), "{}", sent(&model, 1));
    assert!(sent(&model, 2).contains("Everything Server"), "{}", sent(&model, 2));

    let prompt = format!("look at @s:{uri}");
    let (_, model, _) = with_everything(["Done."], true, &["-p", &prompt]);
    assert!(sent(&model, 0).contains("Everything Server"), "{}", sent(&model, 0));

    for (typed, said) in [
        ("/simple-prompt", "This is a simple prompt without arguments."),
        ("/args-prompt Paris --state=Texas", "What's weather in Paris, Texas?"),
    ] {
        let (_, model, _) = with_everything(["Done."], true, &["-p", typed]);
        assert!(sent(&model, 0).contains(said), "{}", sent(&model, 0));
    }
}

#[test]
fn the_reference_server_tells_its_progress_and_is_started_again_when_it_is_killed() {
    let long = call("s__trigger-long-running-operation", json!({"duration": 600, "steps": 60_000}));
    let echo = call("s__echo", json!({"message": "back again"}));
    let model = server(Script::new([long, echo, Reply::new().text("Done.")]));
    let place = Place::with_server(&model);
    let mut entry = everything(&place);
    entry["trust"] = json!(true);
    let place = place.settings(&json!({"mcpServers": {"s": entry}}).to_string());
    let mut charla = place.spawn(&["-m", "openai/gpt-test", "-p", "go", "--output-format", "stream-json"]);
    let mut lines = BufReader::new(charla.stdout.take().unwrap()).lines();
    let progress = lines.by_ref().map(|line| line.unwrap()).find(|line| line.contains(" of 60000"));
    assert!(progress.is_some_and(|line| line.contains("tool_output")));
    let first = place.read("pid").unwrap();
    assert!(Command::new("kill").args(["-9", first.trim()]).status().unwrap().success());
    let rest: Vec<String> = lines.map(|line| line.unwrap()).collect();
    assert!(charla.wait().unwrap().success(), "{rest:?}");
    let told = sent(&model, 1);
    assert!(told.contains("ended"), "{told}");
    assert!(sent(&model, 2).contains("Echo: back again"), "{}", sent(&model, 2));
    assert_ne!(place.read("pid").unwrap(), first);
    // Its tools are what they were.
    assert!(model.requests()[2].body["tools"].to_string().contains("s__echo"));
    assert!(model.problems().is_empty(), "{:?}", model.problems());
}
