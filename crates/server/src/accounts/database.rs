//! Accounts in the database that several nodes share.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use charla_proto::BoxFuture;
use charla_store::{Database, DatabaseError, Patience, Value};

use super::{AccountError, Accounts, Answered, Book, Change, Purse, PurseChange, Whose, now};

/// How often it is looked whether other nodes changed something.
const LOOK: Duration = Duration::from_millis(500);
/// Less than the time whose changes are looked for: whoever writes may be slow to commit.
const RECENTLY: Duration = Duration::from_secs(5);
/// A day in seconds.
const DAY: u64 = 24 * 3600;

/// The book as one row, without what users spend, which has a row for each. Who changes a row must have read the version that is there: else it
/// is read and changed again.
pub struct DatabaseAccounts {
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    known: Mutex<Known>,
}

/// What was read last.
#[derive(Default)]
struct Known {
    version: i64,
    /// As its row has it.
    book: Arc<Book>,
    /// By account, with their versions.
    purses: HashMap<String, (i64, Purse)>,
    /// When all purses were read that had changed until then.
    looked: Option<Instant>,
    /// Both together.
    whole: Arc<Book>,
}

impl Known {
    /// Two reads may come back in another order than they were sent.
    fn take_book(&mut self, version: i64, book: Arc<Book>) {
        if version > self.version {
            (self.version, self.book) = (version, book);
            self.put_together();
        }
    }

    fn take_purses(&mut self, purses: impl IntoIterator<Item = (String, i64, Purse)>) {
        let mut is_new = false;
        for (person, version, purse) in purses {
            let known = self.purses.get(&person).map_or(0, |(version, _)| *version);
            if version > known {
                self.purses.insert(person, (version, purse));
                is_new = true;
            }
        }
        if is_new {
            self.put_together();
        }
    }

    fn put_together(&mut self) {
        let mut whole = Book::clone(&self.book);
        for (name, account) in &mut whole.accounts {
            let purse = self.purses.get(account.place(name)).cloned();
            if let Some((_, purse)) = purse {
                purse.put_into(account);
            }
        }
        self.whole = Arc::new(whole);
    }
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
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is new in the database.
    async fn read(&self) -> io::Result<()> {
        self.read_book().await?;
        self.read_purses().await
    }

    async fn read_book(&self) -> io::Result<()> {
        let version = self.known().version;
        let newer = "select version, book from charla.accounts where version > $1";
        let rows = self.database.query(Patience::Brief, newer, vec![Value::Number(version)]).await;
        if let Some(row) = rows.map_err(away)?.first() {
            let book = Arc::new(serde_json::from_str(row.get(1))?);
            self.known().take_book(row.get(0), book);
        }
        Ok(())
    }

    /// Reads the purses that have changed since the last look; all of them where that was long ago.
    async fn read_purses(&self) -> io::Result<()> {
        let begin = Instant::now();
        let recently = self.known().looked.is_some_and(|looked| looked.elapsed() < RECENTLY);
        let changed = "select person, version, purse from charla.purses
            where not $1 or at > clock_timestamp() - interval '10 seconds'";
        let values = vec![Value::Flag(recently)];
        let rows = self.database.query(Patience::Brief, changed, values).await.map_err(away)?;
        let purses = rows.iter().map(|row| Ok((row.get(0), row.get(1), serde_json::from_str(row.get(2))?)));
        let purses: Vec<(String, i64, Purse)> = purses.collect::<io::Result<_>>()?;
        let mut known = self.known();
        known.take_purses(purses);
        known.looked = Some(begin);
        Ok(())
    }

    async fn change(&self, change: Change) -> Result<Arc<Book>, AccountError> {
        loop {
            self.read_book().await?;
            let (version, before) = {
                let known = self.known();
                (known.version, known.book.clone())
            };
            let mut after = Book::clone(&before);
            change(&mut after)?;
            if after == *before {
                return Ok(self.known().whole.clone());
            }
            let text = serde_json::to_string(&after).map_err(io::Error::from)?;
            let write = "insert into charla.accounts as known (version, book) values ($1 + 1, $2)
                on conflict (one) do update set version = excluded.version, book = excluded.book
                where known.version = $1 returning version";
            let values = vec![Value::Number(version), text.as_str().into()];
            let written = self.database.query(Patience::Brief, write, values).await.map_err(away)?;
            if let Some(row) = written.first() {
                let mut known = self.known();
                known.take_book(row.get(0), Arc::new(after));
                return Ok(known.whole.clone());
            }
        }
    }

