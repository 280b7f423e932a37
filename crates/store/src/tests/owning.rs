use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use charla_proto::CallStarted;

use super::*;

fn call(seq: u64) -> Record {
    Record::new(
        seq,
        9,
        Fact::CallStarted(CallStarted {
            turn: 1,
            call: "c".to_owned(),
            rule: None,
            confinement: None,
            changes: Vec::new(),
        }),
    )
}

fn is_lost(result: &Result<(), JournalError>, token: u64) -> bool {
    matches!(result, Err(JournalError::NotOwner { token: lost, .. }) if *lost == token)
}

fn numbers(store: &Store, session: &str) -> Vec<u64> {
    read(store, session).iter().map(|record| record.seq).collect()
}

#[test]
fn a_file_that_is_removed_moved_or_replaced_is_noticed_and_what_stands_there_is_left_alone() {
    let (folder, store) = store();
    let removed = |path: &Path| fs::remove_file(path).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    let moved = |path: &Path| fs::rename(path, &elsewhere).unwrap();
    let other = folder.path().join("other");
    let replaced = |path: &Path| {
        fs::write(&other, "another's").unwrap();
        fs::rename(&other, path).unwrap();
    };
    let deeds: [&dyn Fn(&Path); 3] = [&removed, &moved, &replaced];
    for (session, deed) in ["a", "b", "c"].into_iter().zip(deeds) {
        let mut journal = store.create(session).unwrap();
        write(&mut journal, &[first(session)]).unwrap();
        deed(journal.path());
        assert!(is_lost(&write(&mut journal, &[prompt(2, "hello")]), journal.token()), "{session}");
    }
    assert!(!store.path("a").unwrap().exists());
    assert_eq!(fs::read_to_string(&elsewhere).unwrap().lines().count(), 1);
    assert_eq!(fs::read_to_string(store.path("c").unwrap()).unwrap(), "another's");
}

/// Owners are replaced again and again while they write: what they were told is kept is there, once, and beyond that
/// at most what was on its way when they were replaced.
#[test]
fn nothing_acknowledged_is_lost_by_being_replaced() {
    let (_folder, store) = store();
    let mut journal = store.create("a").unwrap();
    write(&mut journal, &[first("a")]).unwrap();
    let mut kept = 1;
    for _ in 0..15 {
        let writing = AtomicBool::new(false);
        let (acknowledged, resumed) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut last = kept;
                while write(&mut journal, &[call(last + 1)]).is_ok() {
                    last += 1;
                    writing.store(true, Ordering::Release);
                }
                last
            });
            while !writing.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let resumed = store.take_over("a").unwrap();
            (writer.join().unwrap(), resumed)
        });
        kept = resumed.conversation.seq;
        assert!(kept == acknowledged || kept == acknowledged + 1, "{acknowledged} acknowledged, {kept} kept");
        assert_eq!(numbers(&store, "a"), (1..=kept).collect::<Vec<_>>());
        journal = resumed.journal;
    }
}

#[test]
fn what_is_deleted_is_gone_with_all_that_belongs_to_it() {
    let (_folder, store) = store();
    write(&mut store.create("a").unwrap(), &[first("a")]).unwrap();
    drop(store.resume("a").unwrap());
    let outputs = store.outputs("a");
    fs::create_dir_all(&outputs).unwrap();
    fs::write(outputs.join("1.txt"), "large").unwrap();
    store.delete("a").unwrap();
    assert!(!outputs.exists());
    assert_eq!(fs::read_dir(store.folder.join("owners")).unwrap().count(), 0);
    assert_eq!(store.delete("a"), Err(JournalError::Missing("a".to_owned())));
}

#[tokio::test]
async fn what_is_not_there_is_missing_and_leaves_no_trace() {
    let (_folder, store) = store();
    let missing = JournalError::Missing("a".to_owned());
    assert_eq!(SessionStore::own(&store, "a").await.err(), Some(missing.clone()));
    assert_eq!(SessionStore::take_over(&store, "a").await.err(), Some(missing.clone()));
    assert_eq!(SessionStore::fold(&store, "a").await.err(), Some(missing.clone()));
    assert_eq!(SessionStore::delete(&store, "a").await, Err(missing));
    assert!(!store.folder.exists());
}
