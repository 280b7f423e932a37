//! What only a database has: nodes with leases, tables that several make at once, a server that is started anew.

use std::time::Duration;

use charla_testkit::Postgres;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use super::*;
use crate::{Database, DatabaseOptions, DatabaseStore, Schema};

/// Short, so that tests are; long enough for a busy machine.
const LEASE: Duration = Duration::from_secs(2);

pub(super) async fn connect(postgres: &Postgres) -> Database {
    let options = DatabaseOptions { address: postgres.address(), lease: LEASE, schemas: Vec::new() };
    Database::connect(options).await.unwrap()
}

/// The way to a database that can be cut, for a time.
struct Way {
    open: watch::Sender<bool>,
    folder: tempfile::TempDir,
}

impl Way {
    const SOCKET: &str = ".s.PGSQL.5432";

    fn to(postgres: &Postgres) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(Self::SOCKET)).unwrap();
        let (open, is_open) = watch::channel(true);
        let server = postgres.folder().join(Self::SOCKET);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(Self::pass(near, server.clone(), is_open.clone()));
            }
        });
        Self { open, folder }
    }

    /// Passes everything on while the way is open.
    async fn pass(mut near: UnixStream, server: PathBuf, mut is_open: watch::Receiver<bool>) {
        if !*is_open.borrow() {
            return;
        }
        let mut far = UnixStream::connect(server).await.unwrap();
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
            _ = is_open.wait_for(|open| !open) => {}
        }
    }

    fn set(&self, open: bool) {
        self.open.send_replace(open);
    }

    fn address(&self) -> String {
        format!("host={} user=charla dbname=postgres", self.folder.path().display())
    }
}

struct Node {
    way: Way,
    database: Database,
    store: DatabaseStore,
    folder: tempfile::TempDir,
}

async fn node(postgres: &Postgres) -> Node {
    let way = Way::to(postgres);
    let options = DatabaseOptions { address: way.address(), lease: LEASE, schemas: Vec::new() };
    let database = Database::connect(options).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = database.sessions("u", folder.path());
    Node { way, database, store, folder }
}

/// Looks until it is so.
async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), looking).await.unwrap()
}

