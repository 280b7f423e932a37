//! The servers that people have: from npm and PyPI, as `./test` installs them.

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use charla_testkit::Script;
use serde_json::{Value, json};

use super::{ask, call};
use crate::place::{Place, server};

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
