//! Where sessions are kept: append-only JSONL files, one per session, or a PostgreSQL database that several nodes share.
//!
//! The files are the only truth: listing, resuming and pending approvals are read from them, there is no
//! index to lose. What was written is never changed. One process writes a session at a time; the lock is the
//! kernel's and goes with the process. The format is described in `docs/journal.md`.

mod blobs;
mod delete;
mod list;
#[cfg(unix)]
mod mail;
#[cfg(not(unix))]
#[path = "no_mail.rs"]
mod mail;
mod owner;
mod port;
mod postgres;
mod reader;
mod syncs;
mod times;
mod title;
mod writer;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use charla_proto::{Conversation, JournalError, Record, SessionList};

use owner::{Gate, Ownership};
use reader::Seen;
use syncs::Syncs;

use blobs::Blobs;
pub use postgres::{Database, DatabaseError, DatabaseOptions, DatabaseStore, Patience, Schema, Value};
use writer::FileJournal;
pub use writer::Sync;

/// How the file of a session is called as long as not all of it is there.
const ARRIVING: &str = ".arriving-";

/// The sessions in one folder, as a [`charla_proto::SessionStore`]. Must be used in a tokio runtime.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    sync: Sync,
    syncs: Syncs,
}

/// A session that was opened to go on with it.
struct Resumed {
    journal: FileJournal,
    conversation: Conversation,
    seen: Seen,
}

/// What is done here blocks; its port does it where it may.
impl Store {
    /// The sessions in `folder`, which is made when first written to.
    pub fn new(folder: impl Into<PathBuf>, sync: Sync) -> Self {
        Self { folder: folder.into(), sync, syncs: Syncs::default() }
    }

    /// The same for a program with one session: waiting for the disk holds nobody up, so no thread is started for it.
    pub fn alone(self) -> Self {
        Self { syncs: self.syncs.alone(), ..self }
    }

    /// Where a session's journal is.
    fn path(&self, session: &str) -> Result<PathBuf, JournalError> {
        Ok(self.folder.join(format!("{}.jsonl", plain_id(session)?)))
    }

    /// A journal for a new session. Its file must not exist yet.
    fn create(&self, session: &str) -> Result<FileJournal, JournalError> {
        let path = self.path(session)?;
        make_private_folder(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let file = new_file(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => JournalError::Exists(session.to_owned()),
            _ => failed(&path, &error),
        })?;
        owner::lock(&file, &path)?;
        self.journal(file, path, owner::FIRST, false)
    }

    /// A journal for a session that has all of these records from the beginning.
    fn create_whole(&self, session: &str, records: &[Record]) -> Result<FileJournal, JournalError> {
        let path = self.path(session)?;
        let wrong = |error: io::Error| failed(&path, &error);
        make_private_folder(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        // Made with 0600, which it keeps.
        let mut unfinished = tempfile::Builder::new();
        let mut unfinished =
            unfinished.prefix(ARRIVING).append(true).tempfile_in(&self.folder).map_err(wrong)?;
        owner::lock(unfinished.as_file(), &path)?;
        let lines = writer::lines(records)?;
        unfinished.write_all(&lines).map_err(wrong)?;
        if let Some(last) = times::last_elsewhere(records) {
            // It is as old as what was said in it, not as its file here. Where that cannot be told, it is new.
            let _ = unfinished.as_file().set_modified(last);
        }
        unfinished.as_file().sync_all().map_err(wrong)?;
        let file = unfinished.persist_noclobber(&path).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => JournalError::Exists(session.to_owned()),
            _ => failed(&path, &error.error),
        })?;
        self.journal(file, path, owner::FIRST, false)
    }

    /// Opens a session to go on with it. Takes memory for what is sent of it, not for all of it.
    fn resume(&self, session: &str) -> Result<Resumed, JournalError> {
        let (file, path, token) = self.owned(session)?;
        self.resumed(file, path, token)
    }

    /// Goes on with a session in place of its owner, who need not let go of it.
    fn take_over(&self, session: &str) -> Result<Resumed, JournalError> {
        let path = self.path(session)?;
        let gate = self.gate(session, &path)?;
        let old = existing(OpenOptions::new().read(true), session, &path)?;
        let token = gate.next_token()?;
        let file = owner::replace(old, &path).map_err(|error| failed(&path, &error))?;
        self.resumed(file, path, token)
    }

    fn resumed(&self, file: File, path: PathBuf, token: u64) -> Result<Resumed, JournalError> {
        let (conversation, seen) = reader::fold(&file).map_err(|error| failed(&path, &error))?;
        let journal = self.journal(file, path, token, seen.torn)?;
        Ok(Resumed { journal, conversation, seen })
    }

    /// A session's file, ours: what is read then stays the end of it.
    fn owned(&self, session: &str) -> Result<(File, PathBuf, u64), JournalError> {
        let path = self.path(session)?;
        let gate = self.gate(session, &path)?;
        let file = existing(OpenOptions::new().read(true).append(true), session, &path)?;
        owner::lock(&file, &path)?;
        Ok((file, path, gate.next_token()?))
    }

    /// Where those who want to own a session that is there pass one at a time.
    fn gate(&self, session: &str, path: &Path) -> Result<Gate, JournalError> {
        existing(OpenOptions::new().read(true), session, path)?;
        Gate::enter(&self.folder, session)
    }

    fn journal(
        &self,
        file: File,
        path: PathBuf,
        token: u64,
        torn: bool,
    ) -> Result<FileJournal, JournalError> {
        let ownership = Ownership::new(&file, path, token)?;
        Ok(FileJournal::new(file, ownership, self.sync, self.syncs.clone(), torn))
    }

    /// What a session's records add up to, as far as it is needed to go on; another process may be writing it.
    fn fold(&self, session: &str) -> Result<Conversation, JournalError> {
        let path = self.path(session)?;
        let file = existing(OpenOptions::new().read(true), session, &path)?;
        let (conversation, _) = reader::fold(&file).map_err(|error| failed(&path, &error))?;
        Ok(conversation)
    }

    /// Every session, the one written to last first.
    fn list(&self) -> Result<SessionList, JournalError> {
        list::list(&self.folder).map_err(|error| failed(&self.folder, &error))
    }

    fn outputs_of(&self, session: &str) -> PathBuf {
        self.folder.join("outputs").join(session)
    }
}

/// Whether a session may have this id; it is part of paths.
pub fn is_plain_id(session: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !session.is_empty() && session.len() <= 100 && session.chars().all(plain)
}

/// An id that a session may have.
fn plain_id(session: &str) -> Result<&str, JournalError> {
    match is_plain_id(session) {
        true => Ok(session),
        false => Err(JournalError::Io(format!("`{session}` is no session id"))),
    }
}

/// Opens the file of a session that should be there.
fn existing(options: &OpenOptions, session: &str, path: &Path) -> Result<File, JournalError> {
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => JournalError::Missing(session.to_owned()),
        _ => failed(path, &error),
    })
}

fn failed(path: &Path, error: &io::Error) -> JournalError {
    JournalError::Io(format!("{}: {error}", path.display()))
}

/// Makes a journal's file. Conversations are private: only their owner may read them.
fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true);
    private(&mut options);
    options.open(path)
}

fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests;