#[tokio::test]
async fn nodes_that_start_at_once_make_the_tables_once() {
    const MORE: Schema = Schema {
        name: "more",
        steps: &["create table charla.more (a int)", "insert into charla.more values (1); select 1"],
    };
    let postgres = Postgres::start().unwrap();
    let options = || DatabaseOptions { address: postgres.address(), lease: LEASE, schemas: vec![MORE] };
    let nodes = futures_util::future::join_all((0..8).map(|_| Database::connect(options()))).await;
    let nodes: Vec<Database> = nodes.into_iter().map(Result::unwrap).collect();
    let rows = nodes[0].query(crate::Patience::Brief, "select a from charla.more", Vec::new()).await;
    assert_eq!(rows.unwrap().len(), 1);
    // An older version leaves what a newer one has made.
    let older = Schema { name: "more", steps: &MORE.steps[..1] };
    let refused = Database::connect(DatabaseOptions { schemas: vec![older], ..options() }).await;
    assert!(refused.unwrap_err().to_string().contains("newer version"));
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told_without_its_password() {
    let address = "postgres://charla:hunter2@127.0.0.1:1/charla".to_owned();
    let options = DatabaseOptions { address, lease: LEASE, schemas: Vec::new() };
    let error = Database::connect(options.clone()).await.unwrap_err();
    assert!(
        matches!(error, crate::DatabaseError::Away(_)) && !error.to_string().contains("hunter2"),
        "{error}"
    );
    let nonsense = DatabaseOptions { address: "postgres://x:hunter2@[".to_owned(), ..options };
    let error = Database::connect(nonsense).await.unwrap_err();
    assert!(
        matches!(error, crate::DatabaseError::Refused(_)) && !error.to_string().contains("hunter2"),
        "{error}"
    );
}

#[tokio::test]
async fn a_session_of_a_node_that_is_silent_goes_to_another_and_the_first_writes_nothing_more() {
    let postgres = Postgres::start().unwrap();
    let (a, b) = (node(&postgres).await, node(&postgres).await);
    let mut lost = a.store.create(&[first("s"), prompt(2, "one")]).await.unwrap();
    assert!(matches!(SessionStore::own(&b.store, "s").await, Err(JournalError::Locked(_))));
    assert_eq!(b.store.abandoned().await.unwrap(), [""; 0]);
    a.way.set(false);
    let late = tokio::spawn(async move {
        let late = lost.journal.append(&[prompt(3, "late")]).await;
        (lost, late)
    });
    assert_eq!(until(async || b.store.abandoned().await.unwrap().pop()).await, "s");
    let mut taken = SessionStore::own(&b.store, "s").await.unwrap();
    assert_eq!((taken.conversation.seq, taken.token), (2, 2));
    assert!(!late.is_finished() && !a.database.is_up());
    a.way.set(true);
    let (lost, late) = late.await.unwrap();
    assert!(matches!(late, Err(JournalError::NotOwner { token: 1, .. })));
    taken.journal.append(&[prompt(3, "in time")]).await.unwrap();
    // Letting go of what is no longer its own changes nothing.
    drop(lost);
    assert!(b.store.is_owned("s").await);
    let read: Vec<Record> = b.store.read_after("s", 2).try_collect().await.unwrap();
    assert_eq!(read, [prompt(3, "in time")]);
}

#[tokio::test]
async fn what_a_node_leaves_can_be_owned_at_once() {
    let postgres = Postgres::start().unwrap();
    let (a, b) = (node(&postgres).await, node(&postgres).await);
    let owned = a.store.create(&[first("s")]).await.unwrap();
    a.database.leave().await.unwrap();
    assert_eq!(b.store.abandoned().await.unwrap(), ["s"]);
    // It stays so, although the process still lives.
    tokio::time::sleep(LEASE).await;
    assert_eq!(b.store.abandoned().await.unwrap(), ["s"]);
    assert_eq!(SessionStore::own(&b.store, "s").await.unwrap().token, 2);
    drop(owned);
}

#[tokio::test]
async fn a_command_reaches_the_node_that_holds_the_session() {
    use futures_util::StreamExt;
    let postgres = Postgres::start().unwrap();
    let (a, b) = (node(&postgres).await, node(&postgres).await);
    let owned = a.store.create(&[first("s")]).await.unwrap();
    let mut inbox = owned.listen().await.unwrap();
    tokio::spawn(async move {
        while let Some(posted) = inbox.next().await {
            let reply = [b"heard ", &posted.command[..]].concat();
            posted.reply(reply);
        }
    });
    for n in 0..20 {
        let reply = b.store.post("s", n.to_string().as_bytes()).await.unwrap();
        assert_eq!(reply, format!("heard {n}").into_bytes());
    }
    // Sessions of another user are none.
    let stranger = b.database.sessions("other", "/nowhere");
    assert_eq!(stranger.post("s", b"1").await, Err(charla_proto::PostError::NotOwned));
    assert_eq!(stranger.find("s").await, Ok(None));
    // A node that dies before it takes a command has not heard it.
    a.way.set(false);
    assert_eq!(b.store.post("s", b"1").await, Err(charla_proto::PostError::NotOwned));
}

/// Longer than a statement is sent again that somebody waits for.
const LONG: Duration = Duration::from_secs(8);

#[tokio::test]
async fn a_command_is_delivered_once_however_long_its_reply_cannot_be_written() {
    use futures_util::StreamExt;
    let mut postgres = Postgres::start().unwrap();
    let (a, b) = (node(&postgres).await, node(&postgres).await);
    let owned = a.store.create(&[first("s")]).await.unwrap();
    let mut inbox = owned.listen().await.unwrap();
    let store = b.store.clone();
    let posted = tokio::spawn(async move { store.post("s", b"prompt").await });
    let heard = inbox.next().await.unwrap();
    postgres.stop().unwrap();
    heard.reply(b"heard".to_vec());
    tokio::time::sleep(LONG).await;
    postgres.start_again().unwrap();
    tokio::select! {
        again = inbox.next() => panic!("it was delivered again: {:?}", again.map(|again| again.command)),
        replied = posted => assert_eq!(replied.unwrap(), Ok(b"heard".to_vec())),
    }
}

#[tokio::test]
async fn large_outputs_follow_their_session_to_another_node() {
    let postgres = Postgres::start().unwrap();
    let (a, b) = (node(&postgres).await, node(&postgres).await);
    let mut owned = a.store.create(&[first("s")]).await.unwrap();
    let folder = SessionStore::outputs(&a.store, "s");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("1.txt"), "large").unwrap();
    let named = folder.join("1.txt").display().to_string();
    owned.journal.append(&[prompt(2, &named)]).await.unwrap();
    drop(owned);
    let owned = until(async || SessionStore::own(&b.store, "s").await.ok()).await;
    let there = SessionStore::outputs(&b.store, "s").join("1.txt");
    assert_eq!(fs::read_to_string(there).unwrap(), "large");
    drop(owned);
}

