//! The file: objects in the form of OpenTelemetry's exporter to a file, each over several lines.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::clock::timestamp;
use crate::failure::Failure;
use crate::hint::Hint;

/// What an object says, by name.
pub(super) type Attributes = Value;

/// Adds an attribute, where there is one.
pub(super) fn put(attributes: &mut Attributes, key: &str, value: Option<Value>) {
    if let (Some(fields), Some(value)) = (attributes.as_object_mut(), value) {
        fields.insert(key.to_owned(), value);
    }
}

/// The file of a session's telemetry. What is written is there at once: readers look at it while the session runs.
pub(super) struct Outfile {
    session: String,
    file: Mutex<File>,
}

impl Outfile {
    /// Opens it; its folder is made where there is none.
    pub(super) fn open(path: &Path, session: &str) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let file = folder.and_then(|()| options.open(path)).map_err(|error| {
            Failure::config(format!("cannot write the telemetry {}: {error}", path.display()))
                .with_hint(Hint::WhoSet("telemetry.outfile"))
        })?;
        Ok(Self { session: session.to_owned(), file: Mutex::new(file) })
    }

    /// Something happened.
    pub(super) fn event(&self, name: &str, mut attributes: Attributes) {
        if let Some(fields) = attributes.as_object_mut() {
            fields.insert("session.id".to_owned(), self.session.clone().into());
            fields.insert("event.name".to_owned(), format!("gemini_cli.{name}").into());
            fields.insert("event.timestamp".to_owned(), timestamp().into());
        }
        self.append(&json!({ "attributes": attributes, "body": name }));
    }

    /// Something was counted.
    pub(super) fn count(&self, name: &str, attributes: Attributes, value: u64) {
        let metric = json!({
            "descriptor": { "name": format!("gemini_cli.{name}"), "type": "COUNTER", "valueType": 1 },
            "dataPoints": [{ "attributes": attributes, "value": value }],
        });
        self.append(&json!({
            "resource": { "attributes": { "service.name": "charla", "session.id": self.session } },
            "scopeMetrics": [{ "scope": { "name": "gemini-cli" }, "metrics": [metric] }],
        }));
    }

    /// Something took its time.
    pub(super) fn span(&self, name: &str, attributes: Attributes) {
        self.append(&json!({ "name": name, "session.id": self.session, "attributes": attributes }));
    }

    fn append(&self, object: &Value) {
        // One write, so that runs that share a file do not tear each other's objects.
        let text = format!("{object:#}\n");
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(text.as_bytes()) {
            tracing::warn!(%error, "telemetry cannot be written");
        }
    }
}
