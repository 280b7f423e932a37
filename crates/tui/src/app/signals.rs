//! What the system asks of the process.

use std::io;

/// What the system wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// To be interrupted, as by Ctrl-C.
    Interrupt,
    /// To end.
    Terminate,
    /// The terminal is gone.
    HangUp,
    /// To stop until it is continued.
    Stop,
}

/// The signals that concern a terminal program.
#[cfg(unix)]
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    stop: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// From now on they are ours.
    pub fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let stop = rustix::process::Signal::TSTP.as_raw();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            stop: signal(SignalKind::from_raw(stop))?,
        })
    }

    /// The next one.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            Some(()) = self.terminate.recv() => Signal::Terminate,
            Some(()) = self.hang_up.recv() => Signal::HangUp,
            Some(()) = self.stop.recv() => Signal::Stop,
            else => std::future::pending().await,
        }
    }
}

/// Stops the process until somebody continues it.
#[cfg(unix)]
pub fn stop_process() {
    use rustix::process::{Signal, getpid, kill_process};
    let _ = kill_process(getpid(), Signal::STOP);
}

/// The signals that concern a terminal program.
#[cfg(not(unix))]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// From now on they are ours.
    pub fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// The next one.
    pub async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}

/// There is no such thing here.
#[cfg(not(unix))]
pub fn stop_process() {}
