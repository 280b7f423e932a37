//! The database as the store's port.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use charla_proto::{
    BoxFuture, Conversation, Fact, JournalError, Owned, PostError, PrunedSessions, Record, RecordStream,
    SessionList, SessionStarted, SessionStore, SessionSummary, Snapshots, Standing,
};
use futures_util::{FutureExt, StreamExt, future, stream};
use tokio_postgres::Row;

use super::Database;
use super::commands::DatabaseMailbox;
use super::connections::{Lane, Patience, Value};
use super::contents::Contents;
use super::deleted;
use super::journal::{Batch, DatabaseJournal, place};
use super::node::lives;
use super::outputs::Outputs;
use super::pages::{self, Folded};
use super::standings;
use crate::times::{last_elsewhere, time};

/// The sessions of one user in a database, as a [`SessionStore`].
#[derive(Clone, Debug)]
pub struct DatabaseStore {
    database: Database,
    space: String,
    outputs: PathBuf,
}

/// A session's owner lives: $1 is [`Value::Lease`].
macro_rules! alive {
    () => {
        concat!("exists (select 1 from charla.nodes n where n.id = s.owner and ", lives!("$1"), ")")
    };
}

/// A session is ours to own: $2 is this node, $3 what it holds. What it does not hold although its row says so, it has
/// let go of.
macro_rules! free {
    () => {
        concat!(
            "(s.owner is null or (s.owner = $2 and not s.key = any($3))
              or (s.owner <> $2 and not ",
            alive!(),
            "))"
        )
    };
}

const CREATE: &str = "with made as (
        insert into charla.sessions
            (space, id, started, model, seq, size, title, has_turns, owner, made_by, known_seq, turn_open,
            began, modified)
        values ($9, $10, $11, coalesce($7, $12), $5, $6, coalesce($8, ''), $8 is not null, $13, $14,
            $5, $15, $18, case when $19::int8 = 0 then clock_timestamp() else to_timestamp($19::int8 / 1000.0) end)
        on conflict (space, id) do nothing returning key, token, seq),
    written as (
        insert into charla.records (session, seq, body)
        select made.key, r.seq, r.body from made, unnest($1, $2) as r(seq, body)),
    noted as (
        insert into charla.mentions (session, kind, name)
        select made.key, m.kind, m.name from made, unnest($3, $4) as m(kind, name) on conflict do nothing),
    asked as (
        insert into charla.approvals (session, seq, number, space, id, question)
        select made.key, $5, q.number, $9, q.id, q.question
        from made, unnest($16, $17) with ordinality as q(id, question, number))
    select key, token, seq from made
    union all
    select key, token, seq from charla.sessions where space = $9 and id = $10 and made_by = $14";

