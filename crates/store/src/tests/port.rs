use super::*;

#[tokio::test]
async fn a_reader_comes_past_lines_that_are_none() {
    let (_folder, store) = store();
    drop(SessionStore::create(&store, &[first("a"), prompt(2, "one")]).await.unwrap());
    let path = store.path("a").unwrap();
    let line = |record| serde_json::to_string(&record).unwrap();
    let torn = line(prompt(3, "torn"));
    let text = format!(
        "{}{}\n{}\n{}\n",
        fs::read_to_string(&path).unwrap(),
        torn.get(..30).unwrap(),
        line(prompt(3, "whole")),
        line(prompt(4, "next"))
    );
    fs::write(&path, text).unwrap();
    for after in 0..5 {
        let numbers: Vec<u64> =
            read_after(&store, "a", after).await.unwrap().iter().map(|record| record.seq).collect();
        assert_eq!(numbers, (after + 1..5).collect::<Vec<_>>());
    }
    let owned = SessionStore::own(&store, "a").await.unwrap();
    assert_eq!((owned.skipped.len(), owned.conversation.seq), (1, 4));
}

#[tokio::test]
async fn a_fork_keeps_what_this_version_does_not_know() {
    let (_folder, store) = store();
    drop(SessionStore::create(&store, &[first("a")]).await.unwrap());
    let unknown = r#"{"seq":2,"at":6,"kind":"call_started","call":"c","new":{"deep":[1]},"turn":1}"#;
    let path = store.path("a").unwrap();
    fs::write(&path, format!("{}{unknown}\n", fs::read_to_string(&path).unwrap())).unwrap();
    let mut records = read_after(&store, "a", 0).await.unwrap();
    records[0] = first("b");
    records[1].seq = 7;
    drop(SessionStore::create(&store, &records).await.unwrap());
    let forked = fs::read_to_string(store.path("b").unwrap()).unwrap();
    assert_eq!(forked.lines().nth(1), Some(unknown.replace("\"seq\":2", "\"seq\":7").as_str()));
}

#[test]
fn a_summary_goes_over_the_wire() {
    let (_folder, store) = store();
    write(&mut store.create("a").unwrap(), &[first("a"), prompt(2, "hello")]).unwrap();
    let listed = store.list().unwrap();
    let json = serde_json::to_value(&listed).unwrap();
    assert!(json["sessions"][0]["modified"].is_u64());
    assert_eq!(json["sessions"][0]["began"], 5);
    let mut back: SessionList = serde_json::from_value(json).unwrap();
    let off = listed.sessions[0].modified.duration_since(back.sessions[0].modified).unwrap();
    assert!(off < std::time::Duration::from_millis(1));
    back.sessions[0].modified = listed.sessions[0].modified;
    assert_eq!(back, listed);
}
