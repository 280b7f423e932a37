//! Sessions begun, followed, steered, forked, rewound and removed over HTTP.

use charla_testkit::{Reply, Script};
use serde_json::{Value, json};

use super::client::{Event, Served};
use super::{place, write};
use crate::place::server;

fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().filter_map(|event| event.data["kind"].as_str()).collect()
}

#[test]
fn a_prompt_is_answered_as_a_stream_of_records_and_turn_events() {
    let server = server(Script::new([Reply::new().text("Hello, browser.").chunk(3)]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("hi");
    let events = served.events(&session, 0).until("turn_ended");
    assert_eq!(kinds(&events).first(), Some(&"session_started"));
    assert!(kinds(&events).contains(&"model_content"), "{events:?}");
    let ids: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "records come once and in order");
    let entry = served.get(&format!("/sessions/{session}")).json();
    assert_eq!((&entry["state"], &entry["turn_open"]), (&json!("running"), &json!(false)));
    let snapshot = served.get(&format!("/sessions/{session}/snapshot")).json();
    assert_eq!(snapshot["contents"][1]["content"]["parts"][0]["text"], "Hello, browser.");
    let records = served.get(&format!("/sessions/{session}/records?after=1")).json();
    assert_eq!(records["records"][0]["seq"], 2);
}

#[test]
fn sessions_of_a_user_share_their_connections_to_a_model() {
    let server = server(Script::always("Hello."));
    let place = place(&server);
    let served = Served::start(&place);
    for _ in 0..6 {
        let session = served.begin("hi");
        served.events(&session, 0).until("turn_ended");
    }
    assert_eq!(server.requests().len(), 6);
    // Who asks while the last answer is not read to its end needs one more.
    assert!(server.connections() <= 3, "{} connections", server.connections());
}

#[test]
fn a_stream_that_broke_goes_on_where_it_was() {
    let server = server(Script::new(["One.", "Two."]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("first");
    let seen = served.events(&session, 0).until("turn_ended").last().unwrap().id.unwrap();
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "second"}]}});
    let path = format!("/sessions/{session}/commands");
    assert_eq!(served.post(&path, &prompt).json()["reply"], "prompted");
    let events = served.events(&session, seen).until("turn_ended");
    let ids: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    assert_eq!(ids.first(), Some(&(seen + 1)));
    assert_eq!(kinds(&events).first(), Some(&"turn_started"));
}

#[test]
fn who_has_seen_what_is_not_there_is_told_so_and_does_not_wait() {
    let server = server(Script::new(["One.", "Two."]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("first");
    let last = served.events(&session, 0).until("turn_ended").last().unwrap().id.unwrap();
    let follow = |served: &Served, path: &str, seen: u64| {
        let seen = seen.to_string();
        let token = format!("Bearer {}", served.token);
        let headers = [("authorization", token.as_str()), ("last-event-id", &seen)];
        let answer = served.request("GET", &format!("/api/v1{path}"), &headers, b"");
        (answer.status, answer.json()["kind"].as_str().unwrap_or_default().to_owned())
    };
    let paths = [format!("/sessions/{session}/events"), format!("/events?session={session}")];
    let beyond = (409, "beyond".to_owned());
    for path in &paths {
        assert_eq!(follow(&served, path, last + 1), beyond, "{path}");
        assert_eq!(follow(&served, path, u64::MAX), beyond, "{path}");
    }
    // The same of a session that nobody has open.
    let address = served.kill();
    let served = Served::at(&place, &address);
    for path in &paths {
        assert_eq!(follow(&served, path, last + 1), beyond, "{path}");
    }
    let mut events = served.events(&session, last);
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "second"}]}});
    assert_eq!(served.post(&format!("/sessions/{session}/commands"), &prompt).status, 200);
    events.until("turn_ended");
}

#[test]
fn a_session_that_nobody_has_open_is_read_without_opening_it_and_opened_by_a_prompt() {
    let server = server(Script::new(["From the terminal.", "From the server."]));
    let place = place(&server);
    assert_eq!(place.run(&["-m", "openai/gpt-test", "-p", "hi"]).code, Some(0));
    let served = Served::start(&place);
    let list = served.get("/sessions").json();
    let session = list["sessions"][0]["session"].as_str().unwrap().to_owned();
    assert_eq!(list["sessions"][0]["state"], "stored");
    let mut events = served.events(&session, 0);
    let first = events.until("turn_ended");
    assert!(format!("{first:?}").contains("From the terminal."));
    assert_eq!(served.get("/sessions").json()["sessions"][0]["state"], "stored", "reading opens nothing");
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "and now"}]}});
    assert_eq!(served.post(&format!("/sessions/{session}/commands"), &prompt).status, 200);
    let second = events.until("turn_ended");
    assert!(format!("{second:?}").contains("From the server."), "the same stream goes on: {second:?}");
}

