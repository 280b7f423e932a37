//! Questions of agents over HTTP: asked where their caller is, answered there, acted on once.

use charla_testkit::{Otherwise, Reply, Rule, Script, When};
use serde_json::json;

use super::client::Served;
use super::place;
use crate::place::server;

fn says(answers_tools: bool, reply: impl Into<Reply>) -> Rule {
    let when = When {
        text: Some("task of the worker".to_owned()),
        answers_tools: Some(answers_tools),
        ..When::default()
    };
    Rule { when, reply: reply.into(), times: None }
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
    let folder = place.home().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("worker.md"), "---\nname: worker\ndescription: Works.\n---\nYou work.\n")
        .unwrap();
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
