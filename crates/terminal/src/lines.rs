//! Lines that are typed, read one at a time.
//!
//! A line is read on a thread of its own, which cannot be stopped: whoever no longer wants the line leaves it to the next
//! who asks, so that nothing typed is lost to a reader that nobody listens to.

use std::io::BufRead;
use std::sync::Arc;

use charla::Failure;
use futures_util::future::poll_immediate;
use tokio::sync::{Mutex, oneshot};

use crate::printer::Printer;

/// A line that is being read.
type Pending = oneshot::Receiver<Option<String>>;

/// Standard input, shared by everybody who wants a line of it.
#[derive(Clone, Default)]
pub struct Lines {
    pending: Arc<Mutex<Option<Pending>>>,
}

impl Lines {
    /// The next line; nothing at the end. Read only when it is wanted: an editor needs the terminal for itself. Dropped
    /// before it is there, the line goes to the next call.
    pub async fn next(&self) -> Option<String> {
        let mut pending = self.pending.lock().await;
        let line = pending.get_or_insert_with(read_line).await;
        *pending = None;
        line.ok().flatten()
    }

    /// Drops what was typed until now.
    pub async fn forget(&self) {
        let mut pending = self.pending.lock().await;
        if let Some(line) = pending.as_mut()
            && poll_immediate(line).await.is_some()
        {
            *pending = None;
        }
        #[cfg(unix)]
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}

/// Puts a question; true for a yes and nothing else. Blocks until a line is typed.
pub fn agreed_to(question: &str, printer: &mut Printer) -> Result<bool, Failure> {
    printer.flush()?;
    printer.aside(question);
    let mut answer = String::new();
    let unread = |error| Failure::input(format!("cannot read the answer: {error}"));
    std::io::stdin().read_line(&mut answer).map_err(unread)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn read_line() -> Pending {
    let (sender, line) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        let read = std::io::stdin().lock().read_until(b'\n', &mut line).ok().filter(|bytes| *bytes > 0);
        // Bytes that are no text are a mistyped line, not the end.
        let _ = sender.send(read.map(|_| String::from_utf8_lossy(&line).into_owned()));
    });
    line
}
