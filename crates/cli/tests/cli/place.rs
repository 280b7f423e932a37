//! A home and a workspace of their own for each test, and nothing of the tester's environment.

use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use charla_proto::WireKind;
use charla_testkit::{Script, Server};
use serde_json::Value;
use tempfile::TempDir;

/// How long a run may take before it counts as hanging. The machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Where a test runs the binary.
pub struct Place {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Place {
    pub fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    /// A place that is in no folder for temporary files, in which confined programs may do more.
    pub fn lasting() -> Self {
        Self::at(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn at(folder: TempDir) -> Self {
        std::fs::create_dir_all(folder.path().join("home/.charla")).unwrap();
        std::fs::create_dir_all(folder.path().join("work/.charla")).unwrap();
        Self { folder, variables: Vec::new() }
    }

    /// A place where every provider's address is this server's.
    pub fn with_server(server: &Server) -> Self {
        Self::new().with_addresses(server)
    }

    /// The same place with this server's address for every provider, and keys.
    pub fn with_addresses(self, server: &Server) -> Self {
        self.variable("GEMINI_API_KEY", "key-gemini-1")
            .variable("OPENAI_API_KEY", "key-openai-1")
            .variable("ANTHROPIC_API_KEY", "key-anthropic-1")
            .variable("GOOGLE_GEMINI_BASE_URL", &server.url())
            .variable("ANTHROPIC_BASE_URL", &server.url())
            .variable("OPENAI_BASE_URL", &server.base_url(WireKind::OpenaiChat))
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Writes the user's settings.
    pub fn settings(self, text: &str) -> Self {
        std::fs::write(self.home().join("settings.json"), text).unwrap();
        self
    }

    /// Writes the workspace's settings.
    pub fn workspace_settings(self, text: &str) -> Self {
        std::fs::write(self.folder.path().join("work/.charla/settings.json"), text).unwrap();
        self
    }

    /// The user's `.charla`.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home/.charla")
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The binary with these arguments; standard input is empty until set.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::from_std(self.process(arguments));
        command.timeout(PATIENCE);
        command
    }

    /// The binary with these arguments, to be started and left running.
    pub fn process(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("charla"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path().join("home"));
        // Tests download nothing.
        command.env("CHARLA_OFFLINE", "1");
        // Nothing of the tester's own servers.
        for name in ["OLLAMA_HOST", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL"] {
            command.env(name, "http://127.0.0.1:9");
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder.path().join("work"));
        command.args(arguments);
        command
    }

    /// The binary as a child that can be watched.
    pub fn spawn(&self, arguments: &[&str]) -> Child {
        let prepared = self.command(arguments);
        let mut command = self.bare(&prepared, prepared.get_program());
        command.args(prepared.get_args());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the binary on a terminal: waits for each text and then types what belongs to it.
    pub fn run_on_terminal(&self, arguments: &[&str], talk: &[(&str, &str)]) -> Run {
        let prepared = self.command(arguments);
        let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        let mut command = self.bare(&prepared, python.as_ref());
        command.args(["-c", include_str!("terminal.py"), &serde_json::to_string(talk).unwrap()]);
        command.arg(prepared.get_program()).args(prepared.get_args());
        Run::of(command.stdin(Stdio::null()).output().unwrap(), self)
    }

    fn bare(&self, prepared: &Command, program: &std::ffi::OsStr) -> std::process::Command {
        let mut command = std::process::Command::new(program);
        command.env_clear().current_dir(self.work());
        command.envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// The workspace.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Puts a file into the workspace.
    pub fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.work().join(name), text).unwrap();
        self
    }

    /// The text of a file in the workspace, if it is there.
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.work().join(name)).ok()
    }

    /// The journals of all sessions, oldest first: id and text.
    pub fn journals(&self) -> Vec<(String, String)> {
        let Ok(entries) = std::fs::read_dir(self.home().join("sessions")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        let journals = paths.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
        let id = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut journals: Vec<(String, String)> =
            journals.map(|path| (id(&path), std::fs::read_to_string(&path).unwrap())).collect();
        journals.sort();
        journals
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).output().unwrap(), self)
    }

    pub fn run_with_input(&self, arguments: &[&str], input: impl Into<Vec<u8>>) -> Run {
        Run::of(self.command(arguments).write_stdin(input).output().unwrap(), self)
    }
}

/// A server with this script.
pub fn server(script: Script) -> Server {
    Server::start(script).unwrap()
}

/// What came of a run. The test's folder is shown as `~`.
#[derive(Debug)]
pub struct Run {
    pub out: String,
    pub err: String,
    pub code: Option<i32>,
}

impl Run {
    pub fn of(output: Output, place: &Place) -> Self {
        let folder = place.path().canonicalize().unwrap().display().to_string();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&folder, "~");
        Self { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
    }

    /// The JSON lines of standard output.
    pub fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The types of the JSON lines, runs of the same one once.
    pub fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> =
            self.lines().iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
        kinds.dedup();
        kinds
    }
}
