//! Reaching a session's owner, in this process and in another.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use charla_proto::{Inbox, MAX_POST, Owned, PostError};
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use super::*;

/// Names the folder for [`the_other_process`].
const FOLDER: &str = "CHARLA_STORE_TEST_FOLDER";

async fn create(store: &Store) -> Owned {
    SessionStore::create(store, &[first("a")]).await.unwrap()
}

/// Answers every command with `{"got": command}`.
async fn echo(mut inbox: Inbox) {
    while let Some(posted) = inbox.next().await {
        let answer = [b"{\n\"got\":", &posted.command[..], b"}"].concat();
        posted.reply(answer);
    }
}

/// The only socket there is.
fn socket(store: &Store) -> PathBuf {
    let mut found = fs::read_dir(store.folder.join("run")).unwrap().map(|entry| entry.unwrap().path());
    let socket = found.next().unwrap();
    assert_eq!(found.next(), None);
    socket
}

async fn post(store: &Store, command: &str) -> Result<String, PostError> {
    let reply = SessionStore::post(store, "a", command.as_bytes()).await?;
    Ok(String::from_utf8(reply).unwrap())
}

#[tokio::test]
async fn a_command_gets_its_own_reply() {
    let (_folder, store) = store();
    let owned = create(&store).await;
    let echoing = tokio::spawn(echo(owned.listen().await.unwrap()));
    assert_eq!(post(&store, "{\"a\":\n\r1}").await.unwrap(), "{ \"got\":{\"a\":  1}}");
    let posts = (0..200).map(|n| {
        let store = store.clone();
        tokio::spawn(async move { (n, post(&store, &n.to_string()).await) })
    });
    for posted in posts.collect::<Vec<_>>() {
        let (n, reply) = posted.await.unwrap();
        assert_eq!(reply.unwrap(), format!("{{ \"got\":{n}}}"));
    }
    let long = format!("\"{}\"", "x".repeat(MAX_POST - 20));
    assert_eq!(post(&store, &long).await.unwrap(), format!("{{ \"got\":{long}}}"));
    echoing.abort();
}

#[tokio::test]
async fn without_an_owner_or_without_its_ear_nothing_is_delivered() {
    let (_folder, store) = store();
    assert_eq!(post(&store, "1").await, Err(PostError::NotOwned));
    let owned = create(&store).await;
    assert!(!store.folder.join("run").exists(), "nothing is made before somebody listens");
    assert!(matches!(post(&store, "1").await, Err(PostError::Unreachable(_))));
    drop(owned.listen().await.unwrap());
    assert_eq!(fs::read_dir(store.folder.join("run")).unwrap().count(), 0);
    assert!(matches!(post(&store, "1").await, Err(PostError::Unreachable(_))));
    drop(owned);
    assert_eq!(post(&store, "1").await, Err(PostError::NotOwned));
}

#[tokio::test]
async fn a_command_that_nobody_answers_may_have_been_heard() {
    let (_folder, store) = store();
    let owned = create(&store).await;
    let mut inbox = owned.listen().await.unwrap();
    let (reply, posted) = tokio::join!(post(&store, "1"), async { drop(inbox.next().await) });
    assert!(matches!((reply, posted), (Err(PostError::NoReply(_)), ())));
    let too_long = async { inbox.next().await.unwrap().reply(vec![b'1'; MAX_POST + 1]) };
    let (reply, ()) = tokio::join!(post(&store, "1"), too_long);
    assert!(matches!(reply, Err(PostError::NoReply(_))));
    let huge = "1".repeat(MAX_POST + 1);
    assert_eq!(post(&store, &huge).await, Err(PostError::TooLarge(MAX_POST + 1)));
}

#[tokio::test]
async fn whoever_sends_nonsense_is_hung_up_on_and_bothers_nobody() {
    let (_folder, store) = store();
    let owned = create(&store).await;
    let mut inbox = owned.listen().await.unwrap();
    let socket = socket(&store);
    let key = fs::read(store.folder.join("mail.key")).unwrap();
    assert_eq!(key.len(), 64);
    let without_key = [&[b'0'; 64], &b"1\n"[..]].concat();
    for nonsense in
        [vec![], b"no end".to_vec(), b"1\n".to_vec(), without_key, vec![0; 3], vec![b'{'; 2 * MAX_POST]]
    {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        // It may hang up before all is sent.
        let _ = stream.write_all(&nonsense).await;
        let _ = stream.shutdown().await;
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply).await;
        assert_eq!(reply, b"");
    }
    // What has an end arrives, whatever it is: to understand it is the owner's part.
    let mut stream = UnixStream::connect(&socket).await.unwrap();
    stream.write_all(&[&key[..], b"\xff\0{\nand more"].concat()).await.unwrap();
    assert_eq!(inbox.next().await.unwrap().command, b"\xff\0{");
    let echoing = tokio::spawn(echo(inbox));
    assert_eq!(post(&store, "1").await.unwrap(), "{ \"got\":1}");
    echoing.abort();
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_holds_nobody_up_for_ever() {
    let (_folder, store) = store();
    let owned = create(&store).await;
    let inbox = owned.listen().await.unwrap();
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(UnixStream::connect(socket(&store)).await.unwrap());
    }
    for stream in &mut silent {
        assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
    }
    drop(inbox);
    // And the other way round: something is there and never answers.
    let path = store.folder.join("run").join(socket_name());
    let deaf = UnixListener::bind(path).unwrap();
    assert!(matches!(post(&store, "1").await, Err(PostError::NoReply(_))));
    assert!(matches!(post(&store, &"1".repeat(MAX_POST)).await, Err(PostError::Unreachable(_))));
    drop(deaf);
}

