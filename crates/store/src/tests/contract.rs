//! What every store promises, whatever it keeps sessions in.

use charla_proto::{
    CallEnded, CallStatus, FileChange, FunctionResponse, Imported, Inbox, MAX_POST, ModelChanged,
    ModelContent, Origin, Owned, PostError, SessionSummary, SnapshotError, TurnEnd, TurnEnded, WireKind,
};
use std::time::SystemTime;

use futures_util::StreamExt;

use super::standings::what_waits_is_what_the_records_say;
use super::*;

type Kept = dyn SessionStore;

/// Each promise as a test of its own for files; for the database, which takes a while to start, all in one.
macro_rules! promises {
    ($($promise:ident)*) => {
        mod files {
            $(
                #[tokio::test]
                async fn $promise() {
                    let (_folder, store) = super::super::store();
                    super::$promise(&store).await;
                }
            )*
        }

        #[cfg(unix)]
        #[tokio::test]
        async fn a_database_keeps_every_promise_that_files_keep() {
            let postgres = charla_testkit::Postgres::start().unwrap();
            let folder = tempfile::tempdir().unwrap();
            let database = super::postgres::connect(&postgres).await;
            $(
                let store = database.sessions(stringify!($promise), folder.path().join(stringify!($promise)));
                // Shown when it fails.
                println!("{}", stringify!($promise));
                $promise(&store).await;
            )*
        }
    };
}

promises! {
    records_after_any_number_are_read_in_order_and_without_a_gap
    a_session_has_one_owner_and_every_owner_a_larger_token
    who_was_replaced_is_told_and_writes_nothing_more
    a_session_begins_once_and_with_its_beginning
    what_is_not_there_is_missing
    a_session_is_listed_with_the_model_that_answered_last_or_was_chosen_since
    a_session_is_called_by_the_first_prompt_that_hooks_let_through
    sessions_are_listed_the_latest_first_and_found_by_their_id
    a_session_from_elsewhere_is_as_old_as_what_was_said_in_it
    what_this_version_does_not_know_is_kept
    any_text_comes_back
    a_compressed_session_is_folded_without_what_a_summary_stands_for
    a_journal_is_read_again_while_it_is_written
    a_command_gets_its_own_reply
    without_an_owner_or_without_its_ear_nothing_is_delivered
    a_command_that_nobody_answers_may_have_been_heard
    contents_go_with_the_last_session_that_refers_to_them
    outputs_that_a_fork_names_stay_until_it_goes
    removing_several_leaves_those_in_use
    what_waits_is_what_the_records_say
}

async fn read_after(store: &Kept, session: &str, after: u64) -> Result<Vec<Record>, JournalError> {
    store.read_after(session, after).try_collect().await
}

fn is_lost(result: &Result<(), JournalError>, token: u64) -> bool {
    matches!(result, Err(JournalError::NotOwner { token: lost, .. }) if *lost == token)
}

async fn records_after_any_number_are_read_in_order_and_without_a_gap(store: &Kept) {
    let mut records = vec![first("a")];
    records.extend((2..300).map(|seq| prompt(seq, "words")));
    let mut owned = store.create(&records[..100]).await.unwrap();
    for some in records[100..].chunks(7) {
        owned.journal.append(some).await.unwrap();
    }
    for after in [0, 1, 63, 64, 65, 127, 128, 129, 298, 299, 1000, u64::MAX] {
        let wanted: Vec<Record> = records.iter().filter(|record| record.seq > after).cloned().collect();
        assert_eq!(read_after(store, "a", after).await.unwrap(), wanted, "after {after}");
    }
    // Whoever has enough stops.
    let mut some = store.read_after("a", 0);
    assert_eq!(some.next().await, Some(Ok(first("a"))));
    drop((some, owned));
    let missing = JournalError::Missing("b".to_owned());
    assert_eq!(read_after(store, "b", 0).await, Err(missing));
}

