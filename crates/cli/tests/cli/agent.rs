//! The agent through the binary: tools, rules and limits, over the scripted server.

use std::io::{BufRead, BufReader};
use std::time::Instant;

use charla_testkit::{Reply, Script, Server};
use serde_json::{Value, json};

use crate::place::{PATIENCE, Place, Run, server};

const MODELS: [&str; 3] = ["gemini/gemini-test", "openai/gpt-test", "anthropic/claude-test"];

fn call(name: &str, args: Value) -> Reply {
    Reply::new().call(name, args)
}

fn write_hello() -> Reply {
    call("write_file", json!({"file_path": "hello.txt", "content": "Hello.\n"}))
}

fn shell(command: &str) -> Reply {
    call("run_shell_command", json!({"command": command}))
}

/// One call, then `Done.`, with the last model of the list.
fn once(reply: Reply, arguments: &[&str], prepare: impl FnOnce(Place) -> Place) -> (Run, Server, Place) {
    let server = server(Script::new([reply, "Done.".into()]));
    let place = prepare(Place::with_server(&server));
    let run = place.run(&[&["-m", "openai/gpt-test", "-p", "go"], arguments].concat());
    (run, server, place)
}

/// Names of the tools a request declares, whatever its wire.
fn declared(body: &Value) -> Vec<String> {
    fn names(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| names(item, found)),
            Value::Object(object) => match object.get("name").and_then(Value::as_str) {
                Some(name) => found.push(name.to_owned()),
                None => object.values().for_each(|value| names(value, found)),
            },
            _ => {}
        }
    }
    let mut found = Vec::new();
    names(&body["tools"], &mut found);
    found
}

#[test]
fn a_new_user_is_told_what_was_denied_and_how_to_allow_it() {
    for model in MODELS {
        let server = server(Script::new([write_hello(), "I was not allowed to.".into()]));
        let place = Place::with_server(&server);
        let run = place.run(&["-m", model, "-p", "create hello.txt"]);
        assert_eq!(
            (run.code, run.out.as_str()),
            (Some(0), "I was not allowed to.\n"),
            "{model}: {}",
            run.err
        );
        assert!(run.err.contains("not allowed: ") && run.err.contains("hello.txt"), "{model}: {}", run.err);
        assert!(run.err.contains("--approval-mode auto_edit"), "{model}: {}", run.err);
        assert_eq!(place.read("hello.txt"), None, "{model}");
        assert!(server.problems().is_empty(), "{model}: {:?}", server.problems());
    }
}

#[test]
fn in_auto_edit_the_file_is_written() {
    for model in MODELS {
        let server = server(Script::new([write_hello(), "Done.".into()]));
        let place = Place::with_server(&server);
        let run = place.run(&["-m", model, "--approval-mode", "auto_edit", "-p", "create hello.txt"]);
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "Done.\n", ""), "{model}");
        assert_eq!(place.read("hello.txt").as_deref(), Some("Hello.\n"), "{model}");
        assert!(server.problems().is_empty(), "{model}: {:?}", server.problems());
    }
}

