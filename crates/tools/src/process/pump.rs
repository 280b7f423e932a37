//! The task behind a [`Job`]: owns the process and its pipe.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use charla_sandbox::Arrivals;
use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout_at};

use super::cleared::Cleared;
use super::family::{Family, GroupIs};
use super::guard::Guard;
use super::job::{Ending, Job, StopReason};
use super::limits::Limits;
use super::spill::{Spill, SpillFolder};

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(200);
/// How often it is checked whether processes that were sent a signal are gone.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long output may trail behind the end of the command when something else holds its pipe.
const TRAIL: Duration = Duration::from_millis(100);
/// How often it is checked whether left-behind processes still run.
const STRAYS_CHECK: Duration = Duration::from_secs(30);
/// A whole pipe at once.
const CHUNK: usize = 64 * 1024;

/// Everything the task owns.
pub(super) struct Pump {
    pub(super) job: Arc<Job>,
    pub(super) child: Child,
    pub(super) pipe: Receiver,
    pub(super) family: Family,
    pub(super) guard: Arc<Guard>,
    pub(super) spills: SpillFolder,
    pub(super) silence: Option<Duration>,
    pub(super) limits: Limits,
    /// False when the command outlives the session.
    pub(super) bound: bool,
    /// Present for a command that may not make protected places.
    pub(super) arrivals: Option<Arrivals>,
}

/// Kills the family when the task is dropped, as when the runtime ends.
struct LastResort {
    family: Family,
    guard: Arc<Guard>,
    armed: bool,
    group: GroupIs,
    arrivals: Option<Arc<Arrivals>>,
}

impl Drop for LastResort {
    fn drop(&mut self) {
        if self.armed {
            self.family.signal(Signal::KILL, self.group);
        }
        if let Some(arrivals) = self.arrivals.take() {
            if self.armed {
                self.await_end();
            }
            // Nobody is left who could be told.
            let _ = arrivals.take_out();
        }
        self.guard.remove(self.family.group());
    }
}

impl LastResort {
    /// Waits for what was killed to be gone, for a moment.
    fn await_end(&self) {
        let until = std::time::Instant::now() + GRACE;
        while std::time::Instant::now() < until && !self.family.members(self.group).is_empty() {
            std::thread::sleep(POLL_INTERVAL / 10);
        }
    }
}

/// The reading end, and where what is read goes.
struct Intake {
    job: Arc<Job>,
    pipe: Receiver,
    open: bool,
    buffer: Vec<u8>,
    spill: Option<Spill>,
    spills: SpillFolder,
}

impl Pump {
    /// Runs until nothing of the command is left.
    pub(super) async fn run(self) {
        let Pump { job, mut child, pipe, family, guard, spills, silence, mut limits, bound, arrivals } = self;
        let arrivals = arrivals.map(Arc::new);
        let leaves_none = arrivals.as_ref().is_some_and(|arrivals| arrivals.leaves_none());
        let mut last_resort = LastResort {
            family: family.clone(),
            guard,
            armed: bound,
            group: GroupIs::Ours,
            arrivals: arrivals.clone(),
        };
        let buffer = vec![0; CHUNK];
        let mut intake = Intake { job: job.clone(), pipe, open: true, buffer, spill: None, spills };

        let (status, stopped) = match intake.until_exit(&mut child, silence, &mut limits).await {
            Ok(status) => (status, None),
            Err(stop) => (end(&mut intake, &mut child, &family).await, Some(stop)),
        };
        last_resort.group = GroupIs::Unsure;
        intake.trail().await;
        let strays = if stopped.is_none() && (leaves_none || intake.open || family.group_exists()) {
            intake.left_behind(&family).await
        } else {
            Vec::new()
        };
        let left_behind = !strays.is_empty() && !leaves_none;
        let ending = match &arrivals {
            Some(arrivals) => clear(Ending::new(status, stopped, strays), &family, arrivals.clone()).await,
            None => Ending::new(status, stopped, strays),
        };
        intake.publish().await;
        job.progress.send_modify(|progress| progress.ending = Some(ending));
        if left_behind {
            intake.outlive(&family, &mut limits).await;
            if let Some(arrivals) = arrivals {
                clear_again(&job, arrivals).await;
            }
        }
        last_resort.arrivals = None;
        last_resort.armed = false;
        drop(last_resort);
        job.progress.send_modify(|progress| progress.over = true);
    }
}

