//! The runtime that a run's work is done on.

use std::pin::{Pin, pin};

use charla::Failure;
use tokio::runtime::Builder;

/// A runtime of one thread.
pub struct Runtime(tokio::runtime::Runtime);

impl Runtime {
    /// Does this to its end. What drives it is compiled once for each kind of result, not for each command.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let work: Pin<&mut dyn Future<Output = T>> = pin!(work);
        self.0.block_on(work)
    }

    /// Ends without waiting for threads that may never come back.
    pub fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}

/// One thread is enough for one conversation, and quicker to start than many.
pub fn runtime() -> Result<Runtime, Failure> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map(Runtime).map_err(|error| Failure::system(format!("cannot start: {error}")))
}
