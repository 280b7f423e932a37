//! MCP servers in whole runs: started, asked about, kept out, gone with their session.

mod asking;
mod login;
mod real;
mod serving;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use charla_testkit::{Reply, Script, Server};
use serde_json::{Value, json};

use crate::place::{PATIENCE, Place, Run, server};

const MODELS: [&str; 3] = ["gemini/gemini-test", "openai/gpt-test", "anthropic/claude-test"];

/// The entry of the test server in this mode; it notes its starts in a file of the workspace.
fn entry(place: &Place, mode: &str) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/servers/server.py");
    let notes = place.work().join("notes");
    json!({"command": "python3", "args": [script, mode, notes]})
}

fn with(mut entry: Value, key: &str, value: Value) -> Value {
    entry[key] = value;
    entry
}

/// A place whose user has this server, named `s`.
fn place_with(model: &Server, make: impl FnOnce(&Place) -> Value) -> Place {
    let place = Place::with_server(model);
    let servers = json!({"mcpServers": {"s": make(&place)}});
    place.settings(&servers.to_string())
}

fn trusted(place: &Place) -> Value {
    with(entry(place, "plain"), "trust", json!(true))
}

fn call(name: &str, args: Value) -> Reply {
    Reply::new().call(name, args)
}

/// Names of the tools a request declares, whatever its wire.
fn declared(body: &Value) -> String {
    body["tools"].to_string()
}

fn ask(place: &Place, model: &str, more: &[&str]) -> Run {
    place.run(&[&["-m", model, "-p", "go"], more].concat())
}

#[test]
fn a_tool_runs_before_its_server_was_ever_seen_and_is_declared_from_then_on() {
    for model in MODELS {
        let echo = || call("s__echo", json!({"text": "from afar"}));
        let server = server(Script::new([echo(), "Done.".into(), echo(), "Done.".into()]));
        let place = place_with(&server, trusted);
        for round in 0..2 {
            let run = ask(&place, model, &[]);
            assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{model}");
            let requests = server.requests();
            assert_eq!(declared(&requests[2 * round].body).contains("s__echo"), round == 1, "{model}");
            let told = requests[2 * round + 1].body.to_string();
            assert!(told.contains("from afar") && told.contains("untrusted_content"), "{model}: {told}");
        }
        // A schema that needs itself is fit for every wire.
        assert!(declared(&server.requests()[2].body).contains("s__cyclic"), "{model}");
        assert!(server.problems().is_empty(), "{model}: {:?}", server.problems());
    }
}

#[test]
fn a_server_that_is_not_trusted_does_nothing_unasked() {
    let echo = || call("s__echo", json!({"text": "from afar"}));
    let allowed: [(&[&str], bool); 5] = [
        (&[], false),
        (&["--allowed-tools", "s__reads"], false),
        (&["--allowed-tools", "s__echo"], true),
        (&["--allowed-tools", "mcp_s_echo"], true),
        (&["--approval-mode", "yolo"], true),
    ];
    for (arguments, runs) in allowed {
        let server = server(Script::new([echo(), "Done.".into()]));
        let place = place_with(&server, |place| entry(place, "plain"));
        let run = ask(&place, "openai/gpt-test", arguments);
        let told = server.requests()[1].body.to_string();
        assert_eq!(told.contains("untrusted_content"), runs, "{arguments:?}: {told}");
        assert_eq!(run.err.contains("not allowed: "), !runs, "{arguments:?}: {}", run.err);
    }
}

#[test]
fn what_a_tool_says_of_itself_allows_nothing() {
    let server = server(Script::new([call("s__reads", json!({})), "Done.".into()]));
    let place = place_with(&server, |place| entry(place, "plain"));
    let run = ask(&place, "openai/gpt-test", &[]);
    assert!(run.err.contains("not allowed: "), "{}", run.err);
}

#[test]
fn plan_mode_calls_not_even_a_trusted_server() {
    let server = server(Script::new([call("s__echo", json!({"text": "from afar"})), "Done.".into()]));
    let place = place_with(&server, trusted);
    ask(&place, "openai/gpt-test", &["--approval-mode", "plan"]);
    assert!(!server.requests()[1].body.to_string().contains("untrusted_content"));
}

