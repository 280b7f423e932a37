//! A home with secrets, a workspace with some of its own, and somebody outside.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use charla_sandbox::{Confinement, Extra, Places, Sandbox, Treatment};
use tempfile::TempDir;

/// Not in `/tmp`, which is open to children that a person agreed to.
const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

pub(crate) struct Ground {
    pub(crate) folder: TempDir,
    pub(crate) sandbox: Sandbox,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(FOLDER).unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [
            "private",
            "home/.ssh",
            "home/.cargo/bin",
            "home/.cache",
            "home/notes",
            "ws/.git/hooks",
            "ws/src",
            "ws/secrets/deep",
        ] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let files = [
            ("home/.ssh/id_rsa", "CANARY"),
            ("home/.cargo/credentials.toml", "CANARY"),
            ("home/.cargo/bin/tool", "#!/bin/sh\necho tool\n"),
            ("home/.gitconfig", "[user]\n"),
            ("home/notes/plan", "plan"),
            ("outside", "CANARY"),
            ("ws/plain", "plain"),
            ("ws/script.sh", "#!/bin/sh\necho script\n"),
            ("ws/src/main.rs", "fn main() {}"),
            ("ws/.env", "CANARY"),
            ("ws/src/.env", "CANARY"),
            ("ws/secrets/deep/a", "CANARY"),
            ("ws/.git/config", "[core]\n"),
            ("ws/AGENTS.md", "be good"),
        ];
        for (name, text) in files {
            fs::write(at(name), text).unwrap();
        }
        for name in ["home/.cargo/bin/tool", "ws/script.sh"] {
            let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(at(name), all).unwrap();
        }
        fs::hard_link(at("ws/.env"), at("ws/twin")).unwrap();
        std::os::unix::fs::symlink(at("outside"), at("ws/way_out")).unwrap();
        std::os::unix::fs::symlink(".git/hooks", at("ws/hooks")).unwrap();
        let sandbox = Sandbox::new(places(folder.path()));
        Self { folder, sandbox }
    }

    pub(crate) fn places(&self) -> Places {
        places(self.folder.path())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a program in the workspace.
    pub(crate) fn run(&self, confinement: Confinement, program: &str, arguments: &[&str]) -> Output {
        self.run_with(confinement, program, arguments, &Extra::default(), |_| {})
    }

    pub(crate) fn run_with(
        &self,
        confinement: Confinement,
        program: &str,
        arguments: &[&str],
        extra: &Extra,
        change: impl FnOnce(&mut Command),
    ) -> Output {
        let cell = self.sandbox.prepare(confinement, &self.path("ws"), extra).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path("ws")).env_clear().env("PATH", "/usr/bin:/bin");
        command.env("G", self.folder.path()).env("HOME", self.path("home")).stdin(Stdio::null());
        change(&mut command);
        cell.apply(&mut command);
        let output = command.output();
        output.unwrap_or_else(|error| panic!("{program} {arguments:?} in {confinement:?}: {error}"))
    }

    /// Runs Python code; `G` is the ground's folder, and the working folder is the workspace.
    pub(crate) fn python(&self, confinement: Confinement, code: &str) -> Output {
        let code = format!("{PRELUDE}\n{code}");
        self.run(confinement, "/usr/bin/python3", &["-I", "-S", "-c", &code])
    }

    pub(crate) fn shell(&self, confinement: Confinement, line: &str) -> Output {
        self.run(confinement, "/bin/bash", &["-c", line])
    }
}

/// A system call by its number, an error where it fails.
const PRELUDE: &str = r#"
import ctypes, os, socket, sys
G = os.environ["G"]
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), "call %d" % number)
    return result
def done(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
"#;

fn places(folder: &Path) -> Places {
    let treatment = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match name {
            ".env" | "secrets" => Treatment::Hidden { guarded: false, denied: false },
            ".npmrc" => Treatment::Hidden { guarded: true, denied: false },
            ".git" => Treatment::Protected { closed: true },
            "AGENTS.md" => Treatment::Protected { closed: true },
            _ => Treatment::Plain,
        }
    };
    Places {
        roots: vec![folder.join("ws")],
        home: Some(folder.join("home")),
        temporary: folder.join("private"),
        programs: vec!["/usr/bin".into(), folder.join("ws"), folder.to_owned()],
        readable: Vec::new(),
        history: Vec::new(),
        secrets: Vec::new(),
        denied: Vec::new(),
        treatment: Arc::new(treatment),
    }
}

/// What a child said, both outputs.
pub(crate) fn said(output: &Output) -> String {
    let mut all = String::from_utf8_lossy(&output.stdout).into_owned();
    all.push_str(&String::from_utf8_lossy(&output.stderr));
    all
}

/// A sleeping process that is no child of the sandbox; ended when dropped.
pub(crate) struct Bystander(pub(crate) std::process::Child);

impl Bystander {
    pub(crate) fn new() -> Self {
        let child = Command::new("sleep").arg("1000").env("KEY", "CANARY").process_group(0).spawn();
        Self(child.unwrap())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
