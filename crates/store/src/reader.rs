//! Reading a journal, whatever state it was left in.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::path::PathBuf;

use charla_proto::{Conversation, Fact, JournalError, JournalReader, Record};

use crate::failed;

/// What a journal holds.
#[derive(Debug, Default)]
pub struct Read {
    /// The records, in order.
    pub records: Vec<Record>,
    /// Lines that are no record.
    pub skipped: Vec<Skipped>,
    /// The last line has no end: what is appended must begin a new one.
    pub torn: bool,
}

/// A line that is no record, told so that nothing is lost silently.
#[derive(Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The line, from 1.
    pub line: usize,
    /// Why.
    pub reason: String,
}

/// What was seen beside the records.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) torn: bool,
}

pub(crate) fn read(file: &File) -> io::Result<Read> {
    let mut records = Vec::new();
    let Seen { skipped, torn } = scan(file, |record| records.push(record))?;
    Ok(Read { records, skipped, torn })
}

/// The conversation a journal tells. What a summary stands for is let go of as soon as it is read, so that
/// a session of any length is resumed in little memory; only one whose compression was taken back is read a
/// second time, whole.
pub(crate) fn fold(file: &File) -> io::Result<(Conversation, Seen)> {
    let mut conversation = Conversation::new();
    let seen = scan(file, |record| {
        conversation.apply(&record);
        if matches!(record.fact, Fact::Compressed(_)) {
            conversation.forget_replaced();
        }
    })?;
    if !conversation.is_whole() {
        conversation = Conversation::new();
        scan(file, |record| conversation.apply(&record))?;
        conversation.forget_replaced();
    }
    Ok((conversation, seen))
}

/// Hands over every record, in order, from the file's beginning.
fn scan(mut file: &File, mut each: impl FnMut(Record)) -> io::Result<Seen> {
    file.rewind()?;
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut seen = Seen::default();
    let mut last = None;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        seen.torn = line.last() != Some(&b'\n');
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match parse(text) {
            // A sequence that goes back is a copy of what is known, or a stranger's: not history.
            Ok(record) if last >= Some(record.seq) => {
                let reason = format!("record {} is out of order", record.seq);
                seen.skipped.push(Skipped { line: number, reason });
            }
            Ok(record) => {
                last = Some(record.seq);
                each(record);
            }
            Err(reason) => seen.skipped.push(Skipped { line: number, reason }),
        }
    }
    Ok(seen)
}

/// Reads a session's file anew, while it is written.
pub(crate) struct FileReader {
    pub(crate) path: PathBuf,
}

impl JournalReader for FileReader {
    fn read(&self, after: u64, each: &mut dyn FnMut(Record)) -> Result<(), JournalError> {
        let file = File::open(&self.path).map_err(|error| failed(&self.path, &error))?;
        let read = scan(&file, |record| {
            if record.seq > after {
                each(record);
            }
        });
        read.map(drop).map_err(|error| failed(&self.path, &error))
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }
}

fn parse(line: &[u8]) -> Result<Record, String> {
    let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
    Record::from_json(text)
        .map_err(|error| if error.is_eof() { "cut off in the middle".to_owned() } else { error.to_string() })
}
