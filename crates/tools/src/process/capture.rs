//! A helper program asked once: input in, both outputs apart, limits on time and size.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use charla_proto::Confinement;
use charla_sandbox::{Arrivals, Extra};
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::cleared::Cleared;
use super::family::{Family, GroupIs};
use super::guard::Guard;
use super::processes::Processes;

/// How long output may trail behind the program's end when something else holds its pipes.
pub(super) const TRAIL: Duration = Duration::from_millis(100);

/// A program to ask.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    /// What it reads.
    pub(crate) input: Vec<u8>,
    /// How long it may take in all.
    pub(crate) time: Duration,
    /// How much each of its outputs may hold.
    pub(crate) bytes: usize,
    /// How far it reaches.
    pub(crate) confinement: Confinement,
}

/// What it said.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) status: ExitStatus,
    /// Protected places that it made.
    pub(crate) cleared: Cleared,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    #[error("it could not be started: {0}")]
    Start(io::Error),
    #[error("it could not be heard: {0}")]
    Pipe(io::Error),
    #[error("it took longer than {} s", .0.as_secs())]
    Late(Duration),
    #[error("it wrote more than {0} bytes")]
    Large(usize),
}

/// A program to start with its pipes.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) cwd: PathBuf,
    pub(super) confinement: Confinement,
    pub(super) variables: Variables,
}

/// The variables of a program.
#[derive(Clone, Debug)]
pub(super) enum Variables {
    /// Those that anything gets, and these.
    Bare(Vec<(String, String)>),
    /// Those of its confinement, and these.
    Confined(Vec<(String, String)>),
}

/// Kills the program and everything it started when it is dropped: a helper has no business in the background.
#[derive(Debug)]
pub(super) struct Ended {
    guard: Arc<Guard>,
    family: Family,
    pub(super) waited_for: bool,
    arrivals: Option<Arrivals>,
}

impl Ended {
    /// Takes away what it may not make; for when it has ended.
    async fn clear(&mut self) -> Cleared {
        let Some(arrivals) = self.arrivals.take() else { return Cleared::default() };
        self.kill();
        Cleared::take_out(Arc::new(arrivals), false).await
    }

    fn kill(&self) {
        // The group is looked at right after the leader was waited for: its number is still the same group's.
        if !self.waited_for || self.family.group_exists() {
            self.family.signal(Signal::KILL, GroupIs::Ours);
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.kill();
        if let Some(arrivals) = self.arrivals.take() {
            // Nobody is left who could be told.
            let _ = arrivals.take_out();
        }
        self.guard.remove(self.family.group());
    }
}

/// Starts a program with its pipes.
pub(super) async fn spawn(processes: &Processes, start: &Start) -> io::Result<(Child, Ended)> {
    let extra = Extra { lasting: matches!(start.variables, Variables::Bare(_)), ..Extra::default() };
    let mut cell = processes.cell(start.confinement, &start.cwd, extra).await?;
    let mark = processes.mark();
    let mut command = Command::new(&start.program);
    command.args(&start.arguments).current_dir(&start.cwd).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let environment = &processes.settings().environment;
    match &start.variables {
        Variables::Bare(given) => environment.apply_bare(&mut command, &mark, given),
        Variables::Confined(given) => {
            environment.apply(&mut command, &mark, start.confinement, &cell, None);
            command.envs(given.iter().map(|(name, value)| (name, value)));
        }
    }
    let arrivals = cell.arrivals();
    cell.apply(command.as_std_mut());
    let announced = processes.guard().announce(&mark);
    let child = command.spawn()?;
    let gone = || io::Error::other("it ended before it began");
    let family = child.id().and_then(|id| Family::new(id, mark)).ok_or_else(gone)?;
    processes.guard().add(family.group());
    drop(announced);
    Ok((child, Ended { guard: processes.guard().clone(), family, waited_for: false, arrivals }))
}

/// Asks a program. Dropping the future ends it.
pub(crate) async fn capture(processes: &Processes, ask: Capture) -> Result<Captured, CaptureError> {
    let start = Start {
        program: ask.program.clone(),
        arguments: ask.arguments.clone(),
        cwd: ask.cwd.clone(),
        confinement: ask.confinement,
        variables: Variables::Confined(Vec::new()),
    };
    let (child, mut ended) = spawn(processes, &start).await.map_err(CaptureError::Start)?;
    let captured =
        timeout(ask.time, exchange(child, &ask)).await.map_err(|_| CaptureError::Late(ask.time))?;
    ended.waited_for = captured.is_ok();
    Ok(Captured { cleared: ended.clear().await, ..captured? })
}

async fn exchange(mut child: Child, ask: &Capture) -> Result<Captured, CaptureError> {
    let (stdin, pipes) = (child.stdin.take(), (child.stdout.take(), child.stderr.take()));
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // One that does not read its input is judged by what it says.
            let _ = stdin.write_all(&ask.input).await;
        }
        Ok(())
    };
    let status = {
        let talk = async {
            tokio::try_join!(
                feed,
                read(pipes.0, &mut stdout, ask.bytes),
                read(pipes.1, &mut stderr, ask.bytes)
            )
        };
        tokio::pin!(talk);
        let status = tokio::select! {
            talked = &mut talk => { talked?; None }
            status = child.wait() => Some(status),
        };
        match status {
            None => child.wait().await,
            // Something else may hold the pipes: what the program itself said is there already.
            Some(status) => {
                if let Ok(talked) = timeout(TRAIL, talk).await {
                    talked?;
                }
                status
            }
        }
    };
    let status = status.map_err(CaptureError::Pipe)?;
    Ok(Captured { stdout, stderr, status, cleared: Cleared::default() })
}

/// Reads a pipe to its end; what was read so far is there when this is given up.
async fn read(
    pipe: Option<impl AsyncRead + Unpin>,
    bytes: &mut Vec<u8>,
    limit: usize,
) -> Result<(), CaptureError> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    while pipe.read_buf(bytes).await.map_err(CaptureError::Pipe)? > 0 {
        if bytes.len() > limit {
            return Err(CaptureError::Large(limit));
        }
    }
    Ok(())
}
