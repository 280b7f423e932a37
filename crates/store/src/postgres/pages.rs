//! Records read page by page.

use charla_proto::{Conversation, Fact, JournalError, Record, RecordStream, Skipped};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::Database;
use super::connections::{DatabaseError, Lane, Patience, Value};

/// How many records are read at a time.
const PAGE: i64 = 128;

/// How many bytes of them, but for the last: records may be large.
const PAGE_BYTES: i64 = 4 * 1024 * 1024;

const SELECT: &str = "select seq, body from (
        select seq, body, sum(octet_length(body)) over (order by seq) - octet_length(body) as before from (
            select seq, body from charla.records where session = $1 and seq > $2 order by seq limit $3) page) sized
    where before < $4 order by seq";

/// What records add up to, and what could not be read of them.
#[derive(Default)]
pub(super) struct Folded {
    pub(super) conversation: Conversation,
    pub(super) skipped: Vec<Skipped>,
    pub(super) missing: Vec<(u64, u64)>,
}

/// A record's number as the database has it.
pub(super) fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// A row's number and its text.
pub(super) type Line = (u64, String);

/// The lines after number `after`, at most a page of them.
pub(super) async fn page(database: &Database, key: i64, after: u64) -> Result<Vec<Line>, DatabaseError> {
    let values = [key, number(after), PAGE, PAGE_BYTES].map(Value::Number).to_vec();
    let rows = database.query_in(Lane::Reading, Patience::Brief, SELECT, values).await?;
    Ok(rows.iter().map(|row| (u64::try_from(row.get::<_, i64>(0)).unwrap_or(0), row.get(1))).collect())
}

/// The same for a thread that may block.
pub(super) fn page_blocking(database: &Database, key: i64, after: u64) -> Result<Vec<Line>, DatabaseError> {
    let database_too = database.clone();
    database.wait(async move { page(&database_too, key, after).await })
}

/// Every line of a session after number `after`.
fn lines(
    database: Database,
    key: i64,
    after: u64,
) -> impl futures_util::Stream<Item = Result<Line, JournalError>> {
    let pages = stream::try_unfold(Some(after), move |after| {
        let database = database.clone();
        async move {
            let Some(after) = after else { return Ok(None) };
            let lines = page(&database, key, after).await?;
            let next = lines.last().map(|(seq, _)| *seq);
            Ok::<_, JournalError>(next.map(|next| (lines, Some(next))))
        }
    });
    pages.map_ok(|lines| stream::iter(lines).map(Ok)).try_flatten()
}

/// The records of a session after number `after`; what cannot be read is left out.
pub(super) fn records(database: Database, key: i64, after: u64) -> RecordStream {
    let records = lines(database, key, after)
        .try_filter_map(|(_, line)| async move { Ok(Record::from_json(&line).ok()) });
    Box::pin(records)
}

/// The conversation a session's records tell. What a summary stands for is let go of as soon as it is read; only a
/// session whose compression was taken back is read a second time, whole.
pub(super) async fn fold(database: &Database, key: i64) -> Result<Folded, JournalError> {
    let folded = fold_once(database, key, true).await?;
    match folded.conversation.is_whole() {
        true => Ok(folded),
        false => {
            let mut folded = fold_once(database, key, false).await?;
            folded.conversation.forget_replaced();
            Ok(folded)
        }
    }
}

async fn fold_once(database: &Database, key: i64, forgetting: bool) -> Result<Folded, JournalError> {
    let mut folded = Folded::default();
    let mut last: Option<u64> = None;
    let mut lines = std::pin::pin!(lines(database.clone(), key, 0));
    while let Some((seq, line)) = lines.try_next().await? {
        if let Some(last) = last.filter(|last| seq > last + 1) {
            folded.missing.push((last + 1, seq - 1));
        }
        last = Some(seq);
        match Record::from_json(&line) {
            Ok(record) => {
                folded.conversation.apply(&record);
                if forgetting && matches!(record.fact, Fact::Compressed(_)) {
                    folded.conversation.forget_replaced();
                }
            }
            Err(error) => {
                let line = usize::try_from(seq).unwrap_or(usize::MAX);
                folded.skipped.push(Skipped { line, reason: error.to_string() });
            }
        }
    }
    folded.conversation.settle();
    Ok(folded)
}
