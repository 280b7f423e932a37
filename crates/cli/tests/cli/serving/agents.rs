//! Questions of agents over HTTP: asked where their caller is, answered there, acted on once.

use charla_testkit::{Otherwise, Reply, Rule, Script, When};
use serde_json::{Value, json};

use super::client::Served;
use super::place;
use crate::elsewhere::{answer, question};
use crate::place::{Place, server};
use crate::terminal::Terminal;

fn says(answers_tools: bool, reply: impl Into<Reply>) -> Rule {
    let when = When {
        text: Some("task of the worker".to_owned()),
        answers_tools: Some(answers_tools),
        ..When::default()
    };
    Rule { when, reply: reply.into(), times: None }
}

/// Puts an agent into the user's home.
pub fn worker(place: &Place) {
    let folder = place.home().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("worker.md"), "---\nname: worker\ndescription: Works.\n---\nYou work.\n")
        .unwrap();
}

#[test]
fn a_question_of_an_agent_is_answered_over_http_and_runs_once() {
    let command = json!({"command": "echo once >> ran"});
    let invoked = json!({"agent_name": "worker", "prompt": "task of the worker"});
    let replies = vec![Reply::new().call("invoke_agent", invoked), "All done.".into()];
    let rules =
        vec![says(false, Reply::new().call("run_shell_command", command)), says(true, "The worker is done.")];
    let server = server(Script { replies, rules, otherwise: Otherwise::default(), ..Script::default() });
    let place = place(&server);
    worker(&place);
    let mut served = Served::start(&place);
    let session = served.begin("go");
    let before = served.questions(1).remove(0);
    assert!(before.to_string().contains("echo once >> ran"), "{before}");
    assert_eq!(place.read("ran"), None);
    // Killed with its agent, the server asks again once it is there again; nothing was lost or run.
    served.restart(&place);
    served.events(&session, 0);
    let question = served.questions(1).remove(0);
    assert!(question.to_string().contains("echo once >> ran"), "{question}");
    let approval = question["asked"]["approval"].as_str().unwrap();
    let answered = served.post(&format!("/approvals/{approval}"), &json!({"outcome": "proceed_once"}));
    assert_eq!(answered.status, 200, "{}", answered.text());
    served.events(&session, 0).until("turn_ended");
    assert_eq!(place.read("ran").as_deref(), Some("once\n"));
    served.questions(0);
    let last = server.requests().pop().unwrap().body.to_string();
    assert!(last.contains("The worker is done."), "{last}");
}

#[test]
fn a_question_that_was_refused_while_nobody_ran_is_not_asked_again_over_http() {
    let command = json!({"command": "echo once >> ran"});
    let invoked = json!({"agent_name": "worker", "prompt": "task of the worker"});
    let replies = vec![Reply::new().call("invoke_agent", invoked), "All done.".into()];
    let rules =
        vec![says(false, Reply::new().call("run_shell_command", command)), says(true, "The worker is done.")];
    let server = server(Script { replies, rules, otherwise: Otherwise::default(), ..Script::default() });
    let place = place(&server);
    worker(&place);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for("n REASON no, go on? ");
    terminal.kill();
    let asked = question(&place);
    let journals = place.journals();
    let own = journals.iter().flat_map(|(_, text)| text.lines()).find_map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        let is_own = record["kind"] == "call_asked" && record["stands_for"].is_null();
        is_own.then(|| record["approval"].as_str().unwrap().to_owned())
    });
    assert_eq!(answer(&place, &asked, &["no"]).code, Some(0));
    let served = Served::start(&place);
    served.questions(0);
    for id in [asked, own.unwrap()] {
        let late = served.post(&format!("/approvals/{id}"), &json!({"outcome": "proceed_once"}));
        assert_eq!(late.status, 409, "{}", late.text());
    }
    assert_eq!(place.read("ran"), None);
}

#[test]
fn a_tighter_mode_of_its_caller_holds_for_an_agent_at_once() {
    let waits = json!({"command": "touch begun; until [ -e go ]; do sleep 0.01; done; echo waited"});
    let then = json!({"command": "touch late"});
    let invoked = json!({"agent_name": "worker", "prompt": "task of the worker"});
    let on = |result: &str, reply: Reply| {
        let mut rule = says(true, reply);
        rule.when.tool_result = Some(result.to_owned());
        rule.times = Some(1);
        rule
    };
    let rules = vec![
        says(false, Reply::new().call("run_shell_command", waits)),
        on("waited", Reply::new().call("run_shell_command", then)),
        on("", "I could not.".into()),
    ];
    let replies = vec![Reply::new().call("invoke_agent", invoked), "All done.".into()];
    let server = server(Script { replies, rules, otherwise: Otherwise::default(), ..Script::default() });
    let place = place(&server).settings(r#"{"tools": {"approvalMode": "yolo"}}"#);
    worker(&place);
    let served = Served::start(&place);
    let session = served.begin("go");
    wait_until(|| place.read("begun").is_some());
    let changed = served
        .post(&format!("/sessions/{session}/commands"), &json!({"command": "set_mode", "mode": "plan"}));
    assert_eq!(changed.status, 200, "{}", changed.text());
    let heard = |(id, journal): &(String, String)| *id != session && journal.contains(r#""mode":"plan""#);
    wait_until(|| place.journals().iter().any(heard));
    std::fs::write(place.work().join("go"), "").unwrap();
    served.events(&session, 0).until("turn_ended");
    assert_eq!(place.read("late"), None);
    let last = server.requests().pop().unwrap().body.to_string();
    assert!(last.contains("I could not."), "{last}");
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < crate::place::PATIENCE, "not after a long time");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
