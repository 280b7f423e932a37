//! The audit log: every decision and sign-in, whoever makes it and wherever, and no secret.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charla_proto::Confirmation;
use charla_testkit::Script;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::status_of;
use super::limits::bundle;
use super::matrix::{Operation, filled, new_session, operations};
use super::team::{PASSWORD, Team};
use super::write;
use crate::place::Place;

/// It changes nothing, and takes a body.
const READS: [&str; 1] = ["explain"];
/// Nothing is changed, and somebody comes in, or something leaves.
const TELLS: [&str; 3] = ["oidc_begin", "oidc_callback", "export_session"];

fn log(place: &Place) -> Vec<Value> {
    let text = std::fs::read_to_string(place.home().join("server/audit.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the entries of this name say, in their order.
fn about(place: &Place, what: &str) -> Vec<Value> {
    let entries = log(place).into_iter().filter(|entry| entry["what"] == what);
    entries.map(|entry| entry["about"].clone()).collect()
}

fn is_whole(place: &Place) {
    let checked = place.run(&["audit", "verify"]);
    assert!(checked.out.contains("the chain is whole"), "{checked:?}");
}

#[test]
fn every_route_that_changes_something_has_its_entry() {
    let team = Team::new(Script::new(["unused"]));
    let owner = team.add("ada", "admin", json!({}));
    let document = team.served.request("GET", "/api/v1/openapi.json", &[], b"").json();
    let session = new_session(&owner);
    for operation in operations(&document) {
        let before = about(&team.place, &operation.name).len();
        let path = filled(&operation.path, &session);
        match operation.streams {
            true => assert_eq!(status_of(owner.stream(&path, 0)), 200, "{path}"),
            false => drop(owner.send(&operation.method, &path, &json!({}))),
        }
        let changes = operation.method != "GET" && !READS.contains(&operation.name.as_str());
        let wanted = usize::from(changes || TELLS.contains(&operation.name.as_str()));
        let entries = about(&team.place, &operation.name).len() - before;
        assert_eq!(entries, wanted, "{} {}", operation.name, operation.method);
    }
    is_whole(&team.place);
}

#[test]
fn changed_accounts_keys_denials_and_moved_sessions_are_told_without_a_secret() {
    let team = Team::new(Script::new([write("a.txt"), "All right.".into()]));
    let anna = team.add("anna", "member", json!({}));
    let change = json!({"password": "quite another one", "identity": "anna@example.org", "network": true, "user": "ben",
        "role": "member", "budget": {"tokens": 90_000}, "workspace": team.folder("anna")});
    assert_eq!(team.owner().post("/users/anna", &change).status, 400, "no such field");
    let told = about(&team.place, "change_user").pop().unwrap();
    assert_eq!(told["user"], "anna", "no body hides whose account it is");
    for field in ["identity", "network", "role", "budget", "workspace"] {
        assert!(told[field].is_string(), "{field}: {told}");
    }
    assert_eq!(told["password"], "(set)");
    assert_eq!(about(&team.place, "set_key").pop().unwrap()["provider"], "openai");
    assert_eq!(anna.delete("/keys/openai").status, 204);
    assert_eq!(about(&team.place, "remove_key").pop().unwrap()["provider"], "openai");
    assert_eq!(anna.post("/keys", &json!({"provider": "openai", "key": "key-of-anna"})).status, 204);
    let session = anna.begin("write it");
    let asked = anna.questions(1)[0]["asked"].clone();
    let approval = asked["approval"].as_str().unwrap().to_owned();
    let reason = format!("not\u{1b}[2J there\n{}", "x".repeat(4000));
    let no = json!({"outcome": "cancel", "reason": reason});
    assert_eq!(anna.post(&format!("/approvals/{approval}"), &no).status, 200);
    anna.events(&session, 0).until("turn_ended");
    let told = about(&team.place, "answer").pop().unwrap();
    assert_eq!((&told["approval"], &told["outcome"]), (&json!(approval), &json!("cancel")));
    assert_eq!(told["tool"], "write_file");
    // As it stands in the journal.
    let shown: Confirmation = serde_json::from_value(asked["confirmation"].clone()).unwrap();
    let hash = Sha256::digest(serde_json::to_string(&shown).unwrap());
    assert_eq!(told["confirmation"], URL_SAFE_NO_PAD.encode(hash));
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.starts_with(r"not\u{1b}[2J there\nxxx") && reason.contains("SHA-256"), "{reason}");
    assert!(reason.chars().count() <= 500, "{reason}");
    assert_eq!(anna.get(&format!("/sessions/{session}/bundle")).status, 200);
    assert_eq!(about(&team.place, "export_session"), [json!({"id": session})]);
    assert_eq!(anna.post("/sessions/import", &bundle("from-elsewhere", "words")).status, 201);
    assert_eq!(about(&team.place, "import_session"), [json!({"session": "from-elsewhere"})]);
    let all = format!("{:?}", log(&team.place));
    for secret in [PASSWORD, "quite another one", "key-of-anna", &anna.token] {
        assert!(!all.contains(secret), "{secret}");
    }
    is_whole(&team.place);
}

#[test]
fn a_body_whose_fields_have_no_names_does_nothing() {
    let team = Team::new(Script::new([write("a.txt"), "All right.".into()]));
    let anna = team.add("anna", "member", json!({}));
    let session = anna.begin("write it");
    let approval = anna.questions(1)[0]["asked"]["approval"].as_str().unwrap().to_owned();
    let change = team.owner().post("/users/anna", &json!(["admin", null, null, null, null, null]));
    assert_eq!((change.status, &change.json()["kind"]), (400, &json!("bad_request")), "{}", change.text());
    assert_eq!(anna.get("/me").json()["role"], "member");
    let mode = anna.post(&format!("/sessions/{session}/commands"), &json!(["set_mode", "yolo"]));
    assert_eq!(mode.status, 400, "{}", mode.text());
    let no = anna.post(&format!("/approvals/{approval}"), &json!(["cancel", "no"]));
    assert_eq!(no.status, 400, "{}", no.text());
    assert_eq!(anna.questions(1)[0]["asked"]["approval"], json!(approval), "it waits still");
    assert_ne!(anna.get(&format!("/sessions/{session}/snapshot")).json()["mode"], "yolo");
    let document = team.served.request("GET", "/api/v1/openapi.json", &[], b"").json();
    let takes = |operation: &Operation| {
        let path = &document["paths"][format!("/api/v1{}", operation.path)];
        !path[operation.method.to_lowercase()]["requestBody"].is_null()
    };
    for operation in operations(&document).iter().filter(|operation| takes(operation)) {
        let path = format!("/api/v1{}", filled(&operation.path, &session));
        let bearer = format!("Bearer {}", team.served.token);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        for body in
            [&b"[]"[..], b" \n[{}]", b"\"x\"", b"5", b"null", b"{\"name\": \"\xff\"}", b"\xef\xbb\xbf{}"]
        {
            let refused = team.served.request("POST", &path, &headers, body);
            assert_eq!(refused.status, 400, "{} {body:?}: {}", operation.name, refused.text());
        }
    }
}

#[test]
fn an_answer_with_what_it_has_no_field_for_does_nothing_and_forges_nothing() {
    let team = Team::new(Script::new([write("a.txt"), "Written.".into()]));
    let anna = team.add("anna", "member", json!({}));
    let session = anna.begin("write it");
    let approval = anna.questions(1)[0]["asked"]["approval"].as_str().unwrap().to_owned();
    let forged = json!({"outcome": "proceed_once", "args": {"content": "other"}, "user": "ben", "role": "admin",
        "password": "x", "approval": "another:4"});
    let refused = anna.post(&format!("/approvals/{approval}"), &forged);
    assert_eq!((refused.status, &refused.json()["kind"]), (400, &json!("bad_request")), "{}", refused.text());
    let mut told = about(&team.place, "answer");
    let hash = told[0].as_object_mut().unwrap().remove("confirmation");
    assert!(hash.is_some_and(|hash| hash.as_str().unwrap().len() == 43));
    assert_eq!(told, [json!({"outcome": "proceed_once", "approval": approval, "tool": "write_file"})]);
    let command = json!({"command": "answer", "approval": approval, "outcome": "proceed_once", "args": {}});
    assert_eq!(anna.post(&format!("/sessions/{session}/commands"), &command).status, 400);
    let mode = json!({"command": "set_mode", "mode": "plan", "reason": "because"});
    assert_eq!(anna.post(&format!("/sessions/{session}/commands"), &mode).status, 400);
    assert_eq!(anna.questions(1)[0]["asked"]["approval"], json!(approval), "it waits still");
    is_whole(&team.place);
}

/// What came of the last request of this name, as the log tells it.
fn result(place: &Place, what: &str) -> Value {
    let entries = log(place);
    let asked = entries.iter().rev().find(|entry| entry["what"] == what).unwrap();
    let results: Vec<&Value> =
        entries.iter().filter(|entry| entry["about"]["of"] == asked["number"]).collect();
    assert_eq!(results.len(), 1, "{asked}");
    assert_eq!((&results[0]["what"], &results[0]["who"]), (&json!("result"), &asked["who"]));
    let mut about = results[0]["about"].clone();
    about.as_object_mut().unwrap().remove("of");
    about
}

#[test]
fn what_came_of_each_request_is_told_with_the_ids_of_what_was_made() {
    let team = Team::new(Script::new([write("a.txt"), "Written.".into()]));
    let (anna, ben) = (team.add("anna", "member", json!({})), team.add("ben", "member", json!({})));
    let result = |what: &str| result(&team.place, what);
    let session = anna.begin("write it");
    assert_eq!(result("create_session"), json!({"status": 201, "session": session}));
    let approval = anna.questions(1)[0]["asked"]["approval"].as_str().unwrap().to_owned();
    let answer =
        |outcome: &str| anna.post(&format!("/approvals/{approval}"), &json!({"outcome": outcome})).status;
    assert_eq!(answer("proceed_once"), 200);
    assert_eq!(result("answer"), json!({"status": 200}));
    assert_eq!(answer("cancel"), 409);
    assert_eq!(result("answer"), json!({"status": 409, "kind": "late"}), "it is not the one that counts");
    anna.events(&session, 0).until("turn_ended");
    let forked = anna.post(&format!("/sessions/{session}/fork"), &json!({"at": 0})).json();
    assert_eq!(result("fork_session"), json!({"status": 201, "session": forked["session"]}));
    assert_eq!(about(&team.place, "fork_session"), [json!({"id": session, "at": "0"})]);
    let brought = ben.post("/sessions/import", &bundle(&session, "words")).json();
    assert_ne!(brought["session"], json!(session), "it is anna's");
    assert_eq!(result("import_session"), json!({"status": 201, "session": brought["session"]}));
    let token = ben.post("/tokens", &json!({"label": "x"})).json();
    assert_eq!(result("create_token"), json!({"status": 201, "id": token["id"]}));
    assert_eq!(ben.delete("/tokens/none").status, 404);
    assert_eq!(result("revoke_token"), json!({"status": 404, "kind": "not_found"}));
    is_whole(&team.place);
}

#[test]
fn attempts_that_nobody_listens_to_are_one_entry_with_their_number() {
    let team = Team::new(Script::new(["unused"]));
    let mut tried: BTreeMap<u16, u64> = BTreeMap::new();
    for number in 0..40 {
        *tried.entry(team.sign_in("anna", &format!("guess {number}")).status).or_default() += 1;
    }
    assert_eq!(tried.keys().collect::<Vec<_>>(), [&401, &429]);
    let Team { place, served, server: _server } = team;
    assert_eq!(served.end(), Some(0), "what is counted is written at the end");
    let entries = about(&place, "sign_in");
    let of = |status: u64| entries.iter().filter(move |about| about["status"] == status);
    assert_eq!(of(401).count() as u64, tried[&401]);
    assert_eq!(
        of(429).collect::<Vec<_>>(),
        [&json!({"name": "anna", "status": 429, "refused": tried[&429]})]
    );
    is_whole(&place);
}

#[test]
fn what_the_command_line_does_with_accounts_is_in_the_log_of_the_server() {
    let team = Team::new(Script::new(["unused"]));
    let folder = team.folder("ben");
    std::fs::create_dir_all(&folder).unwrap();
    let run = |arguments: &[&str]| {
        let output = team.place.command(arguments).write_stdin(format!("{PASSWORD}\n")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["users", "add", "ben", "--workspace", folder.to_str().unwrap(), "--network"]);
    run(&["users", "list"]);
    run(&["users", "role", "ben", "admin"]);
    run(&["users", "passwd", "ben"]);
    run(&["users", "remove", "ben"]);
    let entries: Vec<Value> =
        log(&team.place).into_iter().filter(|entry| entry["from"] == "command line").collect();
    let (results, entries): (Vec<Value>, Vec<Value>) =
        entries.into_iter().partition(|entry| entry["what"] == "result");
    let told: Vec<&Value> = results.iter().map(|result| &result["about"]["status"]).collect();
    assert_eq!(told, [201, 200, 200, 204]);
    let what: Vec<&str> = entries.iter().map(|entry| entry["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["create_user", "change_user", "change_user", "remove_user"]);
    let added = &entries[0]["about"];
    assert_eq!((&added["name"], &added["network"]), (&json!("ben"), &json!("true")));
    assert_eq!(entries[1]["about"], json!({"role": "admin", "user": "ben"}));
    assert_eq!(entries[2]["about"], json!({"password": "(set)", "user": "ben"}));
    assert!(entries.iter().all(|entry| !entry.to_string().contains(PASSWORD)));
    is_whole(&team.place);
}
