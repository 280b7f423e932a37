//! A file for output too large to show.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::fs::{DirBuilder, File, OpenOptions};
use tokio::io::AsyncWriteExt;
use uuid::{NoContext, Timestamp, Uuid};

/// The largest file one command may fill: a runaway command must not fill the disk.
const FILE_LIMIT: u64 = 256 * 1024 * 1024;

/// Where output too large to show is kept: one folder, handed in, made when first needed.
#[derive(Clone, Debug)]
pub struct SpillFolder {
    path: Arc<Path>,
    limit: u64,
}

impl SpillFolder {
    /// This folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into(), limit: FILE_LIMIT }
    }

    /// With another limit on each file.
    #[cfg(test)]
    pub(crate) fn with_file_limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// A new file, readable by the user only.
    async fn create(&self) -> (PathBuf, io::Result<File>) {
        // The time comes first in these ids: the folder's files sort by age.
        let path = self.path.join(format!("output-{}.txt", Uuid::new_v7(moment()).simple()));
        let file = async {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.path).await?;
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).await
        };
        let file = file.await;
        (path, file)
    }
}

/// Now; a clock that stands before 1970 is no reason to fail.
fn moment() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos())
}

/// What became of an output that was too large to show.
#[derive(Clone, Debug)]
pub(crate) struct Spilled {
    /// The file.
    pub(crate) path: PathBuf,
    /// It holds as much as a file may, and more came.
    pub(crate) full: bool,
    /// Writing it failed.
    pub(crate) failed: Option<String>,
}

/// A file being filled. It never fails its writer: what went wrong is in [`Spill::outcome`].
#[derive(Debug)]
pub(crate) struct Spill {
    file: Option<File>,
    room: u64,
    outcome: Spilled,
}

impl Spill {
    pub(crate) async fn begin(folder: &SpillFolder) -> Self {
        let (path, file) = folder.create().await;
        let failed = file.as_ref().err().map(ToString::to_string);
        Self { file: file.ok(), room: folder.limit, outcome: Spilled { path, full: false, failed } }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let fitting = bytes.len().min(usize::try_from(self.room).unwrap_or(usize::MAX));
        self.outcome.full |= fitting < bytes.len();
        self.room -= fitting as u64;
        if let Err(error) = file.write_all(bytes.get(..fitting).unwrap_or_default()).await {
            self.outcome.failed = Some(error.to_string());
            self.file = None;
        }
    }

    /// Makes what was written visible to readers of the file.
    pub(crate) async fn flush(&mut self) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.flush().await
        {
            self.outcome.failed = Some(error.to_string());
            self.file = None;
        }
    }

    /// Takes the file away again: everything fits without it.
    pub(crate) async fn discard(self) {
        drop(self.file);
        // One left behind is litter, nothing worse.
        let _ = tokio::fs::remove_file(&self.outcome.path).await;
    }

    pub(crate) fn outcome(&self) -> &Spilled {
        &self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_holds_no_more_than_its_limit_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let spills = SpillFolder::new(folder.path().join("new/folder")).with_file_limit(10);
        let mut spill = Spill::begin(&spills).await;
        spill.write(b"12345678").await;
        assert!(!spill.outcome().full);
        spill.write(b"9abc").await;
        spill.flush().await;
        assert!(spill.outcome().full);
        assert_eq!(std::fs::read(&spill.outcome().path).unwrap(), b"123456789a");
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_told_not_fatal() {
        let mut spill = Spill::begin(&SpillFolder::new("/dev/null/folder")).await;
        spill.write(b"text").await;
        assert!(spill.outcome().failed.is_some());
    }
}
