//! Waiting for the disk, away from the threads that serve everybody.

use std::fs::File;
use std::io;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// How many sessions of a store wait for the disk at once. The kernel joins what waits together; more would only
/// take threads from others.
const AT_ONCE: usize = 32;

/// Makes files durable on threads of their own.
#[derive(Clone, Debug)]
pub(crate) struct Syncs {
    free: Arc<Semaphore>,
    sync: fn(&File) -> io::Result<()>,
    /// There is nobody else to be served: the caller's own thread waits.
    alone: bool,
}

impl Default for Syncs {
    fn default() -> Self {
        Self::with(File::sync_data)
    }
}

impl Syncs {
    pub(crate) fn with(sync: fn(&File) -> io::Result<()>) -> Self {
        Self { free: Arc::new(Semaphore::new(AT_ONCE)), sync, alone: false }
    }

    pub(crate) fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.alone
    }

    /// Makes what was written durable while the caller's thread does something else.
    pub(crate) async fn sync(&self, file: Arc<File>) -> io::Result<()> {
        if self.alone {
            return (self.sync)(&file);
        }
        let turn = self.free.clone().acquire_owned().await.map_err(io::Error::other)?;
        let sync = self.sync;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            sync(&file)
        });
        work.await.map_err(io::Error::other)?
    }
}