async fn a_session_has_one_owner_and_every_owner_a_larger_token(store: &Kept) {
    let created = store.create(&[first("a")]).await.unwrap();
    assert!(matches!(store.own("a").await, Err(JournalError::Locked(_))));
    assert!(matches!(store.delete("a").await, Err(JournalError::Locked(_))));
    let both = ["a".to_owned(), "b".to_owned()];
    assert_eq!(store.owned(&both).await.into_keys().collect::<Vec<_>>(), ["a"]);
    let mut tokens = vec![created.token];
    drop(created);
    assert_eq!((store.is_owned("a").await, store.owned(&both).await.len()), (false, 0));
    for _ in 0..12 {
        tokens.push(store.own("a").await.unwrap().token);
    }
    tokens.push(store.take_over("a").await.unwrap().token);
    assert!(tokens.is_sorted_by(|earlier, later| earlier < later), "{tokens:?}");
    assert_eq!(store.abandoned().await.unwrap(), [""; 0]);
}

async fn who_was_replaced_is_told_and_writes_nothing_more(store: &Kept) {
    let mut stuck = store.create(&[first("a"), prompt(2, "hello")]).await.unwrap();
    let mut new = store.take_over("a").await.unwrap();
    assert_eq!((new.conversation.seq, new.conversation.past.count), (2, 1));
    for _ in 0..2 {
        assert!(is_lost(&stuck.journal.append(&[prompt(3, "late")]).await, stuck.token));
    }
    new.journal.append(&[prompt(3, "in time")]).await.unwrap();
    assert_eq!(
        read_after(store, "a", 0).await.unwrap(),
        [first("a"), prompt(2, "hello"), prompt(3, "in time")]
    );
    // Nobody comes between, whether the former owner still lives or not.
    assert!(matches!(store.own("a").await, Err(JournalError::Locked(_))));
    drop(stuck);
    assert!(matches!(store.own("a").await, Err(JournalError::Locked(_))));
    drop(new);
    assert_eq!(store.own("a").await.unwrap().conversation.seq, 3);
}

async fn a_session_begins_once_and_with_its_beginning(store: &Kept) {
    for records in [vec![], vec![prompt(1, "hello")]] {
        assert!(matches!(store.create(&records).await, Err(JournalError::NoBeginning(_))));
    }
    assert!(matches!(store.create(&[first("../a")]).await, Err(JournalError::Io(_))));
    drop(store.create(&[first("a")]).await.unwrap());
    assert_eq!(store.create(&[first("a")]).await.err(), Some(JournalError::Exists("a".to_owned())));
    assert_eq!(store.list().await.unwrap().sessions.len(), 1);
}

async fn what_is_not_there_is_missing(store: &Kept) {
    let missing = JournalError::Missing("a".to_owned());
    assert_eq!(store.own("a").await.err(), Some(missing.clone()));
    assert_eq!(store.take_over("a").await.err(), Some(missing.clone()));
    assert_eq!(store.fold("a").await.err(), Some(missing.clone()));
    assert_eq!(store.delete("a").await, Err(missing));
    assert_eq!((store.find("a").await, store.find("a\0").await), (Ok(None), Ok(None)));
    assert!(!store.is_owned("a").await);
}

fn model_changed(seq: u64, model: &str) -> Record {
    Record::new(seq, 7, Fact::ModelChanged(ModelChanged { model: model.to_owned(), by: None }))
}

fn answer(seq: u64, model: &str, words: &str) -> Record {
    let origin = Origin { provider: "p".to_owned(), wire: WireKind::Gemini, model: model.to_owned() };
    let content = Content { origin: Some(Arc::new(origin)), ..Content::model(words) };
    let said = ModelContent {
        turn: 1,
        content: Arc::new(content),
        finish: None,
        usage: None,
        citations: Vec::new(),
        hook: None,
    };
    Record::new(seq, 7, Fact::ModelContent(Box::new(said)))
}

/// How a session of these records is listed, written one by one.
async fn listed(store: &Kept, records: &[Record]) -> SessionSummary {
    let mut owned = store.create(&records[..1]).await.unwrap();
    for record in &records[1..] {
        owned.journal.append(std::slice::from_ref(record)).await.unwrap();
    }
    drop(owned);
    let mut sessions = store.list().await.unwrap().sessions;
    assert_eq!(sessions.len(), 1);
    store.delete("a").await.unwrap();
    sessions.remove(0)
}

