//! Requests that were sent again: with the same key, what was done is told again and nothing is done twice.

pub(crate) mod shared;

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use charla_store::Database;
use futures_util::FutureExt;
use http::{HeaderValue, StatusCode, header};
use ring::hmac;
use tokio::sync::OnceCell;

use crate::access::Digest;
use crate::problem::Problem;

/// How many keys of one user are remembered; the oldest are forgotten first.
const REMEMBERED: usize = 1024;

/// What was answered to the first request with a key.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let kind = HeaderValue::from_static("application/json");
        (self.status, [(header::CONTENT_TYPE, kind)], self.body).into_response()
    }
}

/// What came of the first request with a key, once that is known; nothing where nobody knows whether it acted.
type Came = OnceCell<Option<Answer>>;

struct Kept {
    /// Of the path and the body: a key belongs to one request.
    request: Digest,
    came: Arc<Came>,
}

/// What came of one user's requests by key, and the keys in their order.
#[derive(Default)]
struct Known {
    kept: HashMap<String, Kept>,
    order: VecDeque<String>,
}

impl Known {
    /// Where it is, or will be, what came of the request with this key. A key that came with another request is refused.
    fn of(&mut self, key: &str, request: Digest) -> Result<Arc<Came>, Problem> {
        if let Some(kept) = self.kept.get(key) {
            return match kept.request == request {
                true => Ok(kept.came.clone()),
                false => Err(key_reused()),
            };
        }
        if self.order.len() >= REMEMBERED {
            self.forget_oldest();
        }
        let came = Arc::<Came>::default();
        self.order.push_back(key.to_owned());
        self.kept.insert(key.to_owned(), Kept { request, came: came.clone() });
        Ok(came)
    }

    /// Forgets the oldest that is answered: who sends one again that is being done must find it.
    fn forget_oldest(&mut self) {
        let is_over = |key: &String| self.kept.get(key).is_none_or(|kept| kept.came.initialized());
        let oldest = self.order.iter().position(is_over);
        if let Some(key) = oldest.and_then(|oldest| self.order.remove(oldest)) {
            self.kept.remove(&key);
        }
    }

    /// A request that was refused did nothing: its key is free again, unless somebody else tries the same with it at this moment.
    fn free(&mut self, key: &str, came: &Arc<Came>) {
        let is_it = self.kept.get(key).is_some_and(|kept| Arc::ptr_eq(&kept.came, came));
        // Ours, and the one that is kept.
        let is_alone = Arc::strong_count(came) == 2;
        if is_it && is_alone && !came.initialized() {
            self.kept.remove(key);
            self.order.retain(|known| known != key);
        }
    }
}

/// What was answered to requests with keys.
pub(crate) struct Repeats {
    /// By user: nobody's keys are forgotten for another's.
    known: Mutex<HashMap<String, Known>>,
    /// Where all nodes keep them, and the key by which they know requests.
    shared: Option<(Database, hmac::Key)>,
}

impl Repeats {
    pub(crate) fn new(shared: Option<(Database, hmac::Key)>) -> Self {
        Self { known: Mutex::default(), shared }
    }

    /// What a request is known by. It may hold a password: what others may read tells nothing without the key.
    pub(crate) fn digest(&self, request: &[u8]) -> Digest {
        match &self.shared {
            Some((_, key)) => Digest::keyed(key, request),
            None => Digest::of_bytes(request),
        }
    }

    /// Does `work` for the first request with this key; what it answered is told again to further ones. Where nobody knows whether it
    /// acted, they are told that, and nothing is done again.
    pub(crate) async fn once(
        &self,
        user: &str,
        key: &str,
        request: Digest,
        work: impl Future<Output = Result<Answer, Problem>>,
    ) -> Result<Answer, Problem> {
        let came = self.of(user, key, request)?;
        let unclear = OnceLock::new();
        let first = || async {
            match self.work(user, key, request, work).await {
                Ok(answer) => Ok(Some(answer)),
                Err(problem) if problem.may_have_acted => {
                    let _ = unclear.set(problem);
                    Ok(None)
                }
                Err(problem) => Err(problem),
            }
        };
        match came.get_or_try_init(first).await {
            Ok(Some(answer)) => Ok(answer.clone()),
            Ok(None) => Err(unclear.into_inner().unwrap_or_else(interrupted)),
            Err(problem) => {
                self.free(user, key, &came);
                Err(problem)
            }
        }
    }

    async fn work(
        &self,
        user: &str,
        key: &str,
        request: Digest,
        work: impl Future<Output = Result<Answer, Problem>>,
    ) -> Result<Answer, Problem> {
        // What fails by a mistake of ours may have acted before that.
        let failed = |_| Err(Problem::internal("the request could not be done"));
        let work = AssertUnwindSafe(work).catch_unwind().map(|done| done.unwrap_or_else(failed));
        match &self.shared {
            None => work.await,
            Some((database, _)) => {
                let keyed = shared::Keyed { user: user.to_owned(), key: key.to_owned(), request };
                shared::once(database, keyed, work).await
            }
        }
    }

    /// The same for work whose answer nobody may keep: further requests are told that it was done, and no more.
    pub(crate) async fn once_untold(
        &self,
        user: &str,
        key: &str,
        request: Digest,
        work: impl Future<Output = Result<Answer, Problem>>,
    ) -> Result<Answer, Problem> {
        let told = OnceCell::new();
        let work = async {
            let _ = told.set(work.await?);
            Ok(Answer { status: StatusCode::NO_CONTENT, body: Bytes::new() })
        };
        self.once(user, key, request, work).await?;
        told.into_inner().ok_or_else(told_already)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, user: &str, key: &str, request: Digest) -> Result<Arc<Came>, Problem> {
        self.known().entry(user.to_owned()).or_default().of(key, request)
    }

