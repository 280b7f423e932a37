//! How much one user may have, spend and try at once.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use charla_testkit::{Reply, Rule, Script, Usage, When};
use serde_json::{Value, json};

use super::client::{Answer, Client};
use super::team::Team;
use super::write;
use crate::place::PATIENCE;

/// How many sessions a user with an account may have open.
const OPEN_AT_ONCE: usize = 32;

fn states(client: &Client<'_>) -> Vec<String> {
    let listed = client.get("/sessions").json();
    let sessions = listed["sessions"].as_array().unwrap().clone();
    sessions.iter().map(|entry| entry["state"].as_str().unwrap().to_owned()).collect()
}

fn asked(client: &Client<'_>, prompt: &str) -> Answer {
    client.post("/sessions", &json!({"prompt": {"role": "user", "parts": [{"text": prompt}]}}))
}

/// Looks until it is there.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sessions_that_rest_are_put_to_sleep_where_a_user_opens_too_many_and_what_waits_is_not() {
    let replies = (0..=OPEN_AT_ONCE).map(|_| write("a.txt"));
    let team = Team::new(Script::new(replies));
    let anna = team.add("anna", "member", json!({}));
    let rest: Vec<String> = (0..OPEN_AT_ONCE + 3)
        .map(|_| anna.post("/sessions", &json!({})).json()["session"].as_str().unwrap().to_owned())
        .collect();
    let running = states(&anna).iter().filter(|state| *state == "running").count();
    assert_eq!((rest.len(), running), (OPEN_AT_ONCE + 3, OPEN_AT_ONCE));
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "go"}]}});
    let commands = |session: &str| format!("/sessions/{session}/commands");
    for session in &rest[..OPEN_AT_ONCE] {
        assert_eq!(anna.post(&commands(session), &prompt).status, 200, "a sleeping one wakes");
    }
    let questions = anna.questions(OPEN_AT_ONCE);
    let refused = anna.post("/sessions", &json!({}));
    assert_eq!((refused.status, &refused.json()["kind"]), (429, &json!("too_many_sessions")));
    let no = json!({"outcome": "cancel"});
    let approval = questions[0]["asked"]["approval"].as_str().unwrap();
    let session = questions[0]["session"].as_str().unwrap();
    assert_eq!(anna.post(&format!("/approvals/{approval}"), &no).status, 200);
    anna.events(session, 0).until("turn_ended");
    assert_eq!(anna.post("/sessions", &json!({})).status, 201, "one of them rests now");
}

#[test]
fn what_an_earlier_process_left_is_answered_and_cancelled_however_many_sessions_are_open() {
    let replies = (0..OPEN_AT_ONCE + 2).map(|_| write("a.txt")).chain(["Written.".into()]);
    let mut team = Team::new(Script::new(replies));
    let token = {
        let anna = team.add("anna", "member", json!({}));
        assert_eq!((asked(&anna, "one").status, asked(&anna, "two").status), (201, 201));
        anna.questions(2);
        anna.token.to_owned()
    };
    team.served.restart(&team.place);
    let anna = team.served.with_token(&token);
    let left = anna.questions(2);
    for _ in 0..OPEN_AT_ONCE {
        assert_eq!(asked(&anna, "more").status, 201);
    }
    anna.questions(OPEN_AT_ONCE + 2);
    assert_eq!(asked(&anna, "too many").status, 429);
    let [first, second] = &left[..] else { panic!() };
    let approval = first["asked"]["approval"].as_str().unwrap();
    let answered = anna.post(&format!("/approvals/{approval}"), &json!({"outcome": "proceed_once"}));
    assert_eq!(answered.status, 200, "{}", answered.text());
    anna.events(first["session"].as_str().unwrap(), 0).until("turn_ended");
    let session = second["session"].as_str().unwrap();
    let cancelled = anna.post(&format!("/sessions/{session}/commands"), &json!({"command": "cancel"}));
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
}

#[test]
fn prompts_at_once_spend_no_more_than_prompts_one_by_one() {
    let usage = |reply: Reply| reply.usage(Usage { prompt: 300, output: 100, thoughts: 0, cached: 0 });
    let team =
        Team::new(Script::new([usage(write("a.txt")), usage("First.".into()), usage("Second.".into())]));
    let anna = team.add("anna", "member", json!({"budget": {"tokens": 1000}}));
    assert_eq!(asked(&anna, "write").status, 201);
    let waiting = anna.questions(1)[0].clone();
    let second = asked(&anna, "more");
    assert_eq!(second.status, 402, "400 are spent, 400 kept, 400 more are too many: {}", second.text());
    assert!(second.text().contains("kept for what runs already"), "{}", second.text());
    let approval = waiting["asked"]["approval"].as_str().unwrap();
    assert_eq!(anna.post(&format!("/approvals/{approval}"), &json!({"outcome": "proceed_once"})).status, 200);
    anna.events(waiting["session"].as_str().unwrap(), 0).until("turn_ended");
    // Costs are counted by somebody who follows the session as we do.
    let third =
        until("what was kept is free", || Some(asked(&anna, "now")).filter(|third| third.status == 201));
    anna.events(third.json()["session"].as_str().unwrap(), 0).until("turn_ended");
    until("all is counted", || (anna.get("/me").json()["spent_today"]["tokens"] == 1200).then_some(()));
    assert_eq!(asked(&anna, "again").status, 402);
}

