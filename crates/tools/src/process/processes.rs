//! The processes of one session.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charla_proto::Confinement;
use charla_sandbox::{Cell, Extra, Sandbox};
use futures_util::future::join_all;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::environment::Environment;
use super::family::Family;
use super::guard::Guard;
use super::job::{Job, Launch, LaunchError, Progress};
use super::limits::Limits;
use super::plain_git::{PlainIndex, plain_index};
use super::pump::Pump;
use super::spill::SpillFolder;
use super::transcript::{OUTPUT_LIMIT, Transcript};

/// How many background processes are remembered; the oldest that are over go first.
const REMEMBERED: usize = 100;

/// How commands run. Everything is handed in.
#[derive(Clone, Debug)]
pub struct ProcessSettings {
    /// Their variables.
    pub environment: Environment,
    /// Where output too large to show is kept.
    pub spills: SpillFolder,
    /// How many characters of an output are shown.
    pub output_limit: usize,
    /// How long a command may say nothing before it is ended.
    pub silence: Duration,
    /// Background processes go on when the session ends. Their output then goes nowhere, and most programs
    /// end when they write to nowhere.
    pub keep_background: bool,
    /// What holds them in.
    pub sandbox: Arc<Sandbox>,
}

impl ProcessSettings {
    /// The usual limits.
    pub fn new(environment: Environment, spills: SpillFolder, sandbox: Arc<Sandbox>) -> Self {
        Self {
            environment,
            spills,
            output_limit: OUTPUT_LIMIT,
            silence: Duration::from_secs(300),
            keep_background: false,
            sandbox,
        }
    }
}

