//! A node among others: its lease, what it holds, what wakes it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charla_proto::Posted;
use futures_util::{StreamExt, stream};
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Client};

use super::Shared;
use super::connections::{DatabaseError, Driver, Lane, Patience, Value, of, on, whole};
use super::schema::{self, STORE, Schema};

/// The channel that every node listens at: something was written somewhere.
const CHANGES: &str = "charla_changes";
/// How often others are told at most that something was written: to tell holds up every commit of the database.
const TELL: Duration = Duration::from_millis(50);
/// How much of what others tell may wait; whoever is slower loses the oldest.
const TOLD: usize = 1024;
/// The pause before a lost connection is made again.
const PAUSE: Duration = Duration::from_millis(250);
/// How often what nobody needs any more is removed.
const TIDY: Duration = Duration::from_secs(60);

/// The node `n` lives; `$lease` is the place of a [`Value::Lease`]. A database that was started anew gives every node the
/// time of a lease to come back, and so does each node to the others from the moment it reaches the database again:
/// recovery, or a standby that takes over, may have taken longer than the lease.
macro_rules! lives {
    ($lease:literal) => {
        concat!(
            "(greatest(n.lease_until, pg_postmaster_start_time() + (",
            $lease,
            ")[1] * interval '1 millisecond') > clock_timestamp() or (",
            $lease,
            ")[2] > 0)"
        )
    };
}
pub(super) use lives;

/// This process, as the database knows it.
pub(super) struct Node {
    id: String,
    lease: Duration,
    /// The sessions this process holds, with the tokens it holds them by.
    held: Mutex<HashMap<i64, i64>>,
    listening: Mutex<HashMap<i64, mpsc::Sender<Posted>>>,
    /// Held while a session is being owned: until it is known here, its row says more than `held` does.
    pub(super) owning: tokio::sync::Mutex<()>,
    /// Something was written by another node.
    changes: watch::Sender<u64>,
    /// A command or a reply may have come.
    post: watch::Sender<u64>,
    /// What other nodes tell this one, as it comes.
    told: broadcast::Sender<Arc<str>>,
    /// Something was written here.
    written: Notify,
    /// The node has left: its lease is not renewed any more. Held while that is done.
    left: tokio::sync::Mutex<bool>,
}

impl Node {
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            id: uuid::Uuid::now_v7().simple().to_string(),
            lease,
            held: Mutex::default(),
            listening: Mutex::default(),
            owning: tokio::sync::Mutex::default(),
            changes: watch::Sender::new(0),
            post: watch::Sender::new(0),
            told: broadcast::Sender::new(TOLD),
            written: Notify::new(),
            left: tokio::sync::Mutex::new(false),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The lease in milliseconds.
    pub(super) fn lease(&self) -> Value {
        Value::Number(whole(self.lease))
    }

    /// Whether others live: their lease, and what they are given beyond it.
    pub(super) fn mercy(&self) -> Value {
        Value::Lease(self.lease)
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn told(&self) -> broadcast::Receiver<Arc<str>> {
        self.told.subscribe()
    }

    pub(super) fn post(&self) -> watch::Receiver<u64> {
        self.post.subscribe()
    }

    fn held_sessions(&self) -> MutexGuard<'_, HashMap<i64, i64>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hold(&self, key: i64, token: i64) {
        self.held_sessions().insert(key, token);
    }

    pub(super) fn holds(&self, key: i64) -> bool {
        self.held_sessions().contains_key(&key)
    }

    pub(super) fn held(&self) -> Value {
        Value::Numbers(self.held_sessions().keys().copied().collect())
    }

    /// No longer holds a session by this token.
    pub(super) fn let_go(&self, key: i64, token: i64) {
        let mut held = self.held_sessions();
        if held.get(&key) == Some(&token) {
            held.remove(&key);
        }
    }

    pub(super) fn listeners(&self) -> MutexGuard<'_, HashMap<i64, mpsc::Sender<Posted>>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Others are told soon that something was written.
    pub(super) fn wrote(&self) {
        self.written.notify_one();
    }

    /// Where this node is woken for commands and replies.
    fn channel(&self) -> String {
        channel(&self.id)
    }

    fn take(&self, channel: &str, said: &str) {
        let count = |count: &mut u64| *count = count.wrapping_add(1);
        match channel == CHANGES {
            true if said != self.id => self.changes.send_modify(count),
            true => {}
            false if said.is_empty() => self.post.send_modify(count),
            // Lost where nobody listens.
            false => drop(self.told.send(said.into())),
        }
    }
}

/// Where a node is woken.
pub(super) fn channel(node: &str) -> String {
    format!("charla_{node}")
}