#[test]
fn in_yolo_a_command_runs_and_its_output_reaches_the_model() {
    for model in MODELS {
        let server = server(Script::new([shell("echo $((40 + 2)) > n; cat n"), "Done.".into()]));
        let place = Place::with_server(&server);
        let run = place.run(&["-m", model, "--approval-mode", "yolo", "-p", "count"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{model}");
        assert_eq!(place.read("n").as_deref(), Some("42\n"));
        assert!(server.requests()[1].body.to_string().contains("42"), "{model}");
    }
}

#[test]
fn an_allowed_prefix_allows_that_and_no_more() {
    let allowed = ["--allowed-tools", "run_shell_command(wc)"];
    let (run, server, _) = once(shell("wc -l a.txt"), &allowed, |place| place.file("a.txt", "1\n2\n"));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(server.requests()[1].body.to_string().contains("2 a.txt"));
    let (run, _, place) = once(shell("wc -l a.txt && touch b"), &allowed, |place| place.file("a.txt", "1\n"));
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("not allowed: "), "{}", run.err);
    assert_eq!(place.read("b"), None);
}

#[test]
fn a_denial_of_a_rule_file_holds_in_yolo_too() {
    let rules = "[[rule]]\ncommandPrefix = \"touch\"\ndecision = \"deny\"\nreason = \"no touching\"\n";
    let arguments = ["--approval-mode", "yolo", "--policy", "rules.toml"];
    let (run, server, place) = once(shell("touch a"), &arguments, |place| place.file("rules.toml", rules));
    assert_eq!((run.code, place.read("a")), (Some(0), None), "{}", run.err);
    let told = server.requests()[1].body.to_string();
    assert!(told.contains("Tool execution denied by policy") && told.contains("no touching"), "{told}");
}

#[test]
fn plan_mode_offers_nothing_that_runs_and_runs_nothing() {
    let (run, server, place) = once(shell("touch a"), &["--approval-mode", "plan"], |place| place);
    assert_eq!((run.code, place.read("a")), (Some(0), None), "{}", run.err);
    let offered = declared(&server.requests()[0].body);
    assert!(offered.contains(&"read_file".to_owned()), "{offered:?}");
    assert!(!offered.contains(&"run_shell_command".to_owned()), "{offered:?}");
    let (_, server, place) = once(write_hello(), &["--approval-mode", "plan"], |place| place);
    assert_eq!(place.read("hello.txt"), None);
    assert!(server.requests()[1].body.to_string().contains("denied by policy"));
}

#[test]
fn what_could_never_run_is_not_offered() {
    let offered = |arguments: &[&str]| {
        let (_, server, _) = once("Hello.".into(), arguments, |place| place);
        declared(&server.requests()[0].body)
    };
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    let default = offered(&[]);
    assert!(has(&default, "run_shell_command") && has(&default, "grep_search"), "{default:?}");
    assert!(!has(&default, "write_file") && !has(&default, "ask_user"), "{default:?}");
    let edits = offered(&["--approval-mode", "auto_edit"]);
    // A fetch asks for each new host.
    assert!(has(&edits, "write_file") && !has(&edits, "web_fetch"), "{edits:?}");
    assert!(has(&offered(&["--allowed-tools", "web_fetch"]), "web_fetch"));
    assert!(has(&offered(&["--allowed-tools", "write_file"]), "write_file"));
    assert_eq!(offered(&["--no-tools"]), Vec::<String>::new());
}

#[test]
fn several_reads_of_one_step_are_answered_together() {
    for model in MODELS {
        let both = Reply::new()
            .call("read_file", json!({"file_path": "a.txt"}))
            .call("read_file", json!({"file_path": "b.txt"}));
        let server = server(Script::new([both, "Read.".into()]));
        let place = Place::with_server(&server).file("a.txt", "alpha\n").file("b.txt", "beta\n");
        let run = place.run(&["-m", model, "-o", "stream-json", "-p", "read"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{model}");
        assert_eq!(
            run.kinds(),
            ["init", "message", "step_ended", "tool_use", "tool_result", "message", "result"],
            "{model}"
        );
        let body = server.requests()[1].body.to_string();
        assert!(body.contains("alpha") && body.contains("beta"), "{model}: {body}");
        let stats = &run.lines().pop().unwrap()["stats"]["tools"];
        assert_eq!(stats["byName"]["read_file"], json!({"count": 2, "success": 2, "fail": 0}));
    }
}

#[test]
fn a_tool_nobody_has_is_answered_and_the_run_goes_on() {
    let (run, server, _) = once(call("reed_file", json!({"file_path": "a"})), &[], |place| place);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"));
    let told = server.requests()[1].body.to_string();
    assert!(told.contains("not found") && told.contains("read_file"), "{told}");
}

#[test]
fn the_kind_of_a_failure_is_printed_and_recorded() {
    let cases = [
        (call("read_file", json!({"file_path": "none"})), "not_found"),
        (call("read_file", json!({"path": 1})), "invalid_args"),
        (shell("make install"), "nobody_to_ask"),
    ];
    for (reply, kind) in cases {
        let (run, _, place) = once(reply, &["-o", "stream-json"], |place| place);
        let result = run.lines().into_iter().find(|line| line["type"] == "tool_result").unwrap();
        assert_eq!(result["error"]["type"], kind);
        let (_, journal) = place.journals().pop().unwrap();
        assert!(journal.contains(&format!("\"error\":\"{kind}\"")), "{journal}");
    }
}

#[test]
fn output_too_large_to_show_is_in_a_file_that_is_named() {
    let (run, server, place) = once(shell("seq 1 200000"), &["--approval-mode", "yolo"], |place| place);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let told = server.requests()[1].body.to_string();
    assert!(told.len() < 200_000, "{} bytes", told.len());
    let folder = place.home().join("sessions/outputs");
    let session = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let file = std::fs::read_dir(session).unwrap().next().unwrap().unwrap().path();
    assert!(told.contains(file.file_name().unwrap().to_str().unwrap()), "the file is not named");
    let (_, journal) = place.journals().pop().unwrap();
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = records.into_iter().find(|record| record["kind"] == "call_ended").unwrap();
    assert_eq!(ended["whole_output"], json!(file));
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(kept.starts_with("1\n2\n") && kept.ends_with("200000\n"));
}

/// True when a process was started with this argument.
fn runs(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
}

#[test]
fn ctrl_c_ends_a_running_command_and_everything_it_started() {
    let seconds = format!("9{}.25", std::process::id());
    let command = format!("sleep {seconds} & echo started; sleep {seconds}");
    let server = server(Script::new([shell(&command)]));
    let place = Place::with_server(&server);
    let mut child =
        place.spawn(&["-m", "openai/gpt-test", "--approval-mode", "yolo", "-o", "stream-json", "-p", "wait"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("tool_output") && line.contains("started")));
    // The shell has said its word; its children may still be on their way to become `sleep`.
    let said = Instant::now();
    while !runs(&seconds) {
        assert!(said.elapsed() < PATIENCE, "the command never ran");
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!runs(&seconds), "a process was left behind");
    let (_, journal) = place.journals().pop().unwrap();
    assert!(journal.contains("call_ended") && journal.contains("\"cancelled\""), "{journal}");
}

#[test]
fn what_an_edit_made_that_ctrl_c_ends_does_not_stay_where_it_runs_something() {
    const RULE: &str =
        "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\nconfinement = \"editing\"\n";
    let server =
        server(Script::new([shell("mkdir -p sub/.git/hooks; touch kept; echo made; exec sleep 1000")]));
    let place = Place::with_server(&server);
    std::fs::create_dir_all(place.home().join("policies")).unwrap();
    std::fs::write(place.home().join("policies/own.toml"), RULE).unwrap();
    // What names such a place asks in every other mode.
    let yolo = ["--approval-mode", "yolo", "-m", "openai/gpt-test", "-o", "stream-json", "-p", "go"];
    let mut child = place.spawn(&yolo);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("tool_output") && line.contains("made")));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!place.work().join("sub/.git").exists() && place.work().join("kept").exists());
    let (_, journal) = place.journals().pop().unwrap();
    let (_, told) = journal.split_once("sub/.git was moved to ").unwrap_or_else(|| panic!("{journal}"));
    let kept = std::path::Path::new(told.split(['"', '\\']).next().unwrap());
    assert!(kept.join("hooks").is_dir());
    std::fs::remove_dir_all(kept.ancestors().nth(2).unwrap()).unwrap();
}

