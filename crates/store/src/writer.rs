//! Writing a journal.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use charla_proto::{BoxFuture, Fact, Journal, JournalError, JournalReader, Record};

use crate::failed;
use crate::owner::Ownership;
use crate::reader::FileReader;
use crate::syncs::Syncs;

/// What a record survives once it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// The death of the process at any point. Turns' beginnings and ends also survive the machine's.
    #[default]
    Process,
    /// The death of the machine, for every record; costs a wait for the disk each time.
    Machine,
}

/// A session's file, open and owned.
#[derive(Debug)]
pub(crate) struct FileJournal {
    file: Arc<File>,
    ownership: Ownership,
    sync: Sync,
    syncs: Syncs,
    /// The file ends in the middle of a line: begin a new one first.
    torn: bool,
    buffer: Vec<u8>,
}

impl FileJournal {
    pub(crate) fn new(file: File, ownership: Ownership, sync: Sync, syncs: Syncs, torn: bool) -> Self {
        Self { file: Arc::new(file), ownership, sync, syncs, torn, buffer: Vec::new() }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.ownership.path()
    }

    /// The number of this owner, larger than those of earlier ones.
    pub(crate) fn token(&self) -> u64 {
        self.ownership.token()
    }

    /// Appends records in one write, so that a crash leaves at most one torn line. It goes as far as the kernel's
    /// memory: quick enough to be done in place.
    fn put(&mut self, records: &[Record]) -> Result<(), JournalError> {
        self.ownership.still_known()?;
        self.buffer.clear();
        if self.torn {
            self.buffer.push(b'\n');
        }
        write_lines(&mut self.buffer, records)?;
        // Until the write has succeeded the file may end anywhere.
        self.torn = true;
        self.file.as_ref().write_all(&self.buffer).map_err(|error| failed(self.ownership.path(), &error))?;
        self.torn = false;
        // Afterwards, not before: whoever took over until now has not read this, and whoever does later will.
        if let Err(error) = self.ownership.check() {
            self.withdraw();
            return Err(error);
        }
        // One large record must not hold its memory for the rest of the session.
        self.buffer.shrink_to(64 * 1024);
        Ok(())
    }

    /// Takes back what was written last: the file may have another name by now, and others may read it there.
    fn withdraw(&self) {
        if let Ok(metadata) = self.file.metadata() {
            // Where it fails, a record too many is left in a file that is no session of ours.
            let _ = self.file.set_len(metadata.len().saturating_sub(self.buffer.len() as u64));
        }
    }

    fn must_sync(&self, records: &[Record]) -> bool {
        self.sync == Sync::Machine || records.iter().any(|record| is_border(&record.fact))
    }
}

/// Records as a journal has them.
pub(crate) fn lines(records: &[Record]) -> Result<Vec<u8>, JournalError> {
    let mut lines = Vec::new();
    write_lines(&mut lines, records)?;
    Ok(lines)
}

fn write_lines(buffer: &mut Vec<u8>, records: &[Record]) -> Result<(), JournalError> {
    for record in records {
        serde_json::to_writer(&mut *buffer, record)
            .map_err(|error| JournalError::Io(format!("a record cannot be written: {error}")))?;
        buffer.push(b'\n');
    }
    Ok(())
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
        Box::pin(async move {
            self.put(records)?;
            if self.must_sync(records) {
                let synced = self.syncs.sync(self.file.clone()).await;
                synced.map_err(|error| failed(self.path(), &error))?;
            }
            Ok(())
        })
    }

    fn reader(&self) -> Option<Arc<dyn JournalReader>> {
        Some(Arc::new(FileReader { path: self.path().to_owned() }))
    }
}