#[tokio::test]
async fn a_node_that_was_replaced_keeps_no_outputs() {
    let postgres = Postgres::start().unwrap();
    let (a, b) = (node(&postgres).await, node(&postgres).await);
    let mut lost = a.store.create(&[first("s")]).await.unwrap();
    let mut owned = b.store.take_over("s").await.unwrap();
    let name = |node: &Node, text: &str| {
        let folder = SessionStore::outputs(&node.store, "s");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("1.txt"), text).unwrap();
        prompt(2, &folder.join("1.txt").display().to_string())
    };
    owned.journal.append(&[name(&b, "the owner's")]).await.unwrap();
    let late = lost.journal.append(&[name(&a, "of who was replaced")]).await;
    assert!(matches!(late, Err(JournalError::NotOwner { token: 1, .. })), "{late:?}");
    let kept = "select convert_from(bytes, 'UTF8') from charla.outputs";
    let rows = b.database.query(crate::Patience::Brief, kept, Vec::new()).await.unwrap();
    let kept: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(kept, ["the owner's"]);
}

#[tokio::test]
async fn a_dead_nodes_sessions_are_taken_although_single_connections_are_lost_again_and_again() {
    let postgres = Postgres::start().unwrap();
    let (a, b) = (node(&postgres).await, node(&postgres).await);
    let owned = a.store.create(&[first("s")]).await.unwrap();
    a.way.set(false);
    let oldest = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'charla'
        order by backend_start limit 1";
    let abandoned = until(async || {
        postgres.run("psql", &["-d", "postgres", "-c", oldest]).unwrap();
        b.store.abandoned().await.unwrap().pop()
    });
    assert_eq!(abandoned.await, "s");
    drop(owned);
}

#[tokio::test]
async fn outputs_go_with_their_session_whoever_else_names_them() {
    let postgres = Postgres::start().unwrap();
    let node = node(&postgres).await;
    let mut owned = node.store.create(&[first("s")]).await.unwrap();
    let folder = SessionStore::outputs(&node.store, "s");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("1.txt"), "large").unwrap();
    let named = folder.join("1.txt").display().to_string();
    owned.journal.append(&[prompt(2, &named)]).await.unwrap();
    drop(owned);
    // Another user brings a session that names the same.
    let stranger = node.database.sessions("other", "/nowhere");
    drop(stranger.create(&[first("theirs"), prompt(2, &named)]).await.unwrap());
    // The user's own fork keeps them.
    drop(node.store.create(&[first("fork"), prompt(2, &named)]).await.unwrap());
    let kept = async || {
        let rows = node.database.query(crate::Patience::Brief, "select 1 from charla.outputs", Vec::new());
        (rows.await.unwrap().len(), folder.exists())
    };
    until(async || SessionStore::delete(&node.store, "s").await.ok()).await;
    assert_eq!(kept().await, (1, true));
    until(async || SessionStore::delete(&node.store, "fork").await.ok()).await;
    assert_eq!(kept().await, (0, false));
}

