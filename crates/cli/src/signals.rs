//! Ctrl-C, being asked to end, and the terminal going away.

use charla_core::CancellationToken;

/// Cancels when the user presses Ctrl-C or the system asks us to end. The second time ends at once.
pub fn cancel_on_signals() -> CancellationToken {
    let cancel = CancellationToken::new();
    let asked = cancel.clone();
    tokio::spawn(async move {
        while signalled().await {
            if asked.is_cancelled() {
                std::process::exit(charla_terminal::exit::CANCELLED);
            }
            asked.cancel();
        }
    });
    cancel
}

#[cfg(unix)]
async fn signalled() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return false };
    let Ok(mut hang_up) = signal(SignalKind::hangup()) else { return false };
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.is_ok(),
        asked = terminate.recv() => asked.is_some(),
        gone = hang_up.recv() => gone.is_some(),
    }
}

#[cfg(not(unix))]
async fn signalled() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}
