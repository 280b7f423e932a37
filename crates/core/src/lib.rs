//! Charla's engine.
//!
//! [`Turn`] asks a model and turns what comes back into the events that every front end shows. Front ends
//! subscribe; they decide nothing. [`policy`] decides what may run, [`undo`] knows what can be taken back.

pub mod chat;
pub mod compress;
pub mod loop_guard;
pub mod policy;
pub mod prompt;
pub mod replay;
pub mod scheduler;
pub mod session;
mod turn;
pub mod undo;

pub use chat::Chat;
pub use loop_guard::LoopGuard;
pub use tokio_util::sync::CancellationToken;
pub use turn::Turn;
