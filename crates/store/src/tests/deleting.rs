//! Sessions are removed with what only they refer to.

use std::time::{Duration, SystemTime};

use super::contract::changed;
use super::*;

fn session(store: &Store, id: &str, record: Record) {
    write(&mut store.create(id).unwrap(), &[first(id), record]).unwrap();
}

fn has(store: &Store, content: &[u8]) -> bool {
    SessionStore::snapshots(store).load(&charla_proto::content_hash(content)).is_ok()
}

#[test]
fn pruning_takes_what_belongs_to_nobody_and_leaves_what_is_in_use_or_young() {
    let (_folder, store) = store();
    session(&store, "a", changed(&store, b"a1", b"a2", None));
    session(&store, "b", changed(&store, b"b1", b"b2", None));
    let held = store.resume("b").unwrap();
    let snapshots = SessionStore::snapshots(&store);
    snapshots.keep(b"lost").unwrap();
    snapshots.keep(b"young").unwrap();
    let lost = store.blobs().path(&charla_proto::content_hash(b"lost")).unwrap();
    let old = SystemTime::now() - Duration::from_secs(86_400);
    fs::File::options().write(true).open(&lost).unwrap().set_modified(old).unwrap();
    let pruned = store.prune(&["a".to_owned(), "b".to_owned(), "none".to_owned()]).unwrap();
    assert_eq!(pruned.deleted, ["a"]);
    assert_eq!(pruned.in_use, ["b"]);
    assert_eq!(pruned.freed, 4 + 4);
    let left = [&b"a1"[..], b"b1", b"b2", b"lost", b"young"].map(|it| has(&store, it));
    assert_eq!(left, [false, true, true, false, true]);
    drop(held);
}

#[test]
fn what_is_no_session_can_be_removed() {
    let (_folder, store) = store();
    drop(store.create("empty").unwrap());
    assert_eq!(store.list().unwrap().unreadable.len(), 1);
    store.delete("empty").unwrap();
    assert!(store.list().unwrap().unreadable.is_empty());
}
