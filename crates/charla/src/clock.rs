//! The time, as records and files keep it.

use std::time::{Duration, SystemTime};

use uuid::{NoContext, Timestamp, Uuid};

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Seconds since 1970.
pub(crate) fn seconds() -> u64 {
    now() / 1000
}

/// A new id, larger than those made before. A clock that is wrong by centuries is no reason to end.
pub fn new_id() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    id_at(since)
}

fn id_at(since: Duration) -> String {
    // As many milliseconds as an id has room for.
    let seconds = since.as_secs().min((1 << 48) / 1000 - 1);
    Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, since.subsec_nanos())).to_string()
}

/// The time for people and programs, such as `2026-01-02T03:04:05.678Z`.
pub fn timestamp() -> String {
    time_text(SystemTime::now())
}

/// A time of the file system's, in the same form.
pub fn time_text(time: SystemTime) -> String {
    format!("{:.3}", jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::MAX))
}

/// The milliseconds since 1970 of such a text.
pub(crate) fn milliseconds_of(text: &str) -> Option<u64> {
    u64::try_from(text.parse::<jiff::Timestamp>().ok()?.as_millisecond()).ok()
}

/// The day here, such as `2026-01-02`.
pub(crate) fn today() -> String {
    moment().to_zoned(jiff::tz::TimeZone::system()).date().to_string()
}

/// Now, or the last moment that has a date.
fn moment() -> jiff::Timestamp {
    jiff::Timestamp::try_from(SystemTime::now()).unwrap_or(jiff::Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_1970_or_after_9999_still_gives_ids() {
        for since in [Duration::ZERO, Duration::from_secs(300_000_000_000), Duration::MAX] {
            assert_eq!(id_at(since).len(), 36);
        }
        assert!(timestamp().ends_with('Z') && today().len() >= 10);
    }
}
