//! Records of a session, a page at a time: however long it is, little of it is in memory at once.

use std::io;

use bytes::Bytes;
use charla::session::{SessionError, Sessions};
use charla_proto::Record;
use futures_util::{Stream, StreamExt};
use serde_json::value::{RawValue, to_raw_value};

/// How many bytes a page has, but for its last record.
const BYTES: usize = 4 * 1024 * 1024;

/// Some records, as they are told.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) lines: Vec<Line>,
    /// There are more after them.
    pub(crate) more: bool,
}

/// One record.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) seq: u64,
    pub(crate) json: Box<RawValue>,
}

/// The records of a session after number `after`, up to so many.
pub(crate) async fn read(
    sessions: &Sessions,
    id: &str,
    after: u64,
    most: usize,
) -> Result<Page, SessionError> {
    gather(sessions.stream_after(id, after), most, BYTES).await
}

async fn gather(
    mut records: impl Stream<Item = Result<Record, SessionError>> + Unpin,
    most: usize,
    bytes: usize,
) -> Result<Page, SessionError> {
    let (mut page, mut size) = (Page::default(), 0);
    while let Some(record) = records.next().await {
        let record = record?;
        if page.lines.len() >= most || size >= bytes {
            page.more = true;
            break;
        }
        // Every record can be written: it was read.
        let Ok(json) = to_raw_value(&record) else { continue };
        size += json.get().len();
        page.lines.push(Line { seq: record.seq, json });
    }
    Ok(page)
}

/// Records as a list in JSON is written of them, piece by piece; its brackets are the caller's.
pub(crate) fn written(
    records: impl Stream<Item = Result<Record, SessionError>>,
) -> impl Stream<Item = io::Result<Bytes>> {
    records.enumerate().map(|(number, record)| {
        let mut text = if number == 0 { Vec::new() } else { vec![b','] };
        serde_json::to_writer(&mut text, &record.map_err(io::Error::other)?)?;
        Ok(Bytes::from(text))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use charla_proto::{Fact, TurnResumed};
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn no_more_is_read_than_a_page_has_and_one_record() {
        let taken = AtomicUsize::new(0);
        let all = |count: u64| {
            taken.store(0, Ordering::Relaxed);
            stream::iter(1..=count).map(|seq| {
                taken.fetch_add(1, Ordering::Relaxed);
                Ok(Record::new(seq, 0, Fact::TurnResumed(TurnResumed { turn: 1, somebody: true })))
            })
        };
        let page = gather(all(1000), 10, BYTES).await.unwrap();
        assert_eq!((page.lines.len(), page.lines[9].seq, page.more), (10, 10, true));
        assert_eq!(taken.load(Ordering::Relaxed), 11);
        let size = page.lines[0].json.get().len();
        let page = gather(all(1000), 10, 2 * size + 1).await.unwrap();
        assert_eq!((page.lines.len(), page.more), (3, true));
        assert_eq!(taken.load(Ordering::Relaxed), 4);
        let page = gather(all(10), 10, BYTES).await.unwrap();
        assert_eq!((page.lines.len(), page.more), (10, false));
        assert!(gather(all(0), 10, BYTES).await.unwrap().lines.is_empty());
    }
}
