//! The engine as its users see it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use charla_proto::Fetch;
use secrecy::SecretString;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::LocalError;
use crate::packages::WEIGHTS_NAME;
use crate::process::Launch;
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
    membership: Mutex<Option<Membership>>,
    usage: StdMutex<Usage>,
}

#[derive(Debug)]
struct Usage {
    users: usize,
    last: Instant,
    watched: bool,
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
    inner: Arc<Inner>,
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut usage = self.inner.usage();
        usage.users -= 1;
        usage.last = Instant::now();
    }
}

impl Engine {
    /// An engine for these options. Nothing is started yet.
    pub fn new(options: EngineOptions) -> Self {
        let usage = Usage { users: 0, last: Instant::now(), watched: false };
        let inner = Inner { options, membership: Mutex::default(), usage: StdMutex::new(usage) };
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
        let mut membership = self.inner.membership.lock().await;
        let member = match membership.take().filter(Membership::is_alive) {
            Some(member) => member,
            None => self.join(progress).await?,
        };
        let member = membership.insert(member);
        self.enter();
        Ok(InUse {
            base_url: member.address.base_url(),
            key: member.address.key.clone().into(),
            model: self.model(),
            window: member.window,
            inner: self.inner.clone(),
        })
    }

    async fn join(&self, progress: Report<'_>) -> Result<Membership, LocalError> {
        let options = &self.inner.options;
        let (weights, adapter) = match &options.model {
            Model::BuiltIn => (options.store.weights(progress).await?, Some(options.store.adapter().await?)),
            Model::File(path) => (checked(path)?, None),
        };
        let program = match &options.llama_server {
            Some(program) => Program::LlamaServer(program.clone()),
            None => Program::Managed(options.store.engine(progress).await?),
        };
        let parts = Parts { program, weights, adapter };
        let folder = options.store.running().join(self.kind(&parts));
        let shared = Shared { folder, http: options.http.clone() };
        progress(Progress::Starting);
        shared.join_or_start(|address| self.launch(&parts, address)).await
    }

    /// Engines that may be shared have the same kind.
    fn kind(&self, parts: &Parts) -> String {
        let options = &self.inner.options;
        let kind = format!("{parts:?} {} {}", options.window, options.threads);
        let digest = Sha256::new().chain_update(kind).chain_update(SERVE).finalize();
        format!("{digest:x}").chars().take(16).collect()
    }

    fn launch(&self, Parts { program, weights, adapter }: &Parts, address: &EngineAddress) -> Launch {
        let options = &self.inner.options;
        let mut environment = options.environment.clone();
        match program {
            Program::Managed(folder) => {
                let wanted = json!({
                    "model": weights, "alias": self.model(), "port": address.port, "key": address.key,
                    "window": options.window, "threads": options.threads, "adapter": adapter,
                    "packages": folder,
                });
                environment.push(("CHARLA_ENGINE".into(), wanted.to_string().into()));
                Launch {
                    program: options.store.python().to_owned(),
                    arguments: ["-I", "-B", "-c", SERVE].map(OsString::from).to_vec(),
                    environment,
                    directory: folder.clone(),
                }
            }
            Program::LlamaServer(path) => {
                environment.push(("LLAMA_API_KEY".into(), address.key.clone().into()));
                let [port, window, threads] = [u32::from(address.port), options.window, options.threads]
                    .map(|number| number.to_string());
                let told =
                    ["--host", "127.0.0.1", "--port", &port, "--ctx-size", &window, "--threads", &threads];
                let mut arguments = vec![OsString::from("--model"), weights.into()];
                arguments.extend(adapter.iter().flat_map(|path| [OsString::from("--lora"), path.into()]));
                arguments.extend(
                    told.into_iter().chain(["--alias", &self.model(), "--jinja"]).map(OsString::from),
                );
                Launch { program: path.clone(), arguments, environment, directory: "/".into() }
            }
        }
    }

    fn enter(&self) {
        let mut usage = self.inner.usage();
        usage.users += 1;
        if !std::mem::replace(&mut usage.watched, true) {
            tokio::spawn(leave_when_idle(Arc::downgrade(&self.inner)));
        }
    }
}

/// What an engine is, and what it loads.
#[derive(Debug)]
struct Parts {
    program: Program,
    weights: PathBuf,
    adapter: Option<PathBuf>,
}

/// What serves the model.
#[derive(Debug)]
enum Program {
    Managed(PathBuf),
    LlamaServer(PathBuf),
}

impl Inner {
    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When this process will have been idle for long enough.
    fn deadline(&self) -> Instant {
        let usage = self.usage();
        let since = if usage.users > 0 { Instant::now() } else { usage.last };
        since + self.options.idle
    }
}

async fn leave_when_idle(inner: Weak<Inner>) {
    loop {
        let Some(deadline) = inner.upgrade().map(|inner| inner.deadline()) else { return };
        tokio::time::sleep_until(deadline).await;
        let Some(inner) = inner.upgrade() else { return };
        let mut membership = inner.membership.lock().await;
        if inner.deadline() <= Instant::now() {
            *membership = None;
            inner.usage().watched = false;
            return;
        }
    }
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
