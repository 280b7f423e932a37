//! Writing a journal.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use charla_proto::{BoxFuture, Fact, Journal, JournalError, JournalReader, Record};

use crate::failed;
use crate::reader::FileReader;

/// What a record survives once it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// The death of the process at any point. Turns' beginnings and ends also survive the machine's.
    #[default]
    Process,
    /// The death of the machine, for every record; costs a wait for the disk each time.
    Machine,
}

/// A session's file, open and locked.
#[derive(Debug)]
pub struct FileJournal {
    file: File,
    path: PathBuf,
    sync: Sync,
    /// The file ends in the middle of a line: begin a new one first.
    torn: bool,
    buffer: Vec<u8>,
}

impl FileJournal {
    pub(crate) fn new(file: File, path: PathBuf, sync: Sync, torn: bool) -> Self {
        Self { file, path, sync, torn, buffer: Vec::new() }
    }

    /// Where it is.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Appends records in one write, so that a crash leaves at most one torn line.
    pub fn write(&mut self, records: &[Record]) -> Result<(), JournalError> {
        self.buffer.clear();
        if self.torn {
            self.buffer.push(b'\n');
        }
        for record in records {
            serde_json::to_writer(&mut self.buffer, record)
                .map_err(|error| JournalError::Io(format!("a record cannot be written: {error}")))?;
            self.buffer.push(b'\n');
        }
        // Until the write has succeeded the file may end anywhere.
        self.torn = true;
        self.file.write_all(&self.buffer).map_err(|error| failed(&self.path, &error))?;
        self.torn = false;
        if self.sync == Sync::Machine || records.iter().any(|record| is_border(&record.fact)) {
            self.file.sync_data().map_err(|error| failed(&self.path, &error))?;
        }
        // One large record must not hold its memory for the rest of the session.
        self.buffer.shrink_to(64 * 1024);
        Ok(())
    }
}

/// What must survive the machine. The start of a session does with its first turn; before that there is nothing
/// to lose.
fn is_border(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TurnStarted(_) | Fact::TurnEnded(_) | Fact::ChangesUndone(_) | Fact::ChangesRedone(_)
    )
}

impl Journal for FileJournal {
    fn append<'a>(&'a mut self, records: &'a [Record]) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(std::future::ready(self.write(records)))
    }

    fn reader(&self) -> Option<Arc<dyn JournalReader>> {
        Some(Arc::new(FileReader { path: self.path.clone() }))
    }
}
