//! The ways messages go.

mod events;
mod stdio;
mod streamable;

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use charla_proto::text::one_line;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub(crate) use events::listen;
pub(crate) use stdio::pipe;
pub(crate) use streamable::connect;

/// So many messages wait in each direction; who sends more has to wait.
const WAITING: usize = 64;
/// The longest message that is taken.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;

/// A way to a server and back. Dropping it ends the way, and the program at its end.
pub(crate) struct Transport {
    /// Takes what is sent.
    pub(crate) outgoing: mpsc::Sender<Value>,
    /// What comes; an `Err` says why nothing comes any more. It may also just end.
    pub(crate) incoming: mpsc::Receiver<Result<Value, String>>,
    /// What the server complains about, where that can be heard.
    pub(crate) complaints: Option<Complaints>,
    /// The tasks that carry messages.
    pub(crate) _tasks: JoinSet<()>,
    /// What keeps the other end alive.
    pub(crate) _holder: Option<Box<dyn Any + Send>>,
}

/// The last words on a server's standard error.
pub(crate) struct Complaints {
    kept: Arc<Mutex<String>>,
    reader: JoinSet<()>,
}

impl Complaints {
    /// So many lines are told.
    const TOLD: usize = 4;
    /// So many bytes are kept.
    const KEPT: usize = 2000;
    /// It may have more to say than was read so far, or have left a child that holds the pipe.
    const TRAIL: Duration = Duration::from_millis(100);

    /// Reads what is complained about.
    fn read(mut errors: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let kept = Arc::<Mutex<String>>::default();
        let keeping = kept.clone();
        let mut reader = JoinSet::new();
        reader.spawn(async move {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = errors.read(&mut bytes).await {
                let text = String::from_utf8_lossy(bytes.get(..read).unwrap_or_default()).into_owned();
                let mut kept = keeping.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_str(&text);
                let from = kept.ceil_char_boundary(kept.len().saturating_sub(Self::KEPT));
                kept.drain(..from);
            }
        });
        Self { kept, reader }
    }

    /// The last lines that say something, of a server that has ended: programs tell the reason some lines before their last.
    pub(crate) async fn last_lines(mut self) -> Option<String> {
        let _ = tokio::time::timeout(Self::TRAIL, self.reader.join_next()).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let said = kept.lines().rev().map(str::trim).filter(|line| !line.is_empty());
        let mut lines: Vec<String> = said.take(Self::TOLD).map(one_line).collect();
        lines.reverse();
        (!lines.is_empty()).then(|| lines.join("; "))
    }
}
