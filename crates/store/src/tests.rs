mod contract;
mod deleting;
#[cfg(unix)]
mod mail;
#[cfg(unix)]
mod many;
mod owning;
mod port;
#[cfg(unix)]
mod postgres;
mod standings;

use std::fs;
use std::sync::Arc;

use charla_proto::{
    Compressed, Content, Fact, JOURNAL_VERSION, Journal, Record, Restored, SessionStarted, SessionStore,
    Skipped, TurnStarted,
};
use futures_util::TryStreamExt;
use proptest::prelude::*;

use super::*;

fn first(session: &str) -> Record {
    let started = SessionStarted {
        version: JOURNAL_VERSION,
        session: session.to_owned(),
        cwd: "/w".into(),
        model: "fake/m".to_owned(),
        parent: None,
        agent: None,
        imported_up_to: None,
    };
    Record::new(1, 5, Fact::SessionStarted(Box::new(started)))
}

fn prompt(seq: u64, text: &str) -> Record {
    let prompt = Arc::new(Content::user(text));
    Record::new(
        seq,
        6,
        Fact::TurnStarted(TurnStarted { turn: seq - 1, prompt, id: String::new(), by: String::new() }),
    )
}

/// Waits for something in a runtime of its own.
fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn write(journal: &mut FileJournal, records: &[Record]) -> Result<(), JournalError> {
    wait(journal.append(records))
}

async fn read_after(store: &Store, session: &str, after: u64) -> Result<Vec<Record>, JournalError> {
    SessionStore::read_after(store, session, after).try_collect().await
}

fn read(store: &Store, session: &str) -> Vec<Record> {
    wait(read_after(store, session, 0)).unwrap()
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("sessions"), Sync::Process);
    (folder, store)
}

#[test]
fn what_is_written_is_read_back() {
    let (_folder, store) = store();
    let mut journal = store.create("a").unwrap();
    write(&mut journal, &[first("a"), prompt(2, "hello")]).unwrap();
    drop(journal);
    assert!(store.resume("a").unwrap().seen.skipped.is_empty());
    assert_eq!(read(&store, "a"), [first("a"), prompt(2, "hello")]);
}

#[test]
fn two_writers_cannot_have_one_session_and_the_lock_goes_with_its_owner() {
    let (_folder, store) = store();
    let journal = store.create("a").unwrap();
    assert!(matches!(store.resume("a"), Err(JournalError::Locked(_))));
    assert!(matches!(store.delete("a"), Err(JournalError::Locked(_))));
    assert!(store.fold("a").is_ok());
    drop(journal);
    assert!(store.resume("a").is_ok());
}

#[test]
fn a_torn_last_line_is_skipped_with_a_notice_and_writing_goes_on() {
    let (_folder, store) = store();
    let mut journal = store.create("a").unwrap();
    write(&mut journal, &[first("a"), prompt(2, "hello")]).unwrap();
    let path = journal.path().to_owned();
    drop(journal);
    let whole = fs::read(&path).unwrap();
    let line = serde_json::to_vec(&prompt(3, "torn")).unwrap();
    for cut in 1..line.len() {
        fs::write(&path, [&whole[..], &line[..cut]].concat()).unwrap();
        let mut opened = store.resume("a").unwrap();
        assert_eq!(read(&store, "a").len(), 2, "cut at {cut}");
        assert_eq!(opened.seen.skipped, [Skipped { line: 3, reason: "cut off in the middle".to_owned() }]);
        write(&mut opened.journal, &[prompt(3, "again")]).unwrap();
        drop(opened);
        assert_eq!(read(&store, "a").last(), Some(&prompt(3, "again")));
    }
    // A whole line that only lacks its end counts.
    fs::write(&path, [&whole[..], &line[..]].concat()).unwrap();
    let mut opened = store.resume("a").unwrap();
    assert_eq!(opened.conversation.seq, 3);
    write(&mut opened.journal, &[prompt(4, "next")]).unwrap();
    assert_eq!(read(&store, "a").len(), 4);
}

