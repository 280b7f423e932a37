//! Contents of changed files in the database, by their hash.

use charla_proto::{SnapshotError, Snapshots, content_hash};

use super::Database;
use super::connections::{DatabaseError, Lane, Patience, Value};

/// The contents that every session's changes refer to.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    database: Database,
}

impl Contents {
    pub(super) fn new(database: Database) -> Self {
        Self { database }
    }

    fn query(
        &self,
        lane: Lane,
        patience: Patience,
        statement: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<tokio_postgres::Row>, SnapshotError> {
        let shared = self.database.shared.clone();
        let work = async move { shared.connections.query(lane, patience, statement, &values).await };
        self.database.wait(work).map_err(|error: DatabaseError| SnapshotError::Io(error.to_string()))
    }
}

impl Snapshots for Contents {
    fn keep(&self, bytes: &[u8]) -> Result<String, SnapshotError> {
        let hash = content_hash(bytes);
        // One that is about to be referred to again must not be removed as one that nobody needs.
        let touch = "update charla.contents set kept_at = clock_timestamp() where hash = $1 returning hash";
        let known = self.query(Lane::Writing, Patience::Endless, touch, vec![hash.as_str().into()])?;
        if known.is_empty() {
            let insert = "insert into charla.contents (hash, bytes) values ($1, $2) on conflict do nothing";
            let values = vec![hash.as_str().into(), Value::Bytes(bytes.to_vec())];
            self.query(Lane::Writing, Patience::Endless, insert, values)?;
        }
        Ok(hash)
    }

    fn load(&self, wanted: &str) -> Result<Vec<u8>, SnapshotError> {
        let select = "select bytes from charla.contents where hash = $1";
        let rows = self.query(Lane::Reading, Patience::Brief, select, vec![wanted.into()])?;
        let row = rows.first().ok_or_else(|| SnapshotError::Missing(wanted.to_owned()))?;
        let bytes: Vec<u8> = row.get(0);
        match content_hash(&bytes) == wanted {
            true => Ok(bytes),
            false => Err(SnapshotError::Damaged(wanted.to_owned())),
        }
    }
}