async fn a_session_is_listed_with_the_model_that_answered_last_or_was_chosen_since(store: &Kept) {
    let start = [first("a"), prompt(2, "  hello\nthere ")];
    let session = listed(store, &start).await;
    assert_eq!((session.model.as_str(), session.has_turns), ("fake/m", true));
    assert!(!listed(store, &start[..1]).await.has_turns);

    let long = "long ".repeat(10_000);
    for words in ["short", &long] {
        let mut records = start.to_vec();
        records.push(answer(3, "first", words));
        assert_eq!(listed(store, &records).await.model, "p/first");
        records.push(model_changed(4, "p/chosen"));
        assert_eq!(listed(store, &records).await.model, "p/chosen");
        records.push(answer(5, "fallback", words));
        records.push(prompt(6, words));
        let session = listed(store, &records).await;
        assert_eq!((session.model.as_str(), session.title.as_str()), ("p/fallback", "hello there"));
    }
}

fn ended(seq: u64, end: TurnEnd) -> Record {
    Record::new(
        seq,
        7,
        Fact::TurnEnded(Box::new(TurnEnded { turn: 1, end, detail: None, error: None, by: None })),
    )
}

async fn a_session_is_called_by_the_first_prompt_that_hooks_let_through(store: &Kept) {
    let refused = |seq: u64, words: &str| [prompt(seq, words), ended(seq + 1, TurnEnd::HookBlocked)];
    let long = |words: &str| words.repeat(100_000);
    for secret in ["secret ".to_owned(), long("secret ")] {
        let mut records = vec![first("a")];
        records.extend(refused(2, &secret));
        for _ in 0..2 {
            let session = listed(store, &records).await;
            assert_eq!((session.title.as_str(), session.has_turns), ("[refused by a hook]", true));
            records.extend(refused(records.len() as u64 + 1, &long("another secret ")));
        }
        let next = records.len() as u64 + 1;
        records.push(prompt(next, "hello"));
        assert_eq!(listed(store, &records).await.title, "hello", "nobody has refused it yet");
        records.push(answer(next + 1, "m", &long("words ")));
        assert_eq!(listed(store, &records).await.title, "hello");
        records.push(ended(next + 2, TurnEnd::HookBlocked));
        assert_eq!(listed(store, &records).await.title, "hello", "it was answered first");
        records.extend(refused(next + 3, "late"));
        assert_eq!(listed(store, &records).await.title, "hello");
        let at_once = store.create(&records).await.unwrap();
        drop(at_once);
        assert_eq!(store.find("a").await.unwrap().unwrap().title, "hello");
        store.delete("a").await.unwrap();
    }
    let words = long("long ");
    let title = listed(store, &[first("a"), prompt(2, &words), answer(3, "m", "short")]).await.title;
    assert!(title.starts_with("long long"), "{title}");
}

async fn sessions_are_listed_the_latest_first_and_found_by_their_id(store: &Kept) {
    let mut b = store.create(&[first("b")]).await.unwrap();
    drop(store.create(&[first("a")]).await.unwrap());
    let before = store.find("b").await.unwrap().unwrap();
    b.journal.append(&[prompt(2, "hello")]).await.unwrap();
    let names = |list: SessionList| list.sessions.into_iter().map(|it| it.session).collect::<Vec<_>>();
    assert_eq!(names(store.list().await.unwrap()), ["b", "a"]);
    let after = store.find("b").await.unwrap().unwrap();
    assert!(after.size > before.size && after.modified >= before.modified);
    assert_eq!(store.find("").await, Ok(None));
}

async fn a_session_from_elsewhere_is_as_old_as_what_was_said_in_it(store: &Kept) {
    let taken_in = |session: &str, said_at: u64| {
        let mut records = vec![first(session), prompt(2, "hello")];
        if let Fact::SessionStarted(started) = &mut records[0].fact {
            started.imported_up_to = Some(2);
        }
        records[1].at = said_at;
        let imported = Fact::Imported(Imported { from: "elsewhere".to_owned() });
        records.push(Record::new(3, u64::MAX >> 16, imported));
        records
    };
    drop(store.create(&[first("b"), prompt(2, "hello")]).await.unwrap());
    drop(store.create(&taken_in("a", 86_400_000)).await.unwrap());
    drop(store.create(&taken_in("c", u64::MAX >> 16)).await.unwrap());
    let list = store.list().await.unwrap().sessions;
    let names: Vec<&str> = list.iter().map(|session| session.session.as_str()).collect();
    assert_eq!(names, ["c", "b", "a"], "what would be yet to come is new");
    let day = std::time::Duration::from_secs(86_400);
    assert_eq!(list[2].modified, SystemTime::UNIX_EPOCH + day);
    assert!(list[0].modified.elapsed().unwrap() < day);
    let began = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(5);
    assert!(list.iter().all(|session| session.began == began), "{list:?}");
    let mut owned = store.own("a").await.unwrap();
    owned.journal.append(&[prompt(4, "and on")]).await.unwrap();
    assert_eq!(store.list().await.unwrap().sessions[0].session, "a");
}

