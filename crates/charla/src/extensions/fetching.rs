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
                return Err(fail(why(&said)));
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

/// Why git gave up: what it calls fatal, or else its last word. The advice that it adds says nothing of the reason.
fn why(said: &str) -> &str {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines.clone().find_map(|line| line.strip_prefix("fatal: "));
    fatal.or_else(|| lines.next_back()).unwrap_or("git said nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_git_is_told_and_not_its_advice() {
        let advice = "Please make sure you have the correct access rights\nand the repository exists.\n";
        let gone =
            format!("fatal: '/x' does not appear to be a git repository\nfatal: Could not read.\n\n{advice}");
        assert_eq!(why(&gone), "'/x' does not appear to be a git repository");
        assert_eq!(why("ssh: no route\n\n"), "ssh: no route");
        assert_eq!(why(""), "git said nothing");
    }
}
