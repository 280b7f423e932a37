//! The request log: one JSON line for each call, in a file only its owner can read.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use charla_providers::layers::{LogEntry, LogSink};
use serde_json::json;

use crate::clock::timestamp;
use crate::failure::Failure;
use crate::hint::Hint;

/// Appends to a file.
pub(super) struct LogFile {
    session_id: String,
    file: Mutex<File>,
}

impl LogFile {
    /// Opens the log of a session.
    pub(super) fn open(path: &Path, session_id: &str) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| {
            Failure::config(format!("cannot write the log {}: {error}", path.display()))
                .with_hint(Hint::WhoSet("logging.file"))
        })?;
        Ok(Self { session_id: session_id.to_owned(), file: Mutex::new(file) })
    }
}

impl LogSink for LogFile {
    fn record(&self, entry: LogEntry) {
        let timestamp = timestamp();
        let mut line = json!({ "timestamp": timestamp, "sessionId": self.session_id });
        if let (Some(line), Ok(serde_json::Value::Object(entry))) =
            (line.as_object_mut(), serde_json::to_value(&entry))
        {
            line.extend(entry);
        }
        // One write, so that runs that share a log do not tear each other's lines. A full disk must not
        // stop the conversation.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
            tracing::warn!(%error, "the request log cannot be written");
        }
    }
}
