//! A session's own folder for children that nobody was asked about.
//!
//! It holds a folder that they may write, and what they are told by files they may not. A lock says that it is in use: what a
//! killed process left behind has none, and goes when the next folder is made.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::error::SandboxError;

const PREFIX: &str = "charla-";
const LOCK: &str = "lock";
/// How often another name is tried.
const ATTEMPTS: usize = 64;

/// The folder, removed with this.
#[derive(Debug)]
pub(crate) struct Private {
    _folder: TempDir,
    real: PathBuf,
    /// Given up when the process ends, however it does.
    _lock: File,
}

impl Private {
    /// Makes one in `place`, and removes those that nobody uses any more.
    pub(crate) fn make(place: &Path) -> Result<Self, SandboxError> {
        sweep(place);
        for _ in 0..ATTEMPTS {
            let made = Self::attempt(place).map_err(SandboxError::path(place))?;
            if let Some(made) = made {
                return Ok(made);
            }
        }
        Err(SandboxError::path(place)(io::Error::from(io::ErrorKind::AlreadyExists)))
    }

    /// Absent when somebody else's sweeping got in between.
    fn attempt(place: &Path) -> io::Result<Option<Self>> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        let real = folder.path().canonicalize()?;
        let lock = File::create_new(real.join(LOCK))?;
        let is_held = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        // Who sweeps may have locked it before us, and removed all of it by now.
        if !is_held || lock.metadata()?.nlink() == 0 {
            return Ok(None);
        }
        let made = Self { _folder: folder, real, _lock: lock };
        fs::create_dir(made.temporary())?;
        fs::write(made.attributes(), charla_proto::secret_attributes())?;
        Ok(Some(made))
    }

    /// All of it.
    pub(crate) fn folder(&self) -> &Path {
        &self.real
    }

    /// The folder that children may write.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.real.join("tmp")
    }

    /// What git is told about secret files.
    pub(crate) fn attributes(&self) -> PathBuf {
        self.real.join("attributes")
    }
}

/// Removes the folders of processes that are gone.
fn sweep(place: &Path) {
    let user = rustix::process::geteuid().as_raw();
    let own = |found: &Metadata| found.is_dir() && found.uid() == user;
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !named || !path.symlink_metadata().is_ok_and(|found| own(&found)) {
            continue;
        }
        // Whoever has just made theirs has no lock yet, and is left alone.
        let Ok(lock) = File::open(path.join(LOCK)) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // What cannot be removed stays for the next time.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_goes_and_what_is_in_use_stays() {
        let place = tempfile::tempdir().unwrap();
        let used = Private::make(place.path()).unwrap();
        fs::write(used.temporary().join("kept"), "x").unwrap();
        let left = place.path().join("charla-left");
        fs::create_dir_all(left.join("tmp/deep")).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let others = ["charla-no-lock", "unrelated"].map(|name| place.path().join(name));
        for other in &others {
            fs::create_dir(other).unwrap();
        }
        let second = Private::make(place.path()).unwrap();
        assert!(!left.exists());
        assert!(used.temporary().join("kept").exists());
        assert!(others.iter().all(|other| other.exists()));
        assert_ne!(used.temporary(), second.temporary());
        let gone = used.temporary();
        drop(used);
        assert!(!gone.exists());
    }

    #[test]
    fn many_make_theirs_at_once_and_nobody_sweeps_anothers_away() {
        let place = tempfile::tempdir().unwrap();
        let (place, began) = (place.path(), std::sync::Barrier::new(8));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    began.wait();
                    for _ in 0..100 {
                        let made = Private::make(place).unwrap();
                        assert!(made.temporary().is_dir() && made.attributes().is_file());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(place).unwrap().count(), 0);
    }
}
