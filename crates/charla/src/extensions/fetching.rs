//! Fetches an extension's repository with git: it asks nobody anything and runs nothing of the repository's.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::own_programs;

/// How long fetching may take.
const LIMIT: Duration = Duration::from_secs(300);

/// What git is told whatever a repository or the user's own settings say.
const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "core.askPass=",
    "credential.interactive=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "init.templateDir=",
];
const VARIABLES: [(&str, &str); 5] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/false"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    ("GIT_ALLOW_PROTOCOL", "https:http:ssh:git:file"),
];

/// True for the address of a repository.
pub(super) fn is_address(source: &str) -> bool {
    let schemes = ["https://", "http://", "ssh://", "git://", "file://"];
    let is_short =
        || source.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'));
    schemes.iter().any(|scheme| source.starts_with(scheme)) || is_short()
}

/// Fetches a repository's newest files into the folder `to`, which is not there yet.
pub(super) fn fetch(address: &str, to: &Path, environment: &Environment) -> Result<(), Failure> {
    let fail = |why: &str| {
        Failure::input(format!("cannot fetch {address}: {why}")).with_hint("try `git clone` by hand")
    };
    let git = environment.program("git").ok_or_else(|| fail("there is no git on this machine"))?;
    let mut command = Command::new(git);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.args(["clone", "--quiet", "--depth", "1", "--no-tags", "--no-recurse-submodules", "--", address]);
    command.arg(to).env_clear().envs(own_programs::git(environment)).envs(VARIABLES);
    let folder = to.parent().unwrap_or(Path::new("/"));
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| fail(&error.to_string()))?;
    let said = own_programs::gather(child.stderr.take());
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => {
                let said = own_programs::received(&said);
                let last = said.lines().rev().find(|line| !line.trim().is_empty());
                return Err(fail(last.unwrap_or("git said nothing").trim()));
            }
            Ok(None) if started.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(fail(&format!("it took longer than {} seconds", LIMIT.as_secs())));
            }
            Err(error) => return Err(fail(&error.to_string())),
        }
    }
}
