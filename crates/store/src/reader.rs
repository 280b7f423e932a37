//! Reading a journal, whatever state it was left in.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use charla_proto::Record;

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

pub(crate) fn read(file: &File) -> io::Result<Read> {
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut read = Read::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        read.torn = line.last() != Some(&b'\n');
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match parse(text) {
            // A sequence that goes back is a copy of what is known, or a stranger's: not history.
            Ok(record) if read.records.last().is_some_and(|last| last.seq >= record.seq) => {
                let reason = format!("record {} is out of order", record.seq);
                read.skipped.push(Skipped { line: number, reason });
            }
            Ok(record) => read.records.push(record),
            Err(reason) => read.skipped.push(Skipped { line: number, reason }),
        }
    }
    Ok(read)
}

fn parse(line: &[u8]) -> Result<Record, String> {
    let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
    Record::from_json(text)
        .map_err(|error| if error.is_eof() { "cut off in the middle".to_owned() } else { error.to_string() })
}