#[test]
fn servers_of_a_workspace_start_once_it_is_trusted() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    let servers = json!({"mcpServers": {"s": entry(&place, "plain")}});
    let place = place.workspace_settings(&servers.to_string());
    let run = ask(&place, "openai/gpt-test", &[]);
    assert!(
        run.err.contains("`mcpServers.s.command` is ignored: this workspace is not trusted"),
        "{}",
        run.err
    );
    let run = place.run(&["mcp", "list"]);
    assert!(run.err.contains("no MCP servers"), "{}", run.err);
    assert_eq!(place.read("notes"), None);
    let shown = place.run(&["trust", "--show"]).out;
    assert!(shown.contains("mcpServers.s.command") && shown.contains("server.py"), "{shown}");
    assert_eq!(place.run(&["trust", "--yes"]).code, Some(0));
    let run = place.run(&["mcp", "list"]);
    assert_eq!(run.out, "s  ready, 10 tools\n", "{}", run.err);
    assert_eq!(place.read("notes").as_deref(), Some("start\n"));
}

#[test]
fn nothing_that_lies_in_a_workspace_is_started_as_a_server_of_the_users() {
    let entry = json!({"command": "python3", "args": ["-m", "some_mcp"], "env": {"TOKEN": "secret"}});
    let servers = json!({"mcpServers": {"s": entry}}).to_string();
    let place = Place::new().settings(&servers).file("some_mcp.py", "open('ran', 'w').write('ran')");
    let run = place.run(&["mcp", "list"]);
    assert_eq!(place.read("ran"), None, "{}{}", run.out, run.err);
    // One that a trusted workspace brings itself is another matter.
    let place = place.workspace_settings(&servers);
    assert_eq!(place.run(&["trust", "--yes"]).code, Some(0));
    let run = place.run(&["mcp", "list"]);
    assert_eq!(place.read("ran").as_deref(), Some("ran"), "{}{}", run.out, run.err);
}

#[test]
fn a_tool_is_excluded_under_each_of_its_names() {
    for excluded in ["s__echo", "mcp_s_echo"] {
        // The server is being started in the first round, and known in the second.
        let calls = || ["s__echo", "mcp_s_echo"].map(|name| call(name, json!({"text": "from afar"})));
        let replies = || calls().into_iter().chain([Reply::from("Done.")]);
        let server = server(Script::new(replies().chain(replies())));
        let place = place_with(&server, trusted);
        for _ in 0..2 {
            ask(&place, "openai/gpt-test", &["--approval-mode", "yolo", "--exclude-tools", excluded]);
        }
        assert_eq!(server.requests().len(), 6, "{excluded}");
        for request in server.requests() {
            assert!(!request.body.to_string().contains("untrusted_content"), "{excluded}: {}", request.body);
            assert!(!declared(&request.body).contains("s__echo"), "{excluded}: {}", request.body);
        }
    }
}

#[test]
fn of_a_server_only_those_tools_are_there_that_its_entry_takes() {
    for (key, names) in [("includeTools", json!(["echo"])), ("excludeTools", json!(["cyclic"]))] {
        let replies = [call("s__cyclic", json!({})), call("s__echo", json!({"text": "hi"})), "Done.".into()];
        let server = server(Script::new(replies));
        let place = place_with(&server, |place| with(trusted(place), key, names));
        let listed = place.run(&["mcp", "test", "s"]).out;
        assert!(listed.contains("s__echo") && !listed.contains("s__cyclic"), "{key}: {listed}");
        let run = ask(&place, "openai/gpt-test", &[]);
        assert!(
            run.err.contains("no tool for `s__cyclic`") || run.err.contains("not found"),
            "{key}: {}",
            run.err
        );
        let requests = server.requests();
        assert!(!declared(&requests[0].body).contains("s__cyclic"), "{key}");
        assert!(requests[2].body.to_string().contains("untrusted_content"), "{key}: {}", requests[2].body);
    }
}

