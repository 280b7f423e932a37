//! Writing a session's records: one statement that wants the owner's token.

use std::path::Path;
use std::sync::Arc;

use charla_proto::{BoxFuture, Conversation, Journal, JournalError, JournalReader, Record};

use super::Database;
use super::connections::{Lane, Patience, Value};
use super::outputs::Outputs;
use super::pages::{self, number};
use super::standings::Watched;
use crate::delete::References;
use crate::list::model_of;
use crate::title::{REFUSED, title_in};

/// Records as they are written, and what a session's row says of them.
pub(super) struct Batch {
    numbers: Vec<i64>,
    bodies: Vec<String>,
    size: i64,
    references: References,
    model: Option<String>,
    title: Option<String>,
}

impl Batch {
    pub(super) fn of(records: &[Record]) -> Result<Self, JournalError> {
        let unwritable = |error| JournalError::Io(format!("a record cannot be written: {error}"));
        let bodies = records.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
        let bodies = bodies.map_err(unwritable)?;
        let mut references = References::default();
        bodies.iter().for_each(|body| references.note(body));
        Ok(Self {
            numbers: records.iter().map(|record| number(record.seq)).collect(),
            size: bodies.iter().map(|body| body.len() as i64 + 1).sum(),
            references,
            model: records.iter().rev().find_map(|record| model_of(&record.fact)),
            title: title_in(records),
            bodies,
        })
    }

    /// The number of the last record.
    pub(super) fn last(&self) -> i64 {
        self.numbers.last().copied().unwrap_or(0)
    }

    pub(super) fn names_outputs(&self) -> bool {
        !self.references.outputs.is_empty()
    }

    /// The values that every statement which writes records has in the same order: numbers, texts, the kinds and names
    /// of what they mention, the last number, the size, the model, the title.
    pub(super) fn values(self) -> [Value; 8] {
        let last = self.last();
        let References { contents, outputs } = self.references;
        let kinds = std::iter::repeat_n("content", contents.len());
        let kinds = kinds.chain(std::iter::repeat_n("outputs", outputs.len()));
        [
            Value::Numbers(self.numbers),
            Value::Texts(self.bodies),
            Value::Texts(kinds.map(str::to_owned).collect()),
            Value::Texts(contents.into_iter().chain(outputs).collect()),
            Value::Number(last),
            Value::Number(self.size),
            Value::MaybeText(self.model),
            Value::MaybeText(self.title),
        ]
    }
}

/// Appends where the token and the number before are those of the row. Nothing is written otherwise. A title that turns out to be that
/// of a refused prompt ($16) gives way to a word about that ($17), and that to the next prompt.
const APPEND: &str = "with mine as (
        update charla.sessions set seq = $5, size = size + $6, modified = clock_timestamp(),
            model = coalesce($7, model), has_turns = has_turns or $8 is not null,
            title = case when title = $16 then coalesce($8, $17) when has_turns and title <> $17 then title
                else coalesce($8, title) end,
            known_seq = $5, turn_open = $13
        where key = $9 and token = $10 and seq = $11 returning key, space),
    written as (
        insert into charla.records (session, seq, body)
        select mine.key, r.seq, r.body from mine, unnest($1, $2) as r(seq, body)),
    noted as (
        insert into charla.mentions (session, kind, name)
        select mine.key, m.kind, m.name from mine, unnest($3, $4) as m(kind, name) on conflict do nothing),
    gone as (delete from charla.approvals a using mine where a.session = mine.key and $12),
    asked as (
        insert into charla.approvals (session, seq, number, space, id, question)
        select mine.key, $5, q.number, mine.space, q.id, q.question
        from mine, unnest($14, $15) with ordinality as q(id, question, number))
    select key from mine";

/// A session's records in the database, ours to write.
pub(super) struct DatabaseJournal {
    database: Database,
    session: String,
    key: i64,
    token: i64,
    seq: i64,
    outputs: Outputs,
    /// Read from the records again where it is not known.
    watched: Option<Watched>,
}

impl DatabaseJournal {
    pub(super) fn new(
        database: Database,
        session: &str,
        (key, token, seq): (i64, i64, i64),
        outputs: Outputs,
    ) -> Self {
        Self { database, session: session.to_owned(), key, token, seq, outputs, watched: None }
    }

