//! Bodies of requests: how large each may be, how long it may take, and how much of memory all of them may.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::timeout;

use crate::problem::Problem;

/// How much one sender's bodies may hold, and everybody's.
const EACH: usize = 128 * MIB;
const ALL: usize = 512 * MIB;
const MIB: usize = 1024 * 1024;

/// How large a request's body may be, and how long it may take to arrive.
#[derive(Clone, Copy)]
pub(crate) struct BodyLimit {
    bytes: usize,
    patience: Duration,
}

impl BodyLimit {
    /// Of a route that takes none; some clients send a word nevertheless.
    const NONE: Self = Self { bytes: 1024, patience: Duration::from_secs(5) };
    /// A prompt with a few pictures.
    const USUAL: Self = Self { bytes: 16 * MIB, patience: Duration::from_secs(30) };
    /// A name and a password.
    pub(crate) const SIGN_IN: Self = Self { bytes: 4 * 1024, patience: Duration::from_secs(5) };
    /// A whole session.
    pub(crate) const SESSION: Self = Self { bytes: 64 * MIB, patience: Duration::from_secs(300) };

    /// Of a route that takes this.
    pub(crate) const fn of(takes: Option<&str>) -> Self {
        match takes {
            Some(_) => Self::USUAL,
            None => Self::NONE,
        }
    }

    fn too_large(self) -> Problem {
        let detail = format!("the body is larger than {} bytes", self.bytes);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    }
}

/// How much bodies hold, by who sends them.
type Taken = Mutex<HashMap<String, usize>>;

/// What all bodies together hold.
pub(crate) struct Bodies {
    each: usize,
    all: usize,
    taken: Arc<Taken>,
}

impl Default for Bodies {
    fn default() -> Self {
        Self { each: EACH, all: ALL, taken: Arc::default() }
    }
}

/// What one body holds. Dropped, there is room again.
pub(crate) struct Held {
    from: String,
    bytes: usize,
    taken: Arc<Taken>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = taken.get_mut(&self.from) {
            *held = held.saturating_sub(self.bytes);
            if *held == 0 {
                taken.remove(&self.from);
            }
        }
    }
}

impl Bodies {
    /// Takes room for more of a body, as it comes; whether there is any.
    fn grow(&self, held: &mut Held, more: usize) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = taken.values().sum();
        let own = taken.get(&held.from).copied().unwrap_or(0);
        let fits = own.saturating_add(more) <= self.each && all.saturating_add(more) <= self.all;
        if fits && more > 0 {
            taken.insert(held.from.clone(), own + more);
            held.bytes += more;
        }
        fits
    }

    /// The whole body, and the room it takes until that is dropped.
    pub(crate) async fn collect(
        &self,
        from: &str,
        body: Body,
        limit: BodyLimit,
    ) -> Result<(Bytes, Held), Problem> {
        let held = Held { from: from.to_owned(), bytes: 0, taken: self.taken.clone() };
        if body.size_hint().lower() > limit.bytes as u64 {
            return Err(limit.too_large());
        }
        let late =
            || Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body takes too long to arrive");
        timeout(limit.patience, self.gather(held, body, limit)).await.map_err(|_| late())?
    }

    async fn gather(&self, mut held: Held, body: Body, limit: BodyLimit) -> Result<(Bytes, Held), Problem> {
        let mut body = pin!(body);
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Problem::bad_request("the body is cut"))?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.len().saturating_add(data.len()) > limit.bytes {
                return Err(limit.too_large());
            }
            if !self.grow(&mut held, data.len()) {
                let detail = "too much is being sent at once";
                return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
                    .with_hint("nothing was done; send it again in a moment"));
            }
            whole.extend_from_slice(&data);
        }
        Ok((whole.freeze(), held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_takes_too_long_to_arrive_is_given_up_and_its_room_is_free_again() {
        let bodies = Bodies::default();
        let piece = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
        let never = futures_util::stream::StreamExt::chain(piece, futures_util::stream::pending());
        let began = tokio::time::Instant::now();
        let late = bodies.collect("a", Body::from_stream(never), BodyLimit::SIGN_IN).await;
        assert_eq!(late.err().map(|problem| problem.status), Some(StatusCode::REQUEST_TIMEOUT));
        assert_eq!(began.elapsed(), BodyLimit::SIGN_IN.patience);
        assert!(bodies.taken.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn bodies_take_no_more_room_than_there_is_and_give_it_back() {
        let bodies = Bodies { each: 10, all: 15, taken: Arc::default() };
        let collect = |from: &'static str, size: usize| {
            bodies.collect(from, Body::from(vec![b' '; size]), BodyLimit::SIGN_IN)
        };
        let first = collect("a", 8).await.ok().unwrap();
        let status = |result: Result<_, Problem>| result.err().map(|problem| problem.status);
        assert_eq!(status(collect("a", 3).await), Some(StatusCode::SERVICE_UNAVAILABLE), "more than theirs");
        assert_eq!(
            status(collect("b", 8).await),
            Some(StatusCode::SERVICE_UNAVAILABLE),
            "more than there is"
        );
        assert_eq!(status(collect("b", 7).await), None);
        drop(first);
        assert_eq!(status(collect("b", 8).await), None);
        assert!(bodies.taken.lock().unwrap().is_empty(), "nobody is remembered");
        assert_eq!(status(collect("a", 5000).await), Some(StatusCode::PAYLOAD_TOO_LARGE));
    }
}
