use std::io::{Cursor, PipeReader, Read};

use serde_json::{Value, json};

use super::*;

/// A client that sends these lines and then nothing more; what is written to it.
fn client(lines: &str, most: usize) -> (Arc<Connection>, Requests, PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    let (connection, requests) = Connection::start(Cursor::new(lines.to_owned()), writer, "taken/back", most);
    (connection, requests, reader)
}

/// Everything that was written, once nobody writes any more.
fn written(mut reader: PipeReader) -> Vec<Value> {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn messages_that_come_together_are_taken_one_by_one_and_nonsense_is_refused() {
    let lines = concat!(
        "[{\"id\":1,\"method\":\"a\"},7,{\"method\":\"b\",\"params\":{\"x\":1}}]\n",
        "[]\n",
        "{\n",
        "{\"id\":{},\"method\":\"c\"}\n",
    );
    let (connection, mut requests, reader) = client(lines, 8);
    let mut seen = Vec::new();
    while let Some(Incoming { id, method, params }) = requests.next().await {
        seen.push((id, method, params));
    }
    let expected = [(Some(json!(1)), "a".to_owned(), Value::Null), (None, "b".to_owned(), json!({"x": 1}))];
    assert_eq!(seen, expected);
    drop((connection, requests));
    let codes: Vec<Value> = written(reader).iter().map(|message| message["error"]["code"].clone()).collect();
    assert_eq!(codes, [INVALID_REQUEST, INVALID_REQUEST, PARSE_ERROR, INVALID_REQUEST].map(Value::from));
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_by_its_id_and_is_an_answer_where_we_asked() {
    let long = "x".repeat(LONGEST);
    let lines = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":\"{long}\"}}\n\
         {{\"params\":\"{long}\",\"id\":2,\"method\":\"m\"}}\n\
         {{\"id\":4,\"method\":\"{long}\"}}\n\
         {{\"id\":1,\"result\":\"{long}\"}}\n\
         {{\"id\":3,\"method\":\"after\"}}\n"
    );
    let (connection, mut requests, reader) = client(&lines, 8);
    let asked = connection.clone();
    let asked = tokio::spawn(async move { asked.request("read", &Value::Null).await });
    // The answer finds the question only where that was asked before.
    while connection.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    let next = requests.next().await.unwrap();
    assert_eq!(next.method, "after");
    assert_eq!(asked.await.unwrap(), Err(NoAnswer::Refused("a message has at most 16 MB".to_owned())));
    drop((connection, requests));
    let written: Vec<Value> = written(reader);
    let refused = written.iter().filter(|message| message["error"]["code"] == INVALID_REQUEST);
    assert_eq!(
        refused.map(|message| &message["id"]).collect::<Vec<_>>(),
        [&json!("a"), &Value::Null, &json!(4)]
    );
}

#[tokio::test]
async fn a_request_runs_until_it_is_taken_back_and_too_many_are_refused() {
    let lines = concat!(
        "{\"id\":1,\"method\":\"wait\"}\n",
        "{\"id\":1,\"method\":\"wait\"}\n",
        "{\"id\":\"two\",\"method\":\"wait\"}\n",
        "{\"id\":3,\"method\":\"wait\"}\n",
        "{\"method\":\"taken/back\",\"params\":{\"requestId\":1}}\n",
        "{\"method\":\"stop\"}\n",
    );
    let (connection, mut requests, reader) = client(lines, 2);
    while let Some(Incoming { id, method, .. }) = requests.next().await {
        let Some(id) = id else {
            assert_eq!((method.as_str(), requests.cancel("somebody")), ("stop", 1));
            continue;
        };
        let (connection, answered) = (connection.clone(), id.clone());
        let about = id.is_string().then(|| "somebody".to_owned());
        let wait = async move |cancel: charla_core::CancellationToken| {
            cancel.cancelled().await;
            connection.answer(&answered, &json!("cancelled")).await;
        };
        requests.begin(&id, about, wait).await;
    }
    requests.finish(std::time::Duration::from_secs(10)).await;
    drop((connection, requests));
    let mut said = written(reader);
    said.sort_by_key(Value::to_string);
    let refused = |message: &&Value| message["error"]["code"] == json!(INVALID_REQUEST);
    assert_eq!(said.iter().filter(refused).count(), 2, "{said:?}");
    let done: Vec<&Value> =
        said.iter().filter(|one| one["result"] == "cancelled").map(|one| &one["id"]).collect();
    assert_eq!(done, [&json!("two"), &json!(1)]);
}

/// Writes nothing before it is let.
struct Held {
    let_go: std::sync::mpsc::Receiver<()>,
    output: std::io::PipeWriter,
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Once let, for good: the other end is dropped then.
        let _ = self.let_go.recv();
        self.output.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.output.flush()
    }
}

#[tokio::test]
async fn flushing_waits_for_a_slow_reader_and_not_for_ever() {
    let (mut reader, output) = std::io::pipe().unwrap();
    let (go, let_go) = std::sync::mpsc::channel();
    let input = Cursor::new("{\"id\":1,\"method\":\"a\"}\n");
    let (connection, mut requests) = Connection::start(input, Held { let_go, output }, "taken/back", 8);
    let incoming = requests.next().await.unwrap();
    connection.answer(&incoming.id.unwrap(), &json!("answered")).await;
    assert!(requests.next().await.is_none() && connection.is_gone());
    // Nothing is read, so that it gives up.
    connection.flush(std::time::Duration::from_millis(10)).await;
    let flushed = connection.flush(std::time::Duration::from_secs(60));
    drop(go);
    flushed.await;
    let mut written = [0; 64];
    let length = reader.read(&mut written).unwrap();
    let answer: Value = serde_json::from_slice(&written[..length]).unwrap();
    assert_eq!(answer["result"], "answered");
}

#[tokio::test]
async fn what_is_about_nothing_is_waited_for_alone() {
    let lines = "{\"id\":1,\"method\":\"long\"}\n{\"id\":2,\"method\":\"short\"}\n";
    let (connection, mut requests, reader) = client(lines, 8);
    while let Some(Incoming { id: Some(id), method, .. }) = requests.next().await {
        let about = (method == "long").then(|| "somebody".to_owned());
        let (connection, answered) = (connection.clone(), id.clone());
        let work = async move |cancel: CancellationToken| {
            if method == "long" {
                cancel.cancelled().await;
            }
            connection.answer(&answered, &json!(method)).await;
        };
        requests.begin(&id, about, work).await;
    }
    requests.settle(std::time::Duration::from_secs(60)).await;
    assert_eq!(requests.cancel("somebody"), 1);
    requests.finish(std::time::Duration::from_secs(60)).await;
    drop((connection, requests));
    let results: Vec<Value> = written(reader).into_iter().map(|mut one| one["result"].take()).collect();
    assert_eq!(results, [json!("short"), json!("long")]);
}
