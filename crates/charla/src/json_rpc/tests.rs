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
    let expected = [
        (Some(json!(1)), "a".to_owned(), Value::Null),
        (None, "b".to_owned(), json!({"x": 1})),
        (None, "c".to_owned(), Value::Null),
    ];
    assert_eq!(seen, expected);
    drop((connection, requests));
    let codes: Vec<Value> = written(reader).iter().map(|message| message["error"]["code"].clone()).collect();
    assert_eq!(codes, [json!(INVALID_REQUEST), json!(INVALID_REQUEST), json!(PARSE_ERROR)]);
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
    requests.cancel_all(std::time::Duration::from_secs(10)).await;
    drop((connection, requests));
    let mut said = written(reader);
    said.sort_by_key(Value::to_string);
    let refused = |message: &&Value| message["error"]["code"] == json!(INVALID_REQUEST);
    assert_eq!(said.iter().filter(refused).count(), 2, "{said:?}");
    let done: Vec<&Value> =
        said.iter().filter(|one| one["result"] == "cancelled").map(|one| &one["id"]).collect();
    assert_eq!(done, [&json!("two"), &json!(1)]);
}
