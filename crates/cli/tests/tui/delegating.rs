//! Agents at the terminal: what they ask is asked there, and nothing of it is lost or done twice when all of it is killed.

use std::time::{Duration, Instant};

use charla_testkit::{Otherwise, Reply, Rule, Script, Server, When};
use serde_json::json;

use crate::place::{PATIENCE, Place, server};
use crate::replies::last_request;
use crate::terminal::{Terminal, command, start};

/// Waits until something is written in this file of the workspace.
fn written(place: &Place, name: &str) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        match place.read(name).filter(|text| text.ends_with('\n')) {
            Some(text) => return text,
            None => assert!(Instant::now() < until, "nothing is written in {name}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_caller_killed_with_its_agent_is_gone_on_with_on_the_screen_and_nothing_happens_twice() {
    let (server, place) = working_agent();
    let mut terminal = start(&place);
    terminal.say("go");
    terminal.wait_for("r no, with a reason");
    terminal.kill();
    assert_eq!(place.read("ran"), None);
    let mut terminal = Terminal::sized(&place, &["--resume", "latest"], 100, 40);
    // The question is there again, and it is the same one.
    terminal.wait_for("r no, with a reason");
    let card = terminal.screen();
    assert!(card.contains("│ echo worker >> ran") && card.contains("worker"), "{card}");
    assert_eq!(place.read("ran"), None);
    terminal.press("y");
    terminal.wait_for("All done.");
    assert_eq!(place.read("ran").as_deref(), Some("worker\n"));
    let asked = last_request(&server);
    assert_eq!(asked.matches("The worker is done.").count(), 1, "{asked}");
    let rows = terminal.rows().join("\n");
    assert_eq!(rows.matches("All done.").count(), 1, "{rows}");
    // The agent's session and its caller's have the answer, each once.
    for (id, text) in place.journals() {
        assert_eq!(text.matches("\"kind\":\"approval_answered\"").count(), 1, "{id}: {text}");
    }
    command(&mut terminal, "/quit");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn a_caller_killed_while_its_agents_command_runs_goes_on_and_the_command_does_not_run_again() {
    let (server, place) = working_agents(&["worker"], "; sleep 600");
    let mut terminal = start(&place);
    terminal.say("go");
    terminal.wait_for("r no, with a reason");
    terminal.press("y");
    written(&place, "ran");
    terminal.kill();
    let mut terminal = Terminal::sized(&place, &["--resume", "latest"], 100, 40);
    terminal.wait_for("All done.");
    assert_eq!(place.read("ran").as_deref(), Some("worker\n"));
    // The agent was told that its command was interrupted, and its caller got one answer.
    let told = "was running when the program ended";
    assert!(server.requests().iter().any(|asked| asked.body.to_string().contains(told)));
    assert_eq!(last_request(&server).matches("worker is done.").count(), 1);
    for (id, text) in place.journals() {
        assert_eq!(text.matches("\"kind\":\"approval_answered\"").count(), 1, "{id}: {text}");
        assert_eq!(text.matches("\"kind\":\"call_ended\"").count(), 1, "{id}: {text}");
    }
    command(&mut terminal, "/quit");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn of_two_agents_killed_with_their_caller_no_question_is_lost_and_an_answered_one_is_not_asked_again() {
    let (server, place) = working_agents(&["first", "second"], "");
    let mut terminal = start(&place);
    terminal.say("go");
    terminal.wait_for("r no, with a reason");
    // The one that is shown is allowed and runs; the other one waits when all of them are killed.
    terminal.press("y");
    let (done, other) =
        if written(&place, "ran").contains("first") { ("first", "second") } else { ("second", "first") };
    terminal.wait_for(&format!("│ echo {other} >> ran"));
    terminal.kill();
    assert_eq!(place.read("ran"), Some(format!("{done}\n")));
    let mut terminal = Terminal::sized(&place, &["--resume", "latest"], 100, 40);
    terminal.wait_for("r no, with a reason");
    let card = terminal.screen();
    assert!(card.contains(&format!("│ echo {other} >> ran")), "{card}");
    terminal.press("y");
    terminal.wait_for("All done.");
    assert_eq!(place.read("ran"), Some(format!("{done}\n{other}\n")));
    let asked = last_request(&server);
    for name in [done, other] {
        assert_eq!(asked.matches(&format!("{name} is done.")).count(), 1, "{asked}");
    }
    command(&mut terminal, "/quit");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn a_question_of_an_agent_is_a_card_of_its_caller() {
    let (server, place) = working_agent();
    let mut terminal = start(&place);
    terminal.say("go");
    terminal.wait_for("r no, with a reason");
    let card = terminal.screen();
    assert!(card.contains("│ echo worker >> ran") && card.contains("worker"), "{card}");
    assert_eq!(place.read("ran"), None);
    terminal.press("y");
    terminal.wait_for("All done.");
    assert_eq!(place.read("ran").as_deref(), Some("worker\n"));
    let asked = last_request(&server);
    assert!(asked.contains("The worker is done."), "{asked}");
}

/// A model that has an agent run a command, and a place with that agent.
fn working_agent() -> (Server, Place) {
    working_agents(&["worker"], "")
}

/// A model that has these agents run a command each at once, which writes the agent's name and then does this; and a place with them.
fn working_agents(names: &[&str], then: &str) -> (Server, Place) {
    let task = |name: &str| format!("task of the {name}");
    let says = |name: &str, answers_tools, reply: Reply| Rule {
        when: When { text: Some(task(name)), answers_tools: Some(answers_tools), ..When::default() },
        reply,
        times: None,
    };
    let invoked = names.iter().fold(Reply::new(), |reply, name| {
        reply.call("invoke_agent", json!({"agent_name": name, "prompt": task(name)}))
    });
    let rules = names.iter().flat_map(|name| {
        let run = json!({"command": format!("echo {name} >> ran{then}")});
        let done = format!("The {name} is done.");
        [
            says(name, false, Reply::new().call("run_shell_command", run)),
            says(name, true, done.as_str().into()),
        ]
    });
    let script = Script {
        replies: vec![invoked, "All done.".into()],
        rules: rules.collect(),
        otherwise: Otherwise::default(),
        ..Script::default()
    };
    let server = server(script);
    let place = Place::with_server(&server);
    std::fs::create_dir_all(place.home().join("agents")).unwrap();
    for name in names {
        let agent = format!("---\nname: {name}\ndescription: Works.\n---\nYou work.\n");
        std::fs::write(place.home().join(format!("agents/{name}.md")), agent).unwrap();
    }
    (server, place)
}