#[test]
fn a_record_that_comes_twice_is_read_once_even_the_first() {
    let (_folder, store) = store();
    let mut journal = store.create("a").unwrap();
    let zero = Record::new(0, 5, first("a").fact);
    write(&mut journal, &[zero.clone(), zero.clone(), prompt(1, "hello"), prompt(1, "hello")]).unwrap();
    drop(journal);
    let resumed = store.resume("a").unwrap();
    assert_eq!(
        (resumed.conversation, resumed.seen.skipped.len()),
        (Conversation::of(&[zero, prompt(1, "hello")]), 2)
    );
}

#[test]
fn missing_records_and_impossible_numbers_are_told_and_a_byte_order_mark_is_no_damage() {
    let (_folder, store) = store();
    let lines =
        [first("a"), prompt(2, "two"), prompt(5, "five"), prompt(u64::MAX, "never"), prompt(6, "six")];
    let text: String = lines.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
    make_private_folder(&store.folder).unwrap();
    fs::write(store.folder.join("a.jsonl"), format!("\u{FEFF}{text}")).unwrap();
    assert_eq!(store.list().unwrap().sessions.len(), 1);
    let resumed = store.resume("a").unwrap();
    assert_eq!(resumed.seen.missing, [(3, 4)]);
    assert_eq!(resumed.seen.skipped.len(), 1);
    assert_eq!(resumed.conversation.seq, 6);
}

#[test]
fn unknown_kinds_are_kept() {
    let (_folder, store) = store();
    drop(store.create("a").unwrap());
    let line = r#"{"seq":1,"at":2,"kind":"from_the_future","new":{"deep":[1]}}"#;
    fs::write(store.path("a").unwrap(), format!("{line}\n")).unwrap();
    assert_eq!(serde_json::to_string(&read(&store, "a")[0]).unwrap(), line);
}

#[test]
fn listing_reads_only_the_files_and_shows_the_latest_first() {
    let (_folder, store) = store();
    assert!(store.list().unwrap().sessions.is_empty());
    for (n, text) in ["one\ntwo", "x"].iter().enumerate() {
        let id = format!("s{n}");
        write(&mut store.create(&id).unwrap(), &[first(&id), prompt(2, text)]).unwrap();
    }
    let long = "long \"quoted\" ".repeat(2000);
    write(&mut store.create("s2").unwrap(), &[first("s2"), prompt(2, &long)]).unwrap();
    fs::write(store.path("bad").unwrap(), "nonsense").unwrap();
    let listed = store.list().unwrap();
    let mut titles: Vec<_> = listed.sessions.iter().map(|session| session.title.clone()).collect();
    titles.sort();
    assert_eq!(titles[1], "one two");
    assert!(titles[0].starts_with("long \"quoted\" long"));
    assert_eq!(listed.unreadable.len(), 1);
}

#[test]
fn ids_cannot_leave_the_folder() {
    let (_folder, store) = store();
    for id in ["", "../a", "a/b", "a\0b", ".", &"x".repeat(101)] {
        assert!(store.path(id).is_err(), "{id:?}");
    }
}

#[cfg(unix)]
#[test]
fn conversations_are_private_to_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, store) = store();
    let journal = store.create("a").unwrap();
    assert_eq!(fs::metadata(journal.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

fn compressed(seq: u64, kept_from: u64) -> Record {
    let fact = Compressed {
        summary: Arc::new(Content::user("in short")),
        acknowledgement: Arc::new(Content::model("ok")),
        kept_from,
        prompt: None,
        tokens: (100, 10),
        usage: None,
    };
    Record::new(seq, 7, Fact::Compressed(Box::new(fact)))
}

proptest! {
    #[test]
    fn no_bytes_make_reading_fail(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (_folder, store) = store();
        drop(store.create("a").unwrap());
        fs::write(store.path("a").unwrap(), bytes).unwrap();
        prop_assert!(wait(read_after(&store, "a", 0)).is_ok());
        prop_assert!(store.resume("a").is_ok());
        prop_assert!(store.list().is_ok());
    }
}