#[test]
fn a_session_is_forked_rewound_undone_and_removed() {
    let server = server(Script::new([write("a.txt"), "Written.".into(), "Again.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    let question = served.questions(1)[0]["asked"]["approval"].as_str().unwrap().to_owned();
    assert_eq!(
        served.post(&format!("/approvals/{question}"), &json!({"outcome": "proceed_once"})).status,
        200
    );
    served.events(&session, 0).until("turn_ended");
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    let commands = format!("/sessions/{session}/commands");
    assert_eq!(served.post(&commands, &json!({"command": "undo"})).json()["reply"], "reverted");
    assert_eq!(place.read("a.txt"), None);
    let forked = served.post(&format!("/sessions/{session}/fork"), &json!({}));
    assert_eq!(forked.status, 201, "{}", forked.text());
    let fork = forked.json()["session"].as_str().unwrap().to_owned();
    assert_ne!(fork, session);
    assert_eq!(served.post(&commands, &json!({"command": "rewind", "to": 0})).json()["reply"], "reverted");
    let snapshot = served.get(&format!("/sessions/{session}/snapshot")).json();
    assert_eq!(snapshot["contents"], json!([]));
    let snapshot = served.get(&format!("/sessions/{fork}/snapshot")).json();
    assert_ne!(snapshot["contents"], json!([]), "the copy has everything");
    assert_eq!(served.delete(&format!("/sessions/{session}")).status, 204);
    assert_eq!(served.get(&format!("/sessions/{session}")).status, 404);
    assert_eq!(served.get("/sessions").json()["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_busy_session_is_steered_and_stopped_but_not_removed() {
    let server = server(Script::new([Reply::new().text("Hm").stall(), "Unused.".into()]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("think");
    let mut events = served.events(&session, 0);
    events.until("turn_started");
    let shown = events.next().unwrap();
    assert_eq!((shown.name.as_str(), &shown.data["content"]), ("turn", &json!("Hm")), "words come at once");
    assert_eq!(served.delete(&format!("/sessions/{session}")).json()["kind"], "busy");
    let commands = format!("/sessions/{session}/commands");
    let steer = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "faster"}]}});
    assert_eq!(served.post(&commands, &steer).json()["waits"], true);
    assert_eq!(served.post(&commands, &json!({"command": "cancel", "target": "mine"})).status, 200);
    let ended = events.until("turn_ended");
    assert_eq!(ended.last().unwrap().data["by"], "web");
}

#[test]
fn a_prompt_that_is_sent_again_with_its_key_acts_once() {
    let server = server(Script::new(["One.", "Two."]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("first");
    let mut events = served.events(&session, 0);
    events.until("turn_ended");
    let path = format!("/sessions/{session}/commands");
    let prompt =
        |text: &str| json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": text}]}});
    let key = [("idempotency-key", "k1")];
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| served.post_with(&path, &prompt("second"), &key).text())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    events.until("turn_ended");
    assert_eq!(server.requests().len(), 2, "the model was asked once for it");
    assert_eq!(served.post_with(&path, &prompt("another"), &key).json()["kind"], "key_reused");
    let begin = |path: &str, model: &str| {
        served.post_with(path, &json!({"model": model}), &[("idempotency-key", "k2")])
    };
    assert_eq!(begin("/sessions?n=1", "openai/gpt-test").status, 400, "there is no such parameter");
    let made = begin("/sessions", "openai/gpt-test").json()["session"].clone();
    assert!(made.is_string() && begin("/sessions", "openai/gpt-test").json()["session"] == made);
    assert_eq!(begin("/sessions", "openai/other").json()["kind"], "key_reused");
    // A request that is refused does not keep its key.
    let bearer = format!("Bearer {}", served.token);
    let delete = |seq: u64| {
        let path = format!("/api/v1/sessions/{session}?seq={seq}");
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k3")];
        served.request("DELETE", &path, &headers, b"").json()["kind"].clone()
    };
    assert_eq!([delete(1), delete(1), delete(2)], ["conflict"; 3]);
}

#[test]
fn asked_to_end_it_ends_its_streams_and_sessions_and_leaves_questions_for_the_next() {
    let server = server(Script::new([write("a.txt")]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("write it");
    served.questions(1);
    let mut events = served.events(&session, 0);
    events.until("call_asked");
    let address = served.address.clone();
    assert_eq!(served.end(), Some(0));
    assert!(events.next().is_none(), "the stream has ended");
    let served = Served::at(&place, &address);
    assert_eq!(served.questions(1)[0]["state"], "stored");
}

#[test]
fn a_prompt_that_says_nothing_or_has_what_no_prompt_has_begins_nothing() {
    let server = server(Script::new(["Hello."]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("hi");
    served.events(&session, 0).until("turn_ended");
    let words = json!([{"text": "hi"}]);
    let media = |kind: &str, data: &str| json!({"parts": [{"inlineData": {"mimeType": kind, "data": data}}]});
    for (content, status) in [
        (json!({"parts": [{"text": "hi", "cache": true}]}), 400),
        (json!({"parts": words, "delivery": "after_turn"}), 400),
        (json!({"parts": [{"functionResponse": {"name": "x", "response": {}}}]}), 400),
        (json!({"role": "model", "parts": words}), 400),
        (json!({"role": "tool", "parts": words}), 400),
        (json!({"role": "system", "parts": words}), 400),
        (json!({}), 422),
        (json!({"parts": []}), 422),
        (json!({"parts": [{"text": " \n"}]}), 422),
        (media("image/png\r\nx: y", "AAAA"), 422),
        (media("image/png", "no Base64"), 422),
    ] {
        let begun = served.post("/sessions", &json!({"prompt": content}));
        let command = json!({"command": "prompt", "content": content});
        let said = served.post(&format!("/sessions/{session}/commands"), &command);
        assert_eq!((begun.status, said.status), (status, status), "{content}: {}", said.text());
    }
    let sessions = served.get("/sessions").json()["sessions"].as_array().unwrap().len();
    assert_eq!((sessions, server.requests().len()), (1, 1));
}

/// A journal with this many answers of a megabyte, every four of them summarized.
fn very_long(journal: &str, answers: u64) -> String {
    let records: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| records.iter().find(|record| record["kind"] == kind).unwrap().clone();
    let (mut seq, mut text) = (1, format!("{}\n", records[0]));
    let mut add = |mut record: Value, turn: u64| {
        seq += 1;
        (record["seq"], record["turn"]) = (json!(seq), json!(turn));
        text.push_str(&format!("{record}\n"));
        seq
    };
    for turn in 1..=answers {
        let mut answer = of("model_content");
        answer["content"]["parts"] = json!([{"text": "x".repeat(1024 * 1024)}]);
        add(of("turn_started"), turn);
        let last = add(answer, turn);
        add(of("turn_ended"), turn);
        if turn % 4 == 0 {
            let summary = json!({
                "kind": "compressed", "at": records[0]["at"], "tokens": [1000, 10], "kept_from": last + 1,
                "summary": {"role": "user", "parts": [{"text": "all of it"}]},
                "acknowledgement": {"role": "model", "parts": [{"text": "I see."}]},
            });
            add(summary, turn);
        }
    }
    text
}

#[test]
fn a_very_long_session_is_read_counted_and_sent_without_taking_memory() {
    const ANSWERS: u64 = 120;
    let server = server(Script::new(["Hello."]));
    let place = place(&server);
    let served = Served::start(&place);
    let session = served.begin("hello");
    served.events(&session, 0).until("turn_ended");
    let address = served.kill();
    let path = place.home().join(format!("sessions/{session}.jsonl"));
    let journal = very_long(&std::fs::read_to_string(&path).unwrap(), ANSWERS);
    std::fs::write(&path, &journal).unwrap();
    let served = Served::at(&place, &address);
    let before = served.most_memory();
    assert_eq!(served.get("/sessions").json()["sessions"].as_array().unwrap().len(), 1);
    let usage = served.get("/usage").json();
    let one = &usage["sessions"][0]["spent"];
    assert!(one["inputTokens"].as_u64().unwrap() >= ANSWERS, "{usage}");
    let snapshot = served.get(&format!("/sessions/{session}/snapshot"));
    assert_eq!(snapshot.status, 200, "{}", snapshot.text());
    assert!(snapshot.body.len() < 100_000, "what was summarized is not told");
    let bundle = served.get(&format!("/sessions/{session}/bundle"));
    assert_eq!(bundle.status, 200);
    let told = bundle.json()["records"].as_array().unwrap().len();
    assert_eq!(told, journal.lines().count());
    let more = served.most_memory() - before;
    assert!(more < 48 * 1024, "{more} KiB more for a journal of {} MB", journal.len() / 1_000_000);
    assert_eq!(served.get(&format!("/sessions/{session}")).json()["state"], "stored", "it was let go of");
}

#[test]
fn a_long_session_is_told_whole_and_in_order_whether_it_runs_or_not() {
    let server = server(Script::new(["Hello."]));
    let place = place(&server);
    let mut served = Served::start(&place);
    let session = served.begin("hello");
    served.events(&session, 0).until("turn_ended");
    for number in 0..200 {
        let mode = if number % 2 == 0 { "plan" } else { "default" };
        let command = json!({"command": "set_mode", "mode": mode});
        assert_eq!(served.post(&format!("/sessions/{session}/commands"), &command).status, 200);
    }
    let read = served.get(&format!("/sessions/{session}/records")).json();
    let all: Vec<u64> = (1..=read["records"].as_array().unwrap().len() as u64).collect();
    assert!(all.len() > 200 && read["more"] == false, "{}", all.len());
    let told = |served: &Served| {
        let mut events = served.events(&session, 0);
        let records = std::iter::from_fn(|| events.next()).filter(|event| event.name == "record");
        records.take(all.len()).map(|event| event.id.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(told(&served), all);
    served.restart(&place);
    assert_eq!(told(&served), all);
    let after = served.get(&format!("/sessions/{session}/records?after=100")).json();
    assert_eq!(after["records"][0]["seq"], 101);
}
