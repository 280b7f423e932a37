//! The journal: append-only JSONL files, one per session.
//!
//! The files are the only truth: listing, resuming and pending approvals are read from them, there is no
//! index to lose. A file is never rewritten. One process writes a session at a time; the lock is the
//! kernel's and goes with the process. The format is described in `docs/journal.md`.

mod blobs;
mod list;
mod reader;
mod writer;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use charla_proto::{Conversation, JournalError};

pub use blobs::Blobs;
pub use list::{Listed, Summary};
pub use reader::{Read, Skipped};
pub use writer::{FileJournal, Sync};

/// How long a lock is tried for.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);
/// How long to wait between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The sessions in one folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    sync: Sync,
}

/// A session that was opened for writing.
pub struct Opened {
    /// What is written goes here.
    pub journal: FileJournal,
    /// What was there.
    pub read: Read,
}

/// A session that was opened to go on with it.
pub struct Resumed {
    /// What is written goes here.
    pub journal: FileJournal,
    /// What was said so far, as far as it is needed to go on.
    pub conversation: Conversation,
    /// Lines that are no record.
    pub skipped: Vec<Skipped>,
}

impl Store {
    /// The sessions in `folder`, which is made when first written to.
    pub fn new(folder: impl Into<PathBuf>, sync: Sync) -> Self {
        Self { folder: folder.into(), sync }
    }

    /// Where a session's journal is.
    pub fn path(&self, session: &str) -> Result<PathBuf, JournalError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if session.is_empty() || session.len() > 100 || !session.chars().all(plain) {
            return Err(JournalError::Io(format!("`{session}` is no session id")));
        }
        Ok(self.folder.join(format!("{session}.jsonl")))
    }

    /// A journal for a new session. Its file must not exist yet.
    pub fn create(&self, session: &str) -> Result<FileJournal, JournalError> {
        let path = self.path(session)?;
        make_private_folder(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        private(&mut options);
        let file = options.open(&path).map_err(|error| failed(&path, &error))?;
        lock(&file, &path)?;
        Ok(FileJournal::new(file, path, self.sync, false))
    }

    /// Opens a session for writing, with all its records.
    pub fn open(&self, session: &str) -> Result<Opened, JournalError> {
        let (path, file) = self.locked(session)?;
        let read = reader::read(&file).map_err(|error| failed(&path, &error))?;
        let torn = read.torn;
        Ok(Opened { journal: FileJournal::new(file, path, self.sync, torn), read })
    }

    /// Opens a session to go on with it. Takes memory for what is sent of it, not for all of it.
    pub fn resume(&self, session: &str) -> Result<Resumed, JournalError> {
        let (path, file) = self.locked(session)?;
        let (conversation, seen) = reader::fold(&file).map_err(|error| failed(&path, &error))?;
        let journal = FileJournal::new(file, path, self.sync, seen.torn);
        Ok(Resumed { journal, conversation, skipped: seen.skipped })
    }

    /// A session's file, locked: what is read then stays the end of it.
    fn locked(&self, session: &str) -> Result<(PathBuf, File), JournalError> {
        let path = self.path(session)?;
        let mut options = OpenOptions::new();
        options.read(true).append(true);
        let file = options.open(&path).map_err(|error| failed(&path, &error))?;
        lock(&file, &path)?;
        Ok((path, file))
    }

    /// What a session's records add up to, as far as it is needed to go on; another process may be writing it.
    pub fn fold(&self, session: &str) -> Result<Conversation, JournalError> {
        let path = self.path(session)?;
        let file = File::open(&path).map_err(|error| failed(&path, &error))?;
        let (conversation, _) = reader::fold(&file).map_err(|error| failed(&path, &error))?;
        Ok(conversation)
    }

    /// Reads a session without opening it for writing; another process may be writing it.
    pub fn read(&self, session: &str) -> Result<Read, JournalError> {
        let path = self.path(session)?;
        let file = File::open(&path).map_err(|error| failed(&path, &error))?;
        reader::read(&file).map_err(|error| failed(&path, &error))
    }

    /// Every session, the one written to last first.
    pub fn list(&self) -> Result<Listed, JournalError> {
        list::list(&self.folder).map_err(|error| failed(&self.folder, &error))
    }

    /// Removes a session for good. Refused while another process writes it.
    pub fn delete(&self, session: &str) -> Result<(), JournalError> {
        let path = self.path(session)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|error| failed(&path, &error))?;
        lock(&file, &path)?;
        fs::remove_file(&path).map_err(|error| failed(&path, &error))
    }
}

/// Takes the lock. A process that was killed while it started a tool leaves a child that holds the lock until
/// it has become the tool: so a lock that is held is tried again for a moment before it is believed.
fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked(path.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(failed(path, &error)),
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> JournalError {
    JournalError::Io(format!("{}: {error}", path.display()))
}

/// Conversations are private: only their owner may read them.
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
