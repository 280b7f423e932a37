//! The time, as records and files keep it.

use std::time::SystemTime;

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Seconds since 1970.
pub(crate) fn seconds() -> u64 {
    now() / 1000
}
