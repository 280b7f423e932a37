//! Words of a long answer that are here together come together, and none waits for another.

use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::super::answer::{Answer, SINGLY};
use super::*;
use crate::net::{Body, Bytestream};

/// An answer whose body comes as these bytes do.
fn answer(bytes: Bytestream) -> Answer {
    let target = target("http://localhost".to_owned());
    let options = fast();
    let body = Body::new(bytes, "host:1".into(), Instant::now() + options.first_byte_timeout, &options);
    let decoder = BodyDecoder::new(FakeWire.decoder(&target), options.max_event);
    Answer::new(body, decoder, target.origin.clone(), target.reference().into())
}

/// An answer whose pieces are all here.
fn here(pieces: Vec<Result<String, LlmError>>) -> Answer {
    answer(Box::pin(stream::iter(pieces.into_iter().map(|piece| piece.map(Bytes::from)))))
}

fn words(count: usize) -> impl Iterator<Item = Result<String, LlmError>> {
    (0..count).map(|n| Ok(text(&format!("{n} "))))
}

fn spoken(chunks: &[GenerateResponse]) -> String {
    chunks.iter().map(GenerateResponse::text).collect()
}

#[tokio::test]
async fn the_first_words_come_one_by_one_and_those_after_them_together() {
    let mut answer = here(words(SINGLY + 100).chain([Ok(finish())]).collect());
    let mut chunks = Vec::new();
    while let Some(chunk) = answer.next().await {
        chunks.push(chunk.unwrap());
    }
    let all: String = (0..SINGLY + 100).map(|n| format!("{n} ")).collect();
    assert_eq!(spoken(&chunks), all);
    assert_eq!(chunks.len(), SINGLY + 2, "all others together, and the end by itself");
    assert!(chunks.iter().all(|chunk| chunk.content().is_none_or(|content| content.origin.is_some())));
    assert_eq!(chunks.last().unwrap().candidates[0].finish_reason, Some(FinishReason::Stop));
}

#[tokio::test]
async fn words_do_not_wait_for_those_that_have_not_come() {
    let (sender, mut pieces) = mpsc::unbounded_channel::<String>();
    let bytes = stream::poll_fn(move |context| {
        pieces.poll_recv(context).map(|piece| piece.map(|piece| Ok(Bytes::from(piece))))
    });
    let mut answer = answer(Box::pin(bytes));
    for n in 0..SINGLY + 20 {
        sender.send(text(&n.to_string())).unwrap();
        assert_eq!(answer.next().await.unwrap().unwrap().text(), n.to_string());
    }
}

#[tokio::test]
async fn words_before_a_broken_connection_are_given_before_it_is_told() {
    let broken = LlmError::new(LlmErrorKind::Network, "the connection broke");
    let mut answer = here(words(SINGLY + 3).chain([Err(broken)]).collect());
    for _ in 0..SINGLY {
        answer.next().await.unwrap().unwrap();
    }
    let (a, b, c) = (SINGLY, SINGLY + 1, SINGLY + 2);
    assert_eq!(answer.next().await.unwrap().unwrap().text(), format!("{a} {b} {c} "));
    assert_eq!(answer.next().await.unwrap().unwrap_err().kind, LlmErrorKind::Network);
    assert!(answer.next().await.is_none());
}

#[tokio::test]
async fn much_of_it_comes_in_several_pieces() {
    let long = "x".repeat(10_000);
    let pieces = words(SINGLY).chain((0..10).map(|_| Ok(text(&long)))).chain([Ok(finish())]);
    let mut answer = here(pieces.collect());
    let mut longest = 0;
    while let Some(chunk) = answer.next().await {
        longest = longest.max(chunk.unwrap().text().len());
    }
    assert_eq!(longest, 20_000, "two of them are enough");
}
