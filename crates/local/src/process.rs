//! The engine's process and the line that keeps it alive.
//!
//! Several processes may use one engine, and any of them may be killed. So nobody owns it: each user holds
//! the writing end of a named pipe open, and a small shell script that started the engine reads the other
//! end. When the last user is gone, however that came, the system closes the last writing end, the script
//! reads the end of the pipe and kills its process group, the engine included. When the engine ends by
//! itself the group goes too, and with it the pipe's reader: users notice on their next write.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use tokio::process::{Child, Command};

const SCRIPT: &str = r#"
trap '' HUP INT TERM
( "$@" </dev/null; kill -KILL 0 ) &
cat >/dev/null
kill -KILL 0
"#;

/// The command of an engine without its arguments, in this folder. Of the variables it has these alone.
pub(crate) fn command(program: &Path, environment: &[(OsString, OsString)], folder: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "engine"]).arg(program).current_dir(folder).env_clear();
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

/// The writing end of an engine's pipe: while it is open the engine lives.
#[derive(Debug)]
pub(crate) struct Line(File);

impl Line {
    /// Joins the users of an engine; fails when none reads there.
    pub(crate) fn open(pipe: &Path) -> io::Result<Self> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        Ok(Self(OpenOptions::new().write(true).custom_flags(flags).open(pipe)?))
    }

    /// False when the engine is gone.
    pub(crate) fn is_alive(&self) -> bool {
        match (&self.0).write_all(b".") {
            Ok(()) => true,
            // The pipe is full: its reader is slow, not dead.
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

/// Starts an engine whose life hangs on a new pipe. Its output goes to `log`.
pub(crate) async fn start(mut command: Command, pipe: &Path, log: &Path) -> io::Result<(Line, Child)> {
    // The users of an older one keep theirs. One that cannot be removed is in the way of the new one, which says so.
    let _ = std::fs::remove_file(pipe);
    new_pipe(pipe).await?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let reader = OpenOptions::new().read(true).custom_flags(flags).open(pipe)?;
    let line = Line::open(pipe)?;
    // Opening did not wait for a writer; reading must.
    rustix::fs::fcntl_setfl(&reader, OFlags::empty())?;
    let log = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(log)?;
    command.stdin(reader).stdout(log.try_clone()?).stderr(log).process_group(0);
    Ok((line, command.spawn()?))
}

#[cfg(not(target_vendor = "apple"))]
async fn new_pipe(pipe: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    Ok(mknodat(CWD, pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?)
}

/// No library we may use does this there, but a program of the system does.
#[cfg(target_vendor = "apple")]
async fn new_pipe(pipe: &Path) -> io::Result<()> {
    let mut mkfifo = Command::new("/usr/bin/mkfifo");
    let made = mkfifo.args(["-m", "600"]).arg(pipe).env_clear().current_dir("/").output().await?;
    match made.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&made.stderr).trim().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The machine may be busy.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let path = std::env::var_os("PATH").unwrap();
        let mut shell = command("/bin/sh".as_ref(), &[("PATH".into(), path)], "/".as_ref());
        shell.args(["-c", script]);
        shell
    }

    #[tokio::test]
    async fn an_engine_lives_until_its_last_user_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, log) = (folder.path().join("users"), folder.path().join("log"));
        let (first, mut child) = start(shell("sleep 1000"), &pipe, &log).await.unwrap();
        let second = Line::open(&pipe).unwrap();
        drop(first);
        assert!(second.is_alive());
        assert!(child.try_wait().unwrap().is_none());
        drop(second);
        child.wait().await.unwrap();
        // The rest of the group dies a moment later, and a process that was just forked beside it shares its handles.
        let closed = async {
            while Line::open(&pipe).is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, closed).await.expect("somebody goes on reading");
    }

    #[tokio::test]
    async fn users_notice_an_engine_that_ended_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, log) = (folder.path().join("users"), folder.path().join("log"));
        let (line, mut child) = start(shell("echo broken; exit 3"), &pipe, &log).await.unwrap();
        child.wait().await.unwrap();
        let noticed = async {
            while line.is_alive() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, noticed).await.expect("nobody noticed");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "broken\n");
    }

    #[tokio::test]
    async fn an_engine_sees_no_variables_but_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, log) = (folder.path().join("users"), folder.path().join("log"));
        let (_line, mut child) = start(shell("echo ${CARGO_PKG_NAME-none}"), &pipe, &log).await.unwrap();
        child.wait().await.unwrap();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "none\n");
    }
}