#[test]
fn an_answer_that_is_cut_off_costs_what_was_sent() {
    let cut = [Reply::new().text("Some words").stall(), Reply::new().stall()];
    let team = Team::new(Script::new(cut));
    let anna = team.add("anna", "member", json!({"budget": {"tokens": 60_000}}));
    let prompt = "word ".repeat(20_000);
    let spent = || anna.get("/me").json()["spent_today"]["tokens"].as_u64().unwrap();
    let mut before = 0;
    for number in 1..=2 {
        let created = asked(&anna, &prompt).json();
        let session = created["session"].as_str().unwrap();
        until("the model is asked", || (team.server.requests().len() == number).then_some(()));
        if number == 1 {
            let shown = || anna.get(&format!("/sessions/{session}/snapshot")).text().contains("Some words");
            until("words are shown", || shown().then_some(()));
        }
        let cancelled = anna.post(&format!("/sessions/{session}/commands"), &json!({"command": "cancel"}));
        assert_eq!(cancelled.status, 200, "{}", cancelled.text());
        anna.events(session, 0).until("turn_ended");
        until("it is counted", || (spent() >= before + 20_000).then_some(()));
        before = spent();
    }
    until("what was kept is free", || (asked(&anna, "a short one").status == 201).then_some(()));
}

#[test]
fn an_answer_to_an_agent_that_is_cut_off_costs_what_was_sent() {
    let invoked = json!({"agent_name": "worker", "prompt": "task of the worker"});
    let usage = Usage { prompt: 300, output: 100, thoughts: 0, cached: 0 };
    let when =
        When { text: Some("task of the worker".to_owned()), answers_tools: Some(false), ..When::default() };
    let stalls = Rule { when, reply: Reply::new().text("Some words").stall(), times: None };
    let replies = vec![Reply::new().call("invoke_agent", invoked).usage(usage)];
    let team = Team::new(Script { replies, rules: vec![stalls], ..Script::default() });
    let anna = team.add("anna", "member", json!({"budget": {"tokens": 60_000}}));
    let users = std::fs::read_dir(team.place.home().join("server/users")).unwrap();
    let agents = users.map(|user| user.unwrap().path().join("agents")).next().unwrap();
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("worker.md"), "---\nname: worker\ndescription: Works.\n---\nYou work.\n")
        .unwrap();
    let created = anna.post("/sessions", &json!({"mode": "yolo"})).json();
    let session = created["session"].as_str().unwrap();
    let commands = format!("/sessions/{session}/commands");
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "go"}]}});
    assert_eq!(anna.post(&commands, &prompt).status, 200);
    until("the agent asks its model", || (team.server.requests().len() == 2).then_some(()));
    assert_eq!(anna.post(&commands, &json!({"command": "cancel"})).status, 200);
    anna.events(session, 0).until("turn_ended");
    let spent = || anna.get("/me").json()["spent_today"]["tokens"].as_u64().unwrap();
    // The caller's own answer is told: 400. What the agent was sent has an instruction, too.
    until("what the agent was sent is counted", || (spent() > 5_000).then_some(()));
    assert!(spent() < 30_000, "{}", spent());
}

#[test]
fn what_is_kept_for_a_prompt_grows_with_it() {
    let team = Team::new(Script::new([write("a.txt"), write("b.txt")]));
    let anna = team.add("anna", "member", json!({"budget": {"tokens": 100_000}}));
    let long = "word ".repeat(60_000);
    assert_eq!(asked(&anna, &long).status, 201);
    let second = asked(&anna, &long);
    assert_eq!(second.status, 402, "{}", second.text());
}

