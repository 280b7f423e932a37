//! Commands for a session that another node holds: a row each, taken by that node and answered in the same row.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use charla_proto::{BoxFuture, Inbox, Mailbox, PostError, Posted};
use futures_util::Stream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Row;

use super::Shared;
use super::connections::{DatabaseError, Lane, Patience, Value};
use super::node::{channel, lives};

/// How long an owner may think about a command.
const REPLY_PATIENCE: Duration = Duration::from_secs(30);
/// How often commands and replies are looked for that nobody was woken for.
const LOOK: Duration = Duration::from_millis(500);
/// How many commands a session has on its way at once.
const AT_ONCE: usize = 32;
/// The largest command that is passed on: as much as the server takes.
const MAX_COMMAND: usize = 16 * 1024 * 1024;

/// The row has its reply.
const REPLIED: &str = "replied";
/// The node does not hold the session.
const NOT_HELD: &str = "not_held";
/// The node holds the session, which takes no commands.
const DEAF: &str = "deaf";
/// The session let the command go without a word.
const DROPPED: &str = "dropped";

/// Where a session of this node takes commands.
pub(super) struct DatabaseMailbox {
    shared: Arc<Shared>,
    key: i64,
}

impl DatabaseMailbox {
    pub(super) fn new(shared: Arc<Shared>, key: i64) -> Self {
        Self { shared, key }
    }
}

impl Mailbox for DatabaseMailbox {
    fn listen(&self) -> BoxFuture<'_, Result<Inbox, PostError>> {
        let (sender, commands) = mpsc::channel(AT_ONCE);
        self.shared.node.listeners().insert(self.key, sender.clone());
        let listening = Listening { shared: self.shared.clone(), key: self.key, sender, commands };
        Box::pin(std::future::ready(Ok(Box::pin(listening) as Inbox)))
    }
}

/// Commands as they come, until it is dropped.
struct Listening {
    shared: Arc<Shared>,
    key: i64,
    sender: mpsc::Sender<Posted>,
    commands: mpsc::Receiver<Posted>,
}

impl Stream for Listening {
    type Item = Posted;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Option<Posted>> {
        self.commands.poll_recv(context)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut listeners = self.shared.node.listeners();
        // Another owner in this process may listen by now.
        if listeners.get(&self.key).is_some_and(|known| known.same_channel(&self.sender)) {
            listeners.remove(&self.key);
        }
    }
}

/// A command that came from elsewhere.
struct Taken {
    id: String,
    key: i64,
    sender: String,
    body: Vec<u8>,
}

impl Taken {
    fn of(row: &Row) -> Self {
        Self { id: row.get(0), key: row.get(1), sender: row.get(2), body: row.get(3) }
    }
}

/// Takes commands for this node's sessions, as long as it lives.
pub(super) async fn take(shared: Arc<Shared>) {
    let statement = "with mine as (
            update charla.commands set taken = true
            where node = $1 and outcome is null and not id = any($2)
            returning id, session, sender, body, number)
        select id, session, sender, body from mine order by number";
    let under_way: Arc<Mutex<HashSet<String>>> = Arc::default();
    let mut post = shared.node.post();
    loop {
        let known = under_way.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        let values = [shared.node.id().into(), Value::Texts(known)];
        let taken = shared.connections.query(Lane::Writing, Patience::Brief, statement, &values).await;
        for command in taken.unwrap_or_default().iter().map(Taken::of) {
            under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(command.id.clone());
            let (shared, under_way) = (shared.clone(), under_way.clone());
            tokio::spawn(async move {
                let id = command.id.clone();
                shared.answer(command).await;
                under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            });
        }
        // Looked for again in any case.
        let _ = timeout(LOOK, post.changed()).await;
    }
}

impl Shared {
    /// Hands a command to its session, and its reply back. Returns when the row has it, however long the database is away: a row without an
    /// outcome is a command that is taken again.
    async fn answer(&self, command: Taken) {
        let Taken { id, key, sender, body } = command;
        let (outcome, reply) = self.deliver(key, body).await;
        let statement = "update charla.commands set outcome = $2, reply = $3 where id = $1";
        let values = [id.as_str().into(), outcome.into(), Value::Bytes(reply)];
        // Refused, it is tried as long as the row is there: what is too old is removed.
        while self.connections.query(Lane::Writing, Patience::Endless, statement, &values).await.is_err() {
            sleep(LOOK).await;
        }
        // Whoever waits looks from time to time, and gives up in the end.
        let _ = self.notify(&channel(&sender), "").await;
    }

    async fn deliver(&self, key: i64, body: Vec<u8>) -> (&'static str, Vec<u8>) {
        let listener = self.node.listeners().get(&key).cloned();
        let Some(listener) = listener else {
            return (if self.disown(key).await { NOT_HELD } else { DEAF }, Vec::new());
        };
        let (sender, reply) = oneshot::channel();
        let posted = Posted::new(body, move |answer| drop(sender.send(answer)));
        if listener.send(posted).await.is_err() {
            return (DROPPED, Vec::new());
        }
        match timeout(REPLY_PATIENCE, reply).await {
            Ok(Ok(reply)) => (REPLIED, reply),
            _ => (DROPPED, Vec::new()),
        }
    }

