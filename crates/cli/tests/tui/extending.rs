//! What somebody else's work adds, at the terminal: extensions, hooks, prompts of servers, agents.

use std::path::Path;

use charla_testkit::{Otherwise, Reply, Rule, Script, When};
use serde_json::{Value, json};

use crate::place::{Place, server};
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
    terminal.wait_for("helper (v1.2) - enabled");
    terminal.wait_for("SessionEnd: true # of the extension");
    command(&mut terminal, "/hooks ");
    terminal.wait_for("SessionEnd true # of the extension");
    command(&mut terminal, "/extensions disable helper");
    terminal.wait_for("\"helper\" successfully disabled");
    command(&mut terminal, "/extensions list");
    terminal.wait_for("helper (v1.2) - disabled");
    command(&mut terminal, "/extensions disable nothing");
    terminal.wait_for("nothing");
    command(&mut terminal, "/extensions remove helper");
    terminal.wait_for("it takes `enable NAME` or `disable NAME`");
    drop(terminal);
    let mut terminal = start(&place);
    command(&mut terminal, "/hooks ");
    terminal.wait_for("no hooks are configured");
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
    command(&mut terminal, "/greet ");
    terminal.wait_for("`who` is missing: /greet --who=…");
    command(&mut terminal, "/greet Ann");
    terminal.wait_for("Greet Ann");
    let asked = server.requests().last().unwrap().body.to_string();
    assert!(asked.contains("Greet Ann"), "{asked}");
}

#[test]
fn a_question_of_an_agent_is_a_card_of_its_caller() {
    let says = |answers_tools, reply: Reply| Rule {
        when: When {
            text: Some("task of the worker".to_owned()),
            answers_tools: Some(answers_tools),
            ..When::default()
        },
        reply,
        times: None,
    };
    let invoked = json!({"agent_name": "worker", "prompt": "task of the worker"});
    let run = json!({"command": "echo once >> ran"});
    let script = Script {
        replies: vec![Reply::new().call("invoke_agent", invoked), "All done.".into()],
        rules: vec![says(false, Reply::new().call("run_shell_command", run)), says(true, "It ran.".into())],
        otherwise: Otherwise::default(),
        ..Script::default()
    };
    let server = server(script);
    let place = Place::with_server(&server);
    std::fs::create_dir_all(place.home().join("agents")).unwrap();
    let agent = "---\nname: worker\ndescription: Works.\n---\nYou work.\n";
    std::fs::write(place.home().join("agents/worker.md"), agent).unwrap();
    let mut terminal = start(&place);
    terminal.say("go");
    terminal.wait_for("r no, with a reason");
    let card = terminal.screen();
    assert!(card.contains("│ echo once >> ran") && card.contains("worker"), "{card}");
    assert_eq!(place.read("ran"), None);
    terminal.press("y");
    terminal.wait_for("All done.");
    assert_eq!(place.read("ran").as_deref(), Some("once\n"));
    let asked = server.requests().last().unwrap().body.to_string();
    assert!(asked.contains("It ran."), "{asked}");
}
