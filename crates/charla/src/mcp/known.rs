//! What servers told of their tools: remembered, so that the next session has them before the servers are there.

use std::path::PathBuf;

use charla_mcp::{Reach, ServerConfig};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::environment::Environment;
use crate::private_file;

/// A larger file is not read.
const LARGEST: u64 = 8 * 1024 * 1024;

/// The folder of what servers told. It can be made anew at any time.
pub(super) struct KnownTools {
    folder: Option<PathBuf>,
}

impl KnownTools {
    pub(super) fn of(environment: &Environment) -> Self {
        Self { folder: environment.cache().map(|cache| cache.join("mcp")) }
    }

    /// The file of a server: another program or another address is another server.
    fn file(&self, config: &ServerConfig) -> Option<PathBuf> {
        let place = match &config.reach {
            Reach::Process(command) => {
                format!("{:?}", (&command.program, &command.arguments, &command.folder))
            }
            Reach::Http(endpoint) => endpoint.url.clone(),
        };
        let digest = Sha256::digest(format!("{}\0{place}", config.name));
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Some(self.folder.as_ref()?.join(format!("{name}.json")))
    }

    /// What a server told, as far as it is remembered.
    pub(super) fn read(&self, config: &ServerConfig) -> Vec<Value> {
        let read = |path: PathBuf| {
            let is_small = std::fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
            serde_json::from_slice(&std::fs::read(path).ok().filter(|_| is_small)?).ok()
        };
        self.file(config).and_then(read).unwrap_or_default()
    }

    /// Remembers what a server told. What cannot be kept is asked for again.
    pub(super) fn keep(&self, config: &ServerConfig, tools: &[Value]) {
        let Some(path) = self.file(config).filter(|_| self.read(config) != tools) else { return };
        let Ok(text) = serde_json::to_string(tools) else { return };
        tokio::task::spawn_blocking(move || drop(private_file::write(&path, &text)));
    }
}
