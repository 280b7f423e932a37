//! Accounts in a file that only the server's user reads.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use charla::private_file;
use charla_proto::BoxFuture;

use super::{AccountError, Accounts, Book, Change};

/// What a file is known by as long as nobody writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
    number: u64,
}

/// The book as JSON in one file. Changes of several processes take turns.
#[derive(Clone)]
pub struct FileAccounts {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    known: Mutex<Option<(Stamp, Arc<Book>)>>,
}

impl FileAccounts {
    /// The accounts of the server whose folder this is.
    pub fn new(folder: &Path) -> Self {
        Self { inner: Arc::new(Inner { path: folder.join("accounts.json"), known: Mutex::default() }) }
    }
}

impl Inner {
    fn known(&self) -> MutexGuard<'_, Option<(Stamp, Arc<Book>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The book; read again when the file is another one.
    fn book(&self) -> io::Result<Arc<Book>> {
        let stamp = match self.path.metadata() {
            Ok(file) => stamp(&file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(error),
        };
        let mut known = self.known();
        if let Some((_, book)) = known.as_ref().filter(|(read, _)| *read == stamp) {
            return Ok(book.clone());
        }
        // A file that is not understood lets nobody in, and is not written over.
        let text = std::fs::read_to_string(&self.path)?;
        let book: Arc<Book> = Arc::new(serde_json::from_str(&text)?);
        *known = Some((stamp, book.clone()));
        Ok(book)
    }

    fn change(&self, change: Change) -> Result<Arc<Book>, AccountError> {
        if let Some(folder) = self.path.parent() {
            private_file::make_folder(folder)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let turn = options.open(self.path.with_extension("lock"))?;
        turn.lock()?;
        let before = self.book()?;
        let mut after = Book::clone(&before);
        change(&mut after)?;
        if after != *before {
            let text = serde_json::to_string_pretty(&after).map_err(io::Error::from)?;
            private_file::write(&self.path, &text)?;
        }
        Ok(self.book()?)
    }
}

impl Accounts for FileAccounts {
    fn book(&self) -> io::Result<Arc<Book>> {
        self.inner.book()
    }

    fn fresh(&self) -> BoxFuture<'_, io::Result<Arc<Book>>> {
        Box::pin(async { self.inner.book() })
    }

    fn change(&self, change: Change) -> BoxFuture<'_, Result<Arc<Book>, AccountError>> {
        let inner = self.inner.clone();
        Box::pin(async move {
            let changed = tokio::task::spawn_blocking(move || inner.change(change)).await;
            changed.map_err(io::Error::other)?
        })
    }
}

fn stamp(file: &std::fs::Metadata) -> Stamp {
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(file);
    #[cfg(not(unix))]
    let number = 0;
    Stamp { modified: file.modified().ok(), size: file.len(), number }
}
