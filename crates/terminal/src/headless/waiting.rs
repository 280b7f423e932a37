//! Waiting for the next event, in sight of whoever sits at the terminal.

use std::time::{Duration, Instant};

use charla::Failure;
use charla_proto::{RetryNotice, TurnEvent};
use futures_util::future::poll_immediate;

use super::Events;
use crate::patience::Patience;
use crate::printer::Printer;

/// What is waited for, and since when.
pub(super) struct Waiting {
    /// When the next attempt begins, while a person at a terminal sees the wait passing.
    next_attempt: Option<Instant>,
    patience: Patience,
}

impl Waiting {
    /// For a model that is about to be asked.
    pub(super) fn new() -> Self {
        Self { next_attempt: None, patience: Patience::new(Instant::now()) }
    }

    /// Something came.
    pub(super) fn note(&mut self, event: &TurnEvent) {
        self.patience.note(event, Instant::now());
        if matches!(event, TurnEvent::ModelSwitched(_)) {
            self.next_attempt = None;
        }
    }

    /// A terminal gets the reason and, below it, the wait as it passes; anything else gets one line.
    pub(super) fn announce(&mut self, notice: &RetryNotice, printer: &mut Printer) {
        let (attempt, most) = (notice.attempt, notice.max_attempts);
        let reason = format!("attempt {attempt} of {most} failed: {}", notice.error);
        if printer.err_terminal && notice.delay.as_secs() >= 1 {
            printer.note(&reason);
            self.next_attempt = Some(Instant::now() + notice.delay);
        } else {
            let seconds = notice.delay.as_secs_f64();
            printer.note(&format!("{reason}; trying again in {seconds:.1} s"));
        }
    }

    /// The next event of a turn that `model` is asked in. What was printed is shown only when there is nothing to do but
    /// wait, so that a fast stream costs few writes.
    pub(super) async fn next(
        &mut self,
        turn: &mut impl Events,
        model: &str,
        printer: &mut Printer,
    ) -> Result<Option<TurnEvent>, Failure> {
        let mut next = std::pin::pin!(turn.next());
        if let Some(event) = poll_immediate(next.as_mut()).await {
            return Ok(event);
        }
        printer.flush()?;
        while let Some(when) = self.next_attempt {
            let left = when.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.next_attempt = None;
                printer.clear_fleeting();
                continue;
            }
            let seconds = left.as_secs_f64().ceil();
            printer.fleeting(&format!("trying again in {seconds} s"));
            let tick = left.as_secs_f64() - (seconds - 1.0);
            tokio::select! {
                event = next.as_mut() => {
                    self.next_attempt = None;
                    printer.clear_fleeting();
                    return Ok(event);
                }
                () = tokio::time::sleep(Duration::from_secs_f64(tick.max(0.01))) => {}
            }
        }
        if !(printer.err_terminal && self.patience.is_for_model()) {
            return Ok(next.await);
        }
        loop {
            tokio::select! {
                event = next.as_mut() => {
                    printer.clear_fleeting();
                    return Ok(event);
                }
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
            if let Some(line) = self.patience.line(model, Instant::now()) {
                printer.fleeting(&line);
            }
        }
    }
}
