//! The files as the store's port. What waits for the disk does so on threads of its own; what only reaches the
//! kernel's memory is done in place.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::PathBuf;
use std::sync::Arc;

use charla_proto::{
    BoxFuture, Conversation, Fact, Journal, JournalError, Owned, PostError, PrunedSessions, Record,
    RecordStream, SessionList, SessionStore, Snapshots,
};
use tokio::task::spawn_blocking;

use crate::mail::{self, FileMailbox};
use crate::reader::{self, Seen, Tail};
use crate::writer::FileJournal;
use crate::{Resumed, Store, existing, failed, owner};

impl SessionStore for Store {
    fn create<'a>(&'a self, records: &'a [Record]) -> BoxFuture<'a, Result<Owned, JournalError>> {
        Box::pin(async move {
            let session = match records.first().map(|record| &record.fact) {
                Some(Fact::SessionStarted(started)) => &started.session,
                _ => return Err(JournalError::NoBeginning(String::new())),
            };
            let journal = match records {
                [_] => self.begun(session, records).await?,
                _ => self.whole(session, records).await?,
            };
            let mut conversation = Conversation::of(records);
            conversation.forget_replaced();
            Ok(self.owned_by_us(session, Resumed { journal, conversation, seen: Seen::default() }))
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<SessionList, JournalError>> {
        self.on_a_thread(Store::list)
    }

    fn own<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>> {
        self.begin(session, Store::resume)
    }

    fn take_over<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Owned, JournalError>> {
        self.begin(session, Store::take_over)
    }

    fn is_owned<'a>(&'a self, session: &'a str) -> BoxFuture<'a, bool> {
        let session = session.to_owned();
        let free = self.on_a_thread(move |store| store.try_lock(&session));
        Box::pin(async move { matches!(free.await, Err(JournalError::Locked(_))) })
    }

    fn fold<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Conversation, JournalError>> {
        let session = session.to_owned();
        self.on_a_thread(move |store| store.fold(&session))
    }

    fn read_after(&self, session: &str, after: u64) -> RecordStream {
        let (store, session) = (self.clone(), session.to_owned());
        reader::stream(move || {
            let path = store.path(&session)?;
            let file = existing(OpenOptions::new().read(true), &session, &path)?;
            Tail::new(file, path, after)
        })
    }

    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), JournalError>> {
        let session = session.to_owned();
        self.on_a_thread(move |store| store.delete(&session))
    }

    fn prune<'a>(&'a self, sessions: &'a [String]) -> BoxFuture<'a, Result<PrunedSessions, JournalError>> {
        let sessions = sessions.to_owned();
        self.on_a_thread(move |store| store.prune(&sessions))
    }

    fn post<'a>(&'a self, session: &'a str, command: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, PostError>> {
        Box::pin(async move {
            match mail::post(&self.folder, session, command).await {
                Err(PostError::Unreachable(_)) if !self.has_owner(session).await => Err(PostError::NotOwned),
                replied => replied,
            }
        })
    }

    fn snapshots(&self) -> Arc<dyn Snapshots> {
        Arc::new(self.blobs())
    }

    fn outputs(&self, session: &str) -> PathBuf {
        self.outputs_of(session)
    }
}

/// Work on a store. What waits for its thread is compiled once for each kind of result, not for each work.
type Work<T> = Box<dyn FnOnce(&Store) -> Result<T, JournalError> + Send>;

impl Store {
    /// A journal with its first record.
    async fn begun(&self, session: &str, records: &[Record]) -> Result<FileJournal, JournalError> {
        let mut journal = Store::create(self, session)?;
        if let Err(error) = journal.append(records).await {
            // What has no beginning must not be listed. It was never there for anybody.
            let _ = fs::remove_file(journal.path());
            return Err(error);
        }
        Ok(journal)
    }

    /// A journal with many records at once. It gets its name after its last byte: whenever the process or the machine dies,
    /// the session is there with all of them or not at all.
    async fn whole(&self, session: &str, records: &[Record]) -> Result<FileJournal, JournalError> {
        let (session, records) = (session.to_owned(), records.to_owned());
        self.on_a_thread(move |store| store.create_whole(&session, &records)).await
    }

    /// Does what blocks where it may.
    fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, JournalError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, JournalError>> {
        let store = self.clone();
        let work: Work<T> = Box::new(work);
        Box::pin(async move {
            if store.syncs.is_alone() {
                return work(&store);
            }
            let work = spawn_blocking(move || work(&store));
            work.await.unwrap_or_else(|error| Err(JournalError::Io(error.to_string())))
        })
    }

    fn begin<'a>(
        &'a self,
        session: &'a str,
        open: fn(&Store, &str) -> Result<Resumed, JournalError>,
    ) -> BoxFuture<'a, Result<Owned, JournalError>> {
        let id = session.to_owned();
        Box::pin(async move {
            let resumed = self.on_a_thread(move |store| open(store, &id)).await?;
            match resumed.conversation.started {
                Some(_) => Ok(self.owned_by_us(session, resumed)),
                None => Err(JournalError::NoBeginning(session.to_owned())),
            }
        })
    }

    fn owned_by_us(&self, session: &str, resumed: Resumed) -> Owned {
        Owned {
            token: resumed.journal.token(),
            journal: Box::new(resumed.journal),
            conversation: resumed.conversation,
            skipped: resumed.seen.skipped,
            missing: resumed.seen.missing,
            mailbox: Box::new(FileMailbox::new(&self.folder, session)),
        }
    }

    /// True while somebody has the session open, as the kernel's lock tells.
    async fn has_owner(&self, session: &str) -> bool {
        let session = session.to_owned();
        let free = self.on_a_thread(move |store| {
            let (file, path) = store.readable(&session)?;
            owner::lock(&file, &path)
        });
        matches!(free.await, Err(JournalError::Locked(_)))
    }

    /// Takes the session's lock for this moment, if nobody holds it.
    fn try_lock(&self, session: &str) -> Result<(), JournalError> {
        let (file, path) = self.readable(session)?;
        file.try_lock_shared().map_err(|error| match error {
            TryLockError::WouldBlock => JournalError::Locked(path.display().to_string()),
            TryLockError::Error(error) => failed(&path, &error),
        })
    }

    fn readable(&self, session: &str) -> Result<(File, PathBuf), JournalError> {
        let path = self.path(session)?;
        Ok((existing(OpenOptions::new().read(true), session, &path)?, path))
    }
}
