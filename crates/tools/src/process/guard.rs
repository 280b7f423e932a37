//! Ends what is left when we are killed.
//!
//! A process that dies by `kill -9` cannot clean up, and setting a parent-death signal in a child needs
//! code between fork and exec that safe Rust does not offer. So a small shell script waits at the other end
//! of a pipe that only we hold open: when we are gone, however that came, it reads the end of the pipe and
//! kills the groups it was given. Only groups: what left them lives on in that one case.
//!
//! A command that is being started has no group yet. It is announced by its mark: the pipe does not end before the
//! command's program was started, and then the mark is in its environment.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::process::Command;

use super::environment::MARK;

const SCRIPT: &str = r#"
trap '' HUP INT TERM
all=' '
while read -r verb what; do
    case $verb in
        add) all="$all$what " ;;
        drop) case $all in *" $what "*) all="${all%% "$what" *} ${all#* "$what" }" ;; esac ;;
    esac
done
for what in $all; do
    case $what in
        *=*)
            for file in $(grep -lsF "$what" /proc/[0-9]*/environ); do
                group=${file#/proc/}
                kill -KILL "-${group%/environ}" 2>/dev/null
            done
            ;;
        *) kill -KILL "-$what" 2>/dev/null ;;
    esac
done
"#;

/// The script, started with the first group it is given.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    line: Mutex<Option<File>>,
}

/// A command that is being started. Dropped, it is known by its group, or was not started.
pub(crate) struct Announced<'a> {
    guard: &'a Guard,
    mark: String,
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        send(&mut self.guard.line(), "drop", &self.mark);
    }
}

impl Guard {
    /// A command of this mark is about to be started.
    pub(crate) fn announce(&self, mark: &str) -> Announced<'_> {
        let mark = format!("{MARK}={mark}");
        self.send_add(&mark);
        Announced { guard: self, mark }
    }

    /// From now on this group dies with us.
    pub(crate) fn add(&self, group: i32) {
        self.send_add(&group.to_string());
    }

    /// This group is gone; its number may be another's soon.
    pub(crate) fn remove(&self, group: i32) {
        send(&mut self.line(), "drop", &group.to_string());
    }

    fn send_add(&self, what: &str) {
        let mut line = self.line();
        if line.is_none() {
            *line = start().ok();
        }
        send(&mut line, "add", what);
    }

    fn line(&self) -> MutexGuard<'_, Option<File>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send(line: &mut Option<File>, verb: &str, what: &str) {
    let Some(file) = line else { return };
    if file.write_all(format!("{verb} {what}\n").as_bytes()).is_err() {
        // Somebody killed it. The next command gets a new one; those that run go unguarded.
        *line = None;
    }
}

fn start() -> io::Result<File> {
    let mut guard = Command::new("/bin/sh")
        .args(["-c", SCRIPT])
        .env_clear()
        .current_dir(Path::new("/"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let line = guard.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    Ok(File::from(line.into_owned_fd()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tests::is_alive;

    #[tokio::test]
    async fn what_it_knows_of_dies_with_us_and_what_it_was_told_to_forget_does_not() {
        let sleeper = || Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let (mut first, mut forgotten, mut last) = (sleeper(), sleeper(), sleeper());
        let ids = [&first, &forgotten, &last].map(|child| child.id().unwrap() as i32);
        let guard = Guard::default();
        for id in ids {
            guard.add(id);
        }
        guard.remove(ids[1]);
        // Our end of the pipe goes, as it does when we are killed.
        drop(guard);
        first.wait().await.unwrap();
        last.wait().await.unwrap();
        assert!(is_alive(ids[1]));
        forgotten.kill().await.unwrap();
    }

    #[tokio::test]
    async fn a_command_that_was_just_started_is_known_by_its_mark() {
        let guard = Guard::default();
        let start = |mark: &str| {
            let announced = guard.announce(mark);
            let mut command = Command::new("sleep");
            (announced, command.arg("1000").env(MARK, mark).process_group(0).spawn().unwrap())
        };
        let ((over, mut known), (under_way, mut started)) = (start("guard-test.1"), start("guard-test.2"));
        drop(over);
        // As when we are killed before its group is known.
        std::mem::forget(under_way);
        drop(guard);
        started.wait().await.unwrap();
        assert!(is_alive(known.id().unwrap() as i32));
        known.kill().await.unwrap();
    }
}