#[tokio::test]
async fn copies_of_deleted_outputs_are_removed_at_every_node_and_nothing_else_is() {
    let postgres = Postgres::start().unwrap();
    let (a, b) = (node(&postgres).await, node(&postgres).await);
    let outputs = |node: &Node, session: &str| SessionStore::outputs(&node.store, session);
    let mut owned = a.store.create(&[first("s")]).await.unwrap();
    fs::create_dir_all(outputs(&a, "s")).unwrap();
    let file = outputs(&a, "s").join("1.txt");
    fs::write(&file, "large").unwrap();
    owned.journal.append(&[prompt(2, &file.display().to_string())]).await.unwrap();
    drop(owned);
    let copy = b.store.output("s", "1.txt").await.unwrap();
    let unknown = outputs(&b, "unknown");
    fs::create_dir_all(&unknown).unwrap();
    let sweep = async |node: &Node| {
        let sessions = node.folder.path().to_owned();
        let places = move |user: &str| (user == "u").then(|| sessions.clone());
        node.database.remove_deleted_outputs(places).await.unwrap();
    };
    sweep(&b).await;
    assert!(copy.exists(), "nothing was deleted");
    until(async || SessionStore::delete(&a.store, "s").await.ok()).await;
    assert!(!file.exists() && copy.exists());
    sweep(&b).await;
    assert!(!copy.exists() && unknown.exists());
    // A copy that is made while the session goes is found with the next look, and so is everything by a node that starts.
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    sweep(&b).await;
    assert!(!copy.parent().unwrap().exists());
    // Under the same id there is another session now: what it has is its own.
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    let again = b.store.create(&[first("s")]).await.unwrap();
    sweep(&b).await;
    assert!(copy.parent().unwrap().exists());
    drop(again);
}

#[tokio::test]
async fn a_database_that_is_started_anew_stalls_writers_and_loses_nothing() {
    const SESSIONS: usize = 4;
    let mut postgres = Postgres::start().unwrap();
    let a = node(&postgres).await;
    let (stop, stopped) = watch::channel(false);
    let writers: Vec<_> = (0..SESSIONS)
        .map(|n| {
            let (store, stopped) = (a.store.clone(), stopped.clone());
            tokio::spawn(async move {
                let mut owned = store.create(&[first(&format!("s{n}"))]).await.unwrap();
                let mut seq = 1;
                while !*stopped.borrow() {
                    seq += 1;
                    owned.journal.append(&[prompt(seq, "words")]).await.unwrap();
                }
                seq
            })
        })
        .collect();
    for _ in 0..3 {
        let before = a.store.list().await.unwrap().sessions.len();
        tokio::time::sleep(Duration::from_millis(100)).await;
        postgres.stop().unwrap();
        until(async || (!a.database.is_up()).then_some(())).await;
        postgres.start_again().unwrap();
        until(async || a.database.is_up().then_some(())).await;
        assert!(a.store.list().await.unwrap().sessions.len() >= before);
    }
    stop.send(true).unwrap();
    for (n, writer) in writers.into_iter().enumerate() {
        let last = writer.await.unwrap();
        let read: Vec<Record> = a.store.read_after(&format!("s{n}"), 0).try_collect().await.unwrap();
        let numbers: Vec<u64> = read.iter().map(|record| record.seq).collect();
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
        assert!(last > 10, "{last}");
    }
}