#[test]
fn attempts_are_counted_by_the_address_that_the_named_proxy_tells_and_links_apart() {
    let team = Team::with(Script::new(["unused"]), &["--trusted-proxy", "127.0.0.1"]);
    let attempt = |from: &str, body: &Value| {
        let origin = format!("http://{}", team.served.address);
        let headers = [("origin", origin.as_str()), ("x-forwarded-for", from)];
        team.served.request("POST", "/api/v1/sign-in", &headers, body.to_string().as_bytes()).status
    };
    // Each is somebody else's, so that no account is what is guarded.
    let guess = |from: &str, number: usize| {
        attempt(from, &json!({"name": format!("n{number}"), "password": "a long enough one"}))
    };
    let used_up = |from: &str| (0..30).any(|number| guess(from, number) == 429);
    assert!(used_up("192.0.2.1"));
    assert_eq!(guess("192.0.2.2", 1), 401, "another client is not slowed down");
    assert_eq!(guess("192.0.2.2, 192.0.2.1", 1), 429, "what a client writes itself does not help");
    assert_eq!(guess("192.0.2.1, 192.0.2.2", 1), 401);
    let code = json!({"code": "guess"});
    assert!((0..30).any(|_| attempt("192.0.2.3", &code) == 429));
    assert_eq!(guess("192.0.2.3", 1), 401, "links are counted apart");
    let log = std::fs::read_to_string(team.place.home().join("server/audit.jsonl")).unwrap();
    assert!(log.contains("\"192.0.2.1\"") && !log.contains("\"127.0.0.1\",\"what\":\"sign_in\""), "{log}");
}

/// A session as it comes from elsewhere.
pub fn bundle(session: &str, words: &str) -> Value {
    json!({"records": [
        {"seq": 1, "at": 1, "kind": "session_started", "version": 2, "session": session, "cwd": "/", "model": "openai/gpt-\u{0}"},
        {"seq": 2, "at": 1, "kind": "turn_started", "turn": 1, "prompt": {"role": "user", "parts": [{"text": words}]}},
        {"seq": 3, "at": 1, "kind": "model_content", "turn": 1, "finish": "STOP", "content": {"role": "model",
            "parts": [{"text": words}], "origin": {"provider": "a\u{0}", "model": "b\u{0}", "wire": "openai-chat"}}},
        {"seq": 4, "at": 1, "kind": "turn_ended", "turn": 1, "end": "finished"},
    ]})
}

#[test]
fn an_id_that_two_users_bring_at_once_becomes_one_users_alone() {
    let team = Team::new(Script::new(["unused"]));
    let users = [team.add("anna", "member", json!({})), team.add("ben", "member", json!({}))];
    for round in 0..12 {
        let id = format!("session-{round}");
        let together = Barrier::new(users.len());
        let bring = |user: &Client<'_>, words: &str| {
            together.wait();
            let answer = user.post("/sessions/import", &bundle(&id, words));
            (answer.status, answer.json()["session"] == json!(id))
        };
        let brought: Vec<(u16, bool)> = std::thread::scope(|scope| {
            let [anna, ben] = &users;
            let (first, second) = (scope.spawn(|| bring(anna, "a")), scope.spawn(|| bring(ben, "b")));
            vec![first.join().unwrap(), second.join().unwrap()]
        });
        let kept = brought.iter().filter(|brought| **brought == (201, true)).count();
        let others =
            brought.iter().all(|(status, same)| *status == 409 || (*status == 201 && (*same || kept == 1)));
        assert!(kept == 1 && others, "{brought:?}");
        let there = users.iter().filter(|user| user.get(&format!("/sessions/{id}")).status == 200).count();
        assert_eq!(there, 1, "{brought:?}");
    }
}

#[test]
fn a_folder_beyond_a_users_own_is_not_told_to_be_there_or_not() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let outside = ["", "file", "nowhere"].map(|name| folder.path().join(name));
    let calls = outside.iter().map(|path| {
        Reply::new().call("run_shell_command", json!({"command": "echo hello", "dir_path": path}))
    });
    let team = Team::new(Script::new(calls.chain(["Done.".into()])));
    let anna = team.add("anna", "member", json!({}));
    let created = anna.post("/sessions", &json!({"mode": "yolo"})).json();
    let session = created["session"].as_str().unwrap();
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "go"}]}});
    assert_eq!(anna.post(&format!("/sessions/{session}/commands"), &prompt).status, 200);
    anna.events(session, 0).until("turn_ended");
    let last = team.server.requests().pop().unwrap();
    let told: Vec<String> = last.body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .zip(&outside)
        .map(|(message, path)| {
            let text = message["content"].as_str().unwrap().replace(path.to_str().unwrap(), "PATH");
            // What is said about calls that say the same again and again.
            text.split("\n[Note").next().unwrap().to_owned()
        })
        .collect();
    assert!(told.len() == 3 && told[0].contains("only the workspace can be reached here"), "{told:?}");
    assert!(told.iter().all(|text| *text == told[0]), "{told:?}");
}

#[test]
fn everybody_behind_a_trusted_proxy_has_more_connections_than_one_address() {
    /// More than one address may have, and fewer than there may be.
    const CONNECTIONS: usize = 800;
    let team = Team::with(Script::new(["unused"]), &["--trusted-proxy", "127.0.0.1"]);
    let open: Vec<_> = (0..CONNECTIONS).map(|_| team.served.connect()).collect();
    assert_eq!(team.owner().get("/me").status, 200);
    drop(open);
}
