//! Ctrl-C, being asked to end, and the terminal going away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::exit::CANCELLED;
use charla_core::CancellationToken;
use tokio::sync::Notify;

/// How long a second Ctrl-C counts as such.
const TWICE: Duration = Duration::from_secs(2);

/// What the system, or the person, wants.
enum Signal {
    /// Ctrl-C was pressed.
    Pressed,
    /// We are asked to end, or the terminal is gone.
    End,
}

/// Cancels when the user presses Ctrl-C or the system asks us to end. The second time ends at once.
pub fn cancel_on_signals() -> CancellationToken {
    let cancel = CancellationToken::new();
    let asked = cancel.clone();
    tokio::spawn(async move {
        while signalled().await.is_some() {
            if asked.is_cancelled() {
                std::process::exit(CANCELLED);
            }
            asked.cancel();
        }
    });
    cancel
}

/// What signals mean to a conversation: Ctrl-C stops what runs and, pressed again soon, leaves.
#[derive(Clone, Default)]
pub struct Interrupts {
    /// It is over.
    pub leave: CancellationToken,
    /// The person wants it to be over, not the system.
    dismissed: Arc<AtomicBool>,
    stop: Arc<Notify>,
}

impl Interrupts {
    /// Listens from now on.
    pub fn listen() -> Self {
        let interrupts = Self::default();
        let Self { leave, dismissed, stop } = interrupts.clone();
        tokio::spawn(async move {
            let mut pressed: Option<Instant> = None;
            while let Some(signal) = signalled().await {
                let is_second = pressed.is_some_and(|when| when.elapsed() < TWICE);
                match signal {
                    _ if leave.is_cancelled() => std::process::exit(CANCELLED),
                    Signal::Pressed if !is_second => {
                        pressed = Some(Instant::now());
                        stop.notify_one();
                    }
                    Signal::Pressed => {
                        dismissed.store(true, Ordering::Release);
                        leave.cancel();
                    }
                    Signal::End => leave.cancel(),
                }
            }
        });
        interrupts
    }

    /// True when it is over because the person pressed Ctrl-C twice.
    pub fn is_dismissed(&self) -> bool {
        self.dismissed.load(Ordering::Acquire)
    }

    /// Comes back when what runs shall stop.
    pub async fn stopped(&self) {
        self.stop.notified().await;
    }
}

#[cfg(unix)]
async fn signalled() -> Option<Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).ok()?;
    let mut hang_up = signal(SignalKind::hangup()).ok()?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.ok().map(|()| Signal::Pressed),
        asked = terminate.recv() => asked.map(|()| Signal::End),
        gone = hang_up.recv() => gone.map(|()| Signal::End),
    }
}

#[cfg(not(unix))]
async fn signalled() -> Option<Signal> {
    tokio::signal::ctrl_c().await.ok().map(|()| Signal::Pressed)
}
