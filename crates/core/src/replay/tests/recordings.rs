//! Journals that were written once and are read ever since.

use charla_proto::{CancelTarget, Content, Delivery};
use serde_json::{Map, json};

use super::*;

/// A session with a bit of everything: questions and their answers, steering, a process that died, a cancel.
async fn session() -> Vec<Record> {
    let replies = vec![
        Answer::Calls(vec![("read", 1), ("write", 2), ("write", 2), ("write", 7), ("write", 99)]),
        Answer::Calls(vec![("nonsense", 1), ("question", 4)]),
        Answer::Text("first answer"),
        Answer::Calls(vec![("write", 3), ("write", 4), ("read", 1)]),
        Answer::Calls(vec![("serve", 5)]),
        Answer::Text("second answer"),
        Answer::Hangs,
    ];
    let mut run = Run::new(replies, true);
    run.prompt("go").await;
    let asked = [run.asked().await, run.asked().await];
    let hurry = Command::Prompt { content: Content::user("hurry"), delivery: Delivery::Join };
    run.session.send(hurry, "anna").await;
    run.send(Command::SetModel { model: "fake/other".to_owned() }).await;
    run.session.answer(&asked[0], Outcome::ProceedAlwaysAndSave, "bob").await.unwrap();
    let asked = run.asked().await;
    let answers = Outcome::Answers { answers: vec!["blue".to_owned()] };
    run.session.answer(&asked, answers, "anna").await.unwrap();
    assert_eq!(run.end().await, TurnEnd::Finished);
    run.prompt("again").await;
    let asked = [run.asked().await, run.asked().await];
    let waiting = Run::resume(run.world.clone(), true);
    let args = Map::from_iter([("n".to_owned(), json!(6))]);
    waiting.session.answer(&asked[1], Outcome::Modify { args }, "anna").await.unwrap();
    let no = Outcome::Cancel { reason: Some("not this one".to_owned()) };
    waiting.session.answer(&asked[0], no, "bob").await.unwrap();
    let mut run = Run::resume(run.world.clone(), false);
    run.send(Command::Continue).await;
    assert_eq!(run.end().await, TurnEnd::Finished);
    run.prompt("once more").await;
    run.until(|fact| matches!(fact, Fact::TurnStarted(_))).await;
    run.session.send(Command::Cancel { target: CancelTarget::Turn }, "anna").await;
    assert!(run.end().await.is_cancelled());
    run.world.journal.lock().unwrap().clone()
}

fn write(records: &[Record]) -> String {
    records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect()
}

/// Whoever changes what a session records sees here what becomes of the sessions that people have. If it has to be,
/// put what this test made in the place of the file.
#[tokio::test(start_paused = true)]
async fn a_session_is_recorded_as_ever_and_what_was_recorded_replays() {
    let recorded = include_str!("session.jsonl");
    let made = write(&session().await);
    assert!(made == recorded, "other records than ever:\n{made}");
    let replayed = replay(&read(recorded)).await;
    assert_eq!(replayed, Replayed { turns: 3, requests: 7, difference: None });
}

/// The same session by an engine that went by the ids of servers.
#[tokio::test(start_paused = true)]
async fn a_journal_with_the_ids_of_servers_replays() {
    let replayed = replay(&read(include_str!("server_ids.jsonl"))).await;
    assert_eq!(replayed, Replayed { turns: 3, requests: 7, difference: None });
}

fn read(journal: &str) -> Vec<Record> {
    journal.lines().map(|line| Record::from_json(line).unwrap()).collect()
}

/// Four turns: one with calls of every kind, one whose process died, one after it, one refused and cancelled.
#[tokio::test(start_paused = true)]
async fn a_journal_of_version_1_replays() {
    let records = read(include_str!("version_1.jsonl"));
    let replayed = replay(&records[..38]).await;
    assert_eq!(replayed, Replayed { turns: 4, requests: 7, difference: None });
}

#[tokio::test(start_paused = true)]
async fn what_an_older_engine_did_otherwise_is_told_with_its_version() {
    // In its last turn a question is open when somebody cancels. No answer was recorded for it then.
    let difference = replay(&read(include_str!("version_1.jsonl"))).await.difference.unwrap();
    assert_eq!((difference.turn, difference.step), (5, 1));
    assert_eq!(
        difference.what,
        "`call_ended` is recorded, `approval_answered` happened; the journal is of version 1, which another engine wrote"
    );
}
