//! What somebody else's work adds, at the terminal: extensions, hooks, prompts of servers.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use charla_testkit::{Reply, Script, Usage};
use serde_json::{Value, json};

use crate::place::{Place, server};
use crate::replies::last_request;
use crate::terminal::{command, start};

#[test]
fn extensions_and_hooks_are_listed_and_switched() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let folder = place.path().join("ext");
    std::fs::create_dir_all(folder.join("hooks")).unwrap();
    std::fs::write(folder.join("gemini-extension.json"), r#"{"name": "helper", "version": "1.2"}"#).unwrap();
    let hooks = json!({"hooks": {"SessionEnd": [{"hooks": [{"command": "true # of the extension"}]}]}});
    std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
    let installed = place.run(&["extensions", "install", "--consent", folder.to_str().unwrap()]);
    assert_eq!(installed.code, Some(0), "{}", installed.err);
    let mut terminal = start(&place);
    command(&mut terminal, "/extensions ");
    terminal.wait_for("helper (v1.2) - active, from");
    terminal.wait_for("SessionEnd: true # of the extension");
    command(&mut terminal, "/hooks ");
    terminal.wait_for("SessionEnd true # of the extension");
    command(&mut terminal, "/extensions disable helper");
    terminal.wait_for("\"helper\" successfully disabled");
    terminal.wait_for("settings and extensions are read anew");
    command(&mut terminal, "/hooks ");
    terminal.wait_for("no hooks are configured");
    command(&mut terminal, "/extensions list");
    terminal.wait_for("helper (v1.2) - disabled");
    command(&mut terminal, "/extensions disable nothing");
    terminal.wait_for("nothing");
    command(&mut terminal, "/extensions remove helper");
    terminal.wait_for("it takes `install SOURCE`");
}

