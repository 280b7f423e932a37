//! Large outputs whose sessions are gone: each node removes the copies that it has.
//!
//! Whoever deletes a session notes it in a table, and every node looks there from time to time. What the table does not name is never
//! touched: a folder that nobody knows may be somebody's.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use tokio::task::spawn_blocking;

use super::connections::{DatabaseError, Lane, Patience, Value};
use super::{Database, outputs_in};

/// Deletions since the last look, and those of a while before it: some were not committed then, and a copy may have been made meanwhile.
/// A session that has come back under its id has its outputs again.
const DELETED: &str = "select d.space, d.session from charla.deleted_outputs d
    where d.at > to_timestamp($1 / 1000.0) - interval '10 minutes'
        and not exists (select 1 from charla.outputs o where o.space = d.space and o.session = d.session)
        and not exists (select 1 from charla.sessions s where s.space = d.space and s.id = d.session)";

/// What is noted is kept for nodes that are away, as long as this.
const FORGET: &str = "delete from charla.deleted_outputs where at < clock_timestamp() - interval '90 days'";

/// When a node looked last for what was deleted, by the database's clock in milliseconds; 0 before the first time.
#[derive(Debug, Default)]
pub(super) struct LastLook(AtomicI64);

impl Database {
    /// Removes this node's copies of outputs that were deleted at any node since this was asked last; at first, of all that are noted. `sessions`
    /// says where this node has a user's sessions.
    pub async fn remove_deleted_outputs(
        &self,
        sessions: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<(), DatabaseError> {
        let query = |statement, values| self.query_in(Lane::Writing, Patience::Brief, statement, values);
        // Nothing is owned here meanwhile: no folder is removed that was just made.
        let _owning = self.shared.node.owning.lock().await;
        let last = &self.shared.deleted.0;
        let now = "select (extract(epoch from clock_timestamp()) * 1000)::int8";
        let now = query(now, Vec::new()).await?.first().map_or(0, |row| row.get(0));
        let rows = query(DELETED, vec![Value::Number(last.load(Ordering::Relaxed))]).await?;
        let folders = rows.iter().filter_map(|row| {
            let (space, session): (&str, &str) = (row.get(0), row.get(1));
            folder(&outputs_in(&sessions(space)?), session)
        });
        remove(folders.collect()).await;
        last.store(now, Ordering::Relaxed);
        query(FORGET, Vec::new()).await.map(drop)
    }
}

/// The folder with the outputs of a session; none for a name that leads elsewhere.
pub(super) fn folder(outputs: &Path, session: &str) -> Option<PathBuf> {
    Some(outputs.join(crate::plain_id(session).ok()?))
}

/// Removes folders, as far as they are on this machine.
pub(super) async fn remove(folders: Vec<PathBuf>) {
    let remove = move || folders.iter().for_each(|folder| drop(std::fs::remove_dir_all(folder)));
    let _ = spawn_blocking(remove).await;
}