fn socket_name() -> String {
    charla_proto::content_hash(b"a").chars().take(16).collect()
}

#[tokio::test]
async fn only_our_user_can_reach_the_socket() {
    let (_folder, store) = store();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let owned = create(&store).await;
    let run = store.folder.join("run");
    fs::create_dir(&run).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o777)).unwrap();
    let inbox = owned.listen().await.unwrap();
    assert_eq!((mode(&run), mode(&socket(&store))), (0o700, 0o600));
    drop(inbox);
    // A folder that leads elsewhere is not used.
    fs::remove_dir(&run).unwrap();
    std::os::unix::fs::symlink(std::env::temp_dir(), &run).unwrap();
    assert!(owned.listen().await.is_err());
}

#[tokio::test]
async fn a_path_that_is_too_long_for_a_socket_is_no_hindrance() {
    let (folder, _) = store();
    let store = Store::new(folder.path().join("x".repeat(120)).join("y".repeat(120)), Sync::Process);
    let owned = create(&store).await;
    let listening = owned.listen().await;
    if !cfg!(target_os = "linux") {
        assert!(listening.is_err());
        return;
    }
    let echoing = tokio::spawn(echo(listening.unwrap()));
    assert_eq!(post(&store, "1").await.unwrap(), "{ \"got\":1}");
    echoing.abort();
}

#[tokio::test]
async fn whoever_takes_over_also_takes_the_commands() {
    let (_folder, store) = store();
    let stuck = create(&store).await;
    let old = stuck.listen().await.unwrap();
    let owned = SessionStore::take_over(&store, "a").await.unwrap();
    let echoing = tokio::spawn(echo(owned.listen().await.unwrap()));
    drop(old);
    assert_eq!(post(&store, "1").await.unwrap(), "{ \"got\":1}");
    echoing.abort();
}

/// Owns the session `a` in a process of its own, until it is killed.
fn other_process(store: &Store) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["tests::mail::the_other_process", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, &store.folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("listening")));
    child
}

#[tokio::test]
#[ignore = "run by the tests that need a second process"]
async fn the_other_process() {
    let store = Store::new(std::env::var_os(FOLDER).unwrap(), Sync::Process);
    let owned = match SessionStore::own(&store, "a").await {
        Ok(owned) => owned,
        Err(JournalError::Missing(_)) => create(&store).await,
        Err(error) => panic!("{error}"),
    };
    let inbox = owned.listen().await.unwrap();
    std::io::stdout().write_all(b"\nlistening\n").unwrap();
    echo(inbox).await;
}

#[tokio::test]
async fn an_owner_in_another_process_is_reached_until_it_is_killed_and_then_succeeded() {
    let (_folder, store) = store();
    for n in 0..3 {
        let mut child = other_process(&store);
        assert_eq!(post(&store, &n.to_string()).await.unwrap(), format!("{{ \"got\":{n}}}"));
        assert!(matches!(SessionStore::own(&store, "a").await, Err(JournalError::Locked(_))));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(socket(&store).exists(), "nobody cleans up after a kill");
        assert_eq!(post(&store, "1").await, Err(PostError::NotOwned));
    }
    let owned = SessionStore::own(&store, "a").await.unwrap();
    let echoing = tokio::spawn(echo(owned.listen().await.unwrap()));
    assert_eq!(post(&store, "1").await.unwrap(), "{ \"got\":1}");
    echoing.abort();
}

#[tokio::test]
async fn an_owner_in_another_process_is_replaced_while_it_lives() {
    let (_folder, store) = store();
    let mut child = other_process(&store);
    let mut owned = SessionStore::take_over(&store, "a").await.unwrap();
    owned.journal.append(&[prompt(2, "hello")]).await.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(SessionStore::own(&store, "a").await, Err(JournalError::Locked(_))));
    assert_eq!(read_after(&store, "a", 0).await.unwrap().len(), 2);
}
