//! A reply's body, with an eye on the clock.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use charla_proto::{LlmError, LlmErrorKind};
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

use super::NetworkOptions;
use super::failure::went_silent;

/// The bytes of a body as they come.
pub(crate) type Bytestream = Pin<Box<dyn Stream<Item = Result<Bytes, LlmError>> + Send>>;

/// A body that gives up when nothing comes for too long. Dropping it closes the connection.
pub(crate) struct Body {
    bytes: Bytestream,
    host: Arc<str>,
    first_byte_timeout: Duration,
    idle_timeout: Duration,
    begun: bool,
    last_byte: Instant,
    /// Rings at the first deadline, then no later than `idle_timeout` after some byte. It is set anew
    /// only when it rings: moving a timer with every chunk would cost more than reading the chunk.
    alarm: Pin<Box<Sleep>>,
}

impl Body {
    /// `deadline` is when the first byte must have come.
    pub(crate) fn new(
        bytes: Bytestream,
        host: Arc<str>,
        deadline: Instant,
        options: &NetworkOptions,
    ) -> Self {
        Self {
            bytes,
            host,
            first_byte_timeout: options.first_byte_timeout,
            idle_timeout: options.idle_timeout,
            begun: false,
            last_byte: Instant::now(),
            alarm: Box::pin(sleep_until(deadline)),
        }
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, LlmError>> {
        loop {
            tokio::select! {
                biased;
                bytes = self.bytes.next() => {
                    self.last_byte = Instant::now();
                    if !self.begun {
                        self.begun = true;
                        self.alarm.as_mut().reset(deadline(self.last_byte, self.idle_timeout));
                    }
                    return bytes;
                }
                () = &mut self.alarm => {
                    let due = deadline(self.last_byte, self.idle_timeout);
                    if !self.begun || due <= Instant::now() {
                        return Some(Err(self.silence()));
                    }
                    self.alarm.as_mut().reset(due);
                }
            }
        }
    }

    /// The next bytes if they are here already; nothing when they are not. Whoever reads the connection hands over one
    /// piece after the other, so it gets its turn once.
    pub(crate) async fn next_here(&mut self) -> Option<Option<Result<Bytes, LlmError>>> {
        let mut has_waited = false;
        let bytes = poll_fn(|context| match self.bytes.poll_next_unpin(context) {
            Poll::Ready(bytes) => Poll::Ready(Some(bytes)),
            Poll::Pending if has_waited => Poll::Ready(None),
            Poll::Pending => {
                has_waited = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await;
        if bytes.is_some() {
            self.last_byte = Instant::now();
        }
        bytes
    }

    /// The whole body, an error when it is larger than `limit`.
    pub(crate) async fn read(&mut self, limit: usize) -> Result<Vec<u8>, LlmError> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await {
            let bytes = bytes?;
            if whole.len() + bytes.len() > limit {
                return Err(LlmError::new(LlmErrorKind::Protocol, "the server's answer is too large"));
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    }

    /// As much of the body as comes within `limit` and `patience`; for the explanation of an error,
    /// where half of it is better than another error.
    pub(crate) async fn read_some(&mut self, limit: usize, patience: Duration) -> Vec<u8> {
        let end = deadline(Instant::now(), patience);
        let mut some = Vec::new();
        while some.len() < limit
            && let Ok(Some(Ok(bytes))) = timeout_at(end, self.next()).await
        {
            let room = limit - some.len();
            some.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
        }
        some
    }

    fn silence(&self) -> LlmError {
        if self.begun {
            went_silent(&self.host, self.idle_timeout, false)
        } else {
            went_silent(&self.host, self.first_byte_timeout, true)
        }
    }
}

/// `start + wait`, or far away when that is no time a clock can show.
pub(super) fn deadline(start: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    start + wait.min(FAR)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use futures_util::stream;

    use super::*;

    /// A body whose pieces come after these waits.
    fn body(pieces: &[(u64, &'static str)], options: &NetworkOptions) -> Body {
        let pieces: VecDeque<_> = pieces.iter().copied().collect();
        let bytes = stream::unfold(pieces, |mut pieces| async move {
            let (wait, text) = pieces.pop_front()?;
            tokio::time::sleep(Duration::from_secs(wait)).await;
            Some((Ok(Bytes::from_static(text.as_bytes())), pieces))
        });
        let first = deadline(Instant::now(), options.first_byte_timeout);
        Body::new(Box::pin(bytes), "host:1".into(), first, options)
    }

    #[tokio::test(start_paused = true)]
    async fn every_byte_buys_the_server_more_time() {
        let options = NetworkOptions::default();
        let mut body = body(&[(299, ":\n"), (119, ":\n"), (119, ":\n"), (119, "x")], &options);
        assert_eq!(body.read(100).await.unwrap(), b":\n:\n:\nx");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_in_the_middle_is_told_with_its_length() {
        let start = Instant::now();
        let mut body = body(&[(10, "a"), (50, "b"), (121, "c")], &NetworkOptions::default());
        let error = body.read(100).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Timeout);
        assert_eq!(error.message, "host:1 sent nothing for 120 s in the middle of the answer");
        assert!(error.detail.in_stream);
        assert_eq!(start.elapsed().as_secs(), 10 + 50 + 120);
    }

    #[tokio::test(start_paused = true)]
    async fn silence_before_the_first_byte_has_its_own_limit() {
        let mut body = body(&[(301, "a")], &NetworkOptions::default());
        let error = body.next().await.unwrap().unwrap_err();
        assert_eq!(error.message, "host:1 sent no answer within 300 s");
    }

    #[tokio::test(start_paused = true)]
    async fn no_limit_means_no_limit() {
        let options = NetworkOptions {
            first_byte_timeout: Duration::MAX,
            idle_timeout: Duration::MAX,
            ..NetworkOptions::default()
        };
        let mut body = body(&[(100_000, "a"), (100_000, "b")], &options);
        assert_eq!(body.read(100).await.unwrap(), b"ab");
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_body_is_read_up_to_its_limits() {
        let options = NetworkOptions::default();
        let patience = Duration::from_secs(10);
        assert_eq!(body(&[(0, "abc"), (0, "def")], &options).read_some(4, patience).await, b"abcd");
        assert_eq!(body(&[(0, "abc"), (11, "def")], &options).read_some(100, patience).await, b"abc");
        assert!(body(&[(0, "abc"), (0, "def")], &options).read(4).await.is_err());
    }
}
