//! A server's sessions as a store: what the library reads of files, it reads of a server, too.

use std::path::PathBuf;
use std::sync::Arc;

use charla_proto::{
    BoxFuture, Conversation, JournalError, Owned, PostError, Record, RecordStream, Refusal, Reply, Request,
    SessionList, SessionStore, SnapshotError, Snapshots,
};
use futures_util::{StreamExt, TryFutureExt, stream};

use crate::api::Client;
use crate::error::ClientError;

/// The sessions of a server. They are read and asked things; the server alone writes them.
#[derive(Clone, Debug)]
pub struct RemoteStore {
    client: Client,
}

impl RemoteStore {
    /// The sessions that this client may see.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    fn not_ours(&self) -> BoxFuture<'_, Result<Owned, JournalError>> {
        let why = JournalError::Locked(self.client.server().to_owned());
        Box::pin(std::future::ready(Err(why)))
    }
}

fn failed(session: &str) -> impl FnOnce(ClientError) -> JournalError {
    let session = session.to_owned();
    move |error| match error.status() {
        Some(404) => JournalError::Missing(session),
        Some(409) => JournalError::Locked(session),
        _ => JournalError::Io(error.to_string()),
    }
}

impl SessionStore for RemoteStore {
    fn create<'a>(&'a self, _: &'a [Record]) -> BoxFuture<'a, Result<Owned, JournalError>> {
        self.not_ours()
    }

    fn list(&self) -> BoxFuture<'_, Result<SessionList, JournalError>> {
        let listed =
            self.client.sessions().map_ok(|sessions| SessionList { sessions, unreadable: Vec::new() });
        Box::pin(listed.map_err(failed("")))
    }

    fn own<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>> {
        self.not_ours()
    }

    fn take_over<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>> {
        self.not_ours()
    }

    fn is_owned<'a>(&'a self, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(true))
    }

    fn fold<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Conversation, JournalError>> {
        let records = self.client.records(session, 0);
        Box::pin(records.map_ok(|records| Conversation::of(&records)).map_err(failed(session)))
    }

    fn read_after(&self, session: &str, after: u64) -> RecordStream {
        let reading = (self.client.clone(), session.to_owned(), Some(after));
        // Whoever stops early has asked for little more than they took.
        let pages = stream::unfold(reading, |(client, session, after)| async move {
            let (records, next) = match client.page(&session, after?).await {
                Ok(page) => {
                    let next = page.records.last().filter(|_| page.more).map(|last| last.seq);
                    (page.records.into_iter().map(Ok).collect(), next)
                }
                Err(error) => (vec![Err(failed(&session)(error))], None),
            };
            Some((stream::iter(records), (client, session, next)))
        });
        Box::pin(pages.flatten())
    }

    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(self.client.delete(session, None).map_err(failed(session)))
    }

    fn post<'a>(&'a self, session: &'a str, command: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, PostError>> {
        Box::pin(async move {
            let no_reply = |error: serde_json::Error| PostError::NoReply(error.to_string());
            let request: Request = serde_json::from_slice(command).map_err(no_reply)?;
            let reply = match self.client.command(session, &request.command).await {
                Ok(reply) => reply,
                Err(ClientError::Refused(problem)) => {
                    let failed = || Reply::Refused(Refusal::Failed { message: problem.detail.clone() });
                    problem.reply.clone().unwrap_or_else(failed)
                }
                Err(error) => return Err(PostError::NoReply(error.to_string())),
            };
            serde_json::to_vec(&reply).map_err(no_reply)
        })
    }

    fn snapshots(&self) -> Arc<dyn Snapshots> {
        Arc::new(Elsewhere)
    }

    fn outputs(&self, _: &str) -> PathBuf {
        PathBuf::new()
    }
}

/// Contents of files that are on the server.
struct Elsewhere;

impl Snapshots for Elsewhere {
    fn keep(&self, _: &[u8]) -> Result<String, SnapshotError> {
        Err(SnapshotError::Io("contents of files are kept where the session runs".to_owned()))
    }

    fn load(&self, hash: &str) -> Result<Vec<u8>, SnapshotError> {
        Err(SnapshotError::Missing(hash.to_owned()))
    }
}
