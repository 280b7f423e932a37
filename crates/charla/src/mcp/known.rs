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

    /// Remembers what a server told, at once: a run that ends right behind does not lose it. What cannot be kept is asked for again.
    pub(super) fn keep(&self, config: &ServerConfig, tools: &[Value]) {
        let Some(path) = self.file(config).filter(|_| self.read(config) != tools) else { return };
        let Ok(text) = serde_json::to_string(tools) else { return };
        drop(private_file::write_soon(&path, &text));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use charla_mcp::{Endpoint, HttpForm};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_remembered_is_there_when_it_was_told() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", home.path())]);
        let url = "http://x/mcp".to_owned();
        let endpoint = Endpoint { url, headers: Vec::new(), form: HttpForm::Either };
        let config = ServerConfig {
            name: "s".to_owned(),
            reach: Reach::Http(endpoint),
            timeout: Duration::from_secs(1),
            include: None,
            exclude: Vec::new(),
        };
        let tools = [json!({"name": "echo"})];
        // No runtime is there that could do it later.
        KnownTools::of(&environment).keep(&config, &tools);
        assert_eq!(KnownTools::of(&environment).read(&config), tools);
    }
}
