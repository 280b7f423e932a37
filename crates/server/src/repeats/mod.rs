//! Requests that were sent again: with the same key, what was done is told again and nothing is done twice.

pub(crate) mod shared;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use charla_store::Database;
use http::{HeaderValue, StatusCode, header};
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
    /// Where all nodes keep them.
    shared: Option<Database>,
}

impl Repeats {
    pub(crate) fn new(shared: Option<Database>) -> Self {
        Self { known: Mutex::default(), shared }
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
                Some(database) => {
                    let keyed = shared::Keyed { user: user.to_owned(), key: key.to_owned(), request };
                    shared::once(database, keyed, work).await
                }
            }
        };
        answer.get_or_try_init(work).await.cloned()
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
