//! `charla mcp serve`, driven by the official SDK and by clients that misbehave.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use charla_testkit::{Reply, Script, Server, When};
use serde_json::{Value, json};

use super::wait_until;
use crate::place::{Place, server};

const MODEL: &str = "openai/gpt-test";

fn place(model: &Server) -> Place {
    Place::with_server(model).settings(&json!({"model": {"name": MODEL}}).to_string())
}

fn shell(command: &str) -> Reply {
    Reply::new().call("run_shell_command", json!({"command": command}))
}

/// What the official SDK saw.
fn sdk(place: &Place, scenario: &str) -> Value {
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/mcp/client.py");
    let served = place.process(&["mcp", "serve"]);
    let mut client = std::process::Command::new(python);
    client.arg(script).arg(scenario).arg(served.get_program()).args(served.get_args());
    client.current_dir(served.get_current_dir().unwrap()).env_clear();
    client.envs(served.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = client.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}\n{err}"))
}

/// A client that writes lines itself.
struct Raw {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Raw {
    fn start(place: &Place) -> Self {
        let mut child =
            place.process(&["mcp", "serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The same, once who it is was said and heard.
    fn greeted(place: &Place) -> Self {
        let mut client = Self::start(place);
        client.say(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
        assert_eq!(client.hear()["result"]["serverInfo"]["name"], "charla");
        client
    }

    fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    /// Everything until the answer of this id.
    fn until(&mut self, id: u64) -> Vec<Value> {
        let mut heard = vec![self.hear()];
        while heard.last().is_none_or(|last| last["id"] != id || last.get("method").is_some()) {
            heard.push(self.hear());
        }
        heard
    }
}

#[test]
fn another_program_prompts_goes_on_lists_and_reads() {
    let model = server(Script::new(["Uno.", "Dos."]));
    let place = place(&model);
    let seen = sdk(&place, "sessions");
    assert_eq!(seen["server"], "charla");
    assert_eq!(seen["tools"], json!(["list_sessions", "prompt", "read_session"]));
    assert_eq!((&seen["first"]["text"], &seen["second"]["text"]), (&json!("Uno."), &json!("Dos.")));
    assert_eq!(seen["first"]["structured"]["session"], seen["second"]["structured"]["session"]);
    assert!(model.requests()[1].body.to_string().contains("Uno."));
    assert!(seen["list"]["text"].as_str().unwrap().contains("\"title\": \"one\""), "{seen:#}");
    let read = seen["read"]["text"].as_str().unwrap();
    assert!(read.contains("Uno.") && read.contains("Dos."), "{read}");
    assert_eq!((&seen["unknown"]["error"], &seen["folder"]["error"]), (&json!(true), &json!(true)));
}

#[test]
fn what_needs_approval_runs_after_a_yes_of_the_clients_user_and_never_without() {
    for (scenario, runs, asked) in
        [("allows", true, 1), ("denies", false, 1), ("declines", false, 1), ("mute", false, 0)]
    {
        let model = server(Script::new([shell("touch made"), "Done.".into()]));
        let place = place(&model);
        let seen = sdk(&place, scenario);
        assert_eq!(place.read("made").is_some(), runs, "{scenario}: {seen:#}");
        assert_eq!(seen["asked"].as_array().unwrap().len(), asked, "{scenario}");
        assert_eq!(seen["answer"]["text"], "Done.", "{scenario}: {seen:#}");
        if asked > 0 {
            let card = seen["asked"][0].as_str().unwrap();
            assert!(card.contains("touch made") && card.contains("asked by"), "{card}");
        }
        let told = model.requests()[1].body.to_string();
        assert_eq!(told.contains("not today"), scenario == "denies", "{scenario}: {told}");
        assert!(seen["progress"].to_string().contains("calls run_shell_command"), "{seen:#}");
    }
}

#[test]
fn two_prompts_run_side_by_side() {
    // Each waits for what the other one makes: one after the other they would never end.
    let wait = |mine: &str, other: &str| {
        shell(&format!(
            "touch {mine}; i=0; while [ ! -e {other} ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; ls {other}"
        ))
    };
    let asked = |words: &str| When { answers_tools: Some(false), ..When::text(words) };
    let script = Script::always(Reply::new().text("Done."));
    let script = script.rule(asked("first"), wait("a", "b")).rule(asked("second"), wait("b", "a"));
    let model = server(script);
    let place = place(&model);
    let seen = sdk(&place, "parallel");
    assert!(place.read("a").is_some() && place.read("b").is_some(), "{seen:#}");
}

#[test]
fn a_cancelled_prompt_stops_and_the_server_goes_on() {
    let model = server(Script::new([shell("echo $$ > pid; exec sleep 600")]));
    let place = place(&model);
    let seen = sdk(&place, "cancels");
    assert_eq!(seen.get("answer"), None, "{seen:#}");
    assert_eq!(seen["list"]["error"], false, "{seen:#}");
    if let Some(pid) = place.read("pid") {
        assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists(), "{pid}");
    }
    let (_, journal) = place.journals().pop().unwrap();
    assert!(journal.contains(r#""end":"cancelled""#), "{journal}");
}

#[test]
fn hooks_run_for_another_program_as_everywhere() {
    let model = server(Script::new([shell("touch made"), "Done.".into()]));
    let says = |answer: Value| json!([{"hooks": [{"command": format!("cat >> seen; echo '{answer}'")}]}]);
    let settings = json!({
        "model": {"name": MODEL}, "tools": {"approvalMode": "yolo"},
        "hooks": {
            "SessionStart": says(json!({"hookSpecificOutput": {"additionalContext": "the branch is main"}})),
            "BeforeTool": says(json!({"decision": "deny", "reason": "not for others"})),
        },
    });
    let place = Place::with_server(&model).settings(&settings.to_string());
    let mut client = Raw::greeted(&place);
    let prompt = json!({"name": "prompt", "arguments": {"text": "go"}});
    client.say(&json!({"id": 1, "method": "tools/call", "params": prompt}).to_string());
    let answer = client.until(1).pop().unwrap();
    assert_eq!(answer["result"]["structuredContent"]["answer"], "Done.", "{answer}");
    drop(client.child.stdin.take());
    assert!(client.child.wait().unwrap().success());
    assert_eq!(place.read("made"), None);
    let requests = model.requests();
    assert!(requests[0].body.to_string().contains("the branch is main"), "{}", requests[0].body);
    assert!(requests[1].body.to_string().contains("not for others"), "{}", requests[1].body);
    let inputs = place.read("seen").unwrap();
    assert!(inputs.contains("SessionStart") && inputs.contains("BeforeTool"), "{inputs}");
}

#[test]
fn a_call_that_is_cancelled_stops_no_turn_of_another_call_in_its_session() {
    let waits = || shell("touch begun; while [ ! -e go ]; do sleep 0.02; done");
    let asked = |words: &str| When { answers_tools: Some(false), ..When::text(words) };
    let stalls = || Reply::new().text("I think.").stall();
    // The call that opened the session is cancelled: its turn ends at once, and whatever else the cancel would stop is the turn of the
    // second one, which is under way when the rest is looked at. Or the one that waits is cancelled, and the first goes on.
    for (cancelled, answered, first, second) in [(1, 2, stalls(), waits()), (2, 1, waits(), "Done.".into())] {
        let script = Script::always(Reply::new().text("Done."));
        let model = server(script.rule(asked("first"), first).rule(asked("second"), second));
        let place = Place::with_server(&model)
            .settings(&json!({"model": {"name": MODEL}, "tools": {"approvalMode": "yolo"}}).to_string());
        let mut client = Raw::greeted(&place);
        let call = |id: u64, name: &str, arguments: Value| {
            let params = json!({"name": name, "arguments": arguments});
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
        };
        client.say(&call(1, "prompt", json!({"text": "first"})));
        wait_until("the first turn runs", || place.journals().len() == 1 && !model.requests().is_empty());
        client.say(&call(10, "list_sessions", json!({})));
        let listed = client.until(10).pop().unwrap();
        let session = listed["result"]["structuredContent"]["sessions"][0]["session"].clone();
        client.say(&call(2, "prompt", json!({"text": "second", "session": session})));
        wait_until("the second prompt waits", || place.journals()[0].1.contains("prompt_queued"));
        let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": cancelled}});
        client.say(&cancel.to_string());
        match cancelled {
            1 => wait_until("the first turn ends", || place.journals()[0].1.contains("turn_ended")),
            _ => wait_until("the second is gone", || place.journals()[0].1.contains("prompt_withdrawn")),
        }
        wait_until("the other turn runs", || place.read("begun").is_some());
        std::fs::write(place.work().join("go"), "").unwrap();
        let answer = client.until(answered).pop().unwrap();
        assert_eq!(answer["result"]["structuredContent"]["answer"], "Done.", "{answer}");
        drop(client.child.stdin.take());
        assert!(client.child.wait().unwrap().success());
    }
}

#[test]
fn garbage_is_answered_and_hurts_nobody() {
    let model = server(Script::always(Reply::new().text("ok")));
    let mut client = Raw::greeted(&place(&model));
    for (line, code) in [
        ("{", -32700),
        ("\u{0}\u{1}", -32700),
        ("7", -32600),
        ("{}", -32600),
        (r#"{"id":1,"method":"no/such"}"#, -32601),
    ] {
        client.say(line);
        assert_eq!(client.hear()["error"]["code"], code, "{line}");
    }
    for nonsense in [
        r#"{"id":9,"result":{}}"#,
        r#"{"method":"notifications/cancelled"}"#,
        r#"{"method":"notifications/cancelled","params":{"requestId":{}}}"#,
        "[]",
        "",
    ] {
        client.say(nonsense);
    }
    let calls = [
        (json!({}), false),
        (json!({"name": 7}), false),
        (json!({"name": "nowhere", "arguments": []}), false),
        (json!({"name": "prompt", "arguments": []}), false),
        (json!({"name": "prompt", "arguments": {"text": 7}}), true),
        (json!({"name": "prompt", "arguments": {"text": " "}}), true),
        (json!({"name": "prompt", "arguments": {"text": "x", "session": "nowhere"}}), true),
        (json!({"name": "list_sessions", "arguments": {"limit": -1}}), true),
        (json!({"name": "list_sessions", "arguments": {"limit": 0}}), true),
        (json!({"name": "list_sessions", "arguments": {"limit": 1.5}}), true),
        (json!({"name": "list_sessions", "arguments": {"limit": "5"}}), true),
        (json!({"name": "list_sessions", "arguments": {"limit": 99_999_999_999_u64}}), true),
    ];
    for ((params, is_call), id) in calls.into_iter().zip(10..) {
        client
            .say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
        let answer = client.until(id).pop().unwrap();
        match is_call {
            true => assert_eq!(answer["result"]["isError"], true, "{params}: {answer}"),
            false => assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}"),
        }
    }
    client.say(r#"{"id":99,"method":"ping"}"#);
    assert_eq!(client.hear()["result"], json!({}));
    drop(client.child.stdin.take());
    assert!(client.child.wait().unwrap().success());
}

#[test]
fn who_has_not_said_who_they_are_has_nothing_run() {
    let model = server(Script::always(Reply::new().text("ok")));
    let place = place(&model);
    let mut client = Raw::start(&place);
    let call = |id: u64, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    };
    client.say(&call(1, json!({"name": "prompt", "arguments": {"text": "hi"}})));
    assert_eq!(client.hear()["error"]["code"], -32600);
    client.say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert_eq!(client.hear()["error"]["code"], -32600);
    client.say(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
    assert_eq!(client.hear()["result"], json!({}));
    assert!(model.requests().is_empty() && place.journals().is_empty(), "nothing ran");
    client.say(r#"{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}"#);
    client.hear();
    client.say(&call(5, json!({"name": "prompt", "arguments": {"text": "hi"}})));
    assert_eq!(client.until(5).pop().unwrap()["result"]["structuredContent"]["answer"], "ok");
    drop(client.child.stdin.take());
    assert!(client.child.wait().unwrap().success());
}

#[test]
fn a_client_that_dies_leaves_nothing_running_and_nothing_approved() {
    let model = server(Script::new([shell("touch made"), "Done.".into()]));
    let place = place(&model);
    let mut client = Raw::start(&place);
    let greeting = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "1"}});
    client.say(&json!({"id": 1, "method": "initialize", "params": greeting}).to_string());
    assert_eq!(client.hear()["result"]["protocolVersion"], "2025-06-18");
    let prompt = json!({"name": "prompt", "arguments": {"text": "go"}});
    client.say(&json!({"id": 2, "method": "tools/call", "params": prompt}).to_string());
    let question = client.hear();
    assert_eq!(question["method"], "elicitation/create");
    drop(client.child.stdin.take());
    assert!(client.child.wait().unwrap().success());
    assert_eq!(place.read("made"), None);
    let (_, journal) = place.journals().pop().unwrap();
    assert!(journal.contains("turn_ended"), "{journal}");
}

#[test]
fn what_was_asked_before_the_client_stopped_writing_is_answered() {
    let model = server(Script::always(Reply::new().stall()));
    let place = place(&model);
    for _ in 0..4 {
        let mut client = Raw::start(&place);
        client.say(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
        client.say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_sessions"}}"#);
        let prompt = r#"{"name":"prompt","arguments":{"text":"hi"}}"#;
        client.say(&format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{prompt}}}"#));
        drop(client.child.stdin.take());
        let mut heard: Vec<Value> =
            (&mut client.lines).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        heard.sort_by_key(|one| one["id"].as_u64());
        let ids: Vec<&Value> = heard.iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, [&json!(1), &json!(2), &json!(3)], "{heard:#?}");
        assert!(heard[1]["result"]["structuredContent"]["sessions"].is_array(), "{heard:#?}");
        assert_eq!(heard[2]["result"]["isError"], true, "{heard:#?}");
        assert!(client.child.wait().unwrap().success());
    }
}
