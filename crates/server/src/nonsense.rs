//! What a connection is told whose first words are no request: a problem document, as everything else that is refused.
//!
//! The head of a request is read by hyper, which answers one that it cannot read, or that is too long, with a status alone.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::StatusCode;
use tokio::io::AsyncWrite;

use crate::outgoing::{Connection, Outgoing};
use crate::problem::Problem;

/// A connection whose first answer, where it is a status without a word, gets its words.
pub(crate) type Worded<S> = Connection<S, Words>;

/// What a connection says first.
#[derive(Default)]
pub(crate) struct Words {
    /// Something was written: from now on an answer may begin anywhere in it.
    began: bool,
    /// What is written in place of what was to be.
    instead: Vec<u8>,
    written: usize,
}

/// The answer in place of a head that says nothing but that the request was refused.
fn in_words(head: &[u8]) -> Option<Vec<u8>> {
    let head = std::str::from_utf8(head).ok()?.strip_suffix("\r\n\r\n")?;
    let (status, fields) = head.strip_prefix("HTTP/1.1 ")?.split_once("\r\n")?;
    let is_empty = fields.split("\r\n").any(|field| field.eq_ignore_ascii_case("content-length: 0"));
    let status = StatusCode::from_bytes(status.get(..3)?.as_bytes()).ok()?;
    let (kind, detail) = match status {
        StatusCode::BAD_REQUEST => ("bad_request", "this is no request of HTTP/1.1"),
        StatusCode::URI_TOO_LONG => ("too_long", "the address is too long"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ("too_large", "the request's head is too large"),
        _ => return None,
    };
    let body = serde_json::to_string(&Problem::new(status, kind, detail)).ok()?;
    is_empty.then(|| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n\
             x-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    })
}

impl Words {
    /// Writes what stands in place of something else, to its end.
    fn poll_instead<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(rest) = self.instead.get(self.written..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut *stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => self.written += more,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Takes the first words; true where others are written in their place.
    fn takes(&mut self, bytes: &[u8]) -> bool {
        if !std::mem::replace(&mut self.began, true) {
            self.instead = in_words(bytes).unwrap_or_default();
        }
        self.written < self.instead.len()
    }
}

impl<S: AsyncWrite + Unpin> Outgoing<S> for Words {
    fn poll_write(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bytes.iter().find(|bytes| !bytes.is_empty()).map_or(&[][..], |bytes| bytes);
        if self.takes(first) {
            ready!(self.poll_instead(stream, cx))?;
            return Poll::Ready(Ok(first.len()));
        }
        Pin::new(stream).poll_write_vectored(cx, bytes)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn heard(words: &[&str]) -> String {
        // So narrow that nothing is written in one piece.
        let (near, mut far) = tokio::io::duplex(7);
        let mut near = Worded::new(near);
        let heard = tokio::spawn(async move {
            let mut heard = String::new();
            far.read_to_string(&mut heard).await.unwrap();
            heard
        });
        for words in words {
            near.write_all(words.as_bytes()).await.unwrap();
        }
        near.shutdown().await.unwrap();
        drop(near);
        heard.await.unwrap()
    }

    #[tokio::test]
    async fn a_bare_refusal_gets_words_where_it_is_the_first_and_nothing_else_is_touched() {
        let bare =
            "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let told = heard(&[bare]).await;
        assert!(told.contains("application/problem+json") && told.ends_with("is too large\"}"), "{told}");
        for words in [
            &["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", bare][..],
            &["x", bare],
            &["HTTP/1.1 204 No Content\r\n\r\n"],
        ] {
            assert_eq!(heard(words).await, words.concat());
        }
        let own = "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(heard(&[own]).await, own);
    }
}
