//! When sessions began and were written to last, by their records.

use std::time::{Duration, SystemTime};

use charla_proto::{Fact, Record};

/// When a record was made.
pub(crate) fn time(at: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at)
}

/// When a session that comes from elsewhere was written to last there; nothing for one that begins here, and where that would be yet to come.
pub(crate) fn last_elsewhere(records: &[Record]) -> Option<SystemTime> {
    let Fact::SessionStarted(started) = &records.first()?.fact else { return None };
    let up_to = started.imported_up_to?;
    let last = records.iter().rev().find(|record| record.seq <= up_to)?;
    Some(time(last.at)).filter(|last| *last < SystemTime::now())
}
