//! How much a command may use that nobody was asked about.
//!
//! The kernel's own limits count by user, or by process: neither keeps a thousand small processes from filling a machine,
//! and groups of processes with limits of their own need rights that few people have. So the processes of a command are
//! counted here while it runs, and all of them are ended when they are too many, or too large.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use charla_proto::Confinement;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep};

use super::family::Family;

/// How often it is looked.
const EVERY: Duration = Duration::from_millis(100);
const MOST_PROCESSES: usize = 512;
/// In the private temporary folder.
const MOST_BYTES: u64 = 1 << 30;
const MOST_FILES: usize = 20_000;
/// For one that somebody waits for.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Watches a command; ends with it.
#[derive(Debug)]
pub(super) struct Limits {
    reached: watch::Receiver<Option<&'static str>>,
    task: Option<JoinHandle<()>>,
}

impl Drop for Limits {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Limits {
    /// Of a command that reaches this far. `temporary` is its private folder; `awaited` says that somebody waits for it.
    pub(super) fn of(
        confinement: Confinement,
        family: &Family,
        temporary: Option<PathBuf>,
        awaited: bool,
    ) -> Self {
        let (sender, reached) = watch::channel(None);
        let unasked = confinement < Confinement::Asked;
        let family = family.clone();
        let until = awaited.then(|| Instant::now() + LONGEST);
        let watching = async move {
            while sender.borrow().is_none() {
                sleep(EVERY).await;
                let (family, temporary) = (family.clone(), temporary.clone());
                let found =
                    spawn_blocking(move || exceeded(&family, temporary.as_deref())).await.ok().flatten();
                let late =
                    until.filter(|until| Instant::now() > *until).map(|_| "it took more than 30 minutes");
                sender.send_replace(found.or(late));
            }
        };
        Self { reached, task: unasked.then(|| tokio::spawn(watching)) }
    }

    /// Waits for a limit to be reached and says which; for ever where there is none.
    pub(super) async fn reached(&mut self) -> &'static str {
        let reached = self.reached.wait_for(Option::is_some).await.ok().and_then(|reached| *reached);
        match reached {
            Some(reached) => reached,
            None => std::future::pending().await,
        }
    }
}

fn exceeded(family: &Family, temporary: Option<&Path>) -> Option<&'static str> {
    let usage = family.usage();
    if usage.processes > MOST_PROCESSES {
        return Some("it had more than 512 processes");
    }
    if usage.resident > most_memory() {
        return Some("it used more than half of the memory");
    }
    temporary
        .filter(|folder| is_overfull(folder))
        .map(|_| "it wrote more than 1 GiB or 20,000 temporary files")
}

/// Half of what the machine has.
fn most_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok());
    total.map_or(u64::MAX, |kilobytes: u64| kilobytes * 1024 / 2)
}

fn is_overfull(folder: &Path) -> bool {
    let (mut files, mut bytes) = (0, 0);
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            files += 1;
            bytes += found.len();
            if files > MOST_FILES || bytes > MOST_BYTES {
                return true;
            }
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_too_much_in_it_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("small"), "x").unwrap();
        assert!(!is_overfull(folder.path()));
        let large = fs::File::create(folder.path().join("large")).unwrap();
        large.set_len(MOST_BYTES).unwrap();
        assert!(is_overfull(folder.path()));
    }

    #[test]
    fn the_machine_has_memory() {
        assert!((1 << 20..u64::MAX).contains(&most_memory()));
    }
}
