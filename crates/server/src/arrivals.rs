//! Sessions that are coming in: an id comes once at a time, whoever sends it and wherever.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use charla_store::{Database, Patience, Value};
use http::StatusCode;

use crate::problem::Problem;

/// The ids that are on their way.
pub(crate) struct Arrivals {
    here: Arc<Mutex<HashSet<String>>>,
    /// Where all nodes note them.
    shared: Option<Database>,
}

/// An id that is on its way with one request alone.
struct Held {
    id: String,
    here: Arc<Mutex<HashSet<String>>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.here.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

impl Arrivals {
    pub(crate) fn new(shared: Option<Database>) -> Self {
        Self { here: Arc::default(), shared }
    }

    /// Does `work` while nobody else brings a session of this id.
    pub(crate) async fn alone<T>(
        &self,
        id: &str,
        work: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let is_first = self.here.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        if !is_first {
            return Err(on_its_way(id));
        }
        let _held = Held { id: id.to_owned(), here: self.here.clone() };
        let Some(database) = &self.shared else { return work.await };
        if !claim(database, id).await? {
            return Err(on_its_way(id));
        }
        let done = work.await;
        let gone = "delete from charla.arrivals where id = $1 and node = $2";
        // Left behind, it is free when this node has ended.
        let _ = database.query(Patience::Brief, gone, vec![id.into(), database.node_id().into()]).await;
        done
    }
}

/// Notes the id for every node, unless one that lives has.
async fn claim(database: &Database, id: &str) -> Result<bool, Problem> {
    let claim = "insert into charla.arrivals as known (id, node) values ($1, $2)
        on conflict (id) do update set node = excluded.node
        where known.node = $2 or not exists (select 1 from charla.nodes n
            where n.id = known.node and n.lease_until > clock_timestamp())
        returning id";
    let values: Vec<Value> = vec![id.into(), database.node_id().into()];
    let claimed = database.query(Patience::Brief, claim, values).await;
    Ok(!claimed.map_err(|error| Problem::away(&error))?.is_empty())
}

fn on_its_way(id: &str) -> Problem {
    let detail = format!("another session with the id {id} is coming in at this moment");
    Problem::new(StatusCode::CONFLICT, "busy", detail)
        .with_hint("nothing was kept; send it again in a moment")
}