#[test]
fn a_hook_meets_a_tool_under_each_of_its_names() {
    for matcher in ["^s__echo$", "^mcp_s_.*"] {
        let calls = ["s__echo", "mcp_s_echo"].map(|name| call(name, json!({"text": "from afar"})));
        let server = server(Script::new(calls.into_iter().chain(["Done.".into()])));
        let place = Place::with_server(&server);
        let hook = json!({"type": "command", "command": "cat >> seen; echo '{\"decision\": \"deny\", \"reason\": \"no\"}'"});
        let hooks = json!({"BeforeTool": [{"matcher": matcher, "hooks": [hook]}]});
        let settings = json!({"mcpServers": {"s": trusted(&place)}, "hooks": hooks});
        let place = place.settings(&settings.to_string());
        let run = ask(&place, "openai/gpt-test", &[]);
        let told = server.requests()[2].body.to_string();
        assert!(!told.contains("untrusted_content"), "{matcher}: {told} {}", run.err);
        let seen = place.read("seen").unwrap_or_default();
        assert_eq!(seen.matches(r#""tool_name":"s__echo""#).count(), 2, "{matcher}: {seen}");
    }
}

#[test]
fn a_workspace_gets_no_variables_of_a_server_of_the_users() {
    let server = server(Script::new([call("s__environment", json!({})), "Done.".into()]));
    let place = place_with(&server, |place| with(trusted(place), "env", json!({"MINE": "secret"})));
    let servers = json!({"mcpServers": {"s": trusted(&place)}});
    let place = place.workspace_settings(&servers.to_string());
    assert_eq!(place.run(&["trust", "--yes"]).code, Some(0));
    ask(&place, "openai/gpt-test", &[]);
    let told = server.requests()[1].body.to_string();
    assert!(told.contains("PATH") && !told.contains("MINE"), "{told}");
}

#[test]
fn a_server_sees_no_secret_but_those_it_is_given() {
    let server = server(Script::new([call("s__environment", json!({})), "Done.".into()]));
    let given = json!({"GIVEN": "$MY_TOKEN"});
    let place = place_with(&server, |place| with(trusted(place), "env", given))
        .variable("GITHUB_TOKEN", "ghp_0123456789")
        .variable("MY_TOKEN", "abcdefghijklmnop");
    let run = ask(&place, "openai/gpt-test", &[]);
    let told = server.requests()[1].body.to_string();
    assert!(told.contains("GIVEN") && told.contains("HOME"), "{told} {}", run.err);
    for secret in ["GITHUB_TOKEN", "MY_TOKEN", "OPENAI_API_KEY"] {
        assert!(!told.contains(secret), "{told}");
    }
}

#[test]
fn of_many_tools_the_model_finds_those_it_needs() {
    let find = call("find_tools", json!({"query": "do thing 217"}));
    let used = call("s__tool_217", json!({}));
    let server = server(Script::new([find, used, "Done.".into()]));
    let place = place_with(&server, |place| with(entry(place, "many"), "trust", json!(true)));
    let run = ask(&place, "openai/gpt-test", &[]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let requests = server.requests();
    let offered: Vec<String> = requests.iter().map(|request| declared(&request.body)).collect();
    assert!(offered[0].contains("find_tools") && !offered[0].contains("s__tool_"));
    assert!(
        offered[1].contains("s__tool_217") && offered[1].matches("s__tool_").count() <= 8,
        "{}",
        offered[1]
    );
    assert!(requests[2].body.to_string().contains("called tool_217"));
}

#[test]
fn dead_servers_hold_nothing_up() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    let mut servers = serde_json::Map::new();
    for number in 0..20 {
        let dead = match number % 4 {
            0 => json!({"command": "/no/such/program"}),
            1 => entry(&place, "dead"),
            2 => entry(&place, "silent"),
            _ => json!({"url": "http://127.0.0.1:9/mcp"}),
        };
        servers.insert(format!("dead{number}"), dead);
    }
    let place = place.settings(&json!({"mcpServers": servers}).to_string());
    // The silent ones would take a minute each to be given up.
    let mut command = place.command(&["-m", "openai/gpt-test", "-p", "hi"]);
    let output = command.timeout(Duration::from_secs(50)).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"ok\n".as_slice()));
}