const OWN: &str = concat!(
    "update charla.sessions s set owner = $2, token = token + 1
     where s.space = $4 and s.id = $5 and ($6 or ",
    free!(),
    ") returning s.key, s.token, s.seq"
);

const LIST: &str =
    "select id, (extract(epoch from modified) * 1000000)::int8, size, started, model, title, has_turns,
        began
    from charla.sessions where space = $1 and ($2 = '' or id = $2) order by modified desc, id desc";

const OWNED: &str = concat!(
    "select id, owner from charla.sessions s where s.space = $4 and s.id = any($5) and not ",
    free!()
);

const ABANDONED: &str =
    concat!("select id from charla.sessions s where s.space = $2 and s.owner is not null and not ", alive!());

const DELETE: &str = concat!(
    "with gone as (
        select key from charla.sessions s where s.space = $4 and s.id = $5 and ",
    free!(),
    " for update),
    used as (select kind, name from charla.mentions where session in (select key from gone)
        union select 'outputs', $5),
    contents as (
        delete from charla.contents c where hash in (select name from used where kind = 'content')
            and not exists (select 1 from charla.mentions m where m.kind = 'content' and m.name = c.hash
                and m.session not in (select key from gone))),
    outputs as (
        delete from charla.outputs o where o.space = $4 and exists (select 1 from gone)
            and o.session in (select name from used where kind = 'outputs')
            and not exists (select 1 from charla.mentions m join charla.sessions by on by.key = m.session
                where m.kind = 'outputs' and m.name = o.session and by.space = $4
                and m.session not in (select key from gone))
            and not exists (select 1 from charla.sessions s where s.space = $4 and s.id = o.session
                and s.key not in (select key from gone))
        returning o.session),
    removed as (delete from charla.sessions where key in (select key from gone) returning id),
    told as (
        insert into charla.deleted_outputs (space, session)
        select $4, session from outputs
        union select $4, id from removed
            where not exists (select 1 from charla.outputs o where o.space = $4 and o.session = removed.id)
        returning session)
    select array(select session from told) from removed"
);

const SWEEP: &str = "delete from charla.contents c where kept_at < clock_timestamp() - interval '1 hour'
    and not exists (select 1 from charla.mentions m where m.kind = 'content' and m.name = c.hash)
    returning octet_length(bytes)::int8";

impl DatabaseStore {
    pub(super) fn new(database: Database, space: String, outputs: PathBuf) -> Self {
        Self { database, space, outputs }
    }

    async fn write(&self, statement: &'static str, values: Vec<Value>) -> Result<Vec<Row>, JournalError> {
        Ok(self.database.query_in(Lane::Writing, Patience::Brief, statement, values).await?)
    }

    async fn read(&self, statement: &'static str, values: Vec<Value>) -> Result<Vec<Row>, JournalError> {
        Ok(self.database.query_in(Lane::Reading, Patience::Brief, statement, values).await?)
    }

    /// The first values of a statement that asks whether sessions are free.
    fn free(&self) -> Vec<Value> {
        let node = &self.database.shared.node;
        vec![node.mercy(), node.id().into(), node.held(), self.space.as_str().into()]
    }

    async fn key(&self, session: &str) -> Result<i64, JournalError> {
        let statement = "select key from charla.sessions where space = $1 and id = $2";
        let rows = self.read(statement, vec![self.space.as_str().into(), session.into()]).await?;
        rows.first().map(|row| row.get(0)).ok_or_else(|| JournalError::Missing(session.to_owned()))
    }

    /// Nothing was done to a session: it is not there, or somebody has it.
    async fn unfree(&self, session: &str) -> JournalError {
        match self.key(session).await {
            Ok(_) => JournalError::Locked(place(session)),
            Err(error) => error,
        }
    }

    async fn make(&self, records: &[Record]) -> Result<Owned, JournalError> {
        let started = match records.first().map(|record| &record.fact) {
            Some(Fact::SessionStarted(started)) => started,
            _ => return Err(JournalError::NoBeginning(String::new())),
        };
        let session = crate::plain_id(&started.session)?;
        let json = serde_json::to_string(started).map_err(|error| JournalError::Io(error.to_string()))?;
        let node = &self.database.shared.node;
        let owning = node.owning.lock().await;
        let rest = [
            self.space.as_str().into(),
            session.into(),
            Value::Text(json),
            started.model.as_str().into(),
            node.id().into(),
            // Sent again after a lost connection, it finds what it has made.
            uuid::Uuid::now_v7().simple().to_string().as_str().into(),
        ];
        let mut conversation = Conversation::of(records);
        let standing = standings::values(&Standing::of(&conversation), true)?;
        let values = Batch::of(records)?
            .values()
            .into_iter()
            .chain(rest)
            .chain(standing.into_iter().skip(1))
            .chain(times_of(records))
            .collect();
        let rows = self.write(CREATE, values).await?;
        let row = rows.first().ok_or_else(|| JournalError::Exists(session.to_owned()))?;
        let mut journal = self.hold(session, row);
        drop(owning);
        conversation.forget_replaced();
        journal.watch(conversation.clone());
        Ok(self.owned_by_us(journal, Folded { conversation, ..Folded::default() }))
    }

    /// Owns a session that is free, or in any case.
    async fn take(&self, session: &str, in_any_case: bool) -> Result<Owned, JournalError> {
        let node = &self.database.shared.node;
        let owning = node.owning.lock().await;
        let values = [self.free(), vec![session.into(), Value::Flag(in_any_case)]].concat();
        let rows = self.write(OWN, values).await?;
        let Some(row) = rows.first() else { return Err(self.unfree(session).await) };
        let mut journal = self.hold(session, row);
        drop(owning);
        journal.restore_outputs(&self.outputs).await?;
        let folded = pages::fold(&self.database, journal.key()).await?;
        match folded.conversation.started {
            Some(_) => {
                journal.watch(folded.conversation.clone());
                Ok(self.owned_by_us(journal, folded))
            }
            None => Err(JournalError::NoBeginning(session.to_owned())),
        }
    }

    /// The journal of a session whose row is ours now.
    fn hold(&self, session: &str, row: &Row) -> DatabaseJournal {
        let (key, token, seq): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        self.database.shared.node.hold(key, token);
        let outputs = Outputs::new(self.database.clone(), &self.space, session, self.outputs.join(session));
        DatabaseJournal::new(self.database.clone(), session, (key, token, seq), outputs)
    }

    fn owned_by_us(&self, journal: DatabaseJournal, folded: Folded) -> Owned {
        Owned {
            token: journal.token(),
            mailbox: Box::new(DatabaseMailbox::new(self.database.shared.clone(), journal.key())),
            journal: Box::new(journal),
            conversation: folded.conversation,
            skipped: folded.skipped,
            missing: folded.missing,
        }
    }

    async fn summaries(&self, session: &str) -> Result<SessionList, JournalError> {
        let rows = self.read(LIST, vec![self.space.as_str().into(), session.into()]).await?;
        let mut list = SessionList::default();
        for row in &rows {
            match summary(row) {
                Ok(summary) => list.sessions.push(summary),
                Err(error) => list.unreadable.push((row.get(0), error.to_string())),
            }
        }
        Ok(list)
    }

    async fn remove(&self, session: &str) -> Result<(), JournalError> {
        let _owning = self.database.shared.node.owning.lock().await;
        let values = [self.free(), vec![session.into()]].concat();
        let rows = self.write(DELETE, values).await?;
        let Some(row) = rows.first() else { return Err(self.unfree(session).await) };
        self.database.shared.node.wrote();
        let free: Vec<String> = row.get(0);
        deleted::remove(free.iter().filter_map(|id| deleted::folder(&self.outputs, id)).collect()).await;
        Ok(())
    }

    async fn names(&self, statement: &'static str, values: Vec<Value>) -> Result<Vec<String>, JournalError> {
        let rows = self.read(statement, values).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

/// When a session of these records began, and when it was written to last where that was elsewhere, in milliseconds; 0 for now.
fn times_of(records: &[Record]) -> [Value; 2] {
    let began = records.first().map_or(0, |first| i64::try_from(first.at).unwrap_or(i64::MAX));
    let last = last_elsewhere(records).and_then(|last| last.duration_since(SystemTime::UNIX_EPOCH).ok());
    let last = last.and_then(|last| i64::try_from(last.as_millis()).ok());
    [Value::Number(began), Value::Number(last.unwrap_or(0))]
}

fn summary(row: &Row) -> Result<SessionSummary, serde_json::Error> {
    let started: SessionStarted = serde_json::from_str(row.get(3))?;
    let micros = u64::try_from(row.get::<_, i64>(1)).unwrap_or(0);
    let began = u64::try_from(row.get::<_, i64>(7)).unwrap_or(0);
    Ok(SessionSummary {
        session: row.get(0),
        began: time(began),
        modified: SystemTime::UNIX_EPOCH + Duration::from_micros(micros),
        size: u64::try_from(row.get::<_, i64>(2)).unwrap_or(0),
        started,
        model: row.get(4),
        title: row.get(5),
        has_turns: row.get(6),
    })
}

impl SessionStore for DatabaseStore {
    fn create<'a>(&'a self, records: &'a [Record]) -> BoxFuture<'a, Result<Owned, JournalError>> {
        Box::pin(self.make(records))
    }

    fn list(&self) -> BoxFuture<'_, Result<SessionList, JournalError>> {
        Box::pin(self.summaries(""))
    }

    fn find<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<SessionSummary>, JournalError>> {
        Box::pin(async move {
            match session.is_empty() {
                true => Ok(None),
                false => Ok(self.summaries(session).await?.sessions.pop()),
            }
        })
    }

    fn own<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>> {
        Box::pin(self.take(session, false))
    }

    fn take_over<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>> {
        Box::pin(self.take(session, true))
    }

    fn is_owned<'a>(&'a self, session: &'a str) -> BoxFuture<'a, bool> {
        let sessions = [session.to_owned()];
        Box::pin(async move { !self.owned(&sessions).await.is_empty() })
    }

    fn owned<'a>(&'a self, sessions: &'a [String]) -> BoxFuture<'a, HashMap<String, String>> {
        let values = [self.free(), vec![Value::Texts(sessions.to_vec())]].concat();
        let rows = self.read(OWNED, values);
        // As far as can be told: with the database away, nobody can do anything with them.
        Box::pin(
            rows.map(|rows| rows.unwrap_or_default().iter().map(|row| (row.get(0), row.get(1))).collect()),
        )
    }

    fn abandoned(&self) -> BoxFuture<'_, Result<Vec<String>, JournalError>> {
        let values = vec![self.database.shared.node.mercy(), self.space.as_str().into()];
        Box::pin(self.names(ABANDONED, values))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        let mut changes = self.database.shared.node.changes();
        Box::pin(async move {
            if changes.changed().await.is_err() {
                future::pending().await
            }
        })
    }

    fn fold<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Conversation, JournalError>> {
        Box::pin(async move {
            let key = self.key(session).await?;
            Ok(pages::fold(&self.database, key).await?.conversation)
        })
    }

    fn standings(&self) -> BoxFuture<'_, Result<Option<HashMap<String, Standing>>, JournalError>> {
        Box::pin(async move { Ok(Some(standings::standings(&self.database, &self.space).await?)) })
    }

    fn read_after(&self, session: &str, after: u64) -> RecordStream {
        let (store, session) = (self.clone(), session.to_owned());
        let records = async move {
            match store.key(&session).await {
                Ok(key) => pages::records(store.database, key, after),
                Err(error) => Box::pin(stream::iter([Err(error)])),
            }
        };
        Box::pin(stream::once(records).flatten())
    }

    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(self.remove(session))
    }

    fn prune<'a>(&'a self, sessions: &'a [String]) -> BoxFuture<'a, Result<PrunedSessions, JournalError>> {
        Box::pin(async move {
            let mut pruned = PrunedSessions::default();
            for session in sessions {
                match self.remove(session).await {
                    Ok(()) => pruned.deleted.push(session.clone()),
                    Err(JournalError::Locked(_)) => pruned.in_use.push(session.clone()),
                    Err(JournalError::Missing(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            let swept = self.write(SWEEP, Vec::new()).await?;
            pruned.freed = swept.iter().map(|row| u64::try_from(row.get::<_, i64>(0)).unwrap_or(0)).sum();
            Ok(pruned)
        })
    }

    fn post<'a>(&'a self, session: &'a str, command: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, PostError>> {
        let (space, session, command) = (self.space.clone(), session.to_owned(), command.to_vec());
        let shared = self.database.shared.clone();
        Box::pin(async move {
            let posted =
                self.database.handle.spawn(async move { shared.post(space, session, command).await });
            posted.await.unwrap_or_else(|error| Err(PostError::NoReply(error.to_string())))
        })
    }

    fn snapshots(&self) -> Arc<dyn Snapshots> {
        Arc::new(Contents::new(self.database.clone()))
    }

    fn outputs(&self, session: &str) -> PathBuf {
        self.outputs.join(session)
    }

    fn output<'a>(&'a self, session: &'a str, name: &'a str) -> BoxFuture<'a, Result<PathBuf, JournalError>> {
        let folder = self.outputs.join(session);
        let outputs = Outputs::new(self.database.clone(), &self.space, session, folder);
        Box::pin(async move { outputs.file(name).await })
    }
}