const RENEW: &str = "insert into charla.nodes (id, lease_until)
    values ($1, clock_timestamp() + $2 * interval '1 millisecond')
    on conflict (id) do update set lease_until = excluded.lease_until";

impl Shared {
    /// Makes the tables and the node, and keeps it alive from then on.
    pub(super) async fn begin(self: &Arc<Self>, schemas: &[Schema]) -> Result<(), DatabaseError> {
        let (client, connection) = self.connections.connect().await?;
        let driving = tokio::spawn(connection);
        check_encoding(&client).await?;
        schema::update(&client, &[STORE]).await?;
        schema::update(&client, schemas).await?;
        driving.abort();
        let renewed = vec![self.node.id().into(), self.node.lease()];
        self.connections.query(Lane::Writing, Patience::Brief, RENEW, &renewed).await?;
        tokio::spawn(live(self.clone()));
        tokio::spawn(tell(self.clone()));
        tokio::spawn(tidy(self.clone()));
        tokio::spawn(super::commands::take(self.clone()));
        Ok(())
    }

    pub(super) async fn leave(&self) -> Result<(), DatabaseError> {
        *self.node.left.lock().await = true;
        let gone = "delete from charla.nodes where id = $1";
        let values = [self.node.id().into()];
        self.connections.query(Lane::Writing, Patience::Brief, gone, &values).await?;
        // Somebody else may go on with what is left.
        self.notify(CHANGES, self.node.id()).await
    }

    pub(super) async fn notify(&self, channel: &str, said: &str) -> Result<(), DatabaseError> {
        let statement = "select pg_notify($1, $2)";
        let values = [channel.into(), said.into()];
        self.connections.query(Lane::Writing, Patience::Brief, statement, &values).await.map(drop)
    }

    /// Renews the lease and takes what wakes, until the connection is lost.
    async fn live_once(&self) -> Result<(), DatabaseError> {
        let (client, connection) = self.connections.connect().await?;
        let listening = format!("listen {CHANGES}; listen {}", self.node.channel());
        let renewing = async {
            client.batch_execute(&listening).await.map_err(|error| of(&error))?;
            loop {
                let renewed = timeout(self.node.lease, self.renew(&client)).await;
                renewed.map_err(|_| DatabaseError::Away("it does not answer".to_owned()))??;
                self.connections.set_up(true, "");
                sleep(self.node.lease / 5).await;
            }
        };
        tokio::select! {
            renewed = renewing => renewed,
            () = self.take_notices(connection) => Err(DatabaseError::Away("the connection was lost".to_owned())),
        }
    }

    async fn renew(&self, client: &Client) -> Result<(), DatabaseError> {
        let left = self.node.left.lock().await;
        match *left {
            true => Ok(()),
            false => on(client, RENEW, &[self.node.id().into(), self.node.lease()]).await.map(drop),
        }
    }

    /// Drives a connection, and wakes whoever its notices are for.
    async fn take_notices(&self, mut connection: Driver) {
        let mut messages = stream::poll_fn(|cx| connection.poll_message(cx));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(notice) = message {
                self.node.take(notice.channel(), notice.payload());
            }
        }
    }
}

/// Records are texts of any language.
async fn check_encoding(client: &Client) -> Result<(), DatabaseError> {
    let rows = on(client, "select current_setting('server_encoding')", &[]).await?;
    let encoding: String = rows.first().map(|row| row.get(0)).unwrap_or_default();
    match encoding == "UTF8" {
        true => Ok(()),
        false => Err(DatabaseError::Refused(format!(
            "its encoding is {encoding}; make one with `createdb -E UTF8 -T template0 charla`"
        ))),
    }
}

/// Keeps the node alive. What was missed while a connection was lost is looked for by those who are woken.
async fn live(shared: Arc<Shared>) {
    loop {
        if let Err(error) = shared.live_once().await {
            shared.connections.set_up(false, &error.to_string());
        }
        sleep(PAUSE).await;
    }
}

/// Tells others that something was written, several times at once.
async fn tell(shared: Arc<Shared>) {
    loop {
        shared.node.written.notified().await;
        // Only a wake: others look from time to time as well.
        let _ = shared.notify(CHANGES, shared.node.id()).await;
        sleep(TELL).await;
    }
}

/// Removes nodes and commands that are over.
async fn tidy(shared: Arc<Shared>) {
    let old = [
        "delete from charla.commands where sent_at < clock_timestamp() - interval '10 minutes'",
        "delete from charla.nodes n where lease_until < clock_timestamp() - interval '1 hour'
            and not exists (select 1 from charla.sessions where owner = n.id)",
    ];
    loop {
        sleep(TIDY).await;
        for statement in old {
            // Tried again in a minute.
            let _ = shared.connections.query(Lane::Writing, Patience::Brief, statement, &[]).await;
        }
    }
}
