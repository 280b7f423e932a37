//! One running command: its output gathered, its end awaited, its family ended.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charla_proto::Confinement;
use charla_sandbox::Extra;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::git::GitUse;

use super::cleared::Cleared;
use super::spill::Spilled;
use super::transcript::Transcript;

/// A command to run.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The program.
    pub(crate) program: PathBuf,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// Where it runs.
    pub(crate) cwd: PathBuf,
    /// The command in words, for lists.
    pub(crate) label: String,
    /// How long it may say nothing; for ever when absent.
    pub(crate) silence: Option<Duration>,
    /// How far it reaches.
    pub(crate) confinement: Confinement,
    /// What it may touch beyond that.
    pub(crate) extra: Extra,
    /// What it does with git.
    pub(crate) git: GitUse,
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Its exit code, when it ended by itself.
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// Why we ended it, if we did.
    pub(crate) stopped: Option<StopReason>,
    /// Processes it left running.
    pub(crate) strays: Vec<i32>,
    /// Protected places that it made.
    pub(crate) cleared: Cleared,
}

/// Why a command was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Somebody asked for it.
    Asked,
    /// It said nothing for too long.
    Silent,
    /// It used more than a command may that nobody was asked about.
    Limit(&'static str),
}

impl Ending {
    pub(super) fn new(status: Option<ExitStatus>, stopped: Option<StopReason>, strays: Vec<i32>) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let code = status.and_then(|status| status.code());
        let signal = status.and_then(|status| status.signal());
        Self { code, signal, stopped, strays, cleared: Cleared::default() }
    }
}

/// How far a job has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Set when the command itself has ended. What it left behind may go on.
    pub(crate) ending: Option<Ending>,
    /// Nothing of it runs any more.
    pub(crate) over: bool,
}

/// A handle on a running command. The command is ended by [`Job::stop`], not by dropping this.
#[derive(Debug)]
pub(crate) struct Job {
    /// The process, and its group.
    pub(crate) id: i32,
    /// The command in words.
    pub(crate) label: String,
    /// Changed files that git took as unchanged, because they are hidden.
    pub(crate) unseen: Vec<PathBuf>,
    pub(super) transcript: Mutex<Transcript>,
    pub(super) spilled: Mutex<Option<Spilled>>,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) fresh: Notify,
    pub(super) stop: CancellationToken,
}

impl Job {
    /// How far it has come.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// Waits until the command itself has ended.
    pub(crate) async fn ended(&self) -> Ending {
        let mut progress = self.progress.subscribe();
        let ended = progress.wait_for(|progress| progress.ending.is_some()).await;
        // The sender lives in `self`, so this cannot fail while we wait.
        ended.ok().and_then(|progress| progress.ending.clone()).unwrap_or_default()
    }

    /// Waits until nothing of it runs any more.
    pub(crate) async fn over(&self) {
        let _ = self.progress.subscribe().wait_for(|progress| progress.over).await;
    }

    /// Resolves when there is output that nobody has looked at.
    pub(crate) async fn fresh(&self) {
        self.fresh.notified().await;
    }

    /// The output since the last look, and whether some before it was skipped.
    pub(crate) fn take_fresh(&self) -> (Vec<u8>, bool) {
        self.transcript().take_fresh()
    }

    /// Ends it and everything it started: asked to, then made to after 200 ms.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// What it said, for the model.
    pub(crate) fn text(&self) -> String {
        let spilled = self.spilled.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.transcript().text(spilled.as_ref())
    }

    /// The file that holds all it said, when [`Self::text`] does not.
    pub(crate) fn whole_output(&self) -> Option<PathBuf> {
        let spilled = self.spilled.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        (self.transcript().is_cut() && spilled.failed.is_none()).then_some(spilled.path)
    }

    /// The last lines of what it said.
    pub(crate) fn last_lines(&self, lines: usize) -> String {
        self.transcript().last_lines(lines)
    }

    pub(super) fn transcript(&self) -> MutexGuard<'_, Transcript> {
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{program}: {source}")]
pub struct LaunchError {
    /// The program.
    pub program: String,
    /// What the system said.
    pub source: io::Error,
}

/// Ends a job when dropped, unless released: a foreground call that is given up takes its command with it.
pub(crate) struct Foreground {
    job: Option<Arc<Job>>,
}

impl Foreground {
    pub(crate) fn new(job: Arc<Job>) -> Self {
        Self { job: Some(job) }
    }

    /// The command has ended; what it left behind goes on.
    pub(crate) fn release(mut self) {
        self.job = None;
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        if let Some(job) = &self.job {
            job.stop();
        }
    }
}
