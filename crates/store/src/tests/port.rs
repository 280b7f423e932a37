use charla_proto::{ModelChanged, ModelContent, Origin, SessionStore, SessionSummary, WireKind};
use futures_util::{StreamExt, TryStreamExt};

use super::*;

async fn read_after(store: &Store, session: &str, after: u64) -> Result<Vec<Record>, JournalError> {
    SessionStore::read_after(store, session, after).try_collect().await
}

fn model_changed(seq: u64, model: &str) -> Record {
    Record::new(seq, 7, Fact::ModelChanged(ModelChanged { model: model.to_owned(), by: None }))
}

fn answer(seq: u64, model: &str, words: &str) -> Record {
    let origin = Origin { provider: "p".to_owned(), wire: WireKind::Gemini, model: model.to_owned() };
    let content = Content { origin: Some(Arc::new(origin)), ..Content::model(words) };
    let said = ModelContent { turn: 1, content: Arc::new(content), finish: None, usage: None, citations: Vec::new() };
    Record::new(seq, 7, Fact::ModelContent(Box::new(said)))
}

async fn listed(store: &Store, records: &[Record]) -> SessionSummary {
    drop(SessionStore::create(store, records).await.unwrap());
    let mut sessions = SessionStore::list(store).await.unwrap().sessions;
    assert_eq!(sessions.len(), 1);
    SessionStore::delete(store, "a").await.unwrap();
    sessions.remove(0)
}

#[tokio::test]
async fn records_after_any_number_are_read_in_order_and_without_a_gap() {
    let (_folder, store) = store();
    let mut records = vec![first("a")];
    records.extend((2..300).map(|seq| prompt(seq, "words")));
    let owned = SessionStore::create(&store, &records).await.unwrap();
    for after in [0, 1, 63, 64, 65, 128, 298, 299, 1000, u64::MAX] {
        let wanted: Vec<Record> = records.iter().filter(|record| record.seq > after).cloned().collect();
        assert_eq!(read_after(&store, "a", after).await.unwrap(), wanted, "after {after}");
    }
    // Whoever has enough stops.
    let mut some = SessionStore::read_after(&store, "a", 0);
    assert_eq!(some.next().await, Some(Ok(first("a"))));
    drop((some, owned));
    let missing = JournalError::Missing("b".to_owned());
    assert_eq!(read_after(&store, "b", 0).await, Err(missing));
}

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

#[tokio::test]
async fn a_session_is_listed_with_the_model_that_answered_last_or_was_chosen_since() {
    let (_folder, store) = store();
    let start = [first("a"), prompt(2, "hello")];
    let session = listed(&store, &start).await;
    assert_eq!((session.model.as_str(), session.has_turns), ("fake/m", true));
    assert!(!listed(&store, &start[..1]).await.has_turns);

    let long = "long ".repeat(10_000);
    for words in ["short", &long] {
        let mut records = start.to_vec();
        records.push(answer(3, "first", words));
        assert_eq!(listed(&store, &records).await.model, "p/first");
        records.push(model_changed(4, "p/chosen"));
        assert_eq!(listed(&store, &records).await.model, "p/chosen");
        records.push(answer(5, "fallback", words));
        records.push(prompt(6, words));
        let session = listed(&store, &records).await;
        assert_eq!((session.model.as_str(), session.title.as_str()), ("p/fallback", "hello"));
    }
}

#[test]
fn a_summary_goes_over_the_wire() {
    let (_folder, store) = store();
    store.create("a").unwrap().write(&[first("a"), prompt(2, "hello")]).unwrap();
    let listed = store.list().unwrap();
    let json = serde_json::to_value(&listed).unwrap();
    assert!(json["sessions"][0]["modified"].is_u64());
    let mut back: Listed = serde_json::from_value(json).unwrap();
    let off = listed.sessions[0].modified.duration_since(back.sessions[0].modified).unwrap();
    assert!(off < std::time::Duration::from_millis(1));
    back.sessions[0].modified = listed.sessions[0].modified;
    assert_eq!(back, listed);
}
