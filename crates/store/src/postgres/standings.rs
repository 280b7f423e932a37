//! What waits for people, in the database: written with the records that say so, read across sessions at once.
//!
//! A session's row tells up to which record its questions are known. Where that is not the last one, a version of Charla has written it that keeps
//! no questions: they are read from its records, and kept.

use std::collections::HashMap;

use charla_proto::{Conversation, Fact, JournalError, Record, Standing};

use super::Database;
use super::connections::{Lane, Patience, Value};
use super::pages;
use crate::title::refused_in;

/// A session's standing as it is written with records: what an owner keeps beside its journal.
#[derive(Debug)]
pub(super) struct Watched {
    conversation: Conversation,
    told: Standing,
}

/// The values that say where a session stands: whether its questions are others than before, whether a turn is open, ids and questions.
pub(super) fn values(standing: &Standing, is_new: bool) -> Result<[Value; 4], JournalError> {
    let unwritable = |error| JournalError::Io(format!("a question cannot be written: {error}"));
    let asked = if is_new { standing.questions.as_slice() } else { &[] };
    let questions = asked.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    Ok([
        Value::Flag(is_new),
        Value::Flag(standing.turn_open),
        Value::Texts(asked.iter().map(|question| question.asked.approval.clone()).collect()),
        Value::Texts(questions.map_err(unwritable)?),
    ])
}

impl Watched {
    pub(super) fn new(conversation: Conversation) -> Self {
        Self { told: Standing::of(&conversation), conversation }
    }

    /// The title of the prompt that these records, which are about to be written, tell was refused.
    pub(super) fn refused(&self, records: &[Record]) -> Option<String> {
        refused_in(&self.conversation, records)
    }

    /// Takes records that are about to be written: where the session stands then.
    pub(super) fn take(&mut self, records: &[Record]) -> Result<[Value; 4], JournalError> {
        for record in records {
            self.conversation.apply(record);
            if matches!(record.fact, Fact::Compressed(_)) {
                self.conversation.forget_replaced();
            }
        }
        let now = Standing::of(&self.conversation);
        let values = values(&now, now.questions != self.told.questions)?;
        self.told = now;
        Ok(values)
    }
}

const STANDINGS: &str = "select s.id, s.key, s.turn_open, s.known_seq = s.seq, a.question, s.seq
    from charla.sessions s left join charla.approvals a on a.session = s.key and s.known_seq = s.seq
    where s.space = $1 and (s.turn_open or s.known_seq <> s.seq)
    order by s.key, a.number";

/// Keeps where a session stands, if its last record is still the one that was read.
const KEEP: &str = "with mine as (
        update charla.sessions set known_seq = $2, turn_open = $4
        where key = $1 and seq = $2 and known_seq <> $2 returning key, space),
    gone as (delete from charla.approvals a using mine where a.session = mine.key and $3),
    asked as (
        insert into charla.approvals (session, seq, number, space, id, question)
        select mine.key, $2, q.number, mine.space, q.id, q.question
        from mine, unnest($5, $6) with ordinality as q(id, question, number))
    select key from mine";

/// Where the sessions of one user stand that something waits or runs in.
pub(super) async fn standings(
    database: &Database,
    space: &str,
) -> Result<HashMap<String, Standing>, JournalError> {
    let rows = database.query_in(Lane::Reading, Patience::Brief, STANDINGS, vec![space.into()]).await?;
    let mut standings: HashMap<String, Standing> = HashMap::new();
    for row in &rows {
        let (id, key): (String, i64) = (row.get(0), row.get(1));
        if !row.get::<_, bool>(3) {
            standings.insert(id, learned(database, key, row.get(5)).await?);
            continue;
        }
        let standing =
            standings.entry(id).or_insert_with(|| Standing { turn_open: row.get(2), ..Standing::default() });
        // One that a newer version wrote in another form is shown in its session.
        let question = row.get::<_, Option<&str>>(4).and_then(|text| serde_json::from_str(text).ok());
        standing.questions.extend(question);
    }
    Ok(standings)
}

/// Where a session stands by its records, kept for the next one who asks, as long as the last of them has this number.
async fn learned(database: &Database, key: i64, seq: i64) -> Result<Standing, JournalError> {
    let standing = Standing::of(&pages::fold(database, key).await?.conversation);
    let session = vec![Value::Number(key), Value::Number(seq)];
    let values = [session, values(&standing, true)?.to_vec()].concat();
    database.query_in(Lane::Writing, Patience::Brief, KEEP, values).await?;
    Ok(standing)
}
