//! Who may write a session.
//!
//! An owner holds the kernel's lock on the session's file. Where an owner is stuck, another takes over by putting a
//! copy in the file's place: whatever the former owner still writes goes into a file without a name, and it finds
//! out because the file at its path is no longer the one it holds.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use charla_proto::JournalError;

use crate::{failed, make_private_folder, new_file, private};

/// How long a lock is tried for.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);
/// How long to wait between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The token of whoever made a session.
pub(crate) const FIRST: u64 = 1;

/// Takes the lock. A process that was killed while it started a tool leaves a child that holds the lock until
/// it has become the tool: so a lock that is held is tried again for a moment before it is believed.
pub(crate) fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
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

/// What an owner knows about its file.
#[derive(Debug)]
pub(crate) struct Ownership {
    path: PathBuf,
    file: FileId,
    token: u64,
    lost: bool,
}

impl Ownership {
    pub(crate) fn new(file: &File, path: PathBuf, token: u64) -> Result<Self, JournalError> {
        let metadata = file.metadata().map_err(|error| failed(&path, &error))?;
        Ok(Self { path, file: file_id(&metadata), token, lost: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn token(&self) -> u64 {
        self.token
    }

    /// An error when the session was found to be no longer ours: it never is again.
    pub(crate) fn still_known(&self) -> Result<(), JournalError> {
        match self.lost {
            true => Err(JournalError::NotOwner { place: self.path.display().to_string(), token: self.token }),
            false => Ok(()),
        }
    }

    /// Looks whether the session is still ours.
    pub(crate) fn check(&mut self) -> Result<(), JournalError> {
        match fs::metadata(&self.path) {
            Ok(metadata) => self.lost = file_id(&metadata) != self.file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.lost = true,
            Err(error) => return Err(failed(&self.path, &error)),
        }
        self.still_known()
    }
}

/// Tells one file from another, whatever their names.
type FileId = (u64, u64);

#[cfg(unix)]
pub(crate) fn file_id(metadata: &Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Where files have no such identity, only their absence is noticed.
#[cfg(not(unix))]
pub(crate) fn file_id(_: &Metadata) -> FileId {
    (0, 0)
}

/// Puts a copy in the place of a session's file, locked and ours. Everything that its owner was told is kept is in it.
pub(crate) fn replace(mut old: File, path: &Path) -> io::Result<File> {
    let unfinished = path.with_extension("taken");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut new = new_file(&unfinished)?;
    new.try_lock()?;
    io::copy(&mut old, &mut new)?;
    new.sync_data()?;
    fs::rename(&unfinished, path)?;
    // The former owner acknowledges what it wrote only after it has seen that its file still has its name. So what
    // it wrote and acknowledged while this was copied is there by now.
    io::copy(&mut old, &mut new)?;
    new.sync_data()?;
    #[cfg(unix)]
    File::open(path.parent().unwrap_or(path))?.sync_all()?;
    Ok(new)
}

/// Where those who want to own a session pass one at a time. The file holds the last token; the session's maker has
/// [`FIRST`] and needs no file.
pub(crate) struct Gate {
    file: File,
    path: PathBuf,
}

impl Gate {
    pub(crate) fn enter(sessions: &Path, session: &str) -> Result<Self, JournalError> {
        let folder = sessions.join("owners");
        let path = folder.join(session);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        private(&mut options);
        let open = || options.open(&path);
        let file = open().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => make_private_folder(&folder).and_then(|()| open()),
            _ => Err(error),
        });
        let file = file.map_err(|error| failed(&path, &error))?;
        lock(&file, &path)?;
        Ok(Self { file, path })
    }

    /// The next owner's token.
    pub(crate) fn next_token(&self) -> Result<u64, JournalError> {
        self.count().map_err(|error| failed(&self.path, &error))
    }

    fn count(&self) -> io::Result<u64> {
        let mut file = &self.file;
        let mut last = String::new();
        file.read_to_string(&mut last)?;
        let next = last.trim().parse().unwrap_or(FIRST).saturating_add(1);
        file.rewind()?;
        // Digits only become more: no older ones are left behind.
        file.write_all(next.to_string().as_bytes())?;
        Ok(next)
    }

    /// Forgets the tokens of a session that is gone.
    pub(crate) fn remove(self) {
        // Left behind, it does no harm.
        let _ = fs::remove_file(&self.path);
    }
}
