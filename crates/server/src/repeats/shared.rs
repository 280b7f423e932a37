//! Keys that all nodes of a database know, also those of nodes that have ended.

use std::time::Duration;

use charla_store::{Database, DatabaseError, Patience, Value};
use http::StatusCode;
use tokio::time::{Instant, sleep};

use super::{Answer, interrupted, key_reused};
use crate::access::{Digest, Secret};
use crate::problem::Problem;

/// How long a request waits for the first one with its key, and how often it looks.
const WAIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);

/// The status of a request of which nobody knows whether it acted. No request that was done has it.
const UNCLEAR: StatusCode = StatusCode::CONFLICT;

/// A user, one of their keys, and the request it came with.
pub(super) struct Keyed {
    pub(super) user: String,
    pub(super) key: String,
    pub(super) request: Digest,
}

/// What is known about a key.
enum Known {
    Nothing,
    Answered(Answer),
    Ours,
    /// Another request with it is being done.
    Begun,
    /// Another request with it was being done, and nobody knows what came of it: its node has ended since, or was not told.
    Interrupted,
    OtherRequest,
}

/// Does `work` once for its key, whichever node it is sent to.
pub(super) async fn once(
    database: &Database,
    keyed: Keyed,
    work: impl Future<Output = Result<Answer, Problem>>,
) -> Result<Answer, Problem> {
    let claim = Secret::new().text().to_owned();
    let began = Instant::now();
    loop {
        let known = match look(database, &keyed, &claim).await {
            Ok(known) => known,
            Err(error) => {
                // The key may be claimed by now, and nothing is done with it.
                later(database, FREE, vec![claim.as_str().into()]);
                return Err(Problem::away(&error).before_anything());
            }
        };
        match known {
            Known::Nothing => {}
            Known::Answered(answer) => return Ok(answer),
            Known::OtherRequest => return Err(key_reused()),
            Known::Interrupted => return Err(interrupted()),
            Known::Ours => return finish(database, &claim, work.await).await,
            Known::Begun if began.elapsed() < WAIT => sleep(LOOK).await,
            Known::Begun => return Err(begun()),
        }
    }
}

/// Claims the key if nobody has, and says what is known about it then.
async fn look(database: &Database, keyed: &Keyed, claim: &str) -> Result<Known, DatabaseError> {
    let Keyed { user, key, request } = keyed;
    let insert = "insert into charla.repeats (person, key, request, claim, node) values ($1, $2, $3, $4, $5)
        on conflict do nothing";
    let name: [Value; 2] = [user.as_str().into(), key.as_str().into()];
    let request = request.text();
    let rest: [Value; 3] = [request.as_str().into(), claim.into(), database.node_id().into()];
    let values = name.iter().cloned().chain(rest).collect();
    database.query(Patience::Brief, insert, values).await?;
    let select = "select request, claim, status, body,
            exists (select 1 from charla.nodes n where n.id = r.node and n.lease_until > clock_timestamp())
        from charla.repeats r where person = $1 and key = $2";
    let rows = database.query(Patience::Brief, select, name.to_vec()).await?;
    let Some(row) = rows.first() else { return Ok(Known::Nothing) };
    let (of, by, status): (String, String, Option<i64>) = (row.get(0), row.get(1), row.get(2));
    Ok(match status.and_then(|status| StatusCode::from_u16(u16::try_from(status).ok()?).ok()) {
        _ if of != request => Known::OtherRequest,
        Some(UNCLEAR) => Known::Interrupted,
        Some(status) => Known::Answered(Answer { status, body: row.get::<_, Vec<u8>>(3).into() }),
        None if by == claim => Known::Ours,
        None if row.get(4) => Known::Begun,
        None => Known::Interrupted,
    })
}

const KEEP: &str = "update charla.repeats set status = $2, body = $3 where claim = $1";
const FREE: &str = "delete from charla.repeats where claim = $1 and status is null";

/// Keeps what was answered. A request that was refused did nothing: its key is free again.
async fn finish(
    database: &Database,
    claim: &str,
    answered: Result<Answer, Problem>,
) -> Result<Answer, Problem> {
    match &answered {
        Ok(answer) => {
            let status = Value::Number(i64::from(answer.status.as_u16()));
            let values = vec![claim.into(), status, Value::Bytes(answer.body.to_vec())];
            let kept = database.query(Patience::Endless, KEEP, values).await;
            kept.map_err(|error| Problem::away(&error))?;
        }
        Err(problem) if problem.may_have_acted => {
            let status = Value::Number(i64::from(UNCLEAR.as_u16()));
            later(database, KEEP, vec![claim.into(), status, Value::Bytes(Vec::new())]);
        }
        Err(_) => {
            let freed = database.query(Patience::Brief, FREE, vec![claim.into()]).await;
            if freed.is_err() {
                later(database, FREE, vec![claim.into()]);
            }
        }
    }
    answered
}

/// Has something written once the database is back, without waiting for it. Until then the key is one that is being done.
fn later(database: &Database, statement: &'static str, values: Vec<Value>) {
    let database = database.clone();
    tokio::spawn(async move { database.query(Patience::Endless, statement, values).await });
}

/// Forgets keys after a day.
pub(crate) async fn forget_old(database: &Database) -> Result<(), DatabaseError> {
    let old = "delete from charla.repeats where at < clock_timestamp() - interval '1 day'";
    database.query(Patience::Brief, old, Vec::new()).await.map(drop)
}

fn begun() -> Problem {
    let detail = "the first request with this Idempotency-Key is still being done";
    Problem::new(StatusCode::CONFLICT, "busy", detail).with_hint("wait a moment")
}
