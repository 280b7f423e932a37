//! Reading a journal, whatever state it was left in.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::path::PathBuf;

use charla_proto::{Conversation, Fact, JournalError, JournalReader, Record, RecordStream, Skipped};
use futures_util::{StreamExt, stream};
use tokio::task::spawn_blocking;

use crate::failed;

/// What was seen beside the records.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) skipped: Vec<Skipped>,
    /// The first and last number of records that are not there.
    pub(crate) missing: Vec<(u64, u64)>,
    /// The last line has no end: what is appended must begin a new one.
    pub(crate) torn: bool,
}

/// How many records may be missing before one that counts. A number beyond is damage: taken for true, it would make
/// everything after it look old.
const MOST_MISSING: u64 = 1_000_000;

/// What some editors put before the first character of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The conversation a journal tells. What a summary stands for is let go of as soon as it is read, so that
/// a session of any length is resumed in little memory; only one whose compression was taken back is read a
/// second time, whole.
pub(crate) fn fold(file: &File) -> io::Result<(Conversation, Seen)> {
    let mut conversation = Conversation::new();
    let mut scan = Scan::new(file, 0)?;
    while let Some(record) = scan.next()? {
        conversation.apply(&record);
        if matches!(record.fact, Fact::Compressed(_)) {
            conversation.forget_replaced();
        }
    }
    if !conversation.is_whole() {
        conversation = Conversation::new();
        let mut again = Scan::new(file, 0)?;
        while let Some(record) = again.next()? {
            conversation.apply(&record);
        }
        conversation.forget_replaced();
    }
    conversation.settle();
    Ok((conversation, scan.seen))
}

/// Goes through a file from its beginning.
struct Scan<F> {
    reader: BufReader<F>,
    /// The first record that is wanted.
    from: u64,
    last: Option<u64>,
    /// The number of the line that was read last, and the line.
    number: usize,
    line: Vec<u8>,
    seen: Seen,
}

impl<F: io::Read + Seek> Scan<F> {
    fn new(mut file: F, from: u64) -> io::Result<Self> {
        file.rewind()?;
        let reader = BufReader::with_capacity(256 * 1024, file);
        Ok(Self { reader, from, last: None, number: 0, line: Vec::new(), seen: Seen::default() })
    }

    /// The next record that is wanted, in order.
    fn next(&mut self) -> io::Result<Option<Record>> {
        loop {
            self.line.clear();
            if self.reader.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.seen.torn = self.line.last() != Some(&b'\n');
            let text = self.line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.line).trim_ascii();
            if text.is_empty() || number_of(text).is_some_and(|seq| seq < self.from) {
                continue;
            }
            match parse(text) {
                // A sequence that goes back is a copy of what is known, or a stranger's: not history.
                Ok(record) if self.last >= Some(record.seq) => {
                    self.skip(format!("record {} is out of order", record.seq));
                }
                Ok(record)
                    if record.seq > self.last.unwrap_or(0).max(self.from).saturating_add(MOST_MISSING) =>
                {
                    self.skip(format!("the number {} cannot be right", record.seq));
                }
                Ok(record) => {
                    if let Some(last) = self.last.filter(|last| record.seq > last + 1) {
                        self.seen.missing.push((last + 1, record.seq - 1));
                    }
                    self.last = Some(record.seq);
                    if record.seq >= self.from {
                        return Ok(Some(record));
                    }
                }
                Err(reason) => self.skip(reason),
            }
        }
    }

    fn skip(&mut self, reason: String) {
        self.seen.skipped.push(Skipped { line: self.number, reason });
    }
}

/// A record's number, where its line begins with it as ours do: what is not wanted need not be understood.
fn number_of(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(b"{\"seq\":")?;
    let (digits, _) = digits.split_at(digits.iter().position(|byte| !byte.is_ascii_digit())?);
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// How many records are read at a time for whoever may be slow to take them.
const BATCH: usize = 64;
/// How many bytes of them, but for the last: records may be large.
const BATCH_BYTES: usize = 1024 * 1024;

/// The records that `open` gives. Each batch is read on a thread that is free again until the next is wanted.
pub(crate) fn stream(open: impl FnOnce() -> Result<Tail, JournalError> + Send + 'static) -> RecordStream {
    let batches = stream::unfold(Some(Left::Unopened(open)), |left| async {
        let work = spawn_blocking(move || left?.read());
        match work.await {
            Ok(read) => read,
            Err(error) => Some((Err(JournalError::Io(error.to_string())), None)),
        }
    });
    Box::pin(batches.flat_map(|batch| match batch {
        Ok(records) => stream::iter(records).map(Ok).left_stream(),
        Err(error) => stream::iter([Err(error)]).right_stream(),
    }))
}

/// The records of a file from some number on.
pub(crate) struct Tail {
    scan: Scan<File>,
    path: PathBuf,
}

impl Tail {
    pub(crate) fn new(file: File, path: PathBuf, after: u64) -> Result<Self, JournalError> {
        match Scan::new(file, after.saturating_add(1)) {
            Ok(scan) => Ok(Self { scan, path }),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    fn batch(&mut self) -> io::Result<Vec<Record>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH
            && bytes < BATCH_BYTES
            && let Some(record) = self.scan.next()?
        {
            batch.push(record);
            bytes += self.scan.line.len();
        }
        Ok(batch)
    }
}

/// What a stream has still to read.
enum Left<O> {
    Unopened(O),
    Opened(Tail),
}

type Batch = Result<Vec<Record>, JournalError>;

impl<O: FnOnce() -> Result<Tail, JournalError>> Left<O> {
    /// The next records, and what is left after them; nothing at the end.
    fn read(self) -> Option<(Batch, Option<Self>)> {
        let opened = match self {
            Left::Unopened(open) => open(),
            Left::Opened(tail) => Ok(tail),
        };
        let read = opened.and_then(|mut tail| match tail.batch() {
            Ok(batch) => Ok((batch, tail)),
            Err(error) => Err(failed(&tail.path, &error)),
        });
        match read {
            Ok((batch, _)) if batch.is_empty() => None,
            Ok((batch, tail)) => Some((Ok(batch), Some(Left::Opened(tail)))),
            Err(error) => Some((Err(error), None)),
        }
    }
}

/// Reads a session's file anew, while it is written.
pub(crate) struct FileReader {
    pub(crate) path: PathBuf,
}

impl JournalReader for FileReader {
    fn read(&self, after: u64, each: &mut dyn FnMut(Record)) -> Result<(), JournalError> {
        let mut read = || {
            let mut scan = Scan::new(File::open(&self.path)?, after.saturating_add(1))?;
            while let Some(record) = scan.next()? {
                each(record);
            }
            Ok(())
        };
        read().map_err(|error: io::Error| failed(&self.path, &error))
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
