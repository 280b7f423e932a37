//! The editor's own files: what is not saved yet is read, and changes go through it.
//!
//! Rules and paths are judged before anything is asked of the editor. One that does not answer, or says no to a read, is
//! no reason to fail: the disk has the file, too. A change that it does not make is not made.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use charla::json_rpc::Connection;
use charla_proto::Editor;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::client::Client;

/// How long the editor may take for a file.
const PATIENCE: Duration = Duration::from_secs(10);

/// The editor, for one session.
pub(crate) struct AcpEditor {
    pub(crate) connection: Arc<Connection>,
    pub(crate) client: Client,
    pub(crate) session: String,
    pub(crate) runtime: Handle,
    /// It let a read wait in vain: it is asked for none any more.
    pub(crate) silent: AtomicBool,
}

impl AcpEditor {
    /// Asks the editor from a thread that may block.
    fn ask(&self, method: &str, params: &Value) -> Result<Value, String> {
        let asked = async { tokio::time::timeout(PATIENCE, self.connection.request(method, params)).await };
        match self.runtime.block_on(asked) {
            Ok(answer) => answer.map_err(|why| why.to_string()),
            Err(_) => {
                self.silent.store(true, Ordering::Release);
                Err(format!("it did not answer within {} seconds", PATIENCE.as_secs()))
            }
        }
    }
}

impl Editor for AcpEditor {
    fn read(&self, path: &Path) -> Option<String> {
        if !self.client.reads || self.silent.load(Ordering::Acquire) {
            return None;
        }
        let params = json!({"sessionId": self.session, "path": path.to_str()?});
        let answer = self.ask("fs/read_text_file", &params).ok()?;
        answer.get("content").and_then(Value::as_str).map(str::to_owned)
    }

    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>> {
        let path = path.to_str().filter(|_| self.client.writes)?;
        let params = json!({"sessionId": self.session, "path": path, "content": text});
        Some(self.ask("fs/write_text_file", &params).map(drop))
    }
}