#[test]
fn a_server_dies_with_a_session_that_is_killed() {
    let server = server(Script::new([call("s__hang", json!({}))]));
    let place = place_with(&server, trusted);
    let mut charla = place.spawn(&["-m", "openai/gpt-test", "-p", "go"]);
    let notes = || place.read("notes").unwrap_or_default();
    wait_until("the server hangs", || notes().contains("hanging"));
    charla.kill().unwrap();
    charla.wait().unwrap();
    let notes = place.work().join("notes").display().to_string();
    let lives = || {
        let found = Command::new("pgrep").args(["-f", &notes]).output().unwrap();
        !found.stdout.is_empty()
    };
    wait_until("the server is gone", || !lives());
}

/// Waits for something that comes in its own time, also on a machine that is slow or watched.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_s_prompt_that_lacks_an_argument_leaves_no_session() {
    let server = server(Script::always(Reply::new().text("Done.")));
    let place = place_with(&server, |place| entry(place, "plain"));
    let run = place.run(&["-m", "openai/gpt-test", "-p", "/greet"]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert!(run.err.contains("`who` is missing"), "{}", run.err);
    assert_eq!((place.journals(), server.requests().len()), (Vec::new(), 0));
}

#[test]
fn servers_are_added_listed_tested_and_removed() {
    let place = Place::new();
    let entry = entry(&place, "plain");
    let words: Vec<&str> =
        entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let added =
        place.run(&[&["mcp", "add", "--exclude-tools", "crash", "s", "python3"], words.as_slice()].concat());
    assert_eq!((added.code, added.err.as_str()), (Some(0), "s is in ~/home/.charla/settings.json\n"));
    let added = place.run(&["mcp", "add", "gone", "/no/such/program", "--flag"]);
    assert_eq!(added.code, Some(0), "{}", added.err);
    let listed = place.run(&["mcp", "list"]);
    let expected = "gone  failed: `/no/such/program` cannot be started: No such file or directory (os error 2)\n\
                    s  ready, 9 tools\n";
    assert_eq!((listed.code, listed.out.as_str()), (Some(0), expected), "{}", listed.err);
    let tested = place.run(&["mcp", "test", "s"]);
    assert_eq!(tested.code, Some(0), "{}", tested.err);
    assert!(
        tested.out.contains("  s__echo\n") && tested.out.contains("  prompt /greet --who=… [--how=…]\n"),
        "{}",
        tested.out
    );
    assert_ne!(place.run(&["mcp", "test"]).code, Some(0));
    let json: Value = serde_json::from_str(&place.run(&["mcp", "list", "--json"]).out).unwrap();
    assert_eq!(json[0]["state"], "failed");
    assert_eq!(place.run(&["mcp", "remove", "gone"]).code, Some(0));
    assert_ne!(place.run(&["mcp", "remove", "gone"]).code, Some(0));
    assert_eq!(place.run(&["mcp", "list"]).out, "s  ready, 9 tools\n");
    assert_ne!(place.run(&["mcp", "add", "x", "http://h", "-e", "NOVALUE"]).code, Some(0));
}

#[test]
fn servers_that_are_added_at_once_are_all_there() {
    let place = Place::new();
    for scope in ["user", "project"] {
        std::fs::create_dir_all(place.work().join(".charla")).unwrap();
        let add = |n: usize| place.spawn(&["mcp", "add", "-s", scope, &format!("{scope}{n}"), "true"]);
        let children: Vec<_> = (0..10).map(add).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
    }
    let of_user = std::fs::read_to_string(place.home().join("settings.json")).unwrap();
    let of_project = place.read(".charla/settings.json").unwrap();
    for n in 0..10 {
        assert!(of_user.contains(&format!("\"user{n}\"")), "{of_user}");
        assert!(of_project.contains(&format!("\"project{n}\"")), "{of_project}");
    }
}

#[test]
fn an_entry_that_names_no_server_is_told_and_the_others_go_on() {
    let place = Place::new();
    let servers = json!({"mcpServers": {"s": entry(&place, "plain"), "odd": {"args": ["x"]}, "unset": {"command": "x", "env": {"A": "$NONE"}}}});
    let place = place.settings(&servers.to_string());
    let run = place.run(&["mcp", "list"]);
    assert_eq!(
        run.out,
        "odd  failed: it has neither a `command` nor a `url`\ns  ready, 10 tools\nunset  failed: the variable `NONE` is not set\n"
    );
    assert!(run.err.contains("`odd` is left out: it has neither"), "{}", run.err);
    assert!(run.err.contains("`unset` is left out: the variable `NONE` is not set"), "{}", run.err);
}

