//! A workspace with the tools in it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use charla_proto::tool::{Tool, Toolbox};
use charla_proto::{
    Confinement, FileJudge, Invocation, Plan, RunContext, SnapshotError, Snapshots, ToolContext, ToolError,
    ToolOutput,
};
use charla_tools::{Buffers, Registry, Selection};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Keeps contents in memory, named by their hash.
#[derive(Default)]
pub struct Kept(Mutex<HashMap<String, Vec<u8>>>);

impl Snapshots for Kept {
    fn keep(&self, bytes: &[u8]) -> Result<String, SnapshotError> {
        let hash = format!("{:x}", Sha256::digest(bytes));
        self.0.lock().unwrap().insert(hash.clone(), bytes.to_vec());
        Ok(hash)
    }

    fn load(&self, hash: &str) -> Result<Vec<u8>, SnapshotError> {
        self.0.lock().unwrap().get(hash).cloned().ok_or_else(|| SnapshotError::Missing(hash.to_owned()))
    }
}

pub struct Bench {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
    pub kept: Arc<Kept>,
    registry: Registry,
    cx: ToolContext,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        let kept = Arc::new(Kept::default());
        let mut registry = Registry::new(Selection::default());
        registry.register_files(kept.clone(), Some(root.join("../memory/CHARLA.md")), &Buffers::default());
        let cx = ToolContext { cwd: root.clone(), roots: vec![root.clone()], ..ToolContext::default() };
        Self { _folder: folder, root, kept, registry, cx }
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).unwrap()
    }

    pub fn exists(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    pub fn tool(&self, name: &str) -> Arc<dyn Tool> {
        self.registry.get(name).unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        self.registry.declarations().iter().map(|declaration| declaration.name.clone()).collect()
    }

    pub async fn prepare(&self, tool: &str, args: Value) -> Result<Box<dyn Invocation>, ToolError> {
        self.prepare_judged(tool, args, FileJudge::default()).await
    }

    /// Prepares a call that asks `files` about what it comes across.
    pub async fn prepare_judged(
        &self,
        tool: &str,
        args: Value,
        files: FileJudge,
    ) -> Result<Box<dyn Invocation>, ToolError> {
        let Value::Object(args) = args else { panic!("arguments are objects") };
        self.tool(tool).prepare(args, &ToolContext { files, ..self.cx.clone() }).await
    }

    pub async fn plan(&self, tool: &str, args: Value) -> Plan {
        self.prepare(tool, args).await.unwrap().plan().clone()
    }

    /// Prepares and runs; a refusal comes back as an output, as the model sees it. Nothing may hang.
    pub async fn run(&self, tool: &str, args: Value) -> ToolOutput {
        let call = async {
            match self.prepare(tool, args).await {
                Ok(call) => run(call).await,
                Err(error) => ToolOutput::failed(error),
            }
        };
        tokio::time::timeout(Duration::from_secs(20), call).await.expect("a call hangs")
    }

    /// The words of a call that succeeds.
    pub async fn ok(&self, tool: &str, args: Value) -> String {
        let output = self.run(tool, args).await;
        assert_eq!(output.error, None);
        words(&output)
    }

    /// The error of a call that fails.
    pub async fn err(&self, tool: &str, args: Value) -> ToolError {
        let output = self.run(tool, args).await;
        output.error.unwrap_or_else(|| panic!("{tool} succeeded: {:?}", output.content))
    }
}

pub async fn run(call: Box<dyn Invocation>) -> ToolOutput {
    run_judged(call, FileJudge::default()).await
}

/// Runs a call that asks `files` about what it comes across.
pub async fn run_judged(call: Box<dyn Invocation>, files: FileJudge) -> ToolOutput {
    let (cancelled, live) = (Box::pin(std::future::pending()), Box::new(|_: &str| ()));
    call.run(RunContext {
        cancelled,
        live,
        confinement: Confinement::Open,
        only_git_reads: false,
        consent: charla_proto::Consent::Named,
        files,
    })
    .await
}

pub fn words(output: &ToolOutput) -> String {
    output.content.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join("\n")
}

/// Makes a named pipe.
pub fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}