impl Intake {
    /// What is left of the family. What has closed its output may be about to end, and gets a moment for it.
    async fn left_behind(&self, family: &Family) -> Vec<i32> {
        let until = Instant::now() + GRACE;
        loop {
            let strays = members(family, GroupIs::Ours).await;
            if strays.is_empty() || self.open || Instant::now() >= until {
                return strays;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Reads until the command exits, or must be stopped.
    async fn until_exit(
        &mut self,
        child: &mut Child,
        silence: Option<Duration>,
        limits: &mut Limits,
    ) -> Result<Option<ExitStatus>, StopReason> {
        let job = self.job.clone();
        let patience = silence.unwrap_or(Duration::from_secs(86_400 * 365));
        let quiet = sleep(patience);
        tokio::pin!(quiet);
        loop {
            // Only the waiting is in here: what was read is put away even when the command ends meanwhile.
            let read = tokio::select! {
                biased;
                () = job.stop.cancelled() => return Err(StopReason::Asked),
                status = child.wait() => return Ok(status.ok()),
                what = limits.reached() => return Err(StopReason::Limit(what)),
                // Before the silence is looked at: whoever has just spoken is not silent.
                read = self.pipe.read(&mut self.buffer), if self.open => read,
                () = &mut quiet, if silence.is_some() => return Err(StopReason::Silent),
            };
            self.put_away(read).await;
            quiet.as_mut().reset(Instant::now() + patience);
        }
    }

    /// Keeps what was read, or notes the end of the pipe.
    async fn put_away(&mut self, read: io::Result<usize>) {
        match read {
            Ok(0) | Err(_) => self.open = false,
            Ok(count) => self.take(count).await,
        }
    }

    async fn take(&mut self, count: usize) {
        let bytes = self.buffer.get(..count).unwrap_or_default();
        let before = {
            let mut transcript = self.job.transcript();
            let overflows = self.spill.is_none() && transcript.may_be_cut_by(count);
            let before = overflows.then(|| transcript.held());
            transcript.push(bytes);
            before
        };
        self.job.fresh.notify_one();
        if let Some(before) = before {
            let spill = self.spill.insert(Spill::begin(&self.spills).await);
            spill.write(&before).await;
            *self.job.spilled.lock().unwrap_or_else(PoisonError::into_inner) = Some(spill.outcome().clone());
        }
        if let Some(spill) = &mut self.spill {
            spill.write(bytes).await;
        }
    }

    /// Reads what is left after the command's end: to the end of the pipe, or, when something else holds it
    /// open, for a moment and at least as much as the command itself can have left in there.
    async fn trail(&mut self) {
        let deadline = Instant::now() + TRAIL;
        let mut left = CHUNK;
        while self.open && (left > 0 || Instant::now() < deadline) {
            // A read that need not wait succeeds even when the time is up.
            let Ok(read) = timeout_at(deadline, self.pipe.read(&mut self.buffer)).await else { return };
            left = left.saturating_sub(*read.as_ref().unwrap_or(&0));
            self.put_away(read).await;
        }
    }

    /// Makes the file agree with what is about to be reported.
    async fn publish(&mut self) {
        if !self.job.transcript().is_cut()
            && let Some(spill) = self.spill.take()
        {
            spill.discard().await;
        }
        let outcome = match &mut self.spill {
            Some(spill) => {
                spill.flush().await;
                Some(spill.outcome().clone())
            }
            None => None,
        };
        *self.job.spilled.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
    }

    /// Goes on reading for what the command left behind, until that is gone or must go.
    async fn outlive(&mut self, family: &Family, limits: &mut Limits) {
        let job = self.job.clone();
        loop {
            tokio::select! {
                biased;
                () = job.stop.cancelled() => break,
                _ = limits.reached() => break,
                () = sleep(STRAYS_CHECK) => {}
                read = self.pipe.read(&mut self.buffer), if self.open => {
                    self.put_away(read).await;
                    if self.open {
                        continue;
                    }
                }
            }
            if members(family, GroupIs::Unsure).await.is_empty() {
                break;
            }
        }
        end_strays(family).await;
        self.publish().await;
    }
}

/// Takes away what a command made and may not make. What one left running that edited unasked goes before.
async fn clear(ending: Ending, family: &Family, arrivals: Arc<Arrivals>) -> Ending {
    let goes = !ending.strays.is_empty() && arrivals.leaves_none();
    if goes {
        end_strays(family).await;
    }
    let cleared = Cleared::take_out(arrivals, goes).await;
    let strays = if goes { Vec::new() } else { ending.strays };
    Ending { strays, cleared, ..ending }
}

/// The same when what it left running is gone, too.
async fn clear_again(job: &Job, arrivals: Arc<Arrivals>) {
    let later = Cleared::take_out(arrivals, false).await;
    job.progress.send_modify(|progress| {
        progress.ending = progress
            .ending
            .take()
            .map(|ending| Ending { cleared: ending.cleared.clone().and(later), ..ending });
    });
}

/// Ends what a command left behind.
async fn end_strays(family: &Family) {
    terminate(family, GroupIs::Unsure).await;
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline && !members(family, GroupIs::Unsure).await.is_empty() {
        sleep(POLL_INTERVAL).await;
    }
    kill(family, GroupIs::Unsure).await;
}

/// Ends a running command: asks everybody, waits a little, then leaves no choice. Goes on reading
/// meanwhile, so that last words are heard and nobody is stuck on a full pipe.
async fn end(intake: &mut Intake, child: &mut Child, family: &Family) -> Option<ExitStatus> {
    terminate(family, GroupIs::Ours).await;
    let deadline = Instant::now() + GRACE;
    let mut status = None;
    while Instant::now() < deadline {
        tokio::select! {
            biased;
            ended = child.wait(), if status.is_none() => status = ended.ok(),
            () = sleep(POLL_INTERVAL) => {}
            read = intake.pipe.read(&mut intake.buffer), if intake.open => {
                intake.put_away(read).await;
                continue;
            }
        }
        if status.is_some() && members(family, GroupIs::Unsure).await.is_empty() {
            return status;
        }
    }
    let group = if status.is_none() { GroupIs::Ours } else { GroupIs::Unsure };
    kill(family, group).await;
    match status {
        Some(status) => Some(status),
        // A killed process ends at once, unless the kernel holds it in a call that cannot be broken off.
        None => timeout_at(deadline + POLL_INTERVAL * 4, child.wait()).await.ok().and_then(Result::ok),
    }
}

async fn terminate(family: &Family, group: GroupIs) {
    let family = family.clone();
    let _ = spawn_blocking(move || family.signal(Signal::TERM, group)).await;
}

/// Kills until nobody turns up any more: one that was just being started may have been missed.
async fn kill(family: &Family, group: GroupIs) {
    for _ in 0..5 {
        let family = family.clone();
        let found = spawn_blocking(move || family.signal(Signal::KILL, group)).await;
        if found.unwrap_or(0) == 0 {
            return;
        }
        sleep(POLL_INTERVAL / 4).await;
    }
}

async fn members(family: &Family, group: GroupIs) -> Vec<i32> {
    let family = family.clone();
    spawn_blocking(move || family.members(group)).await.unwrap_or_default()
}