    /// Clears the row of a session that is said to be ours and is not; false when it is.
    async fn disown(&self, key: i64) -> bool {
        let _owning = self.node.owning.lock().await;
        if self.node.holds(key) {
            return false;
        }
        let statement = "update charla.sessions set owner = null where key = $1 and owner = $2";
        let values = [Value::Number(key), self.node.id().into()];
        // Left as it is, the next command finds it again.
        let _ = self.connections.query(Lane::Writing, Patience::Brief, statement, &values).await;
        true
    }

    /// Hands a command to the node that holds the session; its reply.
    pub(super) async fn post(
        &self,
        space: String,
        session: String,
        command: Vec<u8>,
    ) -> Result<Vec<u8>, PostError> {
        if command.len() > MAX_COMMAND {
            return Err(PostError::TooLarge(command.len()));
        }
        let mut woken = self.node.post();
        let (id, owner) = self.send(&space, &session, command).await?.ok_or(PostError::NotOwned)?;
        let _ = self.notify(&channel(&owner), "").await;
        let began = Instant::now();
        loop {
            let _ = timeout(LOOK, woken.changed()).await;
            match self.reply(&id).await {
                Ok(Some(replied)) => {
                    let gone = "delete from charla.commands where id = $1";
                    // Left behind, it is removed with other old ones.
                    let _ = self
                        .connections
                        .query(Lane::Writing, Patience::Brief, gone, &[id.as_str().into()])
                        .await;
                    return replied;
                }
                Ok(None) if began.elapsed() < REPLY_PATIENCE => {}
                Ok(None) => return Err(self.withdraw(&id, "it took too long").await),
                Err(error) if began.elapsed() >= REPLY_PATIENCE => {
                    return Err(PostError::NoReply(error.to_string()));
                }
                Err(_) => sleep(LOOK).await,
            }
        }
    }

    /// Puts a command down for the session's owner; its id and the owner, if there is one.
    async fn send(
        &self,
        space: &str,
        session: &str,
        command: Vec<u8>,
    ) -> Result<Option<(String, String)>, PostError> {
        // Sent again after a lost connection, it finds its own row.
        let statement = concat!(
            "with sent as (
                insert into charla.commands (id, session, node, sender, body)
                select $1, s.key, s.owner, $2, $3 from charla.sessions s
                join charla.nodes n on n.id = s.owner
                where s.space = $4 and s.id = $5 and ",
            lives!("$6"),
            " on conflict (id) do nothing returning node)
            select node from sent union all select node from charla.commands where id = $1"
        );
        let id = uuid::Uuid::now_v7().simple().to_string();
        let values = [
            id.as_str().into(),
            self.node.id().into(),
            Value::Bytes(command),
            space.into(),
            session.into(),
            self.node.mercy(),
        ];
        let sent = self.connections.query(Lane::Writing, Patience::Brief, statement, &values).await;
        let rows = sent.map_err(|error| match error {
            // It may be there all the same, and be taken.
            DatabaseError::Away(why) => PostError::NoReply(why),
            DatabaseError::Refused(why) => PostError::Unreachable(why),
        })?;
        Ok(rows.first().map(|row| (id, row.get(0))))
    }

    /// What became of a command, once it is known.
    async fn reply(&self, id: &str) -> Result<Option<Result<Vec<u8>, PostError>>, DatabaseError> {
        let statement = concat!(
            "select c.outcome, c.reply, n.id is not null and ",
            lives!("$2"),
            " from charla.commands c left join charla.nodes n on n.id = c.node where c.id = $1"
        );
        let values = [id.into(), self.node.mercy()];
        let rows = self.connections.query(Lane::Writing, Patience::Brief, statement, &values).await?;
        let Some(row) = rows.first() else {
            return Ok(Some(Err(PostError::NoReply("it was removed as too old".to_owned()))));
        };
        let (outcome, alive): (Option<String>, bool) = (row.get(0), row.get(2));
        Ok(match outcome.as_deref() {
            Some(REPLIED) => Some(Ok(row.get(1))),
            Some(NOT_HELD) => Some(Err(PostError::NotOwned)),
            Some(DEAF) => Some(Err(PostError::Unreachable("it takes no commands now".to_owned()))),
            Some(_) => Some(Err(PostError::NoReply("it let the command go".to_owned()))),
            None if alive => None,
            None => Some(Err(self.withdraw(id, "its node has ended").await)),
        })
    }

    /// Takes a command back, if nobody has taken it yet.
    async fn withdraw(&self, id: &str, why: &str) -> PostError {
        let statement = "delete from charla.commands where id = $1 and not taken returning id";
        let gone = self.connections.query(Lane::Writing, Patience::Brief, statement, &[id.into()]).await;
        match gone {
            Ok(rows) if !rows.is_empty() => PostError::NotOwned,
            _ => PostError::NoReply(why.to_owned()),
        }
    }
}
