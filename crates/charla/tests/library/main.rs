//! The library as a front end uses it: no process, no terminal, nothing global.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

mod examples;
mod public_items;
mod reaching;

use charla::session::{Deed, Direction, RevertError, RevertRequest};
use charla::{Begin, Charla, Environment, FailureKind, Hint, Notice, OpenRequest, OpenedSession, RunOptions};
use charla_core::CancellationToken;
use charla_core::session::Follower;
use charla_proto::{TurnEvent, WireKind};
use charla_testkit::{Reply, Script, Server};
use serde_json::json;

/// A user with a home and a workspace, whose every model is this server's.
struct User {
    folder: tempfile::TempDir,
    environment: Environment,
}

impl User {
    fn new(server: &Server, settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let openai = server.base_url(WireKind::OpenaiChat);
        let mut environment = Environment::of([("OPENAI_API_KEY", "key-1"), ("OPENAI_BASE_URL", &openai)]);
        environment.home = Some(folder.path().join("home"));
        environment.directory = folder.path().join("work");
        environment.temporary = folder.path().to_owned();
        for name in ["home/.charla", "work"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("home/.charla/settings.json"), settings).unwrap();
        Self { folder, environment }
    }

    fn charla(&self) -> Charla {
        Charla::new(self.environment.clone())
    }

    fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join("work").join(name)).ok()
    }
}

fn server<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Server {
    Server::start(Script::new(replies)).unwrap()
}

fn write(name: &str) -> Reply {
    Reply::new().call("write_file", json!({"file_path": name, "content": "Hello.\n"}))
}

/// Says something and waits for the answer, with nobody there to ask.
async fn say(session: &OpenedSession, prompt: &str) -> String {
    let events = Follower::new(session.handle.subscribe());
    let id = session.prompt(prompt, "test").await.unwrap();
    let mut events = events.of_prompt(id);
    let mut answer = String::new();
    while let Some(event) = events.next().await {
        match event {
            TurnEvent::Content { content, .. } => answer.push_str(&content),
            TurnEvent::StepEnded { .. } => answer.clear(),
            TurnEvent::Finished { .. } => break,
            other => assert!(!matches!(other, TurnEvent::Error { .. }), "{other:?}"),
        }
    }
    answer
}

#[tokio::test]
async fn two_users_with_different_models_and_rules_live_in_one_process() {
    let servers = [
        server([write("a.txt"), "Written.".into()]),
        server([write("b.txt"), Reply::new().text("Not allowed.")]),
    ];
    let free = r#"{"model": {"name": "openai/one"}, "tools": {"approvalMode": "auto_edit"}}"#;
    let bound = r#"{"model": {"name": "openai/two"}}"#;
    let users = [User::new(&servers[0], free), User::new(&servers[1], bound)];
    let mut notices: Vec<Notice> = Vec::new();
    let first = users[0].charla().open(OpenRequest::default(), &mut notices).await.unwrap();
    let second = users[1].charla().open(OpenRequest::default(), &mut notices).await.unwrap();
    assert_eq!((first.model.as_str(), second.model.as_str()), ("openai/one", "openai/two"));
    let answers = tokio::join!(say(&first, "write a"), say(&second, "write b"));
    assert_eq!((answers.0.as_str(), answers.1.as_str()), ("Written.", "Not allowed."));
    assert_eq!(users[0].file("a.txt").as_deref(), Some("Hello.\n"));
    assert_eq!(users[1].file("b.txt"), None, "nobody was there to ask");
    for (user, session) in users.iter().zip([first, second]) {
        let listed = user.charla().sessions().unwrap().list().await.unwrap().sessions;
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].session, session.id);
        session.close().await;
    }
}

#[tokio::test]
async fn a_sessions_changes_are_taken_back_as_data() {
    let server = server([write("a.txt"), "Written.".into()]);
    let user = User::new(&server, r#"{"model": {"name": "openai/m"}}"#);
    let options = RunOptions { allowed_tools: vec!["write_file".to_owned()], ..RunOptions::default() };
    let request = OpenRequest { options, ..OpenRequest::default() };
    let mut notices: Vec<Notice> = Vec::new();
    let session = user.charla().open(request, &mut notices).await.unwrap();
    say(&session, "write").await;
    let id = session.id.clone();

    let mut undo = RevertRequest {
        direction: Direction::Undo,
        session: "latest".to_owned(),
        turn: None,
        only: Vec::new(),
        dry_run: true,
    };
    let reverted = user.charla().revert(&undo, &mut notices).await.unwrap();
    assert_eq!((reverted.session, reverted.turn, user.file("a.txt").is_some()), (id.clone(), 1, true));
    undo.dry_run = false;
    let failed = user.charla().revert(&undo, &mut notices).await.unwrap_err();
    assert!(matches!(failed, RevertError::Session(charla::session::SessionError::InUse(_))), "{failed}");
    session.close().await;
    user.charla().revert(&undo, &mut notices).await.unwrap();
    assert_eq!(user.file("a.txt"), None);
    let redo = RevertRequest { direction: Direction::Redo, ..undo };
    let redone = user.charla().revert(&redo, &mut notices).await.unwrap();
    assert!(matches!(redone.files.as_slice(), [(_, Deed::BroughtBack)]), "{:?}", redone.files);
    assert_eq!(user.file("a.txt").as_deref(), Some("Hello.\n"));
}

#[tokio::test]
async fn what_cannot_be_opened_says_why_and_what_to_do() {
    let server = server(["unused"]);
    let user = User::new(&server, "{}");
    let mut notices: Vec<Notice> = Vec::new();
    let request = OpenRequest { begin: Begin::Resume("latest".to_owned()), ..OpenRequest::default() };
    let failure = user.charla().open(request, &mut notices).await.err().unwrap();
    assert_eq!((failure.kind, failure.hint), (FailureKind::Input, Some(Hint::ListSessions)));

    let cancel = CancellationToken::new();
    cancel.cancel();
    let request = OpenRequest { cancel, ..OpenRequest::default() };
    let failure = user.charla().open(request, &mut notices).await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::Cancelled);
}
