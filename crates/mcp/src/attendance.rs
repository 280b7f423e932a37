//! What a server may want while a call of ours runs there: a word of the person, an answer of the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use charla_proto::Aside;
use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};

use crate::message::{self, RpcError};
use crate::{elicitation, sampling};

/// So many requests of a server are looked after at once.
const MOST_AT_ONCE: usize = 4;
/// The request comes to nothing here.
const REFUSED: i64 = -1;

/// Takes what a server tells of a call's progress.
pub(crate) type Live = Box<dyn Fn(&str) + Send + Sync>;

/// What a call has for its server while it runs.
#[derive(Default)]
pub(crate) struct Attendance {
    /// Takes what the server tells of its progress.
    pub(crate) live: Option<Live>,
    /// The way to the session, for what the server asks.
    pub(crate) aside: Option<Arc<dyn Aside>>,
    /// How many answers the server waits for.
    pub(crate) asking: Arc<AtomicUsize>,
}

impl Attendance {
    /// The way to the session for a request of the server's, where there is one.
    pub(crate) fn way(&self) -> Option<Way> {
        let aside = self.aside.clone()?;
        self.asking.fetch_add(1, Ordering::AcqRel);
        Some(Way { aside, asking: self.asking.clone() })
    }
}

/// A way to the session that counts as a question as long as it is held.
pub(crate) struct Way {
    pub(crate) aside: Arc<dyn Aside>,
    asking: Arc<AtomicUsize>,
}

impl Drop for Way {
    fn drop(&mut self) {
        self.asking.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a server wants of people or the model.
pub(crate) enum Wish {
    /// Words of the person.
    Elicitation(Value),
    /// An answer of the model.
    Sampling(Value),
}

/// The requests of a server that are looked after.
#[derive(Default)]
pub(crate) struct ServerRequests {
    tasks: JoinSet<Value>,
    running: Vec<(Value, AbortHandle)>,
}

impl ServerRequests {
    /// Begins to look after a request; an answer where that is not done. Nobody is asked for what no call of ours led to.
    pub(crate) fn begin(&mut self, id: &Value, server: &str, wish: Wish, way: Option<Way>) -> Option<Value> {
        self.running.retain(|(_, task)| !task.is_finished());
        let Some(way) = way.filter(|_| self.running.len() < MOST_AT_ONCE) else {
            return Some(answer(id, unattended(&wish)));
        };
        let (key, server) = (id.clone(), server.to_owned());
        let task = self.tasks.spawn(async move {
            let done = match wish {
                Wish::Elicitation(params) => elicitation::answer(&server, &params, &*way.aside).await,
                Wish::Sampling(params) => sampling::answer(&server, &params, &*way.aside).await,
            };
            answer(&key, done)
        });
        self.running.push((id.clone(), task));
        None
    }

    /// The next answer for the server; waits forever when none is to come. Safe to drop and call again.
    pub(crate) async fn next(&mut self) -> Value {
        while let Some(answer) = self.tasks.join_next().await {
            if let Ok(answer) = answer {
                return answer;
            }
        }
        std::future::pending().await
    }

    /// The server does not want an answer any more.
    pub(crate) fn cancel(&mut self, params: &Value) {
        let id = params.get("requestId");
        self.running.iter().filter(|(key, _)| Some(key) == id).for_each(|(_, task)| task.abort());
    }
}

fn unattended(wish: &Wish) -> Result<Value, RpcError> {
    match wish {
        Wish::Elicitation(_) => Ok(json!({"action": "cancel"})),
        Wish::Sampling(_) => Err(refusal("the model is asked only while a call of this client runs")),
    }
}

/// A request that comes to nothing, in words.
pub(crate) fn refusal(why: impl Into<String>) -> RpcError {
    RpcError { code: REFUSED, message: why.into() }
}

fn answer(id: &Value, done: Result<Value, RpcError>) -> Value {
    match done {
        Ok(result) => message::answer(id, &result),
        Err(error) => message::refused(id, &error),
    }
}