async fn what_this_version_does_not_know_is_kept(store: &Kept) {
    let unknown = r#"{"seq":2,"at":6,"kind":"call_started","call":"c","new":{"deep":[1]},"turn":1}"#;
    let record = Record::from_json(unknown).unwrap();
    drop(store.create(&[first("a"), record]).await.unwrap());
    let read = read_after(store, "a", 1).await.unwrap();
    assert_eq!(serde_json::to_string(&read[0]).unwrap(), unknown);
}

async fn any_text_comes_back(store: &Kept) {
    let text = "\0 \u{1} \\ \" ' $1 \u{feff} \u{10ffff} 漢字 \r\n";
    let mut owned = store.create(&[first("a"), prompt(2, text)]).await.unwrap();
    let odd = ModelChanged { model: "openai/gpt\0".to_owned(), by: None };
    let changed = Record::new(3, 1, Fact::ModelChanged(odd));
    owned.journal.append(&[changed.clone(), prompt(4, "/outputs/\0/")]).await.unwrap();
    assert_eq!(
        read_after(store, "a", 1).await.unwrap(),
        [prompt(2, text), changed, prompt(4, "/outputs/\0/")]
    );
    assert!(store.is_owned("a").await && !store.is_owned("a\0").await);
    drop(owned);
}

async fn a_compressed_session_is_folded_without_what_a_summary_stands_for(store: &Kept) {
    let mut records = vec![first("a")];
    records.extend((2..100).map(|seq| prompt(seq, "words")));
    records.push(compressed(100, 95));
    drop(store.create(&records).await.unwrap());
    let mut owned = store.own("a").await.unwrap();
    assert_eq!(owned.conversation.contents.len(), 5);
    assert_eq!(owned.conversation.sent(), Conversation::of(&records).sent());
    assert_eq!((owned.conversation.past.count, owned.conversation.seq), (98, 100));
    // Taken back, everything is there again.
    let restored = Record::new(101, 8, Fact::Restored(Restored { by: None }));
    owned.journal.append(&[restored]).await.unwrap();
    assert_eq!(store.fold("a").await.unwrap().contents.len(), 98);
    // And compressed again, it is not.
    owned.journal.append(&[compressed(102, 97)]).await.unwrap();
    assert_eq!(store.fold("a").await.unwrap().contents.len(), 3);
}

async fn a_journal_is_read_again_while_it_is_written(store: &Kept) {
    let owned = store.create(&[first("a"), prompt(2, "one"), prompt(3, "two")]).await.unwrap();
    let reader = owned.journal.reader().unwrap();
    // In place, although it blocks: whoever does so must not stand still for ever.
    let mut seqs = Vec::new();
    reader.read(1, &mut |record| seqs.push(record.seq)).unwrap();
    assert_eq!(seqs, [2, 3]);
    assert!(reader.place().contains('a'));
}

/// Answers every command with `{"got":command}`.
async fn echo(mut inbox: Inbox) {
    while let Some(posted) = inbox.next().await {
        let answer = [b"{\"got\":", &posted.command[..], b"}"].concat();
        posted.reply(answer);
    }
}

async fn post(store: &Kept, command: &str) -> Result<String, PostError> {
    let reply = store.post("a", command.as_bytes()).await?;
    Ok(String::from_utf8(reply).unwrap())
}

async fn a_command_gets_its_own_reply(store: &Kept) {
    let owned = store.create(&[first("a")]).await.unwrap();
    let echoing = tokio::spawn(echo(owned.listen().await.unwrap()));
    let posts = (0..50).map(|n| async move { (n, post(store, &n.to_string()).await) });
    for (n, reply) in futures_util::future::join_all(posts).await {
        assert_eq!(reply.unwrap(), format!("{{\"got\":{n}}}"));
    }
    let long = format!("\"{}\"", "x".repeat(MAX_POST - 20));
    assert_eq!(post(store, &long).await.unwrap(), format!("{{\"got\":{long}}}"));
    echoing.abort();
}

