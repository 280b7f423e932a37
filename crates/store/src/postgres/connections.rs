//! Connections to the database: made when needed, made again when lost.
//!
//! A statement that meets a lost connection is sent again on another one, so that a database that was started anew is
//! not noticed beyond a pause. Every statement must therefore be the same whether it is done once or twice.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Connection, Row, Socket};

use super::tls::{Secured, Tls};

/// How long a connection may take to be made, and a statement to be done.
const CONNECT: Duration = Duration::from_secs(5);
const STATEMENT: Duration = Duration::from_secs(30);
/// How long what a person waits for may look for a database that is away.
const BRIEF: Duration = Duration::from_secs(5);
/// The pause before a statement is sent again: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// A database that has answered this recently was not away, whatever became of a connection: a node looks for commands twice in that time.
const RECENTLY: Duration = Duration::from_secs(1);
/// How many connections each lane has. Statements of several sessions follow each other on one.
const WRITING: usize = 4;
const READING: usize = 2;

/// Why the database did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// It cannot be reached now.
    #[error("the database cannot be reached: {0}")]
    Away(String),
    /// It was reached, and refused.
    #[error("the database refused: {0}")]
    Refused(String),
}

/// Which connections a statement goes to: what is long must not hold up what others wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Writing,
    Reading,
}

/// How long a statement is sent again while the database is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// For some seconds: somebody waits for the answer.
    Brief,
    /// Until it is back: what is written must not be lost.
    Endless,
}

/// A value of a statement.
#[derive(Clone, Debug)]
pub enum Value {
    /// A truth value.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
    /// A text, or none.
    MaybeText(Option<String>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Whole numbers.
    Numbers(Vec<i64>),
    /// Texts.
    Texts(Vec<String>),
    /// A lease in milliseconds, and how much of one is left since the database came back: two whole numbers, which are
    /// known when the statement is sent.
    Lease(Duration),
}

impl Value {
    fn holds_nul(&self) -> bool {
        match self {
            Value::Text(text) | Value::MaybeText(Some(text)) => text.contains('\0'),
            Value::Texts(texts) => texts.iter().any(|text| text.contains('\0')),
            _ => false,
        }
    }

    /// A text of the database has no NUL: each is the sign for what cannot be shown, so that nothing is mistaken for
    /// something else. Records are JSON, which writes a NUL in other letters: they lose nothing.
    fn without_nul(&self) -> Self {
        let shown = |text: &String| text.replace('\0', "\u{fffd}");
        match self {
            Value::Text(text) => Value::Text(shown(text)),
            Value::MaybeText(text) => Value::MaybeText(text.as_ref().map(shown)),
            Value::Texts(texts) => Value::Texts(texts.iter().map(shown).collect()),
            other => other.clone(),
        }
    }

    fn typed(&self) -> Result<(&(dyn ToSql + Sync), Type), DatabaseError> {
        Ok(match self {
            Value::Flag(value) => (value, Type::BOOL),
            Value::Number(value) => (value, Type::INT8),
            Value::Text(value) => (value, Type::TEXT),
            Value::MaybeText(value) => (value, Type::TEXT),
            Value::Bytes(value) => (value, Type::BYTEA),
            Value::Numbers(value) => (value, Type::INT8_ARRAY),
            Value::Texts(value) => (value, Type::TEXT_ARRAY),
            // As nothing at all, it would make every node a dead one.
            Value::Lease(_) => {
                return Err(DatabaseError::Refused(
                    "a lease is known when it is sent, and not here".to_owned(),
                ));
            }
        })
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// What drives a connection.
pub(super) type Driver = Connection<Socket, Secured<Socket>>;

/// The rows of one statement on one connection.
pub(super) async fn on(
    client: &Client,
    statement: &str,
    values: &[Value],
) -> Result<Vec<Row>, DatabaseError> {
    let cleaned: Vec<Value>;
    let values = match values.iter().any(Value::holds_nul) {
        true => {
            cleaned = values.iter().map(Value::without_nul).collect();
            &cleaned
        }
        false => values,
    };
    let values = values.iter().map(Value::typed).collect::<Result<Vec<_>, _>>()?;
    client.query_typed(statement, &values).await.map_err(|error| of(&error))
}

/// The connections of one process.
#[derive(Debug)]
pub(super) struct Connections {
    config: Config,
    tls: Tls,
    slots: Vec<Mutex<Option<Arc<Client>>>>,
    next: AtomicUsize,
    up: watch::Sender<bool>,
    heard: std::sync::Mutex<Heard>,
}

/// When the database was heard.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// Its last answer, on whichever connection.
    last: Instant,
    /// A connection was lost since.
    lost: bool,
    /// When it was reached again after it was away.
    back: Option<Instant>,
}

impl Heard {
    /// Whether the database was away, or is: nobody else could renew a lease. One connection that is lost beside others says nothing.
    fn was_away(&self) -> bool {
        self.lost && self.last.elapsed() > RECENTLY
    }
}

impl Connections {
    pub(super) fn new(mut config: Config) -> Self {
        config.connect_timeout(CONNECT).application_name("charla");
        let slots = (0..WRITING + READING).map(|_| Mutex::default()).collect();
        let (next, up) = (AtomicUsize::new(0), watch::Sender::new(true));
        let heard = std::sync::Mutex::new(Heard { last: Instant::now(), lost: false, back: None });
        Self { config, tls: Tls::default(), slots, next, up, heard }
    }

    /// True while the database answers.
    pub(super) fn is_up(&self) -> bool {
        *self.up.borrow()
    }

    pub(super) fn status(&self) -> watch::Receiver<bool> {
        self.up.subscribe()
    }

