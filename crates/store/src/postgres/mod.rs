//! Sessions in a PostgreSQL database that several nodes share.
//!
//! A node is a process with a [`Database`]. It has a lease, by the database's clock, that it renews while it lives; the
//! sessions of a node whose lease has run out can be owned by others. A session's row holds the token of its owner, and
//! records are appended in one statement that wants this token: a node that lost a session, however late it learns
//! of it, writes nothing. `LISTEN` and `NOTIFY` only wake: whatever they tell is also looked for from time to time.
//!
//! Commands for another node's session go through a table, not from node to node: nodes need no addresses, no ports
//! and no trust among each other, and a command is taken once or taken back, whatever happens to either end.

mod commands;
mod connections;
mod contents;
mod deleted;
mod journal;
mod node;
mod outputs;
mod pages;
mod schema;
mod standings;
mod store;
mod tls;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use charla_proto::JournalError;
use futures_util::FutureExt as _;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{broadcast, oneshot, watch};
use tokio_postgres::{Config, Row};

use connections::{Connections, Lane};
pub use connections::{DatabaseError, Patience, Value};
use deleted::LastLook;
use node::Node;
pub use schema::Schema;
pub use store::DatabaseStore;

/// How a node uses its database.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// `postgres://user:password@host/name`, or the same as `key=value` words.
    pub address: String,
    /// How long a node may be silent before its sessions go to others.
    pub lease: Duration,
    /// Tables beside those of sessions.
    pub schemas: Vec<Schema>,
}

impl DatabaseOptions {
    /// How long a node may be silent, where nobody says otherwise.
    pub const LEASE: Duration = Duration::from_secs(6);
}

/// One node's way to the database. Cheap to clone; when the last one is dropped, the node goes silent.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
    handle: Handle,
    _thread: Arc<oneshot::Sender<()>>,
}

/// What tasks of the database's own thread use.
pub(crate) struct Shared {
    connections: Connections,
    node: Node,
    deleted: LastLook,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Database").field("node", &self.node_id()).finish()
    }
}

impl Database {
    /// Connects, brings the tables up to date and becomes a node. An error says why not, without the password.
    ///
    /// Connections are driven by a thread of their own: a lease is renewed and a thread that blocks is answered
    /// whatever the caller's runtime is busy with.
    pub async fn connect(options: DatabaseOptions) -> Result<Self, DatabaseError> {
        let config = Config::from_str(&checked(&options.address))
            .map_err(|error| DatabaseError::Refused(format!("the address is none: {error}")))?;
        let (connections, node) = (Connections::new(config), Node::new(options.lease));
        let shared = Arc::new(Shared { connections, node, deleted: LastLook::default() });
        let (handle, thread) = start_thread().map_err(|error| DatabaseError::Refused(error.to_string()))?;
        let database = Self { shared: shared.clone(), handle, _thread: Arc::new(thread) };
        database.run(async move { shared.begin(&options.schemas).await }).await?;
        Ok(database)
    }

    /// Sessions of one user. Large outputs, which tools read as files, are under `folder`, the same path on every node.
    pub fn sessions(&self, user: &str, folder: impl Into<PathBuf>) -> DatabaseStore {
        DatabaseStore::new(self.clone(), user.to_owned(), outputs_in(&folder.into()))
    }

    /// What this node is known by.
    pub fn node_id(&self) -> &str {
        self.shared.node.id()
    }

    /// True while the database answers.
    pub fn is_up(&self) -> bool {
        self.shared.connections.is_up()
    }

    /// Whether the database answers, as that changes.
    pub fn status(&self) -> watch::Receiver<bool> {
        self.shared.connections.status()
    }

    /// The rows of one statement. It may be sent again when a connection is lost: it must be the same done twice.
    pub async fn query(
        &self,
        patience: Patience,
        statement: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, DatabaseError> {
        self.query_in(Lane::Writing, patience, statement, values).await
    }

    /// The longest text that a node can be told at once, in bytes.
    pub const LONGEST_TOLD: usize = 7_900;

    /// Tells another node something, which gets it soon, or never: for what may be lost.
    pub async fn tell(&self, node: &str, said: String) -> Result<(), DatabaseError> {
        let (shared, channel) = (self.shared.clone(), node::channel(node));
        self.run(async move { shared.notify(&channel, &said).await }).await
    }

    /// What other nodes tell this one from now on.
    pub fn told(&self) -> broadcast::Receiver<Arc<str>> {
        self.shared.node.told()
    }

    /// Ends this node: its sessions can be owned by others at once.
    pub async fn leave(&self) -> Result<(), DatabaseError> {
        let shared = self.shared.clone();
        self.run(async move { shared.leave().await }).await
    }

    async fn query_in(
        &self,
        lane: Lane,
        patience: Patience,
        statement: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let shared = self.shared.clone();
        self.run(async move { shared.connections.query(lane, patience, statement, &values).await }).await
    }

    /// Does something on the database's thread, to its end: whoever waits for it may stop waiting.
    async fn run<T: Send + 'static, E: From<DatabaseError> + Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        // Boxed, the task is compiled once for each kind of result, not for each work.
        let done = self.handle.spawn(work.boxed()).await;
        done.unwrap_or_else(|_| Err(DatabaseError::Away("this node has left it".to_owned()).into()))
    }

    /// The same for a thread that may block.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, DatabaseError>> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let (sender, done) = std::sync::mpsc::channel();
        self.handle.spawn(async move { sender.send(work.await) });
        done.recv().unwrap_or_else(|_| Err(DatabaseError::Away("this node has left it".to_owned())))
    }
}

/// Where large outputs of the sessions of this folder are.
fn outputs_in(sessions: &Path) -> PathBuf {
    sessions.join("outputs")
}

/// The address in words that the driver knows: certificates are always checked, and for the host.
fn checked(address: &str) -> String {
    ["verify-full", "verify-ca"].iter().fold(address.to_owned(), |address, mode| {
        address.replace(&format!("sslmode={mode}"), "sslmode=require")
    })
}

/// A thread with a runtime of its own, until what is given back is dropped.
fn start_thread() -> std::io::Result<(Handle, oneshot::Sender<()>)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (sender, dropped) = oneshot::channel();
    std::thread::Builder::new().name("database".to_owned()).spawn(move || {
        // Nothing is ever sent.
        let _ = runtime.block_on(dropped);
        runtime.shutdown_background();
    })?;
    Ok((handle, sender))
}

impl From<DatabaseError> for JournalError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Away(why) => JournalError::Away(why),
            DatabaseError::Refused(why) => JournalError::Io(why),
        }
    }
}
