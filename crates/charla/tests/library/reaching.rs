//! Sessions reached from elsewhere while this process runs them, in files and in a store of another kind.

use std::sync::Arc;

use charla::session::{Direction, RevertError, RevertRequest, SessionError};
use charla::{Begin, Charla, Notice, OpenRequest, OpenedSession, RunOptions};
use charla_core::session::{Clients, Follower};
use charla_proto::{Command, Fact, Outcome, Refusal, Reply, Request, SessionEvent, SessionStore, TurnEvent};
use charla_testkit::Reply as Answer;
use serde_json::json;

use crate::examples::own_store::MemoryStore;
use crate::{User, say, server, write};

fn shell() -> Answer {
    Answer::new().call("run_shell_command", json!({"command": "touch a"}))
}

/// A session with a question open, and the question's id.
async fn asking(charla: &Charla) -> (OpenedSession, Follower, String) {
    let clients = Clients::expected();
    let request = OpenRequest { clients, ..OpenRequest::default() };
    let session = charla.open(request, &mut Vec::<Notice>::new()).await.unwrap();
    let mut events = Follower::new(session.handle.subscribe());
    session.prompt("go", "test").await.unwrap();
    loop {
        if let TurnEvent::ToolCallConfirmation { approval, .. } = events.next().await.unwrap() {
            return (session, events, approval);
        }
    }
}

async fn end(mut events: Follower) -> TurnEvent {
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    last.unwrap()
}