    pub(super) fn set_up(&self, up: bool, why: &str) {
        match up {
            true => self.answered(),
            false => self.heard().lost = true,
        }
        let changed = self.up.send_if_modified(|was| std::mem::replace(was, up) != up);
        match (changed, up) {
            (true, true) => tracing::warn!("the database is back"),
            (true, false) => tracing::warn!("the database is away, sessions wait for it: {why}"),
            (false, _) => {}
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self) {
        let (mut heard, now) = (self.heard(), Instant::now());
        let back = if heard.was_away() { Some(now) } else { heard.back };
        *heard = Heard { last: now, lost: false, back };
    }

    /// What is left of this time since the database came back, in milliseconds; all of it while it is away.
    fn left_of(&self, lease: Duration) -> i64 {
        let heard = *self.heard();
        let left = match self.is_up() && !heard.was_away() {
            true => heard.back.map_or(Duration::ZERO, |back| lease.saturating_sub(back.elapsed())),
            false => lease,
        };
        whole(left)
    }

    /// A value as it is at this moment.
    fn now(&self, value: &Value) -> Value {
        match value {
            Value::Lease(lease) => Value::Numbers(vec![whole(*lease), self.left_of(*lease)]),
            other => other.clone(),
        }
    }

    /// A connection of its own.
    pub(super) async fn connect(&self) -> Result<(Client, Driver), DatabaseError> {
        let connected = timeout(CONNECT, self.config.connect(self.tls.clone())).await;
        connected
            .map_err(|_| DatabaseError::Away("it does not answer".to_owned()))?
            .map_err(|error| of(&error))
    }

    async fn client(&self, slot: &Mutex<Option<Arc<Client>>>) -> Result<Arc<Client>, DatabaseError> {
        let mut slot = slot.lock().await;
        if let Some(client) = slot.as_ref().filter(|client| !client.is_closed()) {
            return Ok(client.clone());
        }
        let (client, connection) = self.connect().await?;
        if slot.is_some() {
            // Whatever was lost may have been the database: nobody has told yet.
            self.heard().lost = true;
        }
        tokio::spawn(async move {
            // Whoever waits for an answer on it is told; there is nobody else to tell.
            let _ = connection.await;
        });
        let client = Arc::new(client);
        *slot = Some(client.clone());
        Ok(client)
    }

    /// The rows of one statement, which may be sent again.
    pub(super) async fn query(
        &self,
        lane: Lane,
        patience: Patience,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, DatabaseError> {
        let began = Instant::now();
        let mut pause = PAUSES.0;
        loop {
            match self.query_once(lane, statement, values).await {
                Err(DatabaseError::Away(why)) => {
                    self.set_up(false, &why);
                    if patience == Patience::Brief && began.elapsed() > BRIEF {
                        return Err(DatabaseError::Away(why));
                    }
                }
                Ok(rows) => {
                    self.set_up(true, "");
                    return Ok(rows);
                }
                refused => return refused,
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    async fn query_once(
        &self,
        lane: Lane,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, DatabaseError> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let number = match lane {
            Lane::Writing => turn % WRITING,
            Lane::Reading => WRITING + turn % READING,
        };
        let slot = self.slots.get(number).ok_or_else(|| DatabaseError::Refused("no lane".to_owned()))?;
        let client = self.client(slot).await?;
        let timely: Vec<Value>;
        let values = match values.iter().any(|value| matches!(value, Value::Lease(_))) {
            true => {
                timely = values.iter().map(|value| self.now(value)).collect();
                &timely
            }
            false => values,
        };
        match timeout(STATEMENT, on(&client, statement, values)).await {
            Ok(answered) => answered,
            Err(_) => {
                // Nobody knows whether this connection still leads anywhere.
                slot.lock().await.take_if(|known| Arc::ptr_eq(known, &client));
                Err(DatabaseError::Away("it does not answer".to_owned()))
            }
        }
    }
}

/// A time in milliseconds.
pub(super) fn whole(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// What an error is to whoever asked. Never tells the address, which may hold a password.
pub(super) fn of(error: &tokio_postgres::Error) -> DatabaseError {
    let Some(said) = error.as_db_error() else {
        let source = std::error::Error::source(error).map(|source| format!(": {source}"));
        return DatabaseError::Away(format!("{error}{}", source.unwrap_or_default()));
    };
    let passing = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::QUERY_CANCELED,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    let code = said.code();
    match passing.contains(code) || code.code().starts_with("08") {
        true => DatabaseError::Away(said.message().to_owned()),
        false => DatabaseError::Refused(format!("{} ({})", said.message(), code.code())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_nobody_has_counted_is_not_sent() {
        assert!(Value::Lease(Duration::from_secs(1)).typed().is_err());
        assert!(Value::Numbers(vec![1]).typed().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn others_get_another_lease_after_the_database_was_away_and_not_after_one_lost_connection() {
        let connections = Connections::new(Config::new());
        let lease = Duration::from_secs(6);
        let left = || connections.left_of(lease);
        connections.set_up(true, "");
        tokio::time::advance(RECENTLY / 2).await;
        connections.set_up(false, "one connection was lost");
        assert_eq!(left(), 6000, "nobody knows yet");
        connections.set_up(true, "");
        assert_eq!(left(), 0);
        connections.heard().lost = true;
        assert_eq!(left(), 0, "a connection is made again beside others");
        connections.set_up(true, "");
        tokio::time::advance(2 * RECENTLY).await;
        connections.set_up(true, "");
        assert_eq!(left(), 0, "this process was slow, and nothing was lost");
        connections.set_up(false, "it is away");
        tokio::time::advance(2 * RECENTLY).await;
        connections.set_up(true, "");
        assert_eq!(left(), 6000);
        tokio::time::advance(lease / 2).await;
        assert_eq!(left(), 3000);
    }
}