#[tokio::test]
async fn a_database_that_recovers_for_longer_than_the_lease_leaves_every_session_with_its_node() {
    let mut postgres = Postgres::start().unwrap();
    let (a, b) = (node(&postgres).await, node(&postgres).await);
    let mut owned = a.store.create(&[first("s")]).await.unwrap();
    a.way.set(false);
    postgres.stop().unwrap();
    until(async || (!b.database.is_up()).then_some(())).await;
    postgres.start_again_slowly(LEASE / 2).unwrap();
    until(async || b.database.is_up().then_some(())).await;
    let long = "select 1 where pg_postmaster_start_time() + interval '2 s' < clock_timestamp()
        and not exists (select 1 from charla.nodes where id <> $1 and lease_until > clock_timestamp())";
    let node = vec![b.database.node_id().into()];
    assert_eq!(b.database.query(crate::Patience::Brief, long, node).await.unwrap().len(), 1);
    assert_eq!(b.store.abandoned().await.unwrap(), [""; 0]);
    assert!(b.store.is_owned("s").await);
    assert!(matches!(SessionStore::own(&b.store, "s").await, Err(JournalError::Locked(_))));
    a.way.set(true);
    until(async || a.database.is_up().then_some(())).await;
    owned.journal.append(&[prompt(2, "still here")]).await.unwrap();
    // A node that does not come back has had its time.
    a.way.set(false);
    assert_eq!(until(async || b.store.abandoned().await.unwrap().pop()).await, "s");
    assert_eq!(SessionStore::own(&b.store, "s").await.unwrap().conversation.seq, 2);
}

#[tokio::test]
async fn questions_that_an_older_version_left_are_found_and_kept() {
    let postgres = Postgres::start().unwrap();
    let node = node(&postgres).await;
    let asked = r#"{"seq":4,"at":1,"kind":"call_asked","turn":1,"call":"c1","approval":"a:4","confirmation":{"tool":"run","title":"t","rule":"r","isolation":"none","detail":{"type":"exec","command":"c","cwd":"/w"}}}"#;
    let said = r#"{"seq":3,"at":1,"kind":"model_content","turn":1,"content":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"run","args":{}}}]}}"#;
    let records =
        [first("a"), prompt(2, "go"), Record::from_json(said).unwrap(), Record::from_json(asked).unwrap()];
    let mut owned = node.store.create(&records).await.unwrap();
    let kept = node.store.standings().await.unwrap().unwrap();
    assert_eq!(kept["a"].questions.len(), 1);
    let run = async |text: &'static str| {
        node.database.query(crate::Patience::Brief, text, Vec::new()).await.unwrap().len()
    };
    // As if the tables were of before, and as if an older node had written since.
    run("update charla.sessions set known_seq = 0, turn_open = false").await;
    run("delete from charla.approvals").await;
    assert_eq!(node.store.standings().await.unwrap().unwrap(), kept);
    assert_eq!(run("select 1 from charla.approvals a join charla.sessions s on s.key = a.session and s.known_seq = s.seq").await, 1);
    assert_eq!(node.store.standings().await.unwrap().unwrap(), kept);
    // A node that was replaced keeps no question.
    let other = node.store.take_over("a").await.unwrap();
    let ended =
        Record::from_json(r#"{"seq":5,"at":1,"kind":"turn_ended","turn":1,"end":"finished"}"#).unwrap();
    assert!(owned.journal.append(std::slice::from_ref(&ended)).await.is_err());
    assert_eq!(node.store.standings().await.unwrap().unwrap(), kept);
    drop((owned, other));
    let mut owned = until(async || node.store.own("a").await.ok()).await;
    owned.journal.append(&[ended]).await.unwrap();
    assert!(node.store.standings().await.unwrap().unwrap().is_empty());
    assert_eq!(run("select 1 from charla.approvals").await, 0);
}