    /// Keeps questions from here on, where the records so far add up to this.
    pub(super) fn watch(&mut self, conversation: Conversation) {
        self.watched = Some(Watched::new(conversation));
    }

    pub(super) fn key(&self) -> i64 {
        self.key
    }

    /// The number of this owner, larger than those of earlier ones.
    pub(super) fn token(&self) -> u64 {
        u64::try_from(self.token).unwrap_or(0)
    }

    /// Makes files of large outputs again that this machine does not have.
    pub(super) async fn restore_outputs(&mut self, folder: &Path) -> Result<(), JournalError> {
        self.outputs.restore(folder, self.key).await
    }

    async fn put(&mut self, records: &[Record]) -> Result<(), JournalError> {
        let batch = Batch::of(records)?;
        if batch.names_outputs() && !self.outputs.keep(self.key, self.token).await? {
            return Err(self.not_ours());
        }
        let last = batch.last();
        let mut watched = match self.watched.take() {
            Some(watched) => watched,
            None => Watched::new(pages::fold(&self.database, self.key).await?.conversation),
        };
        let titles = [Value::MaybeText(watched.refused(records)), REFUSED.into()];
        let standing = watched.take(records)?;
        let rest = [Value::Number(self.key), Value::Number(self.token), Value::Number(self.seq)];
        let values = batch.values().into_iter().chain(rest).chain(standing).chain(titles).collect();
        let rows = self.database.query_in(Lane::Writing, Patience::Endless, APPEND, values).await?;
        if rows.is_empty() {
            self.check_written(last).await?;
        }
        self.seq = last;
        self.watched = Some(watched);
        self.database.shared.node.wrote();
        Ok(())
    }

    /// Nothing was written now: either it was before, by a statement whose answer was lost, or the session is no longer ours.
    async fn check_written(&self, last: i64) -> Result<(), JournalError> {
        let statement = "select token, seq from charla.sessions where key = $1";
        let values = vec![Value::Number(self.key)];
        let rows = self.database.query_in(Lane::Writing, Patience::Endless, statement, values).await?;
        match rows.first().map(|row| (row.get::<_, i64>(0), row.get::<_, i64>(1))) {
            Some((token, seq)) if token == self.token && seq == last => Ok(()),
            Some((token, seq)) if token == self.token => {
                Err(JournalError::Io(format!("it ends with record {seq}, not with {}", self.seq)))
            }
            _ => Err(self.not_ours()),
        }
    }

    fn not_ours(&self) -> JournalError {
        JournalError::NotOwner { place: place(&self.session), token: self.token() }
    }
}

/// Where a session is, in words.
pub(super) fn place(session: &str) -> String {
    format!("session {session} in the database")
}

impl Journal for DatabaseJournal {
    fn append<'a>(&'a mut self, records: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(self.put(records))
    }

    fn reader(&self) -> Option<Arc<dyn JournalReader>> {
        let (database, session) = (self.database.clone(), self.session.clone());
        Some(Arc::new(DatabaseReader { database, key: self.key, session }))
    }
}

impl Drop for DatabaseJournal {
    /// Lets go of the session. Where the database cannot be told, this node is silent or says so when it is asked.
    fn drop(&mut self) {
        let Database { shared, handle, .. } = &self.database;
        shared.node.let_go(self.key, self.token);
        let shared = shared.clone();
        let values = [Value::Number(self.key), Value::Number(self.token)];
        handle.spawn(async move {
            let statement = "update charla.sessions set owner = null where key = $1 and token = $2";
            let freed = shared.connections.query(Lane::Writing, Patience::Brief, statement, &values).await;
            if freed.is_ok() {
                shared.node.wrote();
            }
        });
    }
}

/// Reads a session's records again while they are written.
struct DatabaseReader {
    database: Database,
    key: i64,
    session: String,
}

impl JournalReader for DatabaseReader {
    fn read(&self, after: u64, each: &mut dyn FnMut(Record)) -> Result<(), JournalError> {
        let mut last = after;
        loop {
            let lines = pages::page_blocking(&self.database, self.key, last)?;
            let Some((seq, _)) = lines.last() else { return Ok(()) };
            last = *seq;
            lines.iter().filter_map(|(_, line)| Record::from_json(line).ok()).for_each(&mut *each);
        }
    }

    fn place(&self) -> String {
        place(&self.session)
    }
}