#[test]
fn a_server_that_is_named_for_one_run_and_not_there_is_told() {
    let model = server(Script::always(Reply::new().text("ok")));
    let place = place_with(&model, |place| entry(place, "plain"));
    let run = ask(&place, "openai/gpt-test", &["--allowed-mcp-server-names", "nosuch"]);
    assert!(run.err.contains("there is no MCP server `nosuch` that could be used"), "{}", run.err);
    let run = ask(&place, "openai/gpt-test", &["--allowed-mcp-server-names", "s"]);
    assert!(!run.err.contains("there is no MCP server"), "{}", run.err);
}

#[test]
fn what_is_added_says_what_it_lacks_and_whose_it_is() {
    let place = Place::new();
    let added = place.run(&["mcp", "add", "-s", "user", "w", "no-such-program"]);
    assert_eq!(added.code, Some(0));
    assert!(added.err.contains("there is no program `no-such-program` yet"), "{}", added.err);
    let added = place.run(&["mcp", "add", "--scope", "project", "--cwd", ".", "x", "./run.py"]);
    assert!(added.err.contains("work/.charla/settings.json"), "{}", added.err);
    assert!(place.read(".charla/settings.json").unwrap().contains("\"cwd\""));
    let refused = place.run(&["mcp", "add", "y", "./run.py"]);
    assert!(refused.err.contains("write the whole path, or give it a `cwd`"), "{}", refused.err);
    std::fs::write(place.work().join("server.py"), "").unwrap();
    let elsewhere = place.run(&["mcp", "add", "-s", "user", "w", "python3", "server.py"]);
    assert!(
        elsewhere.err.contains("`server.py` is in this folder, and w starts in an empty one"),
        "{}",
        elsewhere.err
    );
    assert_eq!(place.run(&["mcp", "remove", "-s", "user", "w"]).code, Some(0));
    let both = place.run(&["mcp", "add", "--project", "-s", "user", "z", "cat"]);
    assert_eq!(both.code, Some(42), "{}", both.err);
    // With the last one goes what a workspace would have to be trusted for.
    assert!(place.run(&["mcp", "list"]).err.contains("not trusted"));
    assert_eq!(place.run(&["mcp", "remove", "--project", "x"]).code, Some(0));
    let listed = place.run(&["mcp", "list"]);
    assert!(!listed.err.contains("trust"), "{}", listed.err);
}

#[test]
fn servers_that_cannot_be_started_are_told_with_the_reason() {
    let place = Place::new().settings(r#"{"mcpServers": {"u": {"command": "x", "env": {"A": "$NONE"}}}}"#);
    assert_eq!(place.run(&["mcp", "list"]).out, "u  failed: the variable `NONE` is not set\n");
    assert_eq!(place.run(&["mcp", "test"]).code, Some(42));
    let script = "echo code E404 >&2; echo no such package >&2; echo a log is in x >&2; exit 1";
    let servers = json!({"mcpServers": {"npm": {"command": "sh", "args": ["-c", script]}}});
    let place = Place::new().settings(&servers.to_string());
    let run = place.run(&["mcp", "test"]);
    let why = "code E404; no such package; a log is in x";
    assert!(run.code != Some(0) && run.out.contains(why) && run.err.contains(why), "{}{}", run.out, run.err);
    let place = Place::new();
    let servers = json!({"mcpServers": {"s": entry(&place, "namesake")}});
    let place = place.settings(&servers.to_string());
    let run = place.run(&["mcp", "test"]);
    assert!(run.out.contains("  prompt /s:help\n"), "{}", run.out);
}

#[test]
fn an_agent_has_the_tools_of_servers_that_its_file_names() {
    for named in ["mcp_s_echo", "mcp_s_*", "mcp_s_ec*", "mcp_*", "s__echo"] {
        let call = Reply::new().call("invoke_agent", json!({"agent_name": "a", "prompt": "do"}));
        let server = server(Script::new([call, "Done.".into(), "End.".into()]));
        let place = place_with(&server, trusted);
        std::fs::create_dir_all(place.home().join("agents")).unwrap();
        let file = format!("---\nname: a\ndescription: d\ntools: ['{named}']\n---\nYou are alone.\n");
        std::fs::write(place.home().join("agents/a.md"), file).unwrap();
        assert_eq!(place.run(&["mcp", "list"]).code, Some(0));
        let run = ask(&place, "openai/gpt-test", &[]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "End.\n"), "{}", run.err);
        let agents = declared(&server.requests()[1].body);
        assert!(agents.contains("s__echo") && !agents.contains("read_file"), "{named}: {agents}");
        assert_eq!(
            agents.contains("s__picture"),
            named.len() < 9 && named.ends_with('*'),
            "{named}: {agents}"
        );
    }
}

