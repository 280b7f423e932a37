//! A store of one's own: sessions in memory, and nothing on the disk.
//!
//! `GEMINI_API_KEY=… cargo run -p charla --example own_store -- "Say hello." "And now in French."`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use charla::proto::{
    BoxFuture, Conversation, Fact, Inbox, Journal, JournalError, JournalReader, Mailbox, Owned, PostError,
    Posted, Record, RecordStream, SessionList, SessionStore, SessionSummary, SnapshotError, Snapshots,
};
use charla::{Charla, Environment, Failure, Notice, OpenRequest, Outcome};
use futures_util::{FutureExt, stream};
use tokio::sync::{mpsc, oneshot};

/// Sessions in memory, for as long as somebody holds this.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<HashMap<String, Session>>>);

#[derive(Default)]
struct Session {
    records: Vec<Record>,
    owned: bool,
    owner: Option<mpsc::UnboundedSender<Posted>>,
}

/// One session of a store.
#[derive(Clone)]
struct Place {
    store: MemoryStore,
    session: String,
}

/// The journal of a session's owner, who lets go of it by dropping this.
struct Held(Place);

impl MemoryStore {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was recorded of a session.
    pub fn records(&self, session: &str) -> Vec<Record> {
        self.sessions().get(session).map(|found| found.records.clone()).unwrap_or_default()
    }

    fn give(&self, session: &str) -> Result<Owned, JournalError> {
        let mut sessions = self.sessions();
        let found = sessions.get_mut(session).ok_or_else(|| JournalError::Missing(session.to_owned()))?;
        if std::mem::replace(&mut found.owned, true) {
            return Err(JournalError::Locked(session.to_owned()));
        }
        let place = Place { store: self.clone(), session: session.to_owned() };
        Ok(Owned {
            conversation: Conversation::of(&found.records),
            journal: Box::new(Held(place.clone())),
            skipped: Vec::new(),
            missing: Vec::new(),
            token: 1,
            mailbox: Box::new(place),
        })
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl SessionStore for MemoryStore {
    fn create<'a>(&'a self, records: &'a [Record]) -> BoxFuture<'a, Result<Owned, JournalError>> {
        let Some(Fact::SessionStarted(started)) = records.first().map(|record| &record.fact) else {
            return ready(Err(JournalError::NoBeginning(String::new())));
        };
        let session = Session { records: records.to_vec(), ..Session::default() };
        self.sessions().insert(started.session.clone(), session);
        ready(self.give(&started.session))
    }

    fn list(&self) -> BoxFuture<'_, Result<SessionList, JournalError>> {
        let summary = |(session, kept): (&String, &Session)| {
            let conversation = Conversation::of(&kept.records);
            Some(SessionSummary {
                session: session.clone(),
                modified: SystemTime::UNIX_EPOCH,
                began: SystemTime::UNIX_EPOCH,
                size: 0,
                started: conversation.started?,
                model: conversation.model,
                title: String::new(),
                has_turns: conversation.past.count > 0,
            })
        };
        let sessions = self.sessions().iter().filter_map(summary).collect();
        ready(Ok(SessionList { sessions, unreadable: Vec::new() }))
    }

    fn own<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>> {
        ready(self.give(session))
    }

    fn take_over<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>> {
        ready(Err(JournalError::Io(format!("{session} is not taken over here"))))
    }

    fn is_owned<'a>(&'a self, session: &'a str) -> BoxFuture<'a, bool> {
        ready(self.sessions().get(session).is_some_and(|session| session.owned))
    }

    fn fold<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Conversation, JournalError>> {
        ready(Ok(Conversation::of(&self.records(session))))
    }

    fn read_after(&self, session: &str, after: u64) -> RecordStream {
        let records = self.records(session).into_iter().filter(move |record| record.seq > after);
        Box::pin(stream::iter(records.map(Ok)))
    }

    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), JournalError>> {
        self.sessions().remove(session);
        ready(Ok(()))
    }

    fn post<'a>(&'a self, session: &'a str, command: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, PostError>> {
        let (owned, owner) = match self.sessions().get(session) {
            Some(found) => (found.owned, found.owner.clone()),
            None => (false, None),
        };
        let (sender, reply) = oneshot::channel();
        let posted = Posted::new(command.to_vec(), move |answer| drop(sender.send(answer)));
        match owner.map(|owner| owner.send(posted)) {
            Some(Ok(())) => reply.map(|reply| reply.map_err(|_| PostError::NoReply(String::new()))).boxed(),
            _ if owned => ready(Err(PostError::Unreachable("nobody listens".to_owned()))),
            _ => ready(Err(PostError::NotOwned)),
        }
    }

    fn snapshots(&self) -> Arc<dyn Snapshots> {
        Arc::new(NoSnapshots)
    }

    fn outputs(&self, session: &str) -> PathBuf {
        std::env::temp_dir().join(session)
    }
}

impl Journal for Held {
    fn append<'a>(&'a mut self, records: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
        let Place { store, session } = &self.0;
        match store.sessions().get_mut(session) {
            Some(kept) => kept.records.extend_from_slice(records),
            None => return ready(Err(JournalError::Missing(session.clone()))),
        }
        ready(Ok(()))
    }

    fn reader(&self) -> Option<Arc<dyn JournalReader>> {
        Some(Arc::new(self.0.clone()))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Place { store, session } = &self.0;
        if let Some(found) = store.sessions().get_mut(session) {
            found.owned = false;
        }
    }
}

impl JournalReader for Place {
    fn read(&self, after: u64, each: &mut dyn FnMut(Record)) -> Result<(), JournalError> {
        self.store.records(&self.session).into_iter().filter(|record| record.seq > after).for_each(each);
        Ok(())
    }

    fn place(&self) -> String {
        self.session.clone()
    }
}

impl Mailbox for Place {
    fn listen(&self) -> BoxFuture<'_, Result<Inbox, PostError>> {
        let (sender, mut commands) = mpsc::unbounded_channel();
        if let Some(kept) = self.store.sessions().get_mut(&self.session) {
            kept.owner = Some(sender);
        }
        ready(Ok(Box::pin(stream::poll_fn(move |cx| commands.poll_recv(cx))) as Inbox))
    }
}

struct NoSnapshots;

impl Snapshots for NoSnapshots {
    fn keep(&self, _: &[u8]) -> Result<String, SnapshotError> {
        Err(SnapshotError::Io("no files are kept here".to_owned()))
    }

    fn load(&self, hash: &str) -> Result<Vec<u8>, SnapshotError> {
        Err(SnapshotError::Missing(hash.to_owned()))
    }
}

/// Says these things one after the other, in one session of this store.
pub async fn talk(
    environment: Environment,
    store: &MemoryStore,
    prompts: &[String],
) -> Result<Vec<String>, Failure> {
    let charla = Charla::new(environment).with_store(Arc::new(store.clone()));
    let session = charla.open(OpenRequest::default(), &mut Vec::<Notice>::new()).await?;
    let mut answers = Vec::new();
    for prompt in prompts {
        answers.push(session.ask(prompt, async |_| Outcome::Cancel { reason: None }).await?);
    }
    session.close().await;
    Ok(answers)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let prompts: Vec<String> = std::env::args().skip(1).collect();
    let folder = std::env::current_dir().map_err(|error| Failure::system(error.to_string()))?;
    let environment = Environment::of(std::env::vars_os()).in_workspace(folder);
    for answer in talk(environment, &MemoryStore::default(), &prompts).await? {
        println!("{answer}");
    }
    Ok(())
}