#[test]
fn what_runs_in_the_background_ends_with_the_run() {
    let seconds = format!("8{}.25", std::process::id());
    let args = json!({"command": format!("sleep {seconds}"), "is_background": true});
    let (run, _, _) = once(call("run_shell_command", args), &["--approval-mode", "yolo"], |place| place);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(!runs(&seconds), "a process was left behind");
}

#[test]
fn a_turn_that_is_too_long_ends_with_the_limit_code() {
    let reads = (1..9).map(|n| call("list_directory", json!({"dir_path": ".", "ignore": [n.to_string()]})));
    let server = server(Script::new(reads));
    let run = Place::with_server(&server).run(&["--max-turns", "3", "-m", "openai/gpt-test", "-p", "go"]);
    assert_eq!((run.code, run.out.as_str()), (Some(53), ""), "{}", run.err);
    assert!(run.err.contains("--max-turns"), "{}", run.err);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_secret_is_not_read_when_nobody_can_be_asked() {
    for reply in [call("read_file", json!({"file_path": ".env"})), shell("cat .env")] {
        let (run, server, _) = once(reply, &[], |place| place.file(".env", "TOKEN=hunter2\n"));
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.err.contains("not allowed: "), "{}", run.err);
        assert!(!server.requests()[1].body.to_string().contains("hunter2"));
    }
}

