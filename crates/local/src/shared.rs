//! One engine for all processes of a user that want the same model.
//!
//! A folder for each kind of engine holds a lock, the pipe of its users and a file that tells where it
//! listens and with which key. Joining and starting happen under the lock, so there is never more than one
//! start at a time, and what the file tells is an engine that was ready once. Whether it still is, its pipe
//! and the engine itself tell.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use charla_proto::Fetch;
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};

use crate::error::LocalError;
use crate::process::{self, Line};
use crate::server::LocalServer;
use crate::window;

/// A model of many gigabytes is read from a slow disk.
const START_LIMIT: Duration = Duration::from_secs(300);
/// How often something that takes its time is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// A port is chosen before the engine takes it; somebody else may be quicker.
const MOST_PORTS: u32 = 5;
/// How much of the engine's last words is shown.
const LAST_LINES: usize = 5;
/// How many of its complaints are shown instead.
const COMPLAINTS: usize = 2;

/// Where an engine listens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EngineAddress {
    /// Its process group, for whoever looks for it; nothing here relies on it.
    pub(crate) pid: Option<u32>,
    pub(crate) port: u16,
    pub(crate) key: String,
}

impl EngineAddress {
    /// Where it is, up to and with `/v1`.
    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The window, from an engine that is ready and takes our key.
    async fn window(&self, http: &dyn Fetch) -> Option<u32> {
        let server = LocalServer { http, base_url: &self.base_url(), key: Some(&self.key) };
        window::llama_cpp(&server.get("/props").await).map(|window| window.tokens)
    }
}

/// A use of an engine. It lives at least as long as this.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) line: Line,
    pub(crate) address: EngineAddress,
    pub(crate) window: u32,
}

/// The folder of one kind of engine.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    /// What asks the engine whether it is ready.
    pub(crate) http: Arc<dyn Fetch>,
}

impl Shared {
    /// Joins the engine that runs, or starts one.
    pub(crate) async fn join_or_start(
        &self,
        launch: impl FnMut(&EngineAddress) -> Command,
    ) -> Result<Membership, LocalError> {
        private_folder(&self.folder)?;
        // Whether this process or another starts it makes no difference to the one who waits.
        let _lock = lock(&self.folder.join("lock"), || {}).await?;
        match self.join().await {
            Some(membership) => Ok(membership),
            None => self.start(launch).await,
        }
    }

    async fn join(&self) -> Option<Membership> {
        let text = std::fs::read(self.folder.join("engine.json")).ok()?;
        let address: EngineAddress = serde_json::from_slice(&text).ok()?;
        let line = Line::open(&self.folder.join("users")).ok()?;
        let window = address.window(&*self.http).await?;
        Some(Membership { line, address, window })
    }

    async fn start(
        &self,
        mut launch: impl FnMut(&EngineAddress) -> Command,
    ) -> Result<Membership, LocalError> {
        for _ in 1..MOST_PORTS {
            let address = EngineAddress {
                pid: None,
                port: free_port()?,
                key: uuid::Uuid::new_v4().simple().to_string(),
            };
            match self.start_at(&address, launch(&address)).await {
                Err(LocalError::Start(_)) if TcpListener::bind(("127.0.0.1", address.port)).is_err() => {}
                started => return started,
            }
        }
        Err(LocalError::Start("every port it was given was taken by another program".to_owned()))
    }

    async fn start_at(&self, address: &EngineAddress, command: Command) -> Result<Membership, LocalError> {
        let log = self.folder.join("log");
        let started = process::start(command, &self.folder.join("users"), &log).await;
        let (line, mut child) = started.map_err(|error| LocalError::Start(error.to_string()))?;
        let late = match tokio::time::timeout(START_LIMIT, self.ready(address, &mut child)).await {
            Ok(Some(window)) => {
                let address = EngineAddress { pid: child.id(), ..address.clone() };
                let known = serde_json::to_vec(&address).unwrap_or_default();
                write(&self.folder.join("engine.json"), &self.folder, &known)?;
                return Ok(Membership { line, address, window });
            }
            Ok(None) => String::new(),
            Err(_) => format!("it was not ready after {} seconds; ", START_LIMIT.as_secs()),
        };
        Err(LocalError::Start(late + &last_words(&log)))
    }

    /// Waits until the engine answers; `None` when it ends before.
    async fn ready(&self, address: &EngineAddress, child: &mut Child) -> Option<u32> {
        loop {
            if let Some(window) = address.window(&*self.http).await {
                return Some(window);
            }
            if !matches!(child.try_wait(), Ok(None)) {
                return None;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// Writes a file in one step. Only its owner can read it, as is so for temporary files.
pub(crate) fn write(path: &Path, folder: &Path, bytes: &[u8]) -> Result<(), LocalError> {
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        Ok(file.persist(path).map(drop)?)
    };
    write().map_err(LocalError::file("cannot write", path))
}

/// Makes a folder that nobody else can look into.
pub(crate) fn private_folder(folder: &Path) -> Result<(), LocalError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(LocalError::file("cannot make the folder", folder))
}

/// Waits for a lock; it is given back when the file is dropped. `waiting` is called once if it is taken.
pub(crate) async fn lock(path: &Path, waiting: impl FnOnce()) -> Result<File, LocalError> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = opened.map_err(LocalError::file("cannot open", path))?;
    let mut waiting = Some(waiting);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(LocalError::file("cannot lock", path)(error)),
            Err(TryLockError::WouldBlock) => waiting.take().map(|waiting| waiting()).unwrap_or_default(),
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn free_port() -> Result<u16, LocalError> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| LocalError::Start(error.to_string()))
}

/// What the engine complained of; when it did not, how its log ends.
fn last_words(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut complaints: Vec<&str> = text.lines().filter_map(complaint).collect();
    complaints.dedup();
    // The first is the cause, the others follow from it.
    complaints.truncate(COMPLAINTS);
    if complaints.is_empty() {
        complaints = text.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_LINES).collect();
        complaints.reverse();
    }
    format!("{} (all of it is in {})", complaints.join(" | "), log.display())
}

/// The text of a line that llama.cpp marked as an error: a time, the mark, the text.
fn complaint(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ')?;
    let is_time = time.starts_with(|c: char| c.is_ascii_digit());
    rest.strip_prefix("E ").filter(|_| is_time).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(log: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, log).unwrap();
        let words = last_words(&path);
        words.split(" (all of it").next().unwrap().to_owned()
    }

    #[test]
    fn an_engine_that_ends_is_quoted_by_what_it_complained_of() {
        let log = "0.00.003 I srv load_model: loading model 'cut.gguf'\n\
                   0.00.022 E gguf_init_from_reader: failed to read key-value pairs\n\
                   0.00.028 E llama_model_load: error loading model: cut.gguf\n\
                   0.00.051 E srv load_model: failed to load model\n\
                   Traceback (most recent call last):\n  File \"<string>\", line 41, in <module>\n\
                   RuntimeError: Failed to init server\n";
        assert_eq!(
            words_of(log),
            "gguf_init_from_reader: failed to read key-value pairs | llama_model_load: error loading model: cut.gguf"
        );
    }

    #[test]
    fn one_that_did_not_complain_is_quoted_by_its_last_lines() {
        assert_eq!(
            words_of("one\n\ntwo\nModuleNotFoundError: xllamacpp\n"),
            "one | two | ModuleNotFoundError: xllamacpp"
        );
    }
}