    async fn change_purse(
        &self,
        whose: Whose,
        change: PurseChange,
        answered: Option<Answered>,
    ) -> Result<Arc<Book>, AccountError> {
        let unknown = || AccountError::Unknown(whose.user.clone());
        loop {
            self.read_book().await?;
            let book = self.known().book.clone();
            let mut account = book.account_of(&whose).cloned().ok_or_else(unknown)?;
            let person = account.place(&whose.user).to_owned();
            let (version, before) = self.purse(&person).await?.unwrap_or_else(|| (0, Purse::of(&account)));
            before.put_into(&mut account);
            change(&mut account)?;
            let after = Purse::of(&account);
            if after == before && answered.is_none() {
                return Ok(self.known().whole.clone());
            }
            if let Some(version) = self.write_purse(&person, version, &after, answered.as_ref()).await? {
                let mut known = self.known();
                known.take_purses([(person, version, after)]);
                return Ok(known.whole.clone());
            }
        }
    }

    /// The purse of an account, and its version; nothing where it has spent nothing yet.
    async fn purse(&self, person: &str) -> io::Result<Option<(i64, Purse)>> {
        let select = "select version, purse from charla.purses where person = $1";
        let rows = self.database.query(Patience::Brief, select, vec![person.into()]).await.map_err(away)?;
        rows.first().map(|row| Ok((row.get(0), serde_json::from_str(row.get(1))?))).transpose()
    }

    /// Writes a purse in place of the one of this version, and what an answer has cost; nothing where another is there.
    async fn write_purse(
        &self,
        person: &str,
        version: i64,
        purse: &Purse,
        answered: Option<&Answered>,
    ) -> io::Result<Option<i64>> {
        // Sent again after a lost connection, it finds what it has written.
        let write = "with put as (
                insert into charla.purses as known (person, version, by, purse) values ($1, $2 + 1, $3, $4)
                on conflict (person) do update set version = excluded.version, by = excluded.by, purse = excluded.purse,
                    at = clock_timestamp()
                where known.version = $2 returning version),
            counted as (
                insert into charla.spending as known (person, day, model, tokens, usd)
                select $1, $5, $6, $7, $8::float8 from put where $9
                on conflict (person, day, model) do update set tokens = known.tokens + excluded.tokens,
                    usd = known.usd + excluded.usd)
            select version from put union all select version from charla.purses where person = $1 and by = $3";
        let whole = |number: u64| Value::Number(i64::try_from(number).unwrap_or(i64::MAX));
        let (model, tokens, usd) = match answered {
            Some(Answered { model, tokens, usd }) => (model.as_str(), *tokens, *usd),
            None => ("", 0, 0.0),
        };
        let values = vec![
            person.into(),
            Value::Number(version),
            charla::new_id().as_str().into(),
            serde_json::to_string(purse)?.as_str().into(),
            whole(now() / DAY),
            model.into(),
            whole(tokens),
            usd.to_string().as_str().into(),
            Value::Flag(answered.is_some()),
        ];
        let rows = self.database.query(Patience::Brief, write, values).await.map_err(away)?;
        Ok(rows.first().map(|row| row.get(0)))
    }
}

impl Accounts for DatabaseAccounts {
    fn book(&self) -> io::Result<Arc<Book>> {
        Ok(self.inner.known().whole.clone())
    }

    fn fresh(&self) -> BoxFuture<'_, io::Result<Arc<Book>>> {
        Box::pin(async {
            self.inner.read().await?;
            Ok(self.inner.known().whole.clone())
        })
    }

    fn change(&self, change: Change) -> BoxFuture<'_, Result<Arc<Book>, AccountError>> {
        Box::pin(self.inner.change(change))
    }

    fn change_purse(
        &self,
        whose: Whose,
        change: PurseChange,
        answered: Option<Answered>,
    ) -> BoxFuture<'_, Result<Arc<Book>, AccountError>> {
        Box::pin(self.inner.change_purse(whose, change, answered))
    }
}

fn away(error: DatabaseError) -> io::Error {
    io::Error::other(error.to_string())
}
