//! The vendors' own Python SDKs understand the server, so it is no dialect of ours.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

use charla_testkit::{Failure, FailureKind, Finish, Reply, Script, Server, Step, Usage, When};
use serde_json::json;

/// What the scripts in `tests/sdk` expect to be told.
fn script() -> Script {
    let hello = Reply::new().chunk(3).thought("They greet me.").text("Hello, wörld! 你好 🙂").usage(Usage {
        prompt: 11,
        output: 7,
        thoughts: 5,
        cached: 4,
    });
    let weather = Reply::new()
        .chunk(4)
        .thought("I need two reports.")
        .call("get_weather", json!({"city": "Paris"}))
        .call("get_weather", json!({"city": "Oslo"}));
    let answered = When { answers_tools: Some(true), ..When::default() };
    Script::default()
        .with_key("test-key")
        .with_models(["gpt-test", "claude-test", "gemini-3-test", "embed-test"])
        .rule(answered, "It is 18 degrees.")
        .rule(When::text("hello"), hello)
        .rule(When::text("weather"), weather)
        .rule(When::text("picture"), "I see a picture.")
        .rule(When::text("secret"), Reply::new().step(Step::RedactedThought).text("I cannot say."))
        .rule(When::text("long"), Reply::from("And so on").finish(Finish::Length))
        .rule(When::text("forbidden"), Reply::new().finish(Finish::Blocked))
        .rule(When::text("busy"), Failure::rate_limit().retry_after("7"))
        .rule(When::text("fail"), Failure::new(FailureKind::Server))
        .rule(When::text("overloaded"), Failure::new(FailureKind::Overloaded))
        .rule(When::text("break"), Reply::from("So far").stream_error(Failure::new(FailureKind::Overloaded)))
}

fn python() -> PathBuf {
    if let Some(path) = std::env::var_os("CHARLA_TEST_PYTHON") {
        return PathBuf::from(path);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(".test-env/venv/bin/python");
    assert!(path.exists(), "no Python with the official SDKs; run ./test once, it makes {}", path.display());
    path
}

/// Runs one of the scripts; every check in it must pass, and the server must find no fault with the SDK.
fn understands(file: &str, checks: usize) {
    let server = Server::start(script()).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk").join(file);
    let output = Command::new(python())
        .args([path.as_os_str(), server.url().as_ref()])
        .env("NO_PROXY", "127.0.0.1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("GOOGLE_API_KEY")
        .env_remove("GEMINI_API_KEY")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}\nproblems: {:#?}", server.problems());
    assert_eq!(stdout.lines().filter(|line| line.starts_with("ok ")).count(), checks, "{stdout}");
    assert_eq!(server.problems(), []);
    let returned: usize = server.requests().iter().map(|request| request.own_proofs).sum();
    assert!(returned > 0, "no proof of thinking came back");
    assert!(server.requests().iter().all(|request| request.foreign_proofs == 0));
}

#[test]
fn the_openai_sdk_understands_chat_and_responses() {
    understands("openai_sdk.py", 16);
}

#[test]
fn the_anthropic_sdk_understands_messages() {
    understands("anthropic_sdk.py", 11);
}

#[test]
fn the_google_sdk_understands_contents() {
    understands("google_sdk.py", 10);
}