async fn without_an_owner_or_without_its_ear_nothing_is_delivered(store: &Kept) {
    assert_eq!(post(store, "1").await, Err(PostError::NotOwned));
    let owned = store.create(&[first("a")]).await.unwrap();
    assert!(matches!(post(store, "1").await, Err(PostError::Unreachable(_))));
    drop(owned.listen().await.unwrap());
    assert!(matches!(post(store, "1").await, Err(PostError::Unreachable(_))));
    drop(owned);
    assert_eq!(post(store, "1").await, Err(PostError::NotOwned));
}

async fn a_command_that_nobody_answers_may_have_been_heard(store: &Kept) {
    let owned = store.create(&[first("a")]).await.unwrap();
    let mut inbox = owned.listen().await.unwrap();
    let (reply, posted) = tokio::join!(post(store, "1"), async { drop(inbox.next().await) });
    assert!(matches!((reply, posted), (Err(PostError::NoReply(_)), ())));
    let huge = "1".repeat(17 * 1024 * 1024);
    assert_eq!(post(store, &huge).await, Err(PostError::TooLarge(huge.len())));
}

/// A call that put `after` in the place of `before`.
pub(super) fn changed(store: &Kept, before: &[u8], after: &[u8], whole_output: Option<PathBuf>) -> Record {
    let snapshots = store.snapshots();
    let change = FileChange {
        path: "/w/f".into(),
        before: Some(snapshots.keep(before).unwrap()),
        after: Some(snapshots.keep(after).unwrap()),
    };
    let ended = CallEnded {
        turn: 1,
        call: "c".to_owned(),
        status: CallStatus::Success,
        response: FunctionResponse::output("c", "write_file", "\"before\":\"said, not meant\""),
        tool: None,
        display: None,
        error: None,
        whole_output,
        changes: vec![change],
        spent: Vec::new(),
    };
    Record::new(2, 0, Fact::CallEnded(Box::new(ended)))
}

async fn session(store: &Kept, id: &str, record: Record) -> Owned {
    let mut owned = store.create(&[first(id)]).await.unwrap();
    owned.journal.append(&[record]).await.unwrap();
    owned
}

fn has(store: &Kept, content: &[u8]) -> bool {
    store.snapshots().load(&charla_proto::content_hash(content)).is_ok()
}

async fn contents_go_with_the_last_session_that_refers_to_them(store: &Kept) {
    drop(session(store, "a", changed(store, b"shared", b"only a", None)).await);
    drop(session(store, "b", changed(store, b"shared", b"only \0 b", None)).await);
    assert_eq!(store.snapshots().keep(b"shared"), Ok(charla_proto::content_hash(b"shared")));
    store.delete("a").await.unwrap();
    assert_eq!([&b"shared"[..], b"only a", b"only \0 b"].map(|it| has(store, it)), [true, false, true]);
    store.delete("b").await.unwrap();
    assert_eq!([&b"shared"[..], b"only \0 b"].map(|it| has(store, it)), [false, false]);
    for hash in ["", "../../etc/passwd", &"a".repeat(64)] {
        assert_eq!(store.snapshots().load(hash), Err(SnapshotError::Missing(hash.to_owned())));
    }
}

async fn outputs_that_a_fork_names_stay_until_it_goes(store: &Kept) {
    let folder = store.outputs("a");
    fs::create_dir_all(&folder).unwrap();
    let large = folder.join("1.txt");
    fs::write(&large, "large").unwrap();
    drop(session(store, "a", changed(store, b"1", b"2", Some(large.clone()))).await);
    drop(session(store, "fork", changed(store, b"1", b"2", Some(large.clone()))).await);
    store.delete("a").await.unwrap();
    assert!(large.exists());
    store.delete("fork").await.unwrap();
    assert!(!large.exists());
}

async fn removing_several_leaves_those_in_use(store: &Kept) {
    drop(session(store, "a", changed(store, b"a1", b"a2", None)).await);
    let held = session(store, "b", changed(store, b"b1", b"b2", None)).await;
    let pruned = store.prune(&["a".to_owned(), "b".to_owned(), "none".to_owned()]).await.unwrap();
    assert_eq!((pruned.deleted, pruned.in_use), (vec!["a".to_owned()], vec!["b".to_owned()]));
    let left = [&b"a1"[..], b"b1", b"b2"].map(|it| has(store, it));
    assert_eq!(left, [false, true, true]);
    drop(held);
}
