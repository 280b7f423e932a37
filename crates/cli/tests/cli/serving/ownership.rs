//! What is whose: ids of sessions, names of users, and how much of the server one of them can take.

use charla_testkit::Script;
use serde_json::{Value, json};

use super::client::Client;
use super::team::Team;
use super::write;

fn bundle(session: &str, words: &str) -> Value {
    json!({"records": [
        {"seq": 1, "at": 1, "kind": "session_started", "version": 2, "session": session, "cwd": "/", "model": "openai/gpt-4.1"},
        {"seq": 2, "at": 1, "kind": "turn_started", "turn": 1, "prompt": {"role": "user", "parts": [{"text": words}]}},
        {"seq": 3, "at": 1, "kind": "turn_ended", "turn": 1, "end": "finished"},
    ]})
}

fn import(client: &Client, session: &str, words: &str) -> String {
    let imported = client.post("/sessions/import", &bundle(session, words));
    assert_eq!(imported.status, 201, "{}", imported.text());
    imported.json()["session"].as_str().unwrap().to_owned()
}

#[test]
fn an_id_that_somebody_has_is_nobody_elses_and_what_is_shared_hides_nothing() {
    let team = Team::new(Script::new(["unused"]));
    let (anna, ben) = (team.add("anna", "member", json!({})), team.add("ben", "member", json!({})));
    assert_eq!(import(&anna, "one", "of anna"), "one");
    let bens = import(&ben, "one", "of ben");
    assert_ne!(bens, "one");
    assert_eq!(ben.get("/sessions/one/records").status, 404, "lookups cross no owners");
    let share = |client: &Client, id: &str, with: &str| {
        client.post(&format!("/sessions/{id}/shares"), &json!({"user": with, "right": "approve"})).status
    };
    assert_eq!(share(&ben, &bens, "anna"), 204);
    assert_eq!(share(&anna, "one", "ben"), 204);
    let title = |client: &Client, id: &str| client.get(&format!("/sessions/{id}")).json()["title"].clone();
    assert_eq!((title(&anna, "one"), title(&ben, &bens)), (json!("of anna"), json!("of ben")));
    assert_eq!((title(&ben, "one"), title(&anna, &bens)), (json!("of anna"), json!("of ben")));
    // The same again is known where it is.
    let again = anna.post("/sessions/import", &bundle("one", "of anna"));
    assert_eq!((again.status, &again.json()["arrival"]), (200, &json!("known")));
}

#[test]
fn who_is_called_as_somebody_was_finds_nothing_of_theirs() {
    let team = Team::new(Script::new(["unused"]));
    let first = team.add("anna", "member", json!({}));
    import(&first, "secret", "of the first");
    assert_eq!(team.owner().delete("/users/anna").status, 204);
    let second = team.add("anna", "member", json!({}));
    assert_eq!(first.get("/sessions").status, 401);
    assert_eq!(second.get("/sessions").json()["sessions"], json!([]));
    assert_eq!(second.get("/sessions/secret/records").status, 404);
}

#[test]
fn who_was_let_in_to_approve_says_yes_or_no_and_decides_nothing_else() {
    let team = Team::new(Script::new([write("a.txt"), "Not written.".into()]));
    let (anna, ben) = (team.add("anna", "member", json!({})), team.add("ben", "member", json!({})));
    let session = anna.begin("write it");
    let mut events = anna.events(&session, 0);
    let asked = events.until("call_asked").pop().unwrap().data;
    let approval = format!("/approvals/{}", asked["approval"].as_str().unwrap());
    let shares = format!("/sessions/{session}/shares");
    assert_eq!(anna.post(&shares, &json!({"user": "ben", "right": "approve"})).status, 204);
    let args = json!({"file_path": "b.txt", "content": "other"});
    for outcome in [
        json!({"outcome": "modify", "args": args}),
        json!({"outcome": "modify_with_editor", "newContent": "other"}),
        json!({"outcome": "proceed_always"}),
        json!({"outcome": "proceed_always_tool"}),
        json!({"outcome": "proceed_always_server"}),
        json!({"outcome": "proceed_always_and_save"}),
    ] {
        let refused = ben.post(&approval, &outcome);
        assert_eq!(refused.status, 403, "{outcome}: {}", refused.text());
    }
    assert_eq!(ben.post(&approval, &json!({"outcome": "cancel", "reason": "not this"})).status, 200);
    events.until("turn_ended");
    assert!(!team.folder("anna").join("a.txt").exists());
}

#[test]
fn one_user_cannot_take_all_streams() {
    let team = Team::new(Script::new(["unused"]));
    let (anna, ben) = (team.add("anna", "member", json!({})), team.add("ben", "member", json!({})));
    let id = import(&anna, "one", "of anna");
    let mut open: Vec<_> = (0..64).map(|_| anna.events(&id, 0)).collect();
    for events in &mut open {
        events.until("turn_ended");
    }
    let one_more = anna.get(&format!("/sessions/{id}/events"));
    assert_eq!((one_more.status, &one_more.json()["kind"]), (429, &json!("too_many_streams")));
    assert_eq!(anna.get("/me").status, 200, "everything else goes on");
    assert_eq!(ben.get("/sessions").status, 200);
    let bens = import(&ben, "two", "of ben");
    ben.events(&bens, 0).until("turn_ended");
}

#[test]
fn rules_that_are_none_are_not_kept() {
    let team = Team::new(Script::new(["unused"]));
    let anna = team.add("anna", "member", json!({}));
    let session = anna.post("/sessions", &json!({})).json()["session"].as_str().unwrap().to_owned();
    let save = |rules: &str| {
        anna.post(&format!("/sessions/{session}/commands"), &json!({"command": "save_rules", "rules": rules}))
    };
    let refused = save("[[rule]]\ntoool = 1");
    assert_eq!(refused.status, 422, "{}", refused.text());
    let kept = save("[[rule]]\ntool = \"write_file\"\ndecision = \"ask\"\n");
    assert_eq!(kept.status, 200, "{}", kept.text());
    assert_eq!(anna.post("/sessions", &json!({})).status, 201, "the file of rules can be read");
}
