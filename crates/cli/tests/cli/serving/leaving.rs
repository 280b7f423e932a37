//! Whoever is removed, may only look from now on or was given something else has nothing run any more.

use std::time::{Duration, Instant};

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use super::team::Team;
use crate::place::PATIENCE;

/// As many prompts as wait behind the first.
const WAITING: usize = 3;

/// A member whose first turn runs a long command while prompts wait behind it, and the session.
fn at_work(team: &Team) -> String {
    let anna = team.add("anna", "member", json!({}));
    let created = anna.post("/sessions", &json!({"mode": "yolo"})).json();
    let session = created["session"].as_str().unwrap().to_owned();
    for _ in 0..=WAITING {
        let content = json!({"role": "user", "parts": [{"text": "go"}]});
        let prompt = json!({"command": "prompt", "content": content, "delivery": "after_turn"});
        assert_eq!(anna.post(&format!("/sessions/{session}/commands"), &prompt).status, 200);
    }
    anna.events(&session, 0).until("call_started");
    session
}

fn script() -> Script {
    let first = Reply::new().call("run_shell_command", json!({"command": "sleep 60"}));
    Script::new([first, "Second.".into(), "Third.".into(), "Fourth.".into(), "Fifth.".into()])
}

/// Everything the journal of the session says once its turn has ended. Its user may be gone, so nobody is asked.
fn records(team: &Team, session: &str) -> Vec<Value> {
    let users = team.place.home().join("server/users");
    let own = std::fs::read_dir(users).unwrap().next().unwrap().unwrap().path();
    let journal = own.join("sessions").join(format!("{session}.jsonl"));
    let begin = Instant::now();
    loop {
        let text = std::fs::read_to_string(&journal).unwrap();
        let records: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if count(&records, "turn_ended") > 0 {
            return records;
        }
        assert!(begin.elapsed() < PATIENCE, "the turn goes on: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn count(records: &[Value], kind: &str) -> usize {
    records.iter().filter(|record| record["kind"] == kind).count()
}

/// The turn was stopped long before its command ends, and nothing that waited began.
fn is_over(team: &Team, session: &str) {
    let records = records(team, session);
    let told = (count(&records, "turn_started"), count(&records, "prompt_withdrawn"));
    assert_eq!(told, (1, WAITING), "{records:#?}");
    assert_eq!(team.server.requests().len(), 1);
}

#[test]
fn with_an_account_goes_what_runs_and_what_waits_and_nobody_waits_for_it() {
    let team = Team::new(script());
    let session = at_work(&team);
    let begin = Instant::now();
    assert_eq!(team.owner().delete("/users/anna").status, 204);
    is_over(&team, &session);
    assert!(begin.elapsed() < PATIENCE);
}

#[test]
fn an_account_that_is_removed_at_the_command_line_has_nothing_run_any_more() {
    let team = Team::new(script());
    let session = at_work(&team);
    assert_eq!(team.place.run(&["users", "remove", "anna"]).code, Some(0));
    is_over(&team, &session);
}

#[test]
fn who_may_only_look_from_now_on_has_nothing_run_any_more() {
    let team = Team::new(script());
    let session = at_work(&team);
    let demoted = team.owner().post("/users/anna", &json!({"role": "viewer"}));
    assert_eq!(demoted.status, 200, "{}", demoted.text());
    is_over(&team, &session);
}

#[test]
fn what_runs_ends_when_its_user_is_given_another_workspace_or_other_rights() {
    let moved = tempfile::tempdir().unwrap();
    for change in [json!({"network": true}), json!({"workspace": moved.path()})] {
        let team = Team::new(script());
        let session = at_work(&team);
        let changed = team.owner().post("/users/anna", &change);
        assert_eq!(changed.status, 200, "{}", changed.text());
        is_over(&team, &session);
    }
}

#[test]
fn the_first_request_after_a_change_is_judged_by_what_was_given_now() {
    let team = Team::new(script());
    let session = at_work(&team);
    let file = team.folder("anna").join("secret.txt");
    std::fs::write(&file, "the secret").unwrap();
    let moved = tempfile::tempdir().unwrap();
    let anna = team.served.with_token(&team.token("anna"));
    let changed = team.owner().post("/users/anna", &json!({"workspace": moved.path()}));
    assert_eq!(changed.status, 200, "{}", changed.text());
    let read = json!({"command": "run_tool", "name": "read_file", "args": {"file_path": file}});
    let asked = anna.post(&format!("/sessions/{session}/commands"), &read);
    assert!(asked.status == 422 && asked.text().contains("bounds of the workspace"), "{}", asked.text());
}
