//! The examples, run against the scripted server. Their `main`s, which read the process, are compiled.

use charla::Environment;
use charla_testkit::{Reply, Script, Server};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{User, server};

#[expect(dead_code, reason = "its `main` reads the process")]
#[path = "../../examples/chat_service.rs"]
mod chat_service;
#[expect(dead_code, reason = "its `main` reads the process")]
#[path = "../../examples/own_model.rs"]
mod own_model;
#[expect(dead_code, reason = "its `main` reads the process")]
#[path = "../../examples/own_store.rs"]
pub(crate) mod own_store;
#[expect(dead_code, reason = "its `main` reads the process")]
#[path = "../../examples/own_tool.rs"]
mod own_tool;
#[expect(dead_code, reason = "its `main` reads the process")]
#[path = "../../examples/two_policies.rs"]
mod two_policies;

const SETTINGS: &str = r#"{"model": {"name": "openai/m"}}"#;

#[tokio::test]
async fn a_program_brings_its_own_tool_and_decides_about_its_calls() {
    let calls = Reply::new()
        .call("count_stock", json!({"item": "lamps"}))
        .call("count_stock", json!({"item": ["lamps"]}))
        .call("write_file", json!({"file_path": "a.txt", "content": "x"}));
    let server = server([calls, "There are 17.".into()]);
    let user = User::new(&server, SETTINGS);
    let answer = own_tool::ask(user.environment.clone(), "How many lamps?").await.unwrap();
    assert_eq!(answer, "There are 17.");
    let told = server.requests()[1].body.to_string();
    assert!(told.contains("\"17\"") && told.contains("write_file is not allowed here"), "{told}");
    assert!(told.contains("Invalid arguments for count_stock: `/item` must be of type string"), "{told}");
    assert_eq!(user.file("a.txt"), None);
}

#[tokio::test]
async fn agents_with_different_policies_do_what_each_may() {
    // The server calls what it is told to call, and then says what came of it.
    let server = Server::start(Script::echo()).unwrap();
    let user = User::new(&server, SETTINGS);
    let prompt = r#"call write_file {"file_path": "a.txt", "content": "Hello."}"#;
    let (reader, editor) = two_policies::ask_both(user.environment.clone(), prompt).await.unwrap();
    assert!(reader.contains("in plan mode nothing is written or run"), "{reader}");
    assert!(editor.contains("Created"), "{editor}");
    assert_eq!(user.file("a.txt").as_deref(), Some("Hello."));
}

#[tokio::test]
async fn a_model_of_ones_own_answers_in_a_session_that_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut environment = Environment::default();
    environment.home = Some(folder.path().to_owned());
    environment.directory = folder.path().join("work");
    std::fs::create_dir(&environment.directory).unwrap();
    environment.temporary = folder.path().to_owned();
    let answer = own_model::ask(environment.clone(), "Is anybody there?").await.unwrap();
    assert_eq!(answer, "IS ANYBODY THERE?");
    let kept = charla::Charla::new(environment).sessions().unwrap().list().await.unwrap().sessions;
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].model, "house/megaphone");
}

#[tokio::test]
async fn a_store_of_ones_own_keeps_what_was_said_and_nothing_is_on_the_disk() {
    let server = server(["Hello.", "Bonjour."]);
    let user = User::new(&server, SETTINGS);
    let store = own_store::MemoryStore::default();
    let prompts = ["Say hello.".to_owned(), "And now in French.".to_owned()];
    let answers = own_store::talk(user.environment.clone(), &store, &prompts).await.unwrap();
    assert_eq!(answers, ["Hello.", "Bonjour."]);
    assert!(server.requests()[1].body.to_string().contains("Say hello."), "it is one conversation");
    assert!(!user.folder.path().join("home/.charla/sessions").exists());
}

/// What the service answers, head and body.
async fn post(address: std::net::SocketAddr, path: &str, prompt: &str) -> String {
    let mut connection = TcpStream::connect(address).await.unwrap();
    let length = prompt.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{prompt}"
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_chat_service_streams_events_and_goes_on_with_a_session() {
    let server = server(["Hello.", "Again."]);
    let user = User::new(&server, SETTINGS);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = chat_service::service(user.environment.clone());
    let serving = tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    let first = post(address, "/chat/new", "hi").await;
    assert!(first.contains("\"content\":\"Hello.\"") && first.contains("\"type\":\"finished\""), "{first}");
    let session = first.lines().find_map(|line| line.strip_prefix("x-session: ")).unwrap();
    let second = post(address, &format!("/chat/{session}"), "and again").await;
    assert!(second.contains("Again."), "{second}");
    assert!(server.requests()[1].body.to_string().contains("and again"));
    let unknown = post(address, "/chat/nobody", "hi").await;
    assert!(unknown.starts_with("HTTP/1.1 400 "), "{unknown}");
    serving.abort();
}
