//! Requests that were sent again: with the same key, what was done is told again and nothing is done twice.

pub(crate) mod shared;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use charla_store::Database;
use http::{HeaderValue, StatusCode, header};
use ring::hmac;
use tokio::sync::OnceCell;

use crate::access::Digest;
use crate::problem::Problem;

/// How many keys are remembered; the oldest are forgotten first.
const REMEMBERED: usize = 4096;

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

struct Kept {
    /// Of the path and the body: a key belongs to one request.
    request: Digest,
    answer: Arc<OnceCell<Answer>>,
}

/// A user and one of their keys.
type Name = (String, String);

/// The answers by user and key, and the keys in their order.
#[derive(Default)]
struct Known {
    answers: HashMap<Name, Kept>,
    order: VecDeque<Name>,
}

/// What was answered to requests with keys.
pub(crate) struct Repeats {
    known: Mutex<Known>,
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

    /// Does `work` for the first request with this key; what it answered is told again to further ones.
    pub(crate) async fn once(
        &self,
        user: &str,
        key: &str,
        request: Digest,
        work: impl Future<Output = Result<Answer, Problem>>,
    ) -> Result<Answer, Problem> {
        let answer = self.of(user, key, request)?;
        let work = || async {
            match &self.shared {
                None => work.await,
                Some((database, _)) => {
                    let keyed = shared::Keyed { user: user.to_owned(), key: key.to_owned(), request };
                    shared::once(database, keyed, work).await
                }
            }
        };
        let answered = answer.get_or_try_init(work).await.cloned();
        if answered.is_err() {
            self.forget(user, key, &answer);
        }
        answered
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

    /// A request that was refused did nothing: its key is free again, unless somebody else tries the same with it at this moment.
    fn forget(&self, user: &str, key: &str, answer: &Arc<OnceCell<Answer>>) {
        let name = (user.to_owned(), key.to_owned());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { answers, order } = &mut *known;
        let is_it = answers.get(&name).is_some_and(|kept| Arc::ptr_eq(&kept.answer, answer));
        // Ours, and the one that is kept.
        let is_alone = Arc::strong_count(answer) == 2;
        if is_it && is_alone && !answer.initialized() {
            answers.remove(&name);
            order.retain(|known| *known != name);
        }
    }

    /// Where the answer to the request with this key is, or will be. A key that came with another request is refused.
    fn of(&self, user: &str, key: &str, request: Digest) -> Result<Arc<OnceCell<Answer>>, Problem> {
        let name = (user.to_owned(), key.to_owned());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { answers, order } = &mut *known;
        if let Some(kept) = answers.get(&name) {
            return match kept.request == request {
                true => Ok(kept.answer.clone()),
                false => Err(key_reused()),
            };
        }
        if order.len() >= REMEMBERED
            && let Some(oldest) = order.pop_front()
        {
            answers.remove(&oldest);
        }
        let answer = Arc::<OnceCell<Answer>>::default();
        order.push_back(name.clone());
        answers.insert(name, Kept { request, answer: answer.clone() });
        Ok(answer)
    }
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

    async fn send(repeats: &Repeats, body: &str, answered: Result<u16, u16>) -> Result<u16, &'static str> {
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
        let done = repeats.once("anna", "key", request, work).await;
        done.map(|answer| answer.status.as_u16()).map_err(|problem| problem.kind)
    }

    #[tokio::test]
    async fn a_refused_request_does_not_keep_its_key_and_one_that_was_done_does() {
        let repeats = Repeats::new(None);
        assert_eq!(send(&repeats, "wrong", Err(400)).await, Err("refused"));
        assert!(repeats.known.lock().unwrap().order.is_empty());
        assert_eq!(send(&repeats, "right", Ok(201)).await, Ok(201));
        assert_eq!(send(&repeats, "right", Ok(200)).await, Ok(201), "it is told again");
        assert_eq!(send(&repeats, "other", Ok(200)).await, Err("key_reused"));
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
