//! The runtime that a run's work is done on.

use charla::Failure;
use tokio::runtime::{Builder, Runtime};

/// One thread is enough for one conversation, and quicker to start than many.
pub fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::system(format!("cannot start: {error}")))
}