#[test]
fn a_resource_that_a_prompt_names_comes_along() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = place_with(&server, |place| entry(place, "plain"));
    let run = place.run(&["-m", "openai/gpt-test", "-p", "what is in @s:note:one, and @other:note:two?"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let told = server.requests()[0].body.to_string();
    assert!(told.contains("[resource note:one]") && told.contains("a note"), "{told}");
}

#[test]
fn a_prompt_of_a_server_never_takes_a_commands_place() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = place_with(&server, |place| entry(place, "namesake"));
    assert_eq!(place.run(&["-m", "openai/gpt-test", "-p", "hello"]).code, Some(0));
    let compressed = place.run(&["-m", "openai/gpt-test", "--resume", "-p", "/compress"]);
    let told = |place: &Place, words: &str| {
        let run = place.run(&["-m", "openai/gpt-test", "-p", words]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        server.requests().last().unwrap().body.to_string()
    };
    // The scripted model's word is no summary: the command was ours, and changed nothing.
    assert!(compressed.err.contains("nothing was changed"), "{}", compressed.err);
    assert!(!server.requests().iter().any(|request| request.body.to_string().contains("Greet all")));
    assert_eq!(place.run(&["-m", "openai/gpt-test", "-p", "/help"]).code, Some(42));
    assert!(told(&place, "/s:compress").contains("Greet all"));
    // What a prompt says is words, and no command.
    let run = place.run(&["-m", "openai/gpt-test", "--resume", "-p", "/sly"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "ok\n"), "{}", run.err);
    assert!(server.requests().last().unwrap().body.to_string().contains("/compress"));
}

#[test]
fn a_program_reaches_no_secret_and_writes_nowhere_else_unless_it_is_trusted() {
    for trust in [false, true] {
        // No folder for temporary files, where every program may write.
        let place = Place::lasting();
        let home = place.home().parent().unwrap().to_owned();
        // Each file, what stands in it, and what a program that is not trusted can do: read it, write it.
        let files = [
            (home.join(".ssh/id_ed25519"), "a private key", false, false),
            (home.join(".aws/credentials"), "an access key", false, false),
            (home.join(".charla/keys.json"), "{}", false, false),
            (home.join("notes.txt"), "a plain note", true, false),
            (place.path().join("beside.txt"), "beside the workspace", true, false),
            (place.work().join("inside.txt"), "in the workspace", true, true),
        ];
        for (path, words, ..) in &files {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, words).unwrap();
        }
        let paths: Vec<&Path> = files.iter().map(|(path, ..)| path.as_path()).collect();
        let model = server(Script::new([call("s__reach", json!({"paths": paths})), "Done.".into()]));
        let settings = json!({"mcpServers": {"s": with(entry(&place, "reaching"), "trust", json!(trust))}});
        let place = place.with_addresses(&model).settings(&settings.to_string());
        let run = ask(&place, "openai/gpt-test", &["--allowed-tools", "s__reach"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        let told = model.requests()[1].body.to_string().replace('\\', "");
        for (path, words, reads, writes) in &files {
            let read = if trust || *reads { words } else { "refused" };
            let written = if trust || *writes { "written" } else { "refused" };
            let expected = format!("\"{}\": \"{read} {written}\"", path.display());
            assert!(told.contains(&expected), "{trust}: {expected} is not in {told}");
        }
    }
}