/// Writes version `version` of an extension that brings one of everything, each with the version in it.
fn write_extension(place: &Place, version: &str) -> String {
    let folder = place.path().join("ext");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/servers/server.py");
    let server = json!({"command": "python3", "args": [script, "plain"]});
    let manifest = json!({
        "name": "helper", "version": version, "contextFileName": "ABOUT.md", "mcpServers": {format!("s{version}"): server},
    });
    let hook = json!({"hooks": {"BeforeAgent": [{"hooks": [{"command": format!("cat > /dev/null; echo {version} >> hooked")}]}]}});
    let files = [
        ("gemini-extension.json", manifest.to_string()),
        ("ABOUT.md", format!("The helper is of version {version}.")),
        ("hooks/hooks.json", hook.to_string()),
        ("commands/greet.toml", format!("prompt = \"Greetings of {version}\"")),
        (
            "skills/dance/SKILL.md",
            format!("---\nname: dance\ndescription: Steps of {version}\n---\nDance.\n"),
        ),
    ];
    for (name, text) in files {
        std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder.display().to_string()
}

#[test]
fn extensions_come_change_and_go_while_a_conversation_goes_on() {
    let server = server(Script::new(["One.", "Two.", "Three.", "Four."]));
    let place = Place::with_server(&server);
    let folder = write_extension(&place, "1");
    let mut terminal = start(&place);
    terminal.say("first");
    terminal.wait_for("One.");
    command(&mut terminal, "/mode auto_edit");
    terminal.wait_for("approval mode: auto_edit");
    command(&mut terminal, &format!("/extensions install {folder}"));
    terminal.wait_for(" * s1 (local): python3");
    terminal.wait_for("install helper 1?");
    terminal.press("y");
    terminal.wait_for("\"helper\" installed successfully");
    terminal.wait_for("are read anew");
    terminal.wait_without("opening the session");
    command(&mut terminal, "/mcp list");
    terminal.wait_for("s1 (from helper) - Ready (");
    terminal.wait_for("- mcp_s1_echo");
    command(&mut terminal, "/greet");
    terminal.wait_for("Two.");
    let asked = last_request(&server);
    for told in ["first", "One.", "Greetings of 1", "The helper is of version 1.", "Steps of 1"] {
        assert!(asked.contains(told), "{told}: {asked}");
    }
    assert_eq!(place.read("hooked").as_deref(), Some("1\n"));
    let rows = terminal.rows().join("\n");
    assert_eq!(rows.matches("One.").count(), 1, "nothing is shown twice: {rows}");
    terminal.wait_for("· auto_edit");

    write_extension(&place, "2");
    command(&mut terminal, "/extensions list");
    terminal.wait_for("helper (v1) - active (update available)");
    command(&mut terminal, "/extensions update helper");
    terminal.wait_for("update helper from 1 to 2?");
    // Enter alone agrees to nothing.
    terminal.wait_for("▸ no");
    terminal.press("\r");
    terminal.wait_without("update helper from 1 to 2?");
    command(&mut terminal, "/extensions update helper");
    terminal.wait_for("update helper from 1 to 2?");
    terminal.press("y");
    terminal.wait_for("Extension \"helper\" successfully updated: 1 → 2");
    terminal.wait_without("opening the session");
    command(&mut terminal, "/greet");
    terminal.wait_for("Three.");
    let asked = last_request(&server);
    assert!(asked.contains("Greetings of 2") && asked.contains("The helper is of version 2."), "{asked}");
    assert!(!asked.contains("The helper is of version 1."), "{asked}");
    assert_eq!(place.read("hooked").as_deref(), Some("1\n2\n"));

    // What another process changes is taken up when it is asked for.
    assert_eq!(place.run(&["extensions", "uninstall", "helper"]).code, Some(0));
    command(&mut terminal, "/extensions reload");
    terminal.wait_without("opening the session");
    command(&mut terminal, "/greet now");
    terminal.wait_for("there is no command /greet");
    terminal.say("last");
    terminal.wait_for("Four.");
    let asked = last_request(&server);
    assert!(asked.contains("Three.") && !asked.contains("The helper is of version"), "{asked}");
    assert_eq!(place.read("hooked").as_deref(), Some("1\n2\n"));
    assert_eq!(place.journals().len(), 1, "one session all along");
}

#[test]
fn what_runs_in_the_background_goes_on_when_settings_are_read_anew_and_so_do_the_figures() {
    let usage = |prompt, output| Usage { prompt, output, ..Usage::default() };
    let begin = json!({"command": "echo begun; sleep 1000", "is_background": true});
    let begin = Reply::new().call("run_shell_command", begin).usage(usage(1000, 4));
    let look = Reply::new().call("list_background_processes", json!({}));
    let one = Reply::new().text("One.").usage(usage(200, 30));
    let server = server(Script::new([begin, one, look, "Two.".into()]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    command(&mut terminal, "/mode yolo");
    terminal.wait_for("yolo: nothing asks");
    terminal.say("first");
    terminal.wait_for("One.");
    terminal.wait_for("↑1.2k ↓34");
    command(&mut terminal, "/extensions reload");
    terminal.wait_for("are read anew");
    terminal.wait_without("opening the session");
    terminal.wait_for("↑1.2k ↓34");
    terminal.say("second");
    terminal.wait_for("Two.");
    let told = last_request(&server);
    assert!(told.contains("] running: echo begun; sleep 1000"), "{told}");
}

#[test]
fn what_runs_in_the_background_goes_on_however_long_the_hooks_of_the_end_take() {
    let begin = json!({"command": "echo begun; sleep 1000", "is_background": true});
    let begin = Reply::new().call("run_shell_command", begin);
    let look = Reply::new().call("list_background_processes", json!({}));
    let server = server(Script::new([begin, "One.".into(), look, "Two.".into()]));
    // Longer than a session that is left may take.
    let hook = json!([{"hooks": [{"command": "[ -e slept ] || { touch slept; sleep 4; touch woke; }"}]}]);
    let place = Place::with_server(&server).settings(&json!({"hooks": {"SessionEnd": hook}}).to_string());
    let mut terminal = start(&place);
    command(&mut terminal, "/mode yolo");
    terminal.wait_for("yolo: nothing asks");
    terminal.say("first");
    terminal.wait_for("One.");
    command(&mut terminal, "/extensions reload");
    terminal.wait_for("are read anew");
    terminal.wait_without("opening the session");
    assert_eq!(place.read("woke").as_deref(), Some(""), "the hook was waited for");
    terminal.say("second");
    terminal.wait_for("Two.");
    let told = last_request(&server);
    assert!(told.contains("] running: echo begun; sleep 1000"), "{told}");
}

#[test]
fn settings_that_are_read_anew_trust_no_more_than_a_start_does() {
    let server = server(Script::new(["One.", "Two."]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("first");
    terminal.wait_for("One.");
    let hooks = json!({"hooks": {"BeforeAgent": [{"hooks": [{"command": "touch theirs"}]}]}});
    let place = place.workspace_settings(&hooks.to_string());
    command(&mut terminal, "/extensions reload");
    terminal.wait_for("shows what this workspace would set");
    terminal.wait_without("opening the session");
    terminal.say("second");
    terminal.wait_for("Two.");
    assert_eq!(place.read("theirs"), None);
}

/// A server at an address, ended with the test.
struct Remote(Child, String);

impl Remote {
    fn start(tool: &str) -> Self {
        let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tui/remote_server.py");
        let mut child = Command::new(python).arg(script).arg(tool).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self(child, format!("http://localhost:{}/mcp", port.trim()))
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes an extension with a server at this address.
fn write_remote(place: &Place, version: &str, server: Value) -> String {
    let folder = place.path().join("ext");
    std::fs::create_dir_all(&folder).unwrap();
    let manifest =
        json!({"name": "test-extension", "version": version, "mcpServers": {"test-server": server}});
    std::fs::write(folder.join("gemini-extension.json"), manifest.to_string()).unwrap();
    folder.display().to_string()
}

#[test]
fn enter_agrees_to_an_update_that_only_moves_a_server_on_its_host() {
    let model = server(Script::echo());
    let place = Place::with_server(&model);
    let (before, after) = (Remote::start("hello"), Remote::start("goodbye"));
    let folder = write_remote(&place, "0.0.1", json!({"httpUrl": before.1}));
    assert_eq!(place.run(&["extensions", "install", "--consent", &folder]).code, Some(0));
    write_remote(&place, "0.0.2", json!({"httpUrl": after.1}));
    let mut terminal = start(&place);
    terminal.wait_for("You have 1 extension with an update available");
    command(&mut terminal, "/extensions list");
    terminal.wait_for("test-extension (v0.0.1) - active (update available)");
    command(&mut terminal, "/mcp list");
    terminal.wait_for("test-server (from test-extension) - Ready (1 tool)");
    terminal.wait_for("- mcp_test-server_hello");
    command(&mut terminal, "/extensions update test-extension");
    terminal.wait_for(&format!(" * test-server (remote): {}", after.1));
    terminal.wait_for("▸ yes");
    terminal.press("\r");
    terminal.wait_for("Extension \"test-extension\" successfully updated: 0.0.1 → 0.0.2");
    terminal.wait_without("opening the session");
    terminal.press("\u{15}");
    command(&mut terminal, "/extensions list");
    terminal.wait_for("test-extension (v0.0.2) - active (updated)");
    command(&mut terminal, "/mcp list");
    terminal.wait_for("- mcp_test-server_goodbye");

    // Whatever else changes is agreed to in so many keys.
    let others = [
        json!({"httpUrl": "http://other.example/mcp"}),
        json!({"httpUrl": after.1.replace("localhost", "localhost@other.example")}),
        json!({"httpUrl": after.1, "headers": {"X": "$HOME"}}),
        json!({"command": "touch", "args": ["made"]}),
    ];
    for (other, version) in others.into_iter().zip(3..) {
        let version = format!("0.0.{version}");
        write_remote(&place, &version, other);
        command(&mut terminal, "/extensions update test-extension");
        terminal.wait_for(&format!("to {version}?"));
        terminal.wait_for("▸ no");
        terminal.press("\r");
        terminal.wait_without(&format!("to {version}?"));
    }
    let listed = place.run(&["extensions", "list"]).out;
    assert!(listed.contains("test-extension (v0.0.2)"), "{listed}");
}

#[test]
fn an_update_of_an_extension_is_told_at_the_start() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let folder = write_extension(&place, "1");
    assert_eq!(place.run(&["extensions", "install", "--consent", &folder]).code, Some(0));
    write_extension(&place, "2");
    let mut terminal = start(&place);
    terminal.wait_for("You have 1 extension with an update available");
}

#[test]
fn hooks_are_told_why_a_session_ends_and_the_next_begins() {
    let server = server(Script::new(["One.", "Two."]));
    let hook = json!([{"hooks": [{"command": "cat >> seen"}]}]);
    let settings = json!({"hooks": {"SessionStart": hook, "SessionEnd": hook}});
    let place = Place::with_server(&server).settings(&settings.to_string());
    let mut terminal = start(&place);
    terminal.say("first");
    terminal.wait_for("One.");
    command(&mut terminal, "/clear");
    terminal.wait_without("opening the session");
    terminal.say("second");
    terminal.wait_for("Two.");
    command(&mut terminal, "/quit");
    assert_eq!(terminal.finish().code, Some(0));
    let seen = place.read("seen").unwrap();
    let seen: Vec<Value> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<String> = seen
        .iter()
        .map(|input| {
            let why = input.get("source").or_else(|| input.get("reason")).unwrap();
            format!("{} {}", input["hook_event_name"].as_str().unwrap(), why.as_str().unwrap())
        })
        .collect();
    let expected = ["SessionStart startup", "SessionEnd clear", "SessionStart clear", "SessionEnd exit"];
    assert_eq!(told, expected);
    assert!(seen[0]["session_id"] == seen[1]["session_id"] && seen[1]["session_id"] != seen[2]["session_id"]);
}

#[test]
fn hooks_and_servers_are_told_in_the_words_that_scripts_wait_for() {
    let touch = Reply::new().call("run_shell_command", json!({"command": "touch a"}));
    let server = server(Script::new([touch, "Done.".into(), "Noted.".into()]));
    let hook = |answer: Value| json!([{"hooks": [{"command": format!("cat > /dev/null; echo '{answer}'")}]}]);
    let place = Place::with_server(&server);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/servers/server.py");
    let settings = json!({
        "mcpServers": {"s": {"command": "python3", "args": [script, "plain"]}},
        "hooks": {"SessionStart": hook(json!({"systemMessage": "welcome aboard"})),
                  "BeforeTool": hook(json!({"decision": "ask", "systemMessage": "look at this one"}))},
    });
    let place = place.settings(&settings.to_string());
    let mut terminal = start(&place);
    terminal.wait_for("welcome aboard");
    terminal.say("go");
    terminal.wait_for("Allow");
    terminal.wait_for("look at this one");
    terminal.press("y\r");
    terminal.wait_for("Done.");
    assert!(place.read("a").is_some());
    // The servers have answered once one of their resources has.
    terminal.say("@s:note:one");
    terminal.wait_for("Noted.");
    command(&mut terminal, "/mcp list");
    terminal.wait_for("mcp_s_cyclic");
    command(&mut terminal, "/quit");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn a_prompt_of_a_server_is_a_command() {
    let server = server(Script::echo());
    let place = Place::with_server(&server);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/servers/server.py");
    let notes = place.work().join("notes");
    let entry = json!({"command": "python3", "args": [script, "plain", notes]});
    let place = place.settings(&json!({"mcpServers": {"s": entry}}).to_string());
    let mut terminal = start(&place);
    // The servers have answered once one of their resources has.
    terminal.say("@s:note:one");
    terminal.wait_for("a note");
    terminal.say("@s:two");
    terminal.wait_for("[resource two]");
    // What it has is offered while somebody writes.
    terminal.press("see @s");
    terminal.wait_for("▸ @s:");
    terminal.press("\t");
    terminal.wait_for("▸ @s:note:one");
    terminal.press("\u{15}/gre");
    terminal.wait_for("▸ /greet");
    terminal.press("\t--");
    terminal.wait_for("▸ --who=");
    terminal.press("\tAd");
    terminal.wait_for("--who='Ad Lib'");
    terminal.press("a\t");
    terminal.wait_without("--who='Ad Lib'");
    terminal.press("\u{15}");
    terminal.wait_without("--who=");
    command(&mut terminal, "/greet ");
    terminal.wait_for("`who` is missing: /greet --who=…");
    command(&mut terminal, "/greet Ann");
    terminal.wait_for("Greet Ann");
    let asked = last_request(&server);
    assert!(asked.contains("Greet Ann"), "{asked}");
}
