//! The log in the database: one entry a row, by its number.

use std::io;

use charla_store::{Database, Patience, Value};
use tokio::sync::Mutex;

use super::{BrokenChain, Chain, Entry};

/// How often other nodes may be quicker with the next number.
const TRIES: usize = 100;
/// How many entries are read at a time.
const PAGE: i64 = 1000;

/// The log that the nodes of a database share.
#[derive(Debug)]
pub(super) struct DatabaseLog {
    database: Database,
    /// Entries of one node follow each other: only other nodes are in the way.
    turn: Mutex<()>,
}

impl DatabaseLog {
    pub(super) fn new(database: Database) -> Self {
        Self { database, turn: Mutex::default() }
    }

    pub(super) async fn append(&self, entry: Entry) -> io::Result<u64> {
        let _turn = self.turn.lock().await;
        for _ in 0..TRIES {
            let last = "select line from charla.audit order by number desc limit 1";
            let last = lines(&self.database, last, Vec::new()).await?.pop();
            let chain = last.and_then(|line| Chain::after(&line)).unwrap_or_default();
            let line = chain.next(entry.clone())?;
            // Another node's entry of this number stays; our own, of a statement whose answer was lost, is found.
            let insert = "with put as (insert into charla.audit (number, line) values ($1, $2)
                    on conflict do nothing returning line)
                select line from put union all select line from charla.audit where number = $1";
            let number = chain.number + 1;
            let key = i64::try_from(number).map_err(io::Error::other)?;
            let values = vec![Value::Number(key), line.as_str().into()];
            if lines(&self.database, insert, values).await?.contains(&line) {
                return Ok(number);
            }
        }
        Err(io::Error::other("other nodes write to it all the time"))
    }
}

async fn lines(database: &Database, statement: &'static str, values: Vec<Value>) -> io::Result<Vec<String>> {
    let rows = database.query(Patience::Brief, statement, values).await.map_err(io::Error::other)?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Whether there are sessions, which nobody has without an entry.
async fn was_used(database: &Database) -> io::Result<bool> {
    let any = "select id from charla.sessions limit 1";
    Ok(!lines(database, any, Vec::new()).await?.is_empty())
}

/// How many entries the log in a database has, if its chain is whole.
pub async fn verify_database_audit(database: &Database) -> io::Result<Result<u64, BrokenChain>> {
    let mut chain = Chain::default();
    loop {
        let page = "select line from charla.audit where number > $1 order by number limit $2";
        let after = i64::try_from(chain.number).map_err(io::Error::other)?;
        let page = lines(database, page, vec![Value::Number(after), Value::Number(PAGE)]).await?;
        if page.is_empty() {
            return Ok(chain.whole(chain.number > 0 || was_used(database).await?));
        }
        for text in page {
            if let Err(why) = chain.check(&text)? {
                return Ok(Err(BrokenChain { line: chain.number + 1, why }));
            }
        }
    }
}