#[test]
fn a_further_folder_is_part_of_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().canonicalize().unwrap();
    std::fs::write(folder.join("far.txt"), "from afar\n").unwrap();
    let read = || call("read_file", json!({"file_path": folder.join("far.txt")}));
    let (run, _, _) = once(read(), &[], |place| place);
    assert!(run.err.contains("not allowed: "), "{}", run.err);
    let (run, server, _) = once(read(), &["--include-directories", folder.to_str().unwrap()], |place| place);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(server.requests()[1].body.to_string().contains("from afar"));
}

#[test]
fn memory_and_standard_input_reach_the_model() {
    for model in MODELS {
        let server = server(Script::always("Noted."));
        let place = Place::with_server(&server).file("CHARLA.md", "Always answer in Quechua.\n");
        let run = place.run_with_input(&["-m", model, "-p", "Summarise"], "the piped text");
        assert_eq!(run.code, Some(0), "{model}");
        assert!(
            run.err.starts_with("read as instructions: CHARLA.md; ") && run.err.lines().count() == 1,
            "{model}"
        );
        let body = server.requests()[0].body.to_string();
        assert!(body.contains("Always answer in Quechua.") && body.contains("the piped text"), "{model}");
    }
}

#[test]
fn a_discovered_tool_is_called_and_a_failing_discovery_is_a_notice() {
    let settings = |discovery: &str| {
        json!({"tools": {"discoveryCommand": discovery, "callCommand": "sh call.sh"}}).to_string()
    };
    let place_with = |discovery: &str| {
        let settings = settings(discovery);
        move |place: Place| {
            place
                .settings(&settings)
                .file("tools.json", r#"[{"name": "greet", "description": "Greets."}]"#)
                .file("call.sh", "echo \"$1 says hello\"")
        }
    };
    let greet = || call("discovered_tool_greet", json!({}));
    let (run, server, _) = once(greet(), &["--approval-mode", "yolo"], place_with("cat tools.json"));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(server.requests()[1].body.to_string().contains("greet says hello"));
    let (run, _, _) = once("Hello.".into(), &[], place_with("false"));
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("warning: the tool discovery command failed"), "{}", run.err);
    let (run, _, _) =
        once("Hello.".into(), &[], |place| place.workspace_settings(&settings("touch discovered")));
    assert!(run.err.contains("`tools.discoveryCommand` is ignored"), "{}", run.err);
    let (run, _, _) = once("Hello.".into(), &[], |place| {
        let place = place.workspace_settings(&settings("false"));
        place.run(&["trust", "--yes"]);
        place
    });
    assert!(run.err.contains("warning: the tool discovery command failed"), "{}", run.err);
}

#[test]
fn a_small_window_gets_the_short_prompt() {
    let length = |window: u32| {
        let settings = json!({"providers": {"openai": {"models": {"gpt-test": {"contextWindow": window}}}}});
        let (_, server, _) =
            once("Hello.".into(), &["--no-tools"], |place| place.settings(&settings.to_string()));
        server.requests()[0].body["messages"][0]["content"].to_string().len()
    };
    assert!(length(8_000) * 2 < length(128_000));
}