#[tokio::test]
async fn a_store_of_another_kind_keeps_and_reaches_sessions() {
    let server = server([shell(), "Done.".into(), "Again.".into(), "Otherwise.".into()]);
    let user = User::new(&server, r#"{"model": {"name": "openai/m"}}"#);
    let store = MemoryStore::default();
    let charla = user.charla().with_store(Arc::new(store.clone()));
    let notices = &mut Vec::<Notice>::new();
    let (session, events, approval) = asking(&charla).await;
    let id = session.id.clone();
    let answered = charla.answer(&approval, Outcome::ProceedOnce, "phone", notices).await.unwrap();
    assert!(answered.runs && answered.session == id);
    assert!(matches!(end(events).await, TurnEvent::Finished { .. }));
    assert!(user.file("a").is_some());
    session.close().await;

    let resume = OpenRequest { begin: Begin::Resume("latest".to_owned()), ..OpenRequest::default() };
    let resumed = charla.open(resume, notices).await.unwrap();
    assert_eq!((resumed.id.as_str(), say(&resumed, "more").await.as_str()), (id.as_str(), "Again."));
    resumed.close().await;
    let fork = Begin::Fork { session: id.clone(), at: None };
    let forked = charla.open(OpenRequest { begin: fork, ..OpenRequest::default() }, notices).await.unwrap();
    assert_eq!(say(&forked, "else").await, "Otherwise.");
    let kept = store.records(&forked.id);
    assert!(matches!(&kept[0].fact, Fact::SessionStarted(it) if it.parent.as_ref().unwrap().0 == id));
    forked.close().await;

    let sessions = charla.sessions().unwrap();
    assert_eq!(sessions.list().await.unwrap().sessions.len(), 2);
    sessions.delete(&id).await.unwrap();
    assert!(matches!(sessions.read(&id).await, Err(SessionError::Unknown(_))));
    assert!(!user.environment.home.as_ref().unwrap().join(".charla/sessions").exists(), "no file is written");
}

#[tokio::test]
async fn only_one_of_many_answers_wins_and_the_others_are_told_whose() {
    let server = server([shell(), "Done.".into()]);
    let user = User::new(&server, r#"{"model": {"name": "openai/m"}}"#);
    let charla = user.charla();
    let (session, events, approval) = asking(&charla).await;
    let answer = async |by: &str, outcome: Outcome| {
        let answered = charla.answer(&approval, outcome, by, &mut Vec::<Notice>::new()).await;
        answered.map(|answered| answered.runs).map_err(|failure| failure.message)
    };
    let no = || Outcome::Cancel { reason: Some("no".to_owned()) };
    let here = session.handle.answer(&approval, Outcome::ProceedOnce, "here");
    let (a, b, here) = tokio::join!(answer("anna", no()), answer("bob", Outcome::ProceedOnce), here);
    let wins = [a == Ok(true), b == Ok(true), here.is_ok()];
    assert_eq!(wins.iter().filter(|won| **won).count(), 1, "{a:?} {b:?} {here:?}");
    let winner = ["anna", "bob", "here"][wins.iter().position(|won| *won).unwrap()];
    for late in [a, b].into_iter().filter_map(Result::err) {
        assert!(late.starts_with(&format!("{winner} has answered already")), "{late}");
    }
    assert!(matches!(end(events).await, TurnEvent::Finished { .. }));
    session.close().await;
}

#[tokio::test]
async fn bad_bytes_are_refused_and_harm_nobody() {
    let server = server([shell(), "Done.".into()]);
    let user = User::new(&server, r#"{"model": {"name": "openai/m"}}"#);
    let store = Arc::new(MemoryStore::default());
    let charla = user.charla().with_store(store.clone());
    let (session, events, approval) = asking(&charla).await;
    let deep = "[".repeat(100_000);
    for bytes in
        [&b""[..], b"\xff\xfe", b"null", b"{}", br#"{"by":"x","command":"explode"}"#, deep.as_bytes()]
    {
        let reply = store.post(&session.id, bytes).await.unwrap();
        let reply: Reply = serde_json::from_slice(&reply).unwrap();
        assert!(matches!(reply, Reply::Refused(Refusal::Failed { .. })), "{reply:?}");
    }
    let compress = Request { by: "x".to_owned(), command: Command::Compress };
    let reply = store.post(&session.id, &serde_json::to_vec(&compress).unwrap()).await.unwrap();
    let reply: Reply = serde_json::from_slice(&reply).unwrap();
    assert_eq!(reply, Reply::Refused(Refusal::Busy), "nobody waits for the end of somebody else's turn");
    charla.answer(&approval, Outcome::ProceedOnce, "x", &mut Vec::<Notice>::new()).await.unwrap();
    assert!(matches!(end(events).await, TurnEvent::Finished { .. }));
    session.close().await;
}

#[tokio::test]
async fn changes_are_taken_back_through_an_owner_that_somebody_attends() {
    let server = server([write("a.txt"), "Written.".into()]);
    let user = User::new(&server, r#"{"model": {"name": "openai/m"}}"#);
    let options = RunOptions { allowed_tools: vec!["write_file".to_owned()], ..RunOptions::default() };
    let request = OpenRequest { options, ..OpenRequest::default() };
    let notices = &mut Vec::<Notice>::new();
    let session = user.charla().open(request, notices).await.unwrap();
    say(&session, "write").await;
    let undo = RevertRequest {
        direction: Direction::Undo,
        session: session.id.clone(),
        turn: None,
        only: Vec::new(),
        dry_run: false,
    };
    let alone = user.charla().revert(&undo, notices).await.unwrap_err();
    assert!(matches!(alone, RevertError::Session(SessionError::InUse(_))), "{alone}");
    let mut events = session.handle.subscribe();
    let _client = session.attach();
    // It listens as soon as it hears of the client.
    let reverted = loop {
        match user.charla().revert(&undo, notices).await {
            Err(RevertError::Session(SessionError::InUse(_))) => tokio::task::yield_now().await,
            done => break done.unwrap(),
        }
    };
    assert_eq!((reverted.turn, user.file("a.txt")), (1, None));
    let told = events.recv().await.unwrap();
    let SessionEvent::Record(record) = told else { panic!("{told:?}") };
    assert!(matches!(&record.fact, Fact::ChangesUndone(done) if done.by.as_deref() == Some("user")));
    session.close().await;
}
