//! What was spent, by user and model.

use charla_testkit::{Otherwise, Reply, Rule, Script, Usage, When};
use serde_json::{Value, json};

use super::client::{Client, Served};
use super::place;
use super::team::Team;
use crate::place::server;

fn costs(words: &str, prompt: u64, output: u64) -> Reply {
    Reply::new().text(words).usage(Usage { prompt, output, ..Usage::default() })
}

fn say(client: &Client<'_>, session: &str, after: u64, words: &str) -> u64 {
    let content = json!({"role": "user", "parts": [{"text": words}]});
    let said = client
        .post(&format!("/sessions/{session}/commands"), &json!({"command": "prompt", "content": content}));
    assert_eq!(said.status, 200, "{}", said.text());
    ended(client, session, after)
}

fn ended(client: &Client<'_>, session: &str, after: u64) -> u64 {
    client.events(session, after).until("turn_ended").iter().filter_map(|event| event.id).max().unwrap()
}

/// The input tokens of each of these.
fn tokens(rows: &Value, name: &str) -> Vec<(String, u64)> {
    let row =
        |row: &Value| (row[name].as_str().unwrap().to_owned(), row["spent"]["inputTokens"].as_u64().unwrap());
    rows.as_array().unwrap().iter().map(row).collect()
}

#[test]
fn each_answer_is_charged_to_its_model_and_a_copy_costs_nothing() {
    let script = Script::new([costs("One.", 1000, 10), costs("Two.", 20, 2), costs("Three.", 3, 1)]);
    let team = Team::new(script);
    let anna = team.add("anna", "member", json!({}));
    let ada = team.add("ada", "admin", json!({}));
    let session = anna.begin("first");
    let seen = ended(&anna, &session, 0);
    let model = json!({"command": "set_model", "model": "openai/gpt-4.1"});
    assert_eq!(anna.post(&format!("/sessions/{session}/commands"), &model).status, 200);
    let seen = say(&anna, &session, seen, "second");
    let by_model = [("openai/gpt-4.1".to_owned(), 20), ("openai/gpt-test".to_owned(), 1000)];
    let usage = anna.get("/usage").json();
    assert_eq!(tokens(&usage["models"], "model"), by_model, "{usage}");
    assert_eq!((&usage["total"]["inputTokens"], &usage["unread"]), (&json!(1020), &json!(0)), "{usage}");
    assert!(usage["models"][0]["spent"]["costUsd"].as_f64().is_some_and(|cost| cost > 0.0), "{usage}");
    let copy = anna.post(&format!("/sessions/{session}/fork"), &json!({})).json();
    let copy = copy["session"].as_str().unwrap();
    assert_eq!(
        anna.get("/usage").json()["total"]["inputTokens"],
        1020,
        "what a copy holds was paid for once"
    );
    // What was counted before is not read again, and what is new is added.
    say(&anna, &session, seen, "third");
    let usage = anna.get("/usage").json();
    assert_eq!(tokens(&usage["models"], "model")[0].1, 23, "{usage}");
    let mut sessions = tokens(&usage["sessions"], "session");
    sessions.sort_by_key(|row| row.1);
    assert_eq!(sessions, [(copy.to_owned(), 0), (session.clone(), 1023)]);
    // Whoever looks after the server sees the sums of each, and no session.
    let all = ada.get("/usage/users").json();
    let of = |name: &str| all["users"].as_array().unwrap().iter().find(|one| one["user"] == name).cloned();
    assert_eq!(of("anna").unwrap()["total"]["inputTokens"], 1023, "{all}");
    assert_eq!(tokens(&of("anna").unwrap()["models"], "model").len(), 2);
    assert_eq!(of("ada").unwrap()["total"]["inputTokens"], 0);
    assert!(of("web").is_some() && !all.to_string().contains(&session), "{all}");
    assert_eq!(anna.get("/usage/users").status, 403);
    // A session that is gone costs nothing any more.
    assert_eq!(anna.delete(&format!("/sessions/{session}")).status, 204);
    assert_eq!(anna.get("/usage").json()["total"]["inputTokens"], 0);
}

#[test]
fn more_sessions_than_one_request_reads_are_counted_by_the_next() {
    let server = server(Script::new([costs("One.", 7, 1)]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("hi");
    served.events(&session, 0).until("turn_ended");
    let folder = place.home().join("sessions");
    let journal = std::fs::read_to_string(folder.join(format!("{session}.jsonl"))).unwrap();
    for number in 0..250 {
        let id = format!("copy-{number}");
        std::fs::write(folder.join(format!("{id}.jsonl")), journal.replace(&session, &id)).unwrap();
    }
    let usage = served.get("/usage").json();
    assert_eq!(
        (&usage["unread"], &usage["total"]["inputTokens"]),
        (&json!(51), &json!(1400)),
        "{}",
        usage["total"]
    );
    let usage = served.get("/usage").json();
    assert_eq!(
        (&usage["unread"], &usage["total"]["inputTokens"]),
        (&json!(0), &json!(1757)),
        "{}",
        usage["total"]
    );
    assert_eq!(usage["sessions"].as_array().unwrap().len(), 200);
}

#[test]
fn what_an_agent_spent_is_counted_once() {
    let invoked = json!({"agent_name": "worker", "prompt": "task of the worker"});
    let replies = vec![
        Reply::new().call("invoke_agent", invoked).usage(Usage {
            prompt: 100,
            output: 1,
            ..Usage::default()
        }),
        costs("All done.", 100, 1),
    ];
    let when = When { text: Some("task of the worker".to_owned()), ..When::default() };
    let rules = vec![Rule { when, reply: costs("The worker is done.", 5, 1), times: Some(1) }];
    let server = server(Script { replies, rules, otherwise: Otherwise::default(), ..Script::default() });
    let place = place(&server);
    super::agents::worker(&place);
    let served = Served::start(&place);
    let session = served.begin("go");
    served.events(&session, 0).until("turn_ended");
    let usage = served.get("/usage").json();
    assert_eq!(usage["total"]["inputTokens"], 205, "{usage}");
}