    fn free(&self, user: &str, key: &str, came: &Arc<Came>) {
        let mut known = self.known();
        if let Some(of_user) = known.get_mut(user) {
            of_user.free(key, came);
            if of_user.order.is_empty() {
                known.remove(user);
            }
        }
    }
}

fn interrupted() -> Problem {
    let detail =
        "nobody knows whether the first request with this Idempotency-Key acted: it was not answered";
    Problem::new(StatusCode::CONFLICT, "interrupted", detail)
        .with_hint("look at the session for whether it acted, and take another key to send it again")
}

fn told_already() -> Problem {
    let detail = "this was done already, and its secret is told once";
    Problem::new(StatusCode::CONFLICT, "told_already", detail)
        .with_hint("take back what was made if the answer was lost, and make another with another key")
}

fn key_reused() -> Problem {
    let detail = "this Idempotency-Key came with another request before";
    Problem::new(StatusCode::CONFLICT, "key_reused", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn send_as(
        repeats: &Repeats,
        (user, key): (&str, &str),
        body: &str,
        answered: Result<u16, u16>,
    ) -> Result<u16, &'static str> {
        let status = |code| StatusCode::from_u16(code).unwrap();
        let work = async {
            // Others come meanwhile.
            tokio::task::yield_now().await;
            match answered {
                Ok(code) => Ok(Answer { status: status(code), body: Bytes::new() }),
                Err(code) => Err(Problem::new(status(code), "refused", "no")),
            }
        };
        let request = repeats.digest(body.as_bytes());
        let done = repeats.once(user, key, request, work).await;
        done.map(|answer| answer.status.as_u16()).map_err(|problem| problem.kind)
    }

    async fn send(repeats: &Repeats, body: &str, answered: Result<u16, u16>) -> Result<u16, &'static str> {
        send_as(repeats, ("anna", "key"), body, answered).await
    }

    #[tokio::test]
    async fn a_refused_request_does_not_keep_its_key_and_one_that_was_done_does() {
        let repeats = Repeats::new(None);
        assert_eq!(send(&repeats, "wrong", Err(400)).await, Err("refused"));
        assert!(repeats.known.lock().unwrap().is_empty());
        assert_eq!(send(&repeats, "right", Ok(201)).await, Ok(201));
        assert_eq!(send(&repeats, "right", Ok(200)).await, Ok(201), "it is told again");
        assert_eq!(send(&repeats, "other", Ok(200)).await, Err("key_reused"));
    }

    #[tokio::test]
    async fn a_request_that_may_have_acted_keeps_its_key_and_is_not_done_again() {
        for lost in [500, 502, 503] {
            let repeats = Repeats::new(None);
            assert_eq!(send(&repeats, "prompt", Err(lost)).await, Err("refused"));
            assert_eq!(send(&repeats, "prompt", Ok(200)).await, Err("interrupted"));
            assert_eq!(send(&repeats, "prompt", Ok(200)).await, Err("interrupted"));
        }
        let repeats = Repeats::new(None);
        let request = repeats.digest(b"prompt");
        let panics = std::future::ready(()).map(|()| -> Result<Answer, Problem> { panic!("a mistake") });
        assert_eq!(repeats.once("anna", "key", request, panics).await.err().unwrap().kind, "internal");
        assert_eq!(send(&repeats, "prompt", Ok(200)).await, Err("interrupted"));
    }

    #[tokio::test]
    async fn a_request_that_failed_before_it_did_anything_may_be_sent_again() {
        let repeats = Repeats::new(None);
        let request = repeats.digest(b"prompt");
        let away = async { Err(Problem::away(&"gone").before_anything()) };
        assert_eq!(repeats.once("anna", "key", request, away).await.err().unwrap().kind, "away");
        assert_eq!(send(&repeats, "prompt", Ok(200)).await, Ok(200));
    }

    #[tokio::test]
    async fn the_keys_of_one_user_push_no_others_out_and_none_that_is_being_done() {
        let repeats = Repeats::new(None);
        assert_eq!(send(&repeats, "first", Ok(201)).await, Ok(201));
        let being_done = repeats.of("ben", "slow", repeats.digest(b"slow")).unwrap();
        for number in 0..2 * REMEMBERED {
            assert_eq!(send_as(&repeats, ("ben", &number.to_string()), "x", Ok(200)).await, Ok(200));
        }
        assert_eq!(send(&repeats, "first", Ok(200)).await, Ok(201), "somebody else's is known still");
        let again = repeats.of("ben", "slow", repeats.digest(b"slow")).unwrap();
        assert!(Arc::ptr_eq(&being_done, &again));
        assert_eq!(repeats.known.lock().unwrap()["ben"].order.len(), REMEMBERED);
        assert_eq!(send_as(&repeats, ("ben", "0"), "x", Ok(201)).await, Ok(201), "the oldest are forgotten");
    }

    #[tokio::test]
    async fn who_tries_the_same_at_once_has_the_key_still_where_the_first_is_refused() {
        let repeats = Repeats::new(None);
        let (first, second) =
            tokio::join!(send(&repeats, "same", Err(409)), send(&repeats, "same", Ok(200)),);
        assert_eq!((first, second), (Err("refused"), Ok(200)));
        assert_eq!(send(&repeats, "other", Ok(200)).await, Err("key_reused"));
        assert_eq!(send(&repeats, "same", Err(409)).await, Ok(200));
    }
}
