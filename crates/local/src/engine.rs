//! The engine as its users see it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, Weak};
use std::time::Duration;

use charla_proto::Fetch;
use secrecy::SecretString;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::error::LocalError;
use crate::packages::WEIGHTS_NAME;
use crate::process;
use crate::shared::{EngineAddress, Membership, Shared};
use crate::store::{Progress, Report, Store};

const SERVE: &str = include_str!("../assets/serve.py");
const MAGIC: &[u8] = b"GGUF";

/// Which model an engine runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// The small one that comes with the engine.
    BuiltIn,
    /// A GGUF file of the user's.
    File(PathBuf),
}

/// How an engine is made.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Where what is installed is kept, and who runs what.
    pub store: Store,
    /// The model.
    pub model: Model,
    /// The user's own `llama-server`, used when there is one.
    pub llama_server: Option<PathBuf>,
    /// Tokens to make room for.
    pub window: u32,
    /// Threads to compute with. More than there are idle cores makes it many times slower.
    pub threads: u32,
    /// After how much time without a request this process no longer counts as a user.
    pub idle: Duration,
    /// The variables the engine gets. Hand in none that is secret.
    pub environment: Vec<(OsString, OsString)>,
    /// What asks the engine whether it is ready. Hand in one that uses no proxy.
    pub http: Arc<dyn Fetch>,
}

/// An engine that is started when it is needed. Clones share it.
#[derive(Clone, Debug)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: EngineOptions,
    member: Mutex<Weak<Membership>>,
    /// Holds on to the engine for a while after its last use.
    keeper: StdMutex<JoinSet<()>>,
}

/// A running engine, which speaks OpenAI Chat, and the promise that it goes on running until this is dropped.
#[derive(Debug)]
pub struct InUse {
    /// Its address, up to and with `/v1`.
    pub base_url: String,
    /// The key it takes.
    pub key: SecretString,
    /// The model's name.
    pub model: String,
    /// Tokens it can read and write together, as the engine itself says.
    pub window: u32,
    member: Arc<Membership>,
    inner: Arc<Inner>,
}

impl Drop for InUse {
    fn drop(&mut self) {
        let (member, idle) = (self.member.clone(), self.inner.options.idle);
        let mut keeper = JoinSet::new();
        if let Ok(runtime) = Handle::try_current() {
            keeper.spawn_on(
                async move {
                    tokio::time::sleep(idle).await;
                    drop(member)
                },
                &runtime,
            );
        }
        *self.inner.keeper.lock().unwrap_or_else(PoisonError::into_inner) = keeper;
    }
}

impl Engine {
    /// An engine for these options. Nothing is started yet.
    pub fn new(options: EngineOptions) -> Self {
        let inner = Inner { options, member: Mutex::default(), keeper: StdMutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// What it is made from.
    pub fn options(&self) -> &EngineOptions {
        &self.inner.options
    }

    /// The model's name.
    pub fn model(&self) -> String {
        match &self.inner.options.model {
            Model::BuiltIn => WEIGHTS_NAME.to_owned(),
            Model::File(path) => path.file_stem().unwrap_or("model".as_ref()).to_string_lossy().into_owned(),
        }
    }

    /// Makes sure that it runs: installs what is missing, joins the engine of another process or starts one,
    /// replaces one that died. Call it before each request and hold what it returns until the answer is there.
    ///
    /// Dropping the future stops a set-up; what was downloaded completely is kept.
    pub async fn ensure(&self, progress: Report<'_>) -> Result<InUse, LocalError> {
        let mut known = self.inner.member.lock().await;
        let member = match known.upgrade().filter(|member| member.line.is_alive()) {
            Some(member) => member,
            None => Arc::new(self.join(progress).await?),
        };
        *known = Arc::downgrade(&member);
        Ok(InUse {
            base_url: member.address.base_url(),
            key: member.address.key.clone().into(),
            model: self.model(),
            window: member.window,
            member,
            inner: self.inner.clone(),
        })
    }

    async fn join(&self, progress: Report<'_>) -> Result<Membership, LocalError> {
        let options = &self.inner.options;
        let (weights, adapter) = match &options.model {
            Model::BuiltIn => (options.store.weights(progress).await?, Some(options.store.adapter().await?)),
            Model::File(path) => (checked(path)?, None),
        };
        let (program, folder) = match &options.llama_server {
            Some(program) => (program.as_path(), None),
            None => (options.store.python(), Some(options.store.engine(progress).await?)),
        };
        let parts = Parts { program, folder, weights, adapter };
        // Engines that may be shared have the same parts.
        let kind = format!("{parts:?} {} {}", options.window, options.threads);
        let kind = Sha256::new().chain_update(kind).chain_update(SERVE).finalize();
        let folder = options.store.running().join(format!("{kind:.16x}"));
        let shared = Shared { folder, http: options.http.clone() };
        let launch = |address: &EngineAddress| {
            progress(Progress::Starting);
            self.command(&parts, address)
        };
        shared.join_or_start(launch).await
    }

    fn command(&self, parts: &Parts, address: &EngineAddress) -> Command {
        let Parts { program, folder, weights, adapter } = parts;
        let EngineOptions { window, threads, environment, .. } = &self.inner.options;
        let mut command = process::command(program, environment, folder.as_deref().unwrap_or("/".as_ref()));
        if let Some(packages) = folder {
            let wanted = json!({
                "model": weights, "alias": self.model(), "port": address.port, "key": address.key,
                "window": window, "threads": threads, "adapter": adapter, "packages": packages,
            });
            command.env("CHARLA_ENGINE", wanted.to_string()).args(["-I", "-B", "-c", SERVE]);
            return command;
        }
        let [port, window, threads] =
            [u32::from(address.port), *window, *threads].map(|number| number.to_string());
        command.env("LLAMA_API_KEY", &address.key).arg("--model").arg(weights);
        if let Some(adapter) = adapter {
            command.arg("--lora").arg(adapter);
        }
        command.args(["--host", "127.0.0.1", "--port", &port, "--ctx-size", &window]);
        command.args(["--threads", &threads, "--alias", &self.model(), "--jinja"]);
        command
    }
}

/// What an engine is, and what it loads.
#[derive(Debug)]
struct Parts<'a> {
    /// The user's server, or the Python of ours.
    program: &'a Path,
    /// The folder of the managed engine; a server of the user's has none.
    folder: Option<PathBuf>,
    weights: PathBuf,
    adapter: Option<PathBuf>,
}

/// The file as an absolute path, when it begins as a model does.
fn checked(path: &Path) -> Result<PathBuf, LocalError> {
    let mut start = Vec::new();
    let real = path.canonicalize().and_then(|real| {
        File::open(&real)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
        if start == MAGIC { Ok(real) } else { Err(io::Error::other("it is no GGUF file")) }
    });
    real.map_err(|error| LocalError::NotAModel { path: path.to_owned(), detail: error.to_string() })
}

#[cfg(test)]
mod tests;
