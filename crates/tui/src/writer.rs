//! What is written to the terminal, on a thread of its own: a terminal that does not read must hold nobody up.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Writes bytes in their order. Cloning shares it; its thread ends with the last one.
#[derive(Clone)]
pub struct Writer(Arc<Owner>);

/// Ends the thread when nobody can write any more.
struct Owner(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    idle: Notify,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    is_writing: bool,
    is_over: bool,
}

impl Writer {
    /// Writes to `out` from now on.
    pub fn new(out: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let work = shared.clone();
        std::thread::Builder::new().name("terminal".to_owned()).spawn(move || work.write_to(out))?;
        Ok(Self(Arc::new(Owner(shared))))
    }

    /// Writes these bytes after those before, without waiting for it.
    pub fn send(&self, bytes: &str) {
        self.0.0.state().waiting.extend_from_slice(bytes.as_bytes());
        self.0.0.changed.notify_all();
    }

    /// True while something is not written yet.
    pub fn is_busy(&self) -> bool {
        self.0.0.state().is_busy()
    }

    /// Comes back once everything may be written; look again then.
    pub async fn written(&self) {
        self.0.0.idle.notified().await;
    }

    /// Waits until everything is written, but not longer than this; false where something is left.
    pub fn drain(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.0.0.state();
        while state.is_busy() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.0.0.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.state().is_over = true;
        self.0.changed.notify_all();
    }
}

impl State {
    fn is_busy(&self) -> bool {
        self.is_writing || !self.waiting.is_empty()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, mut out: impl Write) {
        let mut state = self.state();
        loop {
            if !state.waiting.is_empty() {
                let bytes = std::mem::take(&mut state.waiting);
                state.is_writing = true;
                drop(state);
                // A terminal that is gone is told by its signal, not here.
                let _ = out.write_all(&bytes).and_then(|()| out.flush());
                state = self.state();
                state.is_writing = false;
                if !state.is_busy() {
                    self.changed.notify_all();
                    self.idle.notify_one();
                }
            } else if state.is_over {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Takes what is written only when it is let.
    struct Gate {
        written: Sender<Vec<u8>>,
        opened: Receiver<()>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.opened.recv().map_err(io::Error::other)?;
            self.written.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn nobody_waits_for_a_terminal_that_does_not_read_and_nothing_is_lost() {
        let (open, opened) = channel();
        let (written, out) = channel();
        let writer = Writer::new(Gate { written, opened }).unwrap();
        writer.send("one ");
        writer.send("two ");
        assert!(writer.is_busy() && !writer.drain(Duration::from_millis(1)));
        writer.send("three");
        open.send(()).unwrap();
        open.send(()).unwrap();
        open.send(()).unwrap();
        while writer.is_busy() {
            writer.written().await;
        }
        assert!(writer.drain(Duration::ZERO));
        drop(writer);
        let all: Vec<u8> = out.iter().flatten().collect();
        assert_eq!(String::from_utf8(all).unwrap(), "one two three");
    }
}