/// Starts commands and knows those in the background. When the last clone is gone, everything that still
/// runs is ended; [`Processes::shutdown`] waits for that.
#[derive(Clone, Debug)]
pub struct Processes {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: ProcessSettings,
    session: String,
    count: AtomicU64,
    guard: Arc<Guard>,
    background: Mutex<Vec<Arc<Job>>>,
    /// Those of whose background is listed here.
    adopted: Mutex<Vec<Processes>>,
    end: CancellationToken,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl Processes {
    /// For one session.
    pub fn new(settings: ProcessSettings) -> Self {
        Self {
            inner: Arc::new(Inner {
                settings,
                session: Uuid::new_v4().simple().to_string(),
                count: AtomicU64::new(0),
                guard: Arc::default(),
                background: Mutex::default(),
                adopted: Mutex::default(),
                end: CancellationToken::new(),
            }),
        }
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &ProcessSettings {
        &self.inner.settings
    }

    /// Takes the background of a session over that this one goes on with: it is listed here, and ends with these.
    pub fn adopt(&self, others: Processes) {
        let jobs = others.list();
        if !jobs.is_empty() {
            jobs.into_iter().for_each(|job| self.remember(job));
            self.adopted().push(others);
        }
    }

    /// Ends every process of the session and waits until they are gone.
    pub async fn shutdown(&self) {
        self.end();
        let jobs: Vec<Arc<Job>> = self.list();
        join_all(jobs.iter().filter(|job| job.stop.is_cancelled()).map(|job| job.over())).await;
    }

    /// A mark of its own for a new family of processes.
    pub(super) fn mark(&self) -> Arc<str> {
        let number = self.inner.count.fetch_add(1, Ordering::Relaxed);
        // None is the beginning of another.
        format!("{}.{number:08}", self.inner.session).into()
    }

    pub(super) fn guard(&self) -> &Arc<Guard> {
        &self.inner.guard
    }

    /// Gets a confinement ready. The workspace is looked through for it, so that happens aside.
    pub(super) async fn cell(&self, confinement: Confinement, cwd: &Path, extra: Extra) -> io::Result<Cell> {
        let (sandbox, cwd) = (self.inner.settings.sandbox.clone(), cwd.to_owned());
        if confinement == Confinement::Open {
            return sandbox.prepare(confinement, &cwd, &extra).map_err(io::Error::other);
        }
        let ready = tokio::task::spawn_blocking(move || sandbox.prepare(confinement, &cwd, &extra)).await;
        ready.map_err(io::Error::other)?.map_err(io::Error::other)
    }

    /// Starts a command with stdout and stderr in one pipe and nothing to read.
    pub(crate) async fn start(&self, launch: Launch) -> Result<Arc<Job>, LaunchError> {
        self.begin(&launch, true).await.map_err(|source| launch_error(&launch, source))
    }

    /// Starts a command that stays in the background and is listed there.
    pub(crate) async fn start_background(&self, launch: Launch) -> Result<Arc<Job>, LaunchError> {
        // What an editing command made is looked at when it ends, so it ends with us.
        let bound = !self.inner.settings.keep_background || launch.confinement == Confinement::Editing;
        let job = self.begin(&launch, bound).await.map_err(|source| launch_error(&launch, source))?;
        self.remember(job.clone());
        Ok(job)
    }

    async fn begin(&self, launch: &Launch, bound: bool) -> io::Result<Arc<Job>> {
        let cell = self.cell(launch.confinement, &launch.cwd, launch.extra.clone()).await?;
        let mark = self.mark();
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(&launch.program);
        command.args(&launch.arguments).current_dir(&launch.cwd);
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let environment = &self.inner.settings.environment;
        environment.apply(&mut command, &mark, launch.confinement, &cell, Some(&launch.git));
        let (mut cell, index) = self.index_for(cell, launch).await?;
        if let Some(index) = &index {
            command.env("GIT_INDEX_FILE", &index.file);
        }
        let (temporary, arrivals) = (cell.temporary(), cell.arrivals());
        cell.apply(command.as_std_mut());
        let announced = bound.then(|| self.inner.guard.announce(&mark));
        let child = command.spawn()?;
        // The command holds the writing ends of the pipe until it is dropped.
        drop(command);
        let gone = || io::Error::other("it ended before it began");
        let family = Family::new(child.id().ok_or_else(gone)?, mark).ok_or_else(gone)?;
        if bound {
            self.inner.guard.add(family.group());
        }
        drop(announced);
        let job = Arc::new(Job {
            id: family.group(),
            label: launch.label.clone(),
            unseen: index.filter(|_| launch.git.compares).map(|index| index.unseen).unwrap_or_default(),
            transcript: Mutex::new(Transcript::new(self.inner.settings.output_limit)),
            spilled: Mutex::default(),
            progress: watch::Sender::new(Progress::default()),
            fresh: Notify::new(),
            stop: if bound { self.inner.end.child_token() } else { CancellationToken::new() },
        });
        let limits = Limits::of(launch.confinement, &family, temporary, launch.silence.is_some());
        let pump = Pump {
            job: job.clone(),
            limits,
            child,
            pipe: Receiver::from_owned_fd(OwnedFd::from(reader))?,
            family,
            guard: self.inner.guard.clone(),
            spills: self.inner.settings.spills.clone(),
            silence: launch.silence,
            bound,
            arrivals,
        };
        tokio::spawn(pump.run());
        Ok(job)
    }

    /// The index that git gets where the one it has would make it look into what is hidden.
    async fn index_for(&self, cell: Cell, launch: &Launch) -> io::Result<(Cell, Option<PlainIndex>)> {
        // Who has no use for git need not wait for its index to be read.
        let hides = match launch.confinement {
            Confinement::Reading => launch.git.runs,
            // What changes the index has to get the one that lasts.
            Confinement::Editing => launch.git.runs && !launch.git.changes,
            Confinement::Asked | Confinement::Open => false,
        };
        if !hides {
            return Ok((cell, None));
        }
        let cwd = launch.cwd.clone();
        let found = tokio::task::spawn_blocking(move || {
            let index = plain_index(&cell, &cwd);
            (cell, index)
        });
        found.await.map_err(io::Error::other)
    }

    /// Lists a job among those in the background: one started there, or one that left something running.
    pub(crate) fn remember(&self, job: Arc<Job>) {
        let mut background = self.background();
        if background.len() >= REMEMBERED
            && let Some(over) = background.iter().position(|job| job.progress().over)
        {
            background.remove(over);
        }
        background.push(job);
    }

    /// The background, oldest first.
    pub(crate) fn list(&self) -> Vec<Arc<Job>> {
        self.background().clone()
    }

    /// The job of a process in the background: its leader, or one it left behind. The newest counts.
    pub(crate) fn find(&self, id: i32) -> Option<Arc<Job>> {
        let owns = |job: &&Arc<Job>| {
            job.id == id || job.progress().ending.is_some_and(|ending| ending.strays.contains(&id))
        };
        self.background().iter().rev().find(owns).cloned()
    }

    fn end(&self) {
        self.inner.end.cancel();
        self.adopted().iter().for_each(Processes::end);
    }

    fn adopted(&self) -> MutexGuard<'_, Vec<Processes>> {
        self.inner.adopted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn background(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        self.inner.background.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn launch_error(launch: &Launch, source: io::Error) -> LaunchError {
    LaunchError { program: launch.program.display().to_string(), source }
}
