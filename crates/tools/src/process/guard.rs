//! Ends what is left when we are killed.
//!
//! A process that dies by `kill -9` cannot clean up, and setting a parent-death signal in a child needs
//! code between fork and exec that safe Rust does not offer. So a small shell script waits at the other end
//! of a pipe that only we hold open: when we are gone, however that came, it reads the end of the pipe and
//! kills the groups it was given. Only groups: what left them lives on in that one case.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::process::Command;

const SCRIPT: &str = r#"
trap '' HUP INT TERM
all=' '
while read -r verb group; do
    case $verb in
        add) all="$all$group " ;;
        drop) case $all in *" $group "*) all="${all%% "$group" *} ${all#* "$group" }" ;; esac ;;
    esac
done
for group in $all; do kill -KILL "-$group" 2>/dev/null; done
"#;

/// The script, started with the first group it is given.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    line: Mutex<Option<File>>,
}

impl Guard {
    /// From now on this group dies with us.
    pub(crate) fn add(&self, group: i32) {
        let mut line = self.line();
        if line.is_none() {
            *line = start().ok();
        }
        send(&mut line, "add", group);
    }

    /// This group is gone; its number may be another's soon.
    pub(crate) fn remove(&self, group: i32) {
        send(&mut self.line(), "drop", group);
    }

    fn line(&self) -> MutexGuard<'_, Option<File>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send(line: &mut Option<File>, verb: &str, group: i32) {
    let Some(file) = line else { return };
    if file.write_all(format!("{verb} {group}\n").as_bytes()).is_err() {
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
}
