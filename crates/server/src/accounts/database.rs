//! Accounts in the database that several nodes share.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use charla_proto::BoxFuture;
use charla_store::{Database, DatabaseError, Patience, Value};

use super::{AccountError, Accounts, Book, Change};

/// How often it is looked whether other nodes changed something.
const LOOK: Duration = Duration::from_millis(500);

/// The book as one row. Who changes it must have read the version that is there: else it is read and changed again.
pub struct DatabaseAccounts {
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    /// The version that was read last, and what it says.
    known: Mutex<(i64, Arc<Book>)>,
}

impl DatabaseAccounts {
    /// The accounts of everybody who shares this database. Must be called in a tokio runtime.
    pub fn new(database: Database) -> Self {
        let inner = Arc::new(Inner { database, known: Mutex::default() });
        let weak = Arc::downgrade(&inner);
        tokio::spawn(async move {
            while let Some(inner) = weak.upgrade() {
                // With the database away the book stays as it was.
                let _ = inner.read().await;
                drop(inner);
                tokio::time::sleep(LOOK).await;
            }
        });
        Self { inner }
    }
}

impl Inner {
    fn known(&self) -> (i64, Arc<Book>) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The book as it is in the database, and its version.
    async fn read(&self) -> io::Result<(i64, Arc<Book>)> {
        let (version, book) = self.known();
        let newer = "select version, book from charla.accounts where version > $1";
        let rows = self.database.query(Patience::Brief, newer, vec![Value::Number(version)]).await;
        let rows = rows.map_err(away)?;
        let Some(row) = rows.first() else { return Ok((version, book)) };
        let read = (row.get(0), Arc::new(serde_json::from_str(row.get(1))?));
        Ok(self.keep(read))
    }

    /// Two reads may come back in another order than they were sent.
    fn keep(&self, read: (i64, Arc<Book>)) -> (i64, Arc<Book>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if read.0 > known.0 {
            *known = read;
        }
        known.clone()
    }

    async fn change(&self, change: Change) -> Result<Arc<Book>, AccountError> {
        loop {
            let (version, before) = self.read().await?;
            let mut after = Book::clone(&before);
            change(&mut after)?;
            if after == *before {
                return Ok(before);
            }
            let text = serde_json::to_string(&after).map_err(io::Error::from)?;
            let write = "insert into charla.accounts as known (version, book) values ($1 + 1, $2)
                on conflict (one) do update set version = excluded.version, book = excluded.book
                where known.version = $1 returning version";
            let values = vec![Value::Number(version), text.as_str().into()];
            let written = self.database.query(Patience::Brief, write, values).await.map_err(away)?;
            if let Some(row) = written.first() {
                return Ok(self.keep((row.get(0), Arc::new(after))).1);
            }
        }
    }
}

impl Accounts for DatabaseAccounts {
    fn book(&self) -> io::Result<Arc<Book>> {
        Ok(self.inner.known().1)
    }

    fn fresh(&self) -> BoxFuture<'_, io::Result<Arc<Book>>> {
        Box::pin(async { Ok(self.inner.read().await?.1) })
    }

    fn change(&self, change: Change) -> BoxFuture<'_, Result<Arc<Book>, AccountError>> {
        Box::pin(self.inner.change(change))
    }
}

fn away(error: DatabaseError) -> io::Error {
    io::Error::other(error.to_string())
}
