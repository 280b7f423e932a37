//! Charla's engine.
//!
//! [`Turn`] asks a model and turns what comes back into the events that every front end shows. Front ends
//! subscribe; they decide nothing. [`policy`] decides what may run.

pub mod policy;
mod turn;

pub use tokio_util::sync::CancellationToken;
pub use turn::Turn;
